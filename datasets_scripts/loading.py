"""The first two ways to load the data: `load_dataset`, and `register` for plain `datasets.load_dataset`.

`datasets` 4 and later refuses loading scripts by path, so the scripts' classes are built here directly. The cache
folder's name contains a hash of the loading code and of the source data, so that an edit of either is noticed.
"""

import importlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from importlib.util import find_spec
from itertools import product
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from eyechart.datasets_scripts.catalog import DATASETS, DatasetEntry, find_dataset
from eyechart.datasets_scripts.common.errors import MissingFileError, UsageError, unknown_name
from eyechart.datasets_scripts.common.fingerprint import source_fingerprint

if TYPE_CHECKING:
    import datasets

    from eyechart.datasets_scripts.common.builder import BenchmarkBuilder

DataFiles = str | Sequence[str] | Mapping[str, str | Sequence[str]]
Folder = str | PathLike[str]


def load_dataset(
    name: str,
    config: str | None = None,
    *,
    split: str | None = None,
    data_dir: Folder | None = None,
    data_files: DataFiles | None = None,
    streaming: bool = False,
    skip_missing: bool = False,
    skip_bad: bool = False,
    images: str = "load",
    options: Mapping[str, Any] | None = None,
    num_proc: int | None = None,
    cache_dir: Folder | None = None,
) -> "datasets.Dataset | datasets.DatasetDict | datasets.IterableDataset | datasets.IterableDatasetDict":
    """Load a split of a benchmark dataset, or a dict of all splits, with its own script, on any version of `datasets`.

    Args:
        name: A dataset, see `list_datasets`.
        config: A configuration of the dataset; its first one by default.
        split: A split such as "dev", a slice such as "test[:10]" or a sum such as "dev+test" (neither when streaming);
            all splits by default.
        data_dir: Folder of the unpacked release (or of synthetic demo data, see `mini.release`). Without it, the
            official files are downloaded if possible; otherwise the error says how to get them.
        data_files: Annotation files to use instead of those found in `data_dir`, optionally by split.
        streaming: Return an iterable dataset and write nothing to the cache.
        skip_missing: Leave out rows whose image file is missing instead of raising; see `left_out`.
        skip_bad: Leave out malformed rows instead of raising; see `left_out`.
        images: "load", or "skip" to load only the annotations, with an empty image column.
        options: Settings of this dataset by name, the fields of its configuration class.
        num_proc: Number of processes that write the dataset.
        cache_dir: Folder of prepared datasets; that of `datasets` by default.

    Raises:
        UsageError: Unknown dataset, configuration, split or value.
        DataError: A source file is missing or invalid; the message names the file and, if there is one, the row.
    """
    known = _builder_class(find_dataset(name)).SPLITS
    # The names in an expression such as "dev[:10]+test"; none means all.
    parts = [] if split is None or split == "all" else re.split(r"\+(?![^\[]*\])", str(split))
    wanted = [part.partition("[")[0].strip() for part in parts]
    for one in wanted:
        if one not in known:
            raise unknown_name("split", one, known)
    builder = load_builder(
        name,
        config,
        data_dir=data_dir,
        data_files=data_files,
        skip_missing=skip_missing,
        skip_bad=skip_bad,
        images=images,
        options=options,
        only_splits=wanted,
        cache_dir=cache_dir,
    )
    if streaming:
        streams = builder.as_streaming_dataset()
        if split is not None and split not in streams:
            raise UsageError(f"split {split!r} is a slice or a sum; when streaming, name one split")
        return streams if split is None else streams[split]
    builder.download_and_prepare(num_proc=num_proc)
    try:
        return builder.as_dataset(split=split)
    except ValueError as error:
        raise UsageError(f"split {split!r} cannot be loaded: {error}") from error


