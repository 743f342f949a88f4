"""The rows to evaluate: a release, synthetic demo data, a named dataset or a `Dataset`."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import datasets
from huggingface_hub import hf_hub_download
from huggingface_hub.errors import EntryNotFoundError

from eyechart import datasets_scripts
from eyechart.datasets_scripts import mini
from eyechart.datasets_scripts.common.choice.passes import STRIDE
from eyechart.datasets_scripts.common.errors import BadImageError, DataError, MissingFileError, UsageError, unknown_name
from eyechart.datasets_scripts.common.paths import check_not_empty
from eyechart.datasets_scripts.common.prepared import cells, load_prepared
from eyechart.datasets_scripts.loading import prepared_dataset
from eyechart.datasets_scripts.own_data import load_own
from eyechart.datasets_scripts.own_data.rows import OwnData
from eyechart.evaluators.evaluation.options import DataRequest
from eyechart.evaluators.protocols.choice.circular_eval import CircularEval
from eyechart.evaluators.protocols.protocol import CLUSTER
from eyechart.evaluators.requests.types import Row
from eyechart.evaluators.results.finished_runs import GIVEN, MINI, OFFICIAL, TaskKey
from eyechart.evaluators.tasks import known_task
from eyechart.evaluators.tasks.task import ON_HUB, Task

_DEFAULT = DataRequest()
_ROWS_AT_ONCE = 1_000
_ROWS_PER_BLOCK = 10_000
"""Rows that are asked, answered and read before the next ones: their requests and responses are then forgotten."""
_TABLES = ("arrow", "csv", "json", "parquet")
"""Formats whose cells may name any file, unlike paths of a folder of images, of a loading script or of a program."""
_CHECKED = (OwnData.__module__.rpartition(".")[2], *datasets_scripts.DATASETS)
"""Names that `datasets` gives to our builders, which store only paths whose links are resolved."""


@dataclass(frozen=True)
class LoadedData:
    """A dataset and where it came from."""

    dataset: datasets.Dataset
    name: str
    """Name of the dataset."""
    split: str
    source: str
    """The folder or dataset id, "official release" if it was downloaded, "synthetic demo data", or "given" for a
    `Dataset` object."""
    left_out: list[dict[str, Any]] = field(default_factory=list)
    """The rows that the loader left out."""
    config: str | None = None
    """Configuration of the dataset."""
    options: dict[str, Any] = field(default_factory=dict)
    """Options of the dataset, defaults included."""
    cluster_of: Callable[[Row], str | None] | None = None
    """What a row shares with others, if it is known before the rows are read."""
    request: DataRequest = _DEFAULT
    """What was asked for; its `limit` or `sample`, and `skip_bad`, say which rows are used."""

    def describe(self) -> dict[str, Any]:
        """What a result records about its data."""
        about = {"source": self.source, "config": self.config, "options": self.options, "rows": len(self.dataset)}
        revision = {"revision": self.revision} if self.revision else {}
        return {**about, "is_mini": self.is_mini, **revision}

    @property
    def revision(self) -> str:
        """The commit of data downloaded from the Hub; "" for other data, or if the cache has several of them."""
        from huggingface_hub import constants

        is_official = self.source == OFFICIAL
        repo = datasets_scripts.DATASETS[self.name].hub_id(self.config) if is_official else self.source
        if not repo or os.path.isabs(repo):
            return ""
        folder = Path(constants.HF_HUB_CACHE, f"datasets--{repo.replace('/', '--')}", "snapshots")
        commits = [path.name for path in folder.iterdir()] if folder.is_dir() else []
        return commits[0] if len(commits) == 1 else ""

    @property
    def is_mini(self) -> bool:
        """Whether the items are known to be synthetic; False for a `Dataset` object, for which this is unknown."""
        return self.source == MINI or mini.is_release(self.source)


def load_data(task: Task, request: DataRequest = _DEFAULT) -> LoadedData:
    """Load the data for a task; raises `UsageError` for a wrong request, `DataError` for an unreadable release."""
    check_not_empty("data_dir", request.data_dir)
    if isinstance(request.data, datasets.Dataset):
        loaded = LoadedData(request.data, request.dataset or "own data", request.split or GIVEN, GIVEN)
    elif isinstance(request.data, str | Path | None):
        check_not_empty("data", request.data)
        loaded = _load_named(task, request)
    else:
        kind = type(request.data).__name__
        raise UsageError(f"data is of type {kind}; expected a datasets.Dataset, the name of a dataset, or None.")
    return replace(loaded, request=request)


def _load_named(task: Task, request: DataRequest) -> LoadedData:
    data, is_mini = None if request.data is None else str(request.data), request.is_mini
    if data is not None and data.partition(":")[0] == "mini":
        data, is_mini = data.partition(":")[2] or None, True
    is_own, known = task.data.path is not None, datasets_scripts.list_datasets()
    if is_mini and is_own:
        raise UsageError(f"'mini' is not available for your own task {task.name}; leave it out")
    if is_mini and request.data_dir is not None:
        raise UsageError(f"synthetic demo data and the folder {request.data_dir} are both requested; leave out one")
    if is_mini and data is not None and data not in known:
        raise unknown_name("dataset", data, known, "after 'mini:'")
    if is_own and (data is None or data in task.data.datasets):
        return _load_own(task, request)
    if data is None or data in known:
        return _load_release(task, replace(request, data=data, is_mini=is_mini))
    if (given := _folder_given(task, data)) is not None:
        dataset, path = given
        try:
            return _load_named(task, replace(request, data=None, dataset=dataset or request.dataset, data_dir=path))
        except DataError:
            # Neither the release nor a dataset for `datasets`, such as one that was exported.
            if next(Path(path).expanduser().rglob("*.parquet"), None) is None:
                raise
    split = request.split or task.data.default_split or "test"
    loaded = load_prepared(data, request.dataset, split)
    return LoadedData(loaded, request.dataset or data, split, data)


def _load_release(task: Task, request: DataRequest) -> LoadedData:
    """One of eyechart's datasets: synthetic, in a folder, or downloaded."""
    name, config, data_dir = request.dataset, task.data.config, request.data_dir
    if request.data is not None:
        name, config = str(request.data), request.dataset or config
    name, split = task.choose_data(name, request.split, in_folder=data_dir is not None)
    options, folder, source = dict(request.options), None, OFFICIAL
    if request.is_mini:
        folder, source = mini.release(name), MINI
    elif data_dir is not None:
        folder, source = Path(data_dir), _full_path(data_dir)
    rows = datasets_scripts.load_dataset(
        name,
        config,
        split=split,
        data_dir=folder,
        options=options,
        skip_missing=request.skip_missing,
        skip_bad=request.skip_bad,
        images=request.images,
    )
    options = datasets_scripts.options_in_force(name, config, options)
    return LoadedData(rows, name, str(rows.split), source, datasets_scripts.left_out(rows), config, options)


