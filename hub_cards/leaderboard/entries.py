"""Leaderboard entries: folders of finished runs, each optionally with an `entry.json`. Entries are not trusted."""

import datetime
import hashlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, AnyUrl, BaseModel, ConfigDict, Field, UrlConstraints, ValidationError

from eyechart.datasets_scripts.common.errors import DataError, MissingFileError
from eyechart.evaluators.requests.errors import BadResultsError
from eyechart.evaluators.results.finished_runs import Run, load_runs
from eyechart.evaluators.results.items import PREDICTIONS_FILE, RESULT_COLUMNS
from eyechart.evaluators.results.results_file import AVERAGE, RESULTS_FILE, TaskResult
from eyechart.hub_cards.leaderboard.boards import Board
from eyechart.hub_cards.leaderboard.names import ENTRY_FILE, name_key
from eyechart.metrics.score_spec import value_at

if TYPE_CHECKING:
    from pyarrow import Table

MOST_BYTES = {RESULTS_FILE: 16_000_000, PREDICTIONS_FILE: 256_000_000, ENTRY_FILE: 5_000}
"""Limits for an entry's files; a run of every task needs a few megabytes of results and tens of predictions."""
MOST_RESULTS = 500
MOST_PREDICTIONS = 1_000_000
MOST_UNPACKED_BYTES = 300_000_000
"""Limit for the replies in memory."""
LONGEST_TEXT = 40_000
"""Bytes of a reply; those of 4,096 tokens need about half."""
MOST_LOGITS = 100
"""Words with a logit for each prediction, on average."""
REPLY = {"text": str, "finish_reason": str, "logits": Mapping[str, float]}
"""What a board takes of a prediction, besides its id and pass."""
_DEEPEST = 10


def _without_user(url: AnyUrl) -> AnyUrl:
    # The part before an @ could pass for the host of the link.
    if url.username is not None or url.password is not None:
        raise ValueError("addresses with a user name are not allowed")
    return url


_HTTPS = UrlConstraints(max_length=500, allowed_schemes=["https"], host_required=True)
HttpsUrl = Annotated[AnyUrl, _HTTPS, AfterValidator(_without_user)]


class About(BaseModel):
    """The contents of `entry.json`: its owner, links, and facts about the model. All optional."""

    model_config = ConfigDict(extra="forbid")

    owner: Annotated[str, Field(pattern=r"^[A-Za-z0-9][\w./-]{0,159}$")] = ""
    """Who enters the model, such as an account or a repository on the Hub; only its entries can update the rows."""
    model_url: HttpsUrl | None = None
    """The model's page."""
    run_url: HttpsUrl | None = None
    """Where the run and its predictions are published."""
    license: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.+-]{0,39}$")] | None = None
    """The weights' licence, by its identifier on the Hub, such as "apache-2.0", or "proprietary"."""
    parameters: Annotated[int, Field(strict=True, gt=0, lt=10**15)] | None = None
    """The number of parameters; used only if the results do not contain it."""


@dataclass(frozen=True)
class Entry:
    """A finished run, as submitted."""

    source: str
    """Its folder, relative to the folder of entries."""
    file: str
    """The Space's file with its accepted results, named by the SHA-256 of its `results.json`."""
    run: Run
    about: About

    def sources_of(self, result: TaskResult) -> list[TaskResult]:
        """The results whose settings describe the model: the result, or those that an average is based on."""
        if result.dataset != AVERAGE:
            return [result]
        same = [other for other in self.run.results.tasks if (other.task, other.split) == (result.task, result.split)]
        return [other for other in same if name_key(other.model) == name_key(result.model)]


@dataclass(frozen=True)
class BoardRow:
    """One result on its board."""

    board: Board
    result: TaskResult
    """What its replies score on the release; what the entry states if they could not be scored."""
    entry: Entry
    started: datetime.datetime
    stated: str = ""
    """Why its scores are only stated, so that it has no rank; "" if they were computed."""
    release: str = ""
    """The digest of the release on which they were computed."""
    parts: tuple[TaskResult, ...] = ()
    """The results that an average is computed from; else the result."""

    def settings(self, key: str) -> list[Any]:
        """A setting of the result, or of each result that it averages; a dot leads into nested settings."""
        return [value_at(result.settings, key) for result in self.entry.sources_of(self.result)]


