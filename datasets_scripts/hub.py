"""Uploading an exported dataset to the Hugging Face Hub."""

from pathlib import Path

from eyechart.datasets_scripts.common.errors import HubError, UsageError


def push_to_hub(folder: str | Path, repo: str, *, public: bool = False, endpoint: str | None = None) -> str:
    """Upload an exported folder to a dataset repository, which is created if it does not exist.

    The account is that of `hf auth login` or of the token in `HF_TOKEN`. Files of the same name are replaced in one
    commit; other files of the repository are kept.

    Args:
        folder: The folder that `export` wrote.
        repo: Name of the repository, "user/name".
        public: Create a new repository as public, and allow an existing public one; otherwise it must be private.
        endpoint: Address of the Hub; `HF_ENDPOINT` or https://huggingface.co by default.

    Returns:
        Address of the repository.

    Raises:
        UsageError: `folder` is not an exported folder, or `repo` is not a valid name or is public.
        HubError: The Hub refused the upload, or cannot be reached.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HFValidationError

    if not (Path(folder) / "README.md").is_file():
        raise UsageError(f"folder={str(folder)!r} is not an exported folder: it has no README.md")
    api = HfApi(endpoint=endpoint)
    try:
        address = api.create_repo(repo, repo_type="dataset", private=not public, exist_ok=True)
        if not public and not api.dataset_info(address.repo_id).private:
            raise UsageError(f"repo={repo!r} is public; to upload to it: public=True (command line: --public)")
        message = "Upload what eyechart exported"
        api.upload_folder(repo_id=address.repo_id, folder_path=folder, repo_type="dataset", commit_message=message)
    except UsageError:
        raise
    except HFValidationError as error:
        raise UsageError(f"repo={repo!r} is not a valid repository name: {error}") from error
    # The library's HTTP client, and with it the class of its errors, differs between versions.
    except Exception as error:
        cause = f" ({error.__cause__})" if error.__cause__ else ""
        hint = "Log in with `hf auth login` and a token with write access to this repository"
        raise HubError(f"{folder} was not uploaded to {repo}: {error}{cause}\n{hint}") from error
    return str(address)
