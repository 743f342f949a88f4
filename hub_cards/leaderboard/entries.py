"""Leaderboard entries: folders of finished runs, each optionally with a `links.json`."""

import datetime
import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, AnyUrl, BaseModel, ConfigDict, Field, UrlConstraints, ValidationError

from eyechart.datasets_scripts.common.errors import BadResultsError, DataError, MissingFileError
from eyechart.evaluators.backends.endpoint.refused_parameters import PROVIDER
from eyechart.evaluators.backends.predictions import FROM_FILE
from eyechart.evaluators.evaluation.averages import AVERAGE
from eyechart.evaluators.protocols import PROTOCOLS
from eyechart.evaluators.results.finished_runs import Run, read_runs
from eyechart.evaluators.results.items import PREDICTIONS_FILE, schema_of
from eyechart.evaluators.results.results_file import RESULTS_FILE, TaskResult
from eyechart.hub_cards.leaderboard.boards.board import Board
from eyechart.hub_cards.leaderboard.unpacked_size import check_unpacked_size
from eyechart.hub_cards.recomputing import Check, judge_of
from eyechart.metrics.score_spec import value_at

LINKS_FILE = "links.json"
MAX_BYTES = 64_000_000
"""Limit for `results.json`; a run of every task needs a few megabytes."""
MAX_PREDICTIONS_BYTES = 1_000_000_000
"""Limit for `predictions.parquet`; a run of every task needs tens of megabytes."""
MAX_UNPACKED_BYTES = 4_000_000_000
"""Limit for the predictions in memory; a run of every task needs hundreds of megabytes."""
_LONGEST_URL = 500
_DEEPEST = 10
_LICENSE = r"^[a-z0-9][a-z0-9.+-]{0,39}$"


def _without_user(url: AnyUrl) -> AnyUrl:
    # The part before an @ could pass for the host of the link.
    if url.username is not None or url.password is not None:
        raise ValueError("addresses with a user name are not allowed")
    return url


HttpsUrl = Annotated[
    AnyUrl,
    UrlConstraints(max_length=_LONGEST_URL, allowed_schemes=["https"], host_required=True),
    AfterValidator(_without_user),
]


class Links(BaseModel):
    """The contents of `links.json`: facts about the model that results do not contain, and links. All optional."""

    model_config = ConfigDict(extra="forbid")

    model_url: HttpsUrl | None = None
    """The model's page."""
    run_url: HttpsUrl | None = None
    """Where the run and its predictions are published."""
    license: Annotated[str, Field(pattern=_LICENSE)] | None = None
    """The weights' licence, by its identifier on the Hub, such as "apache-2.0", or "proprietary"."""
    parameters: Annotated[int, Field(strict=True, gt=0, lt=10**15)] | None = None
    """The number of parameters; used only if the results do not contain it."""


@dataclass(frozen=True)
class Entry:
    """A finished run, as submitted."""

    source: str
    """Its folder, relative to the folder of entries."""
    digest: str
    """SHA-256 of its `results.json`."""
    run: Run
    links: Links


@dataclass(frozen=True)
class BoardRow:
    """One result on its board."""

    board: Board
    result: TaskResult
    entry: Entry
    started: datetime.datetime
    check: Check

    @property
    def judge(self) -> str:
        """The judge that gave its scores, on boards that rank each judge separately; else ""."""
        return judge_of(self.result) if self.board.judged else ""

    @property
    def is_precomputed(self) -> bool:
        """Whether its predictions, or those of any result that it averages, were read from a file."""
        parts = sources_of(self.entry.run.results.tasks, self.result)
        return any(value_at(one.settings, "model.backend") == FROM_FILE for one in parts)

    @property
    def is_decoded_by_provider(self) -> bool:
        """Whether the provider of the model or of its judge chose the decoding, in any result that it averages."""
        parts = sources_of(self.entry.run.results.tasks, self.result)
        return any(
            value_at(one.settings, f"{name}.decoding") == PROVIDER for one in parts for name in ("model", "judge")
        )


def sources_of(results: Sequence[TaskResult], result: TaskResult) -> list[TaskResult]:
    """The results whose settings describe the model: the result itself, or the results that an average is based on."""
    if result.dataset != AVERAGE:
        return [result]
    return [one for one in results if (one.task, one.model) == (result.task, result.model)]


def find_entries(folder: Path) -> list[Path]:
    """The folders of all entries, sorted by name; none if `folder` is empty.

    A folder with a `results.json` is an entry, and its subfolders are not searched. Skipped are hidden folders,
    symbolic links, which could lead to any file of this machine, and folders more than ten levels deep.

    Raises:
        MissingFileError: The folder does not exist, or it has contents but no entry.
    """
    if not folder.is_dir():
        raise MissingFileError("not a folder; expected a folder that contains the folders of runs", path=folder)
    found = list(_entries(folder))
    if not found and any(not path.name.startswith(".") for path in folder.iterdir()):
        raise MissingFileError(
            f"no entries: no folder in it contains {RESULTS_FILE} (an empty folder builds boards without entries)",
            path=folder,
        )
    return found


def _entries(folder: Path, depth: int = 0) -> Iterator[Path]:
    results = folder / RESULTS_FILE
    if results.is_file() and not results.is_symlink():
        yield folder
        return
    for path in sorted(folder.iterdir()) if depth < _DEEPEST else ():
        if path.is_dir() and not path.is_symlink() and not path.name.startswith("."):
            yield from _entries(path, depth + 1)


def read_entry(folder: Path, root: Path) -> Entry:
    """Read a run and the links in its folder.

    Args:
        folder: One of `find_entries`.
        root: The folder of entries.

    Raises:
        DataError: A file is too large, malformed, or not a regular file.
    """
    results = folder / RESULTS_FILE
    _check_file(results, MAX_BYTES)
    if os.path.lexists(folder / PREDICTIONS_FILE):
        _check_file(folder / PREDICTIONS_FILE, MAX_PREDICTIONS_BYTES)
        check_unpacked_size(
            folder / PREDICTIONS_FILE, schema_of(one.item_type for one in PROTOCOLS.values()).names, MAX_UNPACKED_BYTES
        )
    digest = hashlib.sha256(results.read_bytes()).hexdigest()
    (run,) = read_runs([folder])
    return Entry(folder.relative_to(root).as_posix(), digest, run, _read_links(folder / LINKS_FILE))


def _check_file(path: Path, most: int) -> None:
    """Refuse a file that is too large or not a regular file."""
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode):
        raise BadResultsError("not a regular file; symbolic links, pipes and devices are not allowed", path=path)
    if status.st_size > most:
        raise BadResultsError(f"has {status.st_size:,} bytes; at most {most:,} are allowed in an entry", path=path)


def _read_links(path: Path) -> Links:
    if path.is_symlink() or not path.is_file():
        return Links()
    if path.stat().st_size > 10 * _LONGEST_URL:
        raise DataError(f"has {path.stat().st_size:,} bytes; at most {10 * _LONGEST_URL:,} are allowed", path=path)
    try:
        return Links.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise DataError(
            f"{where}: {first['msg']}; allowed fields: model_url and run_url (https addresses of at most "
            f"{_LONGEST_URL} characters), license (an identifier such as apache-2.0), parameters (a whole number)",
            path=path,
        ) from error