def find_entries(folder: Path) -> list[Path]:
    """The folders of all entries, sorted by name, and those that cannot be read.

    Symbolic links are skipped, as they could lead to any file of this machine. Raises MissingFileError if a folder
    with contents has no entry.
    """
    if not folder.is_dir():
        raise MissingFileError("not a folder; expected a folder that contains the folders of runs", path=folder)
    entries: list[Path] = []
    errors: list[OSError] = []
    for parent, names, _ in os.walk(folder, onerror=errors.append):
        path = Path(parent)
        is_entry = _has_results(path)
        entries += [path] if is_entry else []
        # The folder itself may be an entry.
        is_last = (is_entry and path != folder) or len(path.relative_to(folder).parts) == _DEEPEST
        names[:] = [] if is_last else sorted(name for name in names if not name.startswith("."))
    # They are rejected with the error when they are read.
    entries += [Path(error.filename) for error in errors]
    if not entries and any(not path.name.startswith(".") for path in folder.iterdir()):
        raise MissingFileError(f"no entries: no folder in it contains {RESULTS_FILE}", path=folder)
    return entries


def _has_results(folder: Path) -> bool:
    try:
        return stat.S_ISREG((folder / RESULTS_FILE).lstat().st_mode)
    except FileNotFoundError:
        return False
    except OSError:
        return True


def read_entry(folder: Path, root: Path) -> Entry:
    """Read an entry below `root`, of its predictions only what a board takes.

    Raises DataError if a file is too large, malformed, or not a regular file.
    """
    for name, most in MOST_BYTES.items():
        _check_file(folder / name, most)
    file = f"results/{hashlib.sha256((folder / RESULTS_FILE).read_bytes()).hexdigest()[:20]}.json"
    (run,) = load_runs([folder])
    if (n := len(run.results.tasks)) > MOST_RESULTS:
        raise BadResultsError(f"{n:,} results; an entry has at most {MOST_RESULTS:,}", path=folder / RESULTS_FILE)
    if run.predictions is not None:
        run = replace(run, predictions=_taken(run.predictions, folder / PREDICTIONS_FILE))
    return Entry(folder.relative_to(root).as_posix(), file, run, _read_about(folder / ENTRY_FILE))


def _check_file(path: Path, most: int) -> None:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(status.st_mode):
        raise BadResultsError("not a regular file; symbolic links, pipes and devices are not allowed", path=path)
    if status.st_size > most:
        raise BadResultsError(f"has {status.st_size:,} bytes; at most {most:,} are allowed in an entry", path=path)


def _taken(table: "Table", path: Path) -> "Table":
    """The columns that a board takes; raises BadResultsError if they are too large."""
    from pyarrow import compute, types

    known = (*RESULT_COLUMNS[:3], "id", "pass", "repeat", *REPLY)
    taken = table.select([name for name in known if name in table.column_names])
    if taken.num_rows > MOST_PREDICTIONS or taken.nbytes > MOST_UNPACKED_BYTES:
        raise BadResultsError(
            f"has {taken.num_rows:,} predictions of {taken.nbytes:,} bytes; at most {MOST_PREDICTIONS:,} predictions "
            f"of {MOST_UNPACKED_BYTES:,} bytes are allowed in an entry",
            path=path,
        )
    if "logits" in taken.column_names and types.is_map(taken["logits"].type):
        words = sum(len(part.keys) for part in taken["logits"].chunks)
        if words > MOST_LOGITS * taken.num_rows:
            raise BadResultsError(f"has {words:,} logits; expected at most {MOST_LOGITS} a prediction", path=path)
    for name, column in zip(taken.column_names, taken.columns, strict=True):
        longest = compute.max(compute.binary_length(column)).as_py() if types.is_string(column.type) else None
        if (longest or 0) > LONGEST_TEXT:
            reason = f"a value of its column {name} has {longest:,} bytes; at most {LONGEST_TEXT:,} are allowed"
            raise BadResultsError(reason, path=path)
    return taken


def _read_about(path: Path) -> About:
    if not path.exists():
        return About()
    try:
        return About.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise DataError(
            f"{where}: {first['msg']}; allowed are owner (an account or repository), model_url and run_url (https "
            "addresses), license (an identifier such as apache-2.0) and parameters (a whole number)",
            path=path,
        ) from error
