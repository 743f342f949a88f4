"""Uploading an exported data set to the Hugging Face Hub."""

from pathlib import Path

from eyechart.datasets_scripts.common.errors import HubError, UsageError


def push_to_hub(folder: str | Path, repo: str, *, public: bool = False, endpoint: str | None = None) -> str:
    """Upload an exported folder as a data set repository, which is made if there is none.

    Who uploads is who is logged in with `hf auth login`, or whose token is in `HF_TOKEN`. Files of the same name are
    replaced in one commit; other files of the repository stay.

    Args:
        folder: What `export` wrote.
        repo: Name of the repository, "user/name".
        public: Make a new repository public, and upload to one that is; otherwise it has to be private.
        endpoint: Address of the Hub; `HF_ENDPOINT` or https://huggingface.co by default.

    Returns:
        Address of the repository.

    Raises:
        UsageError: `folder` is not an exported folder, `repo` cannot be a repository's name, or is a public one.
        HubError: The Hub refused, or cannot be reached.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HFValidationError

    if not (Path(folder) / "README.md").is_file():
        raise UsageError(f"folder={str(folder)!r} is not an exported folder: it holds no README.md")
    api = HfApi(endpoint=endpoint)
    try:
        address = api.create_repo(repo, repo_type="dataset", private=not public, exist_ok=True)
        if not public and not api.dataset_info(address.repo_id).private:
            raise UsageError(f"repo={repo!r} is public; public=True / --public says that it is meant to be")
        message = "Upload what eyechart exported"
        api.upload_folder(repo_id=address.repo_id, folder_path=folder, repo_type="dataset", commit_message=message)
    except UsageError:
        raise
    except HFValidationError as error:
        raise UsageError(f"repo={repo!r} cannot be a repository: {error}") from error
    # The library's HTTP client, and with it the class of its errors, differs between versions.
    except Exception as error:
        cause = f" ({error.__cause__})" if error.__cause__ else ""
        hint = "Log in with `hf auth login`, with a token that may write there."
        raise HubError(f"{folder} was not uploaded to {repo}: {error}{cause}\n{hint}") from error
    return str(address)
