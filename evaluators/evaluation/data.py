"""From what the user gave to the rows to evaluate: a release, a mini release, a named data set or a `Dataset`."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import datasets

from eyechart import datasets_scripts
from eyechart.datasets_scripts import mini
from eyechart.datasets_scripts.common.errors import UsageError, unknown_name
from eyechart.datasets_scripts.common.paths import check_not_empty
from eyechart.datasets_scripts.own_data import load_own
from eyechart.evaluators.requests.types import Row
from eyechart.evaluators.results.sources import GIVEN, MINI, OFFICIAL, is_mini_source
from eyechart.evaluators.tasks.task import Task

_MADE = ("id", "first_id", "second_id")
"""Columns that own data get where they lack them."""
_MINI = "mini"
"""What `data` says for synthetic data."""


@dataclass(frozen=True)
class LoadedData:
    """A data set and where it came from."""

    dataset: datasets.Dataset
    name: str
    """Name of the data set."""
    split: str
    source: str
    """The folder or data set id, "official release" if it was downloaded, "synthetic demo data", or "given" for a
    `Dataset` object."""
    left_out: list[dict[str, Any]] = field(default_factory=list)
    """What the loader left out."""
    config: str | None = None
    """Configuration of the data set."""
    options: dict[str, Any] = field(default_factory=dict)
    """Settings of the data set's own, those in force where none is given among them."""

    def with_dataset(self, dataset: datasets.Dataset) -> "LoadedData":
        """The same with another `Dataset`."""
        return replace(self, dataset=dataset)

    def describe(self) -> dict[str, Any]:
        """What a result says about its data."""
        return {
            "source": self.source,
            "config": self.config,
            "options": self.options,
            "rows": len(self.dataset),
            "is_mini": self.is_mini,
        }

    @property
    def is_mini(self) -> bool:
        """Whether the items are synthetic, as far as that can be told: a `Dataset` object does not say."""
        return is_mini_source(self.source) or mini.is_release(self.source)


def load_data(
    task: Task,
    data: str | datasets.Dataset | None = None,
    *,
    dataset: str | None = None,
    split: str | None = None,
    data_dir: str | Path | None = None,
    is_mini: bool = False,
    options: Mapping[str, Any] | None = None,
    skip_missing: bool = False,
    skip_bad: bool = False,
    images: Literal["load", "skip"] = "load",
) -> LoadedData:
    """Load what a task is to run on.

    Args:
        task: The task; its first data set and split are the defaults.
        data: A `Dataset` in the documented columns, the name of one of our data sets, or any data set id; "mini" for
            the mini release of `dataset`, "mini:NAME" for that of another of our data sets; None for `dataset`.
        dataset: One of the task's data sets where `data` is None, "mini" or the own task's, else the configuration of
            `data`.
        split: One of the task's splits where `data` is None or ours, else any split of `data`.
        data_dir: Folder that holds the release; None is the official one, downloaded where that is possible.
        is_mini: Use the synthetic demo data, as `data="mini"` does.
        options: Settings of the data set's own.
        skip_missing: Leave out rows whose image file is absent.
        skip_bad: Leave out rows whose annotation is malformed.
        images: "skip" reads annotations only, for precomputed predictions.

    Raises:
        UsageError: Unknown data set or split, a `data` that is neither a name nor a `Dataset`, an empty `data_dir`, or
            a folder and the mini release.
        DataError: The release cannot be read, or has to be got by hand.
    """
    check_not_empty("data_dir", data_dir)
    if isinstance(data, datasets.Dataset):
        return LoadedData(data, dataset or "own data", split or GIVEN, GIVEN)
    if data is not None and not isinstance(data, str):
        raise UsageError(f"data={type(data).__name__}: pass a datasets.Dataset, the name of a data set, or None.")
    check_not_empty("data", data)
    if isinstance(data, str) and (data == _MINI or data.startswith(f"{_MINI}:")):
        data, is_mini = data.removeprefix(_MINI).removeprefix(":") or None, True
    is_own = task.data.path is not None
    if is_mini and is_own:
        raise UsageError(f"'mini' has no effect, as there are no synthetic data of {task.name}; leave it out")
    if is_own and (data is None or data in task.data.datasets):
        _, split = task.choose_data(dataset, split, in_folder=data_dir is not None)
        return _load_own(task, split, data_dir, skip_missing=skip_missing, skip_bad=skip_bad, images=images)
    if is_mini and data_dir is not None:
        raise UsageError(f"the mini release and the folder {data_dir} are both asked for; leave out one")
    if is_mini and data is not None and data not in datasets_scripts.list_datasets():
        raise unknown_name("data set after 'mini:'", data, datasets_scripts.list_datasets())
    if data is not None and data not in datasets_scripts.list_datasets():
        split = split or task.data.default_split or "test"
        loaded = datasets.load_dataset(data, name=dataset, split=split)
        return LoadedData(loaded, dataset or data, split, data)
    name, config = (data, dataset or task.data.config) if data else (dataset, task.data.config)
    name, split = task.choose_data(name, split, in_folder=data_dir is not None)
    folder = mini.release(name) if is_mini else None if data_dir is None else Path(data_dir)
    options = dict(options or {})
    rows = datasets_scripts.load_dataset(
        name,
        config,
        split=split,
        data_dir=folder,
        options=options,
        skip_missing=skip_missing,
        skip_bad=skip_bad,
        images=images,
    )
    left_out = datasets_scripts.left_out(rows)
    options = datasets_scripts.options_in_force(name, config, options)
    source = MINI if is_mini else OFFICIAL if data_dir is None else _full_path(data_dir)
    return LoadedData(rows, name, str(rows.split), source, left_out, config, options)


