"""Leaderboard entries: folders of finished runs, each optionally with a `links.json`. Entries are not trusted."""

import datetime
import hashlib
import os
import stat
from dataclasses import dataclass
from itertools import accumulate, chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, AnyUrl, BaseModel, ConfigDict, Field, UrlConstraints, ValidationError

from eyechart.datasets_scripts.common.errors import BadResultsError, DataError, MissingFileError
from eyechart.evaluators.results.finished_runs import Run, read_runs
from eyechart.evaluators.results.items import PREDICTIONS_FILE
from eyechart.evaluators.results.results_file import AVERAGE, RESULTS_FILE, TaskResult
from eyechart.hub_cards.leaderboard.boards import Board
from eyechart.hub_cards.recomputing import Check, judge_of
from eyechart.metrics.score_spec import value_at

if TYPE_CHECKING:
    from pyarrow import Array

MAX_BYTES = 64_000_000
"""Limit for `results.json`; a run of every task needs a few megabytes."""
MAX_PREDICTIONS_BYTES = 1_000_000_000
"""Limit for `predictions.parquet`; a run of every task needs tens of megabytes."""
MAX_UNPACKED_BYTES = 4_000_000_000
"""Limit for the predictions in memory; a run of every task needs hundreds of megabytes."""
_MAX_LINKS_BYTES = 5_000
_DEEPEST = 10


def _without_user(url: AnyUrl) -> AnyUrl:
    # The part before an @ could pass for the host of the link.
    if url.username is not None or url.password is not None:
        raise ValueError("addresses with a user name are not allowed")
    return url


_HTTPS = UrlConstraints(max_length=500, allowed_schemes=["https"], host_required=True)
HttpsUrl = Annotated[AnyUrl, _HTTPS, AfterValidator(_without_user)]


class Links(BaseModel):
    """The contents of `links.json`: facts about the model that results do not contain, and links. All optional."""

    model_config = ConfigDict(extra="forbid")

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
    links: Links

    def sources_of(self, result: TaskResult) -> list[TaskResult]:
        """The results whose settings describe the model: the result, or those that an average is based on."""
        same = [other for other in self.run.results.tasks if (other.task, other.model) == (result.task, result.model)]
        return same if result.dataset == AVERAGE else [result]


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

    def settings(self, key: str) -> list[Any]:
        """A setting of the result, or of each result that it averages; a dot leads into nested settings."""
        return [value_at(result.settings, key) for result in self.entry.sources_of(self.result)]


def find_entries(folder: Path) -> list[Path]:
    """The folders of all entries, sorted by name; raises MissingFileError if a folder with contents has none.

    Symbolic links are skipped, as they could lead to any file of this machine.
    """
    if not folder.is_dir():
        raise MissingFileError("not a folder; expected a folder that contains the folders of runs", path=folder)
    entries = []
    for parent, names, _ in os.walk(folder, onerror=_raise):
        path = Path(parent)
        is_entry = (path / RESULTS_FILE).is_file() and not (path / RESULTS_FILE).is_symlink()
        entries += [path] if is_entry else []
        is_last = is_entry or len(path.relative_to(folder).parts) == _DEEPEST
        names[:] = [] if is_last else sorted(name for name in names if not name.startswith("."))
    if not entries and any(not path.name.startswith(".") for path in folder.iterdir()):
        raise MissingFileError(f"no entries: no folder in it contains {RESULTS_FILE}", path=folder)
    return entries


def _raise(error: OSError) -> None:
    raise error


def read_entry(folder: Path, root: Path) -> Entry:
    """Read an entry below `root`; raises DataError if a file is too large, malformed, or not a regular file."""
    results, predictions = folder / RESULTS_FILE, folder / PREDICTIONS_FILE
    _check_file(results, MAX_BYTES)
    if os.path.lexists(predictions):
        _check_file(predictions, MAX_PREDICTIONS_BYTES)
        _check_unpacked_size(predictions)
    file = f"results/{hashlib.sha256(results.read_bytes()).hexdigest()[:20]}.json"
    (run,) = read_runs([folder])
    return Entry(folder.relative_to(root).as_posix(), file, run, _read_links(folder / "links.json"))


def _check_file(path: Path, most: int) -> None:
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode):
        raise BadResultsError("not a regular file; symbolic links, pipes and devices are not allowed", path=path)
    if status.st_size > most:
        raise BadResultsError(f"has {status.st_size:,} bytes; at most {most:,} are allowed in an entry", path=path)


def _check_unpacked_size(path: Path) -> None:
    """Refuse a Parquet file whose columns need too much memory: a small file can unpack to any size."""
    from pyarrow import ArrowException, parquet

    try:
        metadata = parquet.read_metadata(path)
        leaves = [metadata.schema.column(index) for index in range(metadata.num_columns)]
        if any(leaf.physical_type == "FIXED_LEN_BYTE_ARRAY" for leaf in leaves):
            raise BadResultsError("a column has fixed-length texts; expected strings", path=path)
        # Sizes of row groups, not of columns: for a damaged file, reading the latter crashes the process.
        stated = sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
        # The stated sizes may be wrong, and count a shared text only once; here shared texts stay packed.
        texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
        with parquet.ParquetFile(path, read_dictionary=texts) as file:
            sizes = (sum(map(_size, batch.columns)) for batch in file.iter_batches(4096, use_threads=False))
            is_too_large = any(size > MAX_UNPACKED_BYTES for size in chain([stated], accumulate(sizes)))
    except (ArrowException, OSError, ValueError, LookupError) as error:
        raise BadResultsError(f"cannot be read as predictions: {error}", path=path) from error
    if is_too_large:
        raise BadResultsError(f"unpacks to more than {MAX_UNPACKED_BYTES:,} bytes, the limit for an entry", path=path)


def _size(values: "Array") -> int:
    """The bytes of a column's values, counting each repeated text every time."""
    from pyarrow import compute, types

    if types.is_dictionary(values.type):
        lengths = compute.binary_length(values.dictionary).take(values.indices)
        return (compute.sum(lengths).as_py() or 0) + 4 * len(values)
    if types.is_nested(values.type):
        parts = [values.keys, values.items] if types.is_map(values.type) else values.flatten()
        return sum(map(_size, parts if isinstance(parts, list) else [parts])) + 4 * len(values)
    return int(values.nbytes)


def _read_links(path: Path) -> Links:
    if path.is_symlink() or not path.is_file():
        return Links()
    _check_file(path, _MAX_LINKS_BYTES)
    try:
        return Links.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise DataError(
            f"{where}: {first['msg']}; allowed are model_url and run_url (https addresses), license (an identifier "
            "such as apache-2.0) and parameters (a whole number)",
            path=path,
        ) from error
