"""Opening data of one's own: a table, a folder or a data set on the Hub, as rows by its own column names."""

import datetime
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.compute as pc

from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError, UsageError, unknown_name
from eyechart.datasets_scripts.common.files.image_cells import ImageCell
from eyechart.datasets_scripts.common.files.readers import ROW_ERROR, Row, read_jsonl_rows
from eyechart.datasets_scripts.common.files.tsv import read_tsv_header, read_tsv_rows
from eyechart.datasets_scripts.common.fingerprint import files_fingerprint

FILES = (".tsv", ".csv", ".jsonl", ".parquet")
"""Endings of the files that are read."""
_DELIMITERS = {".tsv": b"\t", ".csv": b","}
_SCALARS = (str, int, float, datetime.date, datetime.time, type(None))


@dataclass(frozen=True)
class OwnSource:
    """Data that were found, before their rows are read."""

    columns: tuple[str, ...]
    """Names of all columns."""
    group_columns: tuple[str, ...]
    """Those of them that hold one text, number or date in each row, or nothing."""
    split: str
    """What the rows are called."""
    folders: tuple[str, ...]
    """The folder to which the paths of images are relative; none of the Hub."""
    fingerprint: str
    """Changes with the data."""
    read: Callable[[Collection[str], Collection[str]], list[Row]]
    """Reads the rows, given the columns of images and all further columns that are wanted."""
    unread: str = ""
    """Which row was the first that could not be read, for errors of columns that no other row has."""


def open_source(path: str, config: str | None, split: str | None, cache_dir: str | None) -> OwnSource:
    """Open a file, a folder or a data set on the Hub; the arguments are those of `load_own`.

    Raises:
        UsageError: Unknown configuration or split, or one is needed.
        DataError: It is not there, or cannot be read.
    """
    suffix = _suffix(path)
    if is_file(path):
        if config is not None:
            raise UsageError(f"config {config!r} has no effect: {path} is one file")
        check_file(path)
        if suffix in _DELIMITERS:
            return _open_table(path, split or "test", _DELIMITERS[suffix])
        if suffix == ".jsonl":
            return _open_json_lines(path, split or "test")
    elif os.path.isfile(path):
        raise UsageError(f"{path} ends in none of {', '.join(FILES)}")
    return _of_dataset(*_load(path, config, split, cache_dir), path)


def is_file(path: str) -> bool:
    """Whether a path names one file, by its ending, and so a single split."""
    return _suffix(path) in FILES and not os.path.isdir(path)


def _suffix(path: str) -> str:
    return os.path.splitext(path)[1].lower()


def check_file(path: str) -> None:
    """Refuse a path that names a file, by its ending, which is not there or no regular file.

    Raises:
        MissingFileError: It is not there, or a pipe or a device.
    """
    if is_file(path) and not os.path.isfile(path):
        reason = (
            "it is a pipe or a device; expected a regular file" if os.path.exists(path) else "the file is not there"
        )
        raise MissingFileError(reason, path=path)


def _open_table(path: str, split: str, delimiter: bytes) -> OwnSource:
    columns = tuple(read_tsv_header(path, delimiter))

    def read(image_columns: Collection[str], _: Collection[str]) -> list[Row]:
        return read_tsv_rows(path, (), image_columns, delimiter=delimiter)

    return OwnSource(columns, columns, split, (os.path.dirname(path),), files_fingerprint([path]), read)


def _open_json_lines(path: str, split: str) -> OwnSource:
    rows = read_jsonl_rows(path)
    if not rows:
        raise BadAnnotationError("the file is empty; expected JSON Lines, one object a line", path=path)
    with open(path, encoding="utf-8-sig") as file:
        if file.read(1) == "[":
            raise BadAnnotationError("holds a JSON list; expected JSON Lines: one object a line, no commas", path=path)
    columns = tuple(dict.fromkeys(name for _, raw in rows for name in raw if name != ROW_ERROR))
    groups = tuple(name for name in columns if all(isinstance(raw.get(name), _SCALARS) for _, raw in rows))
    broken = [f"; row {number}: {raw[ROW_ERROR]}" for number, raw in rows if ROW_ERROR in raw]
    folders, fingerprint = (os.path.dirname(path),), files_fingerprint([path])
    return OwnSource(columns, groups, split, folders, fingerprint, lambda *_: rows, "".join(broken[:1]))


