"""Submissions: results files or folders of runs, each perhaps with a file of links beside it; and their entries."""

import datetime
import hashlib
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from eyechart.datasets_scripts.common.errors import BadResultsError, DataError, MissingFileError
from eyechart.evaluators.backends.predictions import FROM_FILE
from eyechart.evaluators.evaluation.averages import AVERAGE
from eyechart.evaluators.results.results_file import RESULTS_FILE, Results, TaskResult, read_results
from eyechart.hub_cards.leaderboard.board import Board
from eyechart.hub_cards.leaderboard.checks import judge_of
from eyechart.hub_cards.leaderboard.columns import look_up

LINKS_FILE = "submission.json"
MAX_BYTES = 64_000_000
"""A larger results file is not read; that of a run of everything takes some megabytes."""
_LONGEST_URL = 500


class Links(BaseModel):
    """The contents of `submission.json`: where a reader finds more. Both are optional."""

    model_config = ConfigDict(extra="forbid")

    model_url: str | None = None
    """The model's page."""
    run_url: str | None = None
    """Where the run is kept, with its predictions."""

    @field_validator("model_url", "run_url")
    @classmethod
    def _only_https(cls, url: str | None) -> str | None:
        if url is not None and not is_safe_url(url):
            raise ValueError(f"expected an https:// address of at most {_LONGEST_URL} characters")
        return url


@dataclass(frozen=True)
class Submission:
    """One results file that could be read."""

    source: str
    """Its place below the folder of submissions."""
    digest: str
    """SHA-256 of its bytes."""
    results: Results
    links: Links


@dataclass(frozen=True)
class Entry:
    """One result on its board."""

    board: Board
    result: TaskResult
    submission: Submission
    started: datetime.datetime

    @property
    def judge(self) -> str:
        """The judge that its scores are of, where those of several are not to be mixed; else ""."""
        return judge_of(self.result) if self.board.judged else ""

    @property
    def is_made_elsewhere(self) -> bool:
        """Whether its answers were read from a file, or any of those that it is an average of."""
        made_of = [self.result]
        if self.result.subset == AVERAGE:
            # An average has no model of its own in its settings; the results of its databases have.
            same = (self.result.task, self.result.model)
            made_of = [one for one in self.submission.results.tasks if (one.task, one.model) == same]
        return any(look_up(one.settings, ("model", "backend")) == FROM_FILE for one in made_of)


def find_files(folder: Path) -> Iterator[Path]:
    """The results files of all submissions, in order of their names.

    A folder that holds `results.json` is a run, and nothing else in it is a submission; elsewhere every JSON file is
    one. Hidden files and links are passed over: a link could name any file of this machine.

    Raises:
        MissingFileError: There is no such folder, or there is nothing in it.
    """
    if not folder.is_dir():
        raise MissingFileError("not a folder; submissions are results files or folders of runs", path=folder)
    files = list(_files(folder))
    if not files:
        raise MissingFileError(f"there are no submissions in it: no {RESULTS_FILE} and no other JSON file", path=folder)
    yield from files


def _files(folder: Path) -> Iterator[Path]:
    if (folder / RESULTS_FILE).is_file() and not (folder / RESULTS_FILE).is_symlink():
        yield folder / RESULTS_FILE
        return
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.is_symlink():
            continue
        if path.is_dir():
            yield from _files(path)
        elif path.suffix == ".json" and path.name != LINKS_FILE:
            yield path


def read_submission(path: Path, root: Path) -> Submission:
    """Read a results file and the links beside it.

    Args:
        path: One of `find_files`.
        root: The folder of submissions.

    Raises:
        DataError: A file is too large or not in its form.
    """
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise BadResultsError(f"it has {size:,} bytes; a submission has at most {MAX_BYTES:,}", path=path)
    results = read_results(path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Submission(path.relative_to(root).as_posix(), digest, results, _read_links(path.with_name(LINKS_FILE)))


def _read_links(path: Path) -> Links:
    if path.is_symlink() or not path.is_file():
        return Links()
    if path.stat().st_size > 10 * _LONGEST_URL:
        raise DataError("it is too large for two addresses", path=path)
    try:
        return Links.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise DataError(f"{where}: {first['msg']}; allowed are model_url and run_url", path=path) from error


def is_safe_url(url: str) -> bool:
    """Whether an address can be made a link: https, a host, no user name, and nothing that hides where it leads."""
    if len(url) > _LONGEST_URL or any(c.isspace() or unicodedata.category(c).startswith("C") for c in url):
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme == "https" and bool(parts.hostname) and "@" not in parts.netloc and "\\" not in url
    except ValueError:
        return False