def load_builder(
    name: str,
    config: str | None = None,
    *,
    data_dir: Folder | None = None,
    data_files: DataFiles | None = None,
    skip_missing: bool = False,
    skip_bad: bool = False,
    images: str = "load",
    options: Mapping[str, Any] | None = None,
    only_splits: Sequence[str] = (),
    cache_dir: Folder | None = None,
) -> "BenchmarkBuilder":
    """Return a dataset's builder without loading anything.

    The arguments and errors are those of `load_dataset`; `only_splits` names the splits to prepare, all by default.
    """
    dataset = find_dataset(name)
    if config is not None and config not in dataset.configs:
        raise unknown_name(f"{name} config", config, dataset.configs)
    own = _own_options(dataset)
    for option in options or {}:
        if option not in own:
            raise unknown_name(f"{name} option", option, own)
    folder = None if data_dir is None else fspath(data_dir)
    from datasets import config as library

    # As `datasets` does later, but with an error that names the folder.
    cache = os.path.expanduser(fspath(cache_dir or library.HF_DATASETS_CACHE))
    try:
        os.makedirs(cache, exist_ok=True)
    except OSError as error:
        reason = f"the cache folder {cache} cannot be used: {error.strerror}; set cache_dir to another folder"
        raise UsageError(reason) from error
    try:
        return _builder_class(dataset)(
            config_name=config or dataset.configs[0],
            hash=_script_hash(dataset),
            base_path=folder,
            data_dir=folder,
            data_files=data_files,
            cache_dir=None if cache_dir is None else fspath(cache_dir),
            skip_missing=skip_missing,
            skip_bad=skip_bad,
            images=images,
            only_splits=tuple(only_splits),
            own_data_files=data_files is not None,
            **(options or {}),
        )
    except FileNotFoundError as error:
        raise MissingFileError(f"data_files of dataset {name!r}: {error}") from error


def prepared_dataset(
    name: str, config: str | None = None, *, split: str, options: Mapping[str, Any] | None = None
) -> "datasets.Dataset":
    """Load a split that `load_dataset` downloaded before, with its images; `MissingFileError` if it is not there."""
    for skip_missing, skip_bad in product((False, True), repeat=2):
        builder = load_builder(
            name, config, options=options, only_splits=[split], skip_missing=skip_missing, skip_bad=skip_bad
        )
        if os.path.isdir(builder.cache_dir):
            return builder.as_dataset(split=split)
    raise MissingFileError(f"the download of dataset {name!r} ({split}) is no longer in the cache")


def by_hand(
    name: str, config: str | None = None, *, options: Mapping[str, Any] | None = None, images: str = "load"
) -> str:
    """How to get what `load_dataset` cannot download, in numbered steps; "" if it needs no `data_dir`."""
    return load_builder(name, config, options=options, images=images).by_hand()


def options_in_force(name: str, config: str | None = None, options: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """All of a dataset's own settings by name, with the values that `load_dataset` uses for these arguments."""
    found = load_builder(name, config, options=options).config
    return {option: getattr(found, option) for option in _own_options(find_dataset(name))}


def register() -> None:
    """Register every dataset by name for plain `datasets.load_dataset`, in this process.

    ```python
    register()
    datasets.load_dataset("llvisionqa", data_dir="path/to/the/release", split="dev")
    ```

    Always set `data_dir`. Without `data_files`, `datasets` lists all of that folder at each call.
    """
    from eyechart.datasets_scripts.common.prepared import register_scripts

    register_scripts({name: (dataset.module, _script_hash(dataset)) for name, dataset in DATASETS.items()})


def _builder_class(dataset: DatasetEntry) -> type["BenchmarkBuilder"]:
    from eyechart.datasets_scripts.common.builder import BenchmarkBuilder

    values = vars(importlib.import_module(dataset.module)).values()
    classes = [value for value in values if isinstance(value, type) and issubclass(value, BenchmarkBuilder)]
    return next(cls for cls in classes if cls.__module__ == dataset.module)


def _own_options(dataset: DatasetEntry) -> list[str]:
    from eyechart.datasets_scripts.common.builder import BenchmarkConfig

    shared = {field.name for field in fields(BenchmarkConfig)}
    return [field.name for field in fields(_builder_class(dataset).BUILDER_CONFIG_CLASS) if field.name not in shared]


def _script_hash(dataset: DatasetEntry) -> str:
    specs = [find_spec(find_dataset(name).module) for name in (dataset.name, *dataset.builds_on)]
    return source_fingerprint(*(str(spec.origin) for spec in specs if spec))
