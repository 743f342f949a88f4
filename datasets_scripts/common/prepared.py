"""Prepared datasets in the cache of `datasets`: one whose files were damaged is removed, so that it is made again.

This is the only file that uses private names of `datasets` (checked with 3.6.0 and 5.2.0): no public ones tell where a
builder writes while it writes, where it downloads to, how a dataset in memory is identified and ordered, or add a
script by name.
"""

import contextlib
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import datasets
from filelock import FileLock

from eyechart.datasets_scripts.common.errors import BadAnnotationError
from eyechart.datasets_scripts.common.paths import is_image, open_regular, resolved_below
from eyechart.datasets_scripts.common.whole import write_whole

RECORD = "eyechart_files.json"
"""File next to the Arrow files with the size, times and SHA-256 of each."""


class PreparedBuilder(datasets.GeneratorBasedBuilder):
    """A builder that records the files that it prepares, and prepares them again if they were damaged."""

    @property
    def output_folder(self) -> str:
        """Folder of the prepared dataset; while it is written, that of the unfinished one."""
        return str(self._output_dir)

    @property
    def cache_folder(self) -> str:
        """Folder of all prepared datasets."""
        return str(self._cache_dir_root)

    @property
    def downloads_folder(self) -> str:
        """Folder of downloaded files."""
        return str(self._cache_downloaded_dir)

    def _build_cache_dir(self) -> str:
        folder: str = super()._build_cache_dir()
        remove_if_damaged(folder)
        return folder

    def _save_info(self) -> None:
        # The last step before the unfinished folder gets its name.
        super()._save_info()
        record_files(self.output_folder)


def fingerprint(dataset: datasets.Dataset) -> str:
    """Return a hash that changes with the rows of a dataset."""
    return str(dataset._fingerprint)


def cells(dataset: datasets.Dataset, name: str) -> Callable[[int], Any]:
    """Gives one value of a column in Arrow format, in a fifth of the time of `dataset[row]`, which makes a table."""
    column, places = dataset.data.column(name), dataset._indices
    order = None if places is None else places.column(0)
    return lambda row: column[row if order is None else order[row].as_py()]


def register_scripts(scripts: Mapping[str, tuple[str, str]]) -> None:
    """Let plain `datasets.load_dataset` find modules by name; every name has its module and a hash of the code."""
    datasets.packaged_modules._PACKAGED_DATASETS_MODULES.update(scripts)


def load_prepared(path: str, config: str | None, split: str | None, cache_dir: str | None = None, **files: Any) -> Any:
    """What `datasets.load_dataset` returns; files that were damaged in the cache are prepared again."""
    # The library reads its files as soon as it knows which they are. Another process may write into an incomplete one.
    for record in Path(cache_dir or datasets.config.HF_DATASETS_CACHE).expanduser().glob(f"*/*/*/*/{RECORD}"):
        if record.parent.suffix != ".incomplete":
            remove_if_damaged(str(record.parent))
    builder = datasets.load_dataset_builder(path, config, cache_dir=cache_dir, **files)
    for file in chain.from_iterable((builder.config.data_files or {}).values()):
        # The folder's README may name any file. Images have rows, which name them in errors.
        if not files and os.path.isdir(path) and not is_image(file) and not resolved_below(file, path):
            raise BadAnnotationError("a data file is outside of the dataset's folder; copy it there", path=file)
    builder.download_and_prepare()
    if not os.path.exists(os.path.join(builder.cache_dir, RECORD)):
        record_files(builder.cache_dir)
    return builder.as_dataset(split=split)


def record_files(folder: str) -> None:
    """Record the files of a prepared dataset, unless the folder is read-only."""
    # Results of `map` and `filter` come and go.
    names = [name for name in os.listdir(folder) if not name.startswith(("cache-", ".")) and name != RECORD]
    record = {name: [_state(folder, name), _digest(folder, name)] for name in names}
    with contextlib.suppress(OSError):
        write_whole(Path(folder, RECORD), json.dumps(record))


def remove_if_damaged(folder: str) -> None:
    """Remove a prepared dataset whose files are not those that were recorded."""
    if os.path.isdir(folder) and not _is_whole(folder):
        # Another process may be preparing it, or have prepared it in the meantime.
        with FileLock(f"{folder}_builder.lock"):
            if os.path.isdir(folder) and not _is_whole(folder):
                shutil.rmtree(folder)


def _is_whole(folder: str) -> bool:
    try:
        with open_regular(Path(folder, RECORD)) as file:
            record = json.load(file).items()
        # The times of a copy are others, its contents are not.
        return all(state == _state(folder, name) or digest == _digest(folder, name) for name, (state, digest) in record)
    except (OSError, ValueError, TypeError, AttributeError):
        return False


def _state(folder: str, name: str) -> list[int]:
    status = os.stat(os.path.join(folder, name))
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def _digest(folder: str, name: str) -> str:
    with open_regular(os.path.join(folder, name), sys.maxsize) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