def _folder_given(task: Task, data: str) -> tuple[str | None, str] | None:
    """The dataset and the path in `[DATASET=]PATH`, as for `--data-dir`; None if `data` is the id of a dataset."""
    name, equals, path = data.partition("=")
    if equals and name in task.data.datasets and not os.path.exists(data):
        return name, path
    is_path = data.startswith(("/", "./", "../", "~")) or os.path.exists(data)
    return (None, data) if is_path else None


@contextmanager
def without_progress_bars() -> Iterator[None]:
    """Hide the progress bars of `datasets`, which shows one for each dataset."""
    were_on = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if were_on:
            datasets.enable_progress_bars()


def _full_path(given: str | Path) -> str:
    """The absolute path of a file or folder, so that a report finds it from anywhere; a dataset id unchanged."""
    path = os.path.abspath(os.path.expanduser(given))
    return path if os.path.exists(path) else str(given)


def downloaded(path: str) -> str:
    """The path, or that of the downloaded copy of a file on the Hub."""
    if not path.startswith(ON_HUB):
        return path
    owner, name, file = (*path.removeprefix(ON_HUB).split("/", 2), "", "")[:3]
    try:
        return hf_hub_download(f"{owner}/{name}", file, repo_type="dataset")
    except (OSError, ValueError, EntryNotFoundError) as error:
        what = str(error).partition("\n")[0].rstrip(".")
        raise MissingFileError(f"no download from the Hub: {what}; give a copy with --data-dir", path=path) from error


def _load_own(task: Task, request: DataRequest) -> LoadedData:
    _, split = task.choose_data(request.dataset, request.split, in_folder=request.data_dir is not None)
    data, path = task.data, _full_path(request.data_dir or task.data.path or "")
    # Ids are added if they are missing.
    needed = {*task.protocol.columns, *task.groups, task.cluster} - {"", "id", "first_id", "second_id"}
    rows = load_own(
        downloaded(path),
        task.protocol.kind,
        columns=data.columns,
        empty=data.empty,
        image_dir=data.images,
        config=data.config,
        split=split,
        needs=sorted(needed),
        needed_by=task.name,
        skip_missing=request.skip_missing,
        skip_bad=request.skip_bad,
        images=request.images,
    )
    split, left_out = str(rows.split), datasets_scripts.left_out(rows)
    # VLMEvalKit's tables have a row for each pass, and their ids in this column.
    if isinstance(task.protocol, CircularEval) and data.columns.get("id") == "index":
        rows = _with_passes(rows)
    options = {**own_options(task, split), "image_dir": data.images}
    return LoadedData(rows, data.datasets[0], split, path, left_out, data.config, options)


def _with_passes(rows: datasets.Dataset) -> datasets.Dataset:
    """One row for each question, with its passes, if ids are numbered as in MMBench's tables (see `passes.py`).

    Passes that the data do not have are not asked; the lowest one counts as the first.
    """
    indices = [int(name) for name in rows["id"] if name.isdecimal()]
    questions: dict[int, list[int]] = {}
    for place, index in enumerate(indices):
        questions.setdefault(index % STRIDE, []).append(place)
    if len(indices) < len(rows) or len(questions) == len(rows):
        return rows
    shown = rows.select_columns(["question", "hint", "options", "answer"])
    passes: list[list[dict[str, Any]]] = [[] for _ in indices]
    for places in questions.values():
        places.sort(key=indices.__getitem__)
        passes[places[0]] = [{"index": indices[at], "rotation": turn, **shown[at]} for turn, at in enumerate(places)]
    return rows.add_column("passes", passes).select(sorted(places[0] for places in questions.values()))


