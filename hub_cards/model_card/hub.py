"""A model repository on the Hub: what it holds now, and one commit with what it is to hold."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from eyechart.datasets_scripts.common.errors import DataError, HubError, UsageError

_HINT = "Log in with `hf auth login`, with a token that may read and write there."
_MESSAGE = "Evaluation results of eyechart"


@dataclass(frozen=True)
class Held:
    """Files of a repository."""

    files: Mapping[str, str]
    """Texts by path, of those that were asked for and are there."""
    revision: str
    """The commit that they are of."""


def read_files(repo: str, paths: Sequence[str]) -> Held:
    """Read text files of a model repository.

    Args:
        repo: "user/name".
        paths: Files; those that it does not have are passed over.

    Raises:
        UsageError: `repo` cannot be a repository's name.
        DataError: A file is no UTF-8.
        HubError: There is no such repository for who is logged in, or the Hub cannot be reached.
    """
    from huggingface_hub import HfApi

    api = HfApi()
    with _explained(f"{repo} could not be read", repo, "--card FILE takes a copy of its card on disk instead."):
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
        DataError: It is no UTF-8.
    """
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise DataError(f"is no UTF-8: {error}; correct it first", path=path) from error


def push_files(repo: str, files: Mapping[str, str], *, parent: str, create_pr: bool = False) -> str:
    """Write text files to a model repository, in one commit.

    Args:
        repo: "user/name"; it has to exist.
        files: Texts by path.
        parent: The commit that the texts were made from; the Hub refuses where there is a newer one.
        create_pr: Open a pull request instead.

    Returns:
        Address of the commit or the pull request.

    Raises:
        UsageError: `repo` cannot be a repository's name.
        HubError: The Hub refused, or cannot be reached.
    """
    from huggingface_hub import CommitOperationAdd, HfApi

    operations = [CommitOperationAdd(path, text.encode()) for path, text in files.items()]
    with _explained(f"{repo} was not changed", repo, "--create-pr proposes the change to those who may make it."):
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
        raise UsageError(f"--model-repo {repo!r} cannot be a repository: {error}") from error
    # The library's HTTP client, and with it the class of its errors, differs between versions.
    except Exception as error:
        cause = f" ({error.__cause__})" if error.__cause__ else ""
        raise HubError(f"{what}: {error}{cause}\n{_HINT} {advice}") from error
