"""A model repository on the Hub: reading its files, and writing changes in one commit."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from eyechart.datasets_scripts.common.errors import DataError, HubError, UsageError

_HINT = "Log in with `hf auth login`; the token needs read and write access to the repository."
_MESSAGE = "Evaluation results from eyechart"


@dataclass(frozen=True)
class Held:
    """Files in a repository."""

    files: Mapping[str, str]
    """Texts by path; files that the repository lacks are left out."""
    revision: str
    """Their commit."""


def read_files(repo: str, paths: Sequence[str]) -> Held:
    """Read text files of a model repository.

    Args:
        repo: "user/name".
        paths: Files to read; files that the repository lacks are skipped.

    Raises:
        UsageError: `repo` is not a valid repository name.
        DataError: A file is not UTF-8.
        HubError: The repository does not exist, the user has no access, or the Hub cannot be reached.
    """
    from huggingface_hub import HfApi

    api = HfApi()
    with _explained(f"{repo} could not be read", repo, "Or use --card FILE with a local copy of the card."):
        info = api.model_info(repo)
        revision, held = info.sha or "main", {file.rfilename for file in info.siblings or []}
        files = {
            path: Path(api.hf_hub_download(repo, path, revision=revision)).read_bytes()
            for path in paths
            if path in held
        }
    return Held({path: decoded(content, f"{repo}/{path}") for path, content in files.items()}, revision)


def decoded(content: bytes, path: str) -> str:
    """The text of a file.

    Raises:
        DataError: The file is not UTF-8.
    """
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8: {error}; correct the file first", path=path) from error


def push_files(repo: str, files: Mapping[str, str], *, parent: str, create_pr: bool = False) -> str:
    """Write text files to a model repository, in one commit.

    Args:
        repo: "user/name"; must exist.
        files: Texts by path.
        parent: The commit on which the texts are based; if there is a newer one, the Hub refuses.
        create_pr: Open a pull request instead of writing to the repository.

    Returns:
        The address of the commit or pull request.

    Raises:
        UsageError: `repo` is not a valid repository name.
        HubError: The Hub refused or cannot be reached.
    """
    from huggingface_hub import CommitOperationAdd, HfApi

    operations = [CommitOperationAdd(path, text.encode()) for path, text in files.items()]
    with _explained(f"{repo} was not changed", repo, "Without write access, use --create-pr to open a pull request."):
        done = HfApi().create_commit(
            repo, operations, commit_message=_MESSAGE, create_pr=create_pr, parent_commit=parent
        )
    return str(done.pr_url if create_pr else done.commit_url)


@contextmanager
def _explained(what: str, repo: str, advice: str) -> Iterator[None]:
    from huggingface_hub.errors import HFValidationError

    try:
        yield
    except HFValidationError as error:
        raise UsageError(f"--model-repo {repo!r} is not a valid repository name: {error}") from error
    # The library's HTTP client, and so the error class, differs between versions.
    except Exception as error:
        cause = f" ({error.__cause__})" if error.__cause__ else ""
        raise HubError(f"{what}: {error}{cause}\n{_HINT} {advice}") from error