@contextmanager
def without_progress_bars() -> Iterator[None]:
    """Load data without the bars of `datasets`, one for each data set."""
    were_on = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if were_on:
            datasets.enable_progress_bars()


def _full_path(given: str | Path) -> str:
    """The place of a file or folder, by which a report finds it from any other; the id of a data set as it is."""
    found = os.path.abspath(os.path.expanduser(given))
    return found if os.path.exists(found) else str(given)


def _load_own(
    task: Task,
    split: str | None,
    data_dir: str | Path | None,
    *,
    skip_missing: bool,
    skip_bad: bool,
    images: Literal["load", "skip"],
) -> LoadedData:
    own, path = task.data, _full_path(data_dir or task.data.path or "")
    rows = load_own(
        path,
        task.protocol.kind,
        columns=own.columns,
        config=own.config,
        split=split,
        needs=[name for name in (*task.protocol.columns, *task.groups, task.cluster) if name and name not in _MADE],
        needed_by=task.name,
        skip_missing=skip_missing,
        skip_bad=skip_bad,
        images=images,
    )
    left_out = datasets_scripts.left_out(rows)
    # With these a report finds the images again.
    options = {"kind": task.protocol.kind, "columns": dict(own.columns), "split": str(rows.split)}
    return LoadedData(rows, own.datasets[0], str(rows.split), path, left_out, own.config, options)


@dataclass(frozen=True)
class EncodedImage:
    """One image of a data set, read from it only when asked for, so that a list of rows holds no pixels."""

    table: datasets.Dataset
    """The data set in Arrow format, its images in one column of structs."""
    column: str
    row: int
    place: int | None
    """Index within the row where the column holds several images."""

    def read(self) -> Mapping[str, Any]:
        """The encoded image as `{"bytes", "path"}`."""
        value = self.table[self.row][self.column][0].as_py()
        return value if self.place is None else value[self.place]

    @property
    def path(self) -> str | None:
        """The path that the data set keeps of the image; None where images were not loaded."""
        encoded = self.read()
        return None if encoded is None else encoded["path"]


def undecoded_rows(dataset: datasets.Dataset, limit: int | None = None) -> list[Row]:
    """The rows as plain dicts, images as `EncodedImage`: decoding, with its errors, is the backend's.

    Args:
        dataset: The data.
        limit: Only the first N rows.
    """
    if limit is not None:
        dataset = dataset.select(range(min(limit, len(dataset))))
    single = [name for name, feature in dataset.features.items() if isinstance(feature, datasets.Image)]
    several = [name for name, feature in dataset.features.items() if _holds_images(feature)]
    rows = dataset.remove_columns([*single, *several]).to_list() if len(dataset) else []
    table = dataset.with_format("arrow")
    for index, row in enumerate(rows):
        for name in single:
            row[name] = EncodedImage(table, name, index, None)
        for name in several:
            images = table[index][name][0]
            count = len(images) if images.is_valid else 0
            row[name] = [EncodedImage(table, name, index, place) for place in range(count)]
    return rows


def _holds_images(feature: Any) -> bool:
    """Whether a column holds a list of images, in any of the ways in which `datasets` versions write that."""
    inner = feature[0] if isinstance(feature, list) else getattr(feature, "feature", None)
    return isinstance(inner, datasets.Image)