def own_options(task: Task, split: str) -> dict[str, Any]:
    """What a result records about how own data were read; with `image_dir`, a report finds the images again."""
    return {"kind": task.protocol.kind, "columns": dict(task.data.columns), "split": split}


def data_of_run(key: TaskKey, data: Mapping[str, Any]) -> datasets.Dataset:
    """The data of a result, by its setting `data`, with images; without the rows whose images are missing or bad."""
    source, options, task = data["source"], data.get("options") or {}, known_task(key.task)
    # Items that the run left out are not looked for.
    lenient: dict[str, Any] = {"skip_missing": True, "skip_bad": True}
    if task is None:
        names = {name: options[name] for name in ("columns", "split", "image_dir") if name in options}
        return load_own(downloaded(source), options["kind"], **names, config=data.get("config"), **lenient)
    if source == OFFICIAL:
        return prepared_dataset(key.dataset, task.data.config, split=key.split, options=options)
    folder = mini.release(key.dataset) if source == MINI else source
    return datasets_scripts.load_dataset(
        key.dataset, task.data.config, split=key.split, data_dir=folder, options=options, **lenient
    )


@dataclass(frozen=True)
class Rows:
    """The rows that a run asks about, read from the dataset in blocks, as a run may have millions."""

    dataset: datasets.Dataset
    cluster_of: Callable[[Row], str | None]
    """What a row shares with others, which is stored under the key `CLUSTER`."""

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.dataset)

    def blocks(self) -> Iterator[list[Row]]:
        """All rows, in lists of those that are asked together."""
        rows = ({**row, CLUSTER: self.cluster_of(row)} for row in read_rows(self.dataset))
        return iter(lambda: list(islice(rows, _ROWS_PER_BLOCK)), [])

    def texts(self) -> Iterator[Row]:
        """All rows without images and clusters."""
        return read_rows(self.dataset.remove_columns(_image_columns(self.dataset)))


@dataclass(frozen=True, slots=True)
class EncodedImage:
    """One image of a dataset in Arrow format, read only on demand, so that a list of rows contains no pixels."""

    table: datasets.Dataset
    column: str
    row: int
    number: int | None
    """Index within the row if the column contains several images."""

    def read(self) -> Mapping[str, Any]:
        """The encoded image as `{"bytes", "path"}`.

        Raises `BadImageError` for a path that a table's author wrote, or that became a link after it was checked.
        """
        encoded, builder, reason = self._encoded(), self.table.info.builder_name, ""
        path = encoded["path"] if encoded and not encoded["bytes"] else None
        if path and builder in _TABLES:
            reason = "a table may not choose which files are read; embed the images, or load it with load_own"
        elif path and builder in _CHECKED and os.path.realpath(path) != path:
            reason = "it became a link after the data were loaded; copy the file there"
        if reason:
            raise BadImageError(reason, path=path, row=self.row + 1)
        return encoded

    @property
    def path(self) -> str | None:
        """The path of the image in the dataset; None if images were not loaded."""
        encoded = self._encoded()
        return None if encoded is None else encoded["path"]

    def _encoded(self) -> Any:
        value = cells(self.table, self.column)(self.row).as_py()
        return value if self.number is None else value[self.number]


def undecoded_rows(dataset: datasets.Dataset, limit: int | None = None) -> list[Row]:
    """The first `limit` rows as plain dicts, images as `EncodedImage`; the backend decodes them and handles errors."""
    return list(read_rows(dataset, limit))


def read_rows(dataset: datasets.Dataset, limit: int | None = None) -> Iterator[dict[str, Any]]:
    """The rows of `undecoded_rows`, read in parts."""
    count = len(dataset) if limit is None else min(limit, len(dataset))
    # Read once, because each access copies them.
    features, columns = dataset.features, _image_columns(dataset)
    others, values = dataset.remove_columns(columns), {name: cells(dataset, name) for name in columns}
    for start in range(0, count, _ROWS_AT_ONCE):
        part = others.select(range(start, min(start + _ROWS_AT_ONCE, count))).to_list()
        for index, row in enumerate(part, start):
            for name in columns:
                row[name] = EncodedImage(dataset, name, index, None)
                if not isinstance(features[name], datasets.Image):
                    images = values[name](index)
                    size = len(images) if images.is_valid else 0
                    row[name] = [EncodedImage(dataset, name, index, number) for number in range(size)]
            yield row


def _image_columns(dataset: datasets.Dataset) -> list[str]:
    """The columns that contain images or lists of images, in any notation of the `datasets` versions."""
    inner = {
        name: feature[0] if isinstance(feature, list) else getattr(feature, "feature", feature)
        for name, feature in dataset.features.items()
    }
    return [name for name, feature in inner.items() if isinstance(feature, datasets.Image)]