def _load(path: str, config: str | None, split: str | None, cache_dir: str | None) -> tuple[datasets.Dataset, str]:
    """The rows, and what they are called."""
    saved = [name for name in ("state.json", "dataset_dict.json") if os.path.isfile(os.path.join(path, name))]
    try:
        if os.path.isfile(path):
            rows = datasets.load_dataset("parquet", data_files=path, split="train", cache_dir=cache_dir)
            return rows, split or "test"
        found = datasets.load_from_disk(path) if saved else datasets.load_dataset(path, config, cache_dir=cache_dir)
    except (FileNotFoundError, ConnectionError) as error:
        raise MissingFileError(f"no file, no folder and no data set on the Hub: {error}", path=path) from error
    except ValueError as error:
        if isinstance(error, pa.ArrowInvalid):
            raise BadAnnotationError(f"cannot be read: {error}", path=path) from error
        raise UsageError(f"{path} cannot be loaded with config {config!r}: {error}") from error
    # What is damaged comes as errors of pyarrow, of pandas or of `datasets`.
    except Exception as error:
        # `datasets` says only that there was an error, and which in its cause.
        reason = error.__cause__ or error
        raise BadAnnotationError(f"cannot be read: {type(reason).__name__}: {reason}", path=path) from error
    if isinstance(found, datasets.Dataset):
        return found, split or str(found.split or "test")
    if split is None:
        split = next(iter(found)) if len(found) == 1 else "test"
        if split not in found:
            how = "name one with --split, or in the task file as data: {split: ...}"
            raise UsageError(f"{path} has several splits, none of them called test: {', '.join(found)}; {how}")
    if split not in found:
        raise unknown_name(f"split of {path}", split, found)
    return found[split], split


def _of_dataset(dataset: datasets.Dataset, split: str, path: str) -> OwnSource:
    features = dataset.features
    groups = tuple(name for name, feature in features.items() if _is_scalar(feature))

    def read(image_columns: Collection[str], further: Collection[str]) -> list[Row]:
        plain = [name for name in dataset.column_names if name not in image_columns and name in (*groups, *further)]
        rows = dataset.select_columns(plain).to_list() if plain else [{} for _ in range(len(dataset))]
        for name, feature in features.items():
            if isinstance(feature, datasets.ClassLabel) and name in plain:
                for row in rows:
                    row[name] = None if row[name] is None else feature.int2str(row[name])
        for name in image_columns:
            for row, cell in zip(rows, _image_cells(dataset, name), strict=True):
                row[name] = cell
        return list(enumerate(rows, 1))

    folders = (path,) if os.path.isdir(path) else (os.path.dirname(path),) if os.path.isfile(path) else ()
    return OwnSource(tuple(dataset.column_names), groups, split, folders, dataset._fingerprint, read)


def _is_scalar(feature: Any) -> bool:
    if isinstance(feature, datasets.ClassLabel):
        return True
    return isinstance(feature, datasets.Value) and feature.dtype not in ("binary", "large_binary", "null")


@dataclass(frozen=True)
class _DatasetCell(ImageCell):
    """Where an image is in a data set in Arrow format."""

    table: datasets.Dataset
    column: str
    row: int
    place: int | None
    """Index within the row where the column holds several images."""

    def load(self) -> Any:
        """Read the image."""
        value = self.table[self.row][self.column][0].as_py()
        value = value if self.place is None else value[self.place]
        return {"bytes": value, "path": None} if isinstance(value, bytes) else value


def _image_cells(dataset: datasets.Dataset, name: str) -> list[Any]:
    """A column's images as cells that read nothing yet, its texts as they are."""
    feature = dataset.features[name]
    inner = feature[0] if isinstance(feature, list) else getattr(feature, "feature", None)
    held = feature if inner is None else inner
    if isinstance(held, datasets.Value) and held.dtype in ("string", "large_string"):
        return list(dataset[name])
    if not isinstance(held, datasets.Image) and not (isinstance(held, datasets.Value) and "binary" in held.dtype):
        raise BadAnnotationError(f"column {name!r} holds no images but {feature}")
    table = dataset.select_columns([name]).with_format("arrow")
    values = table[:][name]
    if inner is None:
        present = values.is_valid().to_pylist()
        return [_DatasetCell(table, name, row, None) if there else None for row, there in enumerate(present)]
    counts = pc.list_value_length(values).to_pylist()
    return [[_DatasetCell(table, name, row, place) for place in range(count or 0)] for row, count in enumerate(counts)]
