"""Opening your own data: a table, a folder or a dataset on the Hub, as rows with its own column names."""

import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.compute as pc
from huggingface_hub import constants

from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError, UsageError, unknown_name
from eyechart.datasets_scripts.common.files.image_cells import ImageCell
from eyechart.datasets_scripts.common.files.readers import (
    ROW_ERROR,
    Row,
    check_header,
    first_csv_fields,
    iterate_jsonl_rows,
    iterate_table,
)
from eyechart.datasets_scripts.common.fingerprint import files_fingerprint
from eyechart.datasets_scripts.common.prepared import fingerprint, load_prepared

FILES = (".tsv", ".csv", ".jsonl", ".parquet")
"""Suffixes of the files that are read."""
_DELIMITERS = {".tsv": "\t", ".csv": ","}
BATCH = 1000
"""Rows in memory at once, of a dataset that is read and of one written without images; smaller batches are slower."""


@dataclass(frozen=True)
class OwnSource:
    """Opened data, before their rows are read."""

    columns: tuple[str, ...]
    """Names of all columns."""
    group_columns: tuple[str, ...]
    """The columns with at most one text, number or date per row."""
    split: str
    """Name of the split."""
    folders: tuple[str, ...]
    """The folder that contains the images, and to which their paths are relative."""
    fingerprint: str
    """Changes with the data."""
    read: Callable[[Collection[str], Collection[str]], Iterator[Row]]
    """Reads the rows one by one; takes the image columns and the other columns to read."""
    unread: str = ""
    """The first row that could not be read, for errors about missing columns."""


def open_source(path: str, config: str | None, split: str | None, cache_dir: str | None) -> OwnSource:
    """Open a file, a folder or a dataset on the Hub; the arguments are those of `load_own`.

    Raises:
        UsageError: Unknown configuration or split, or one must be named.
        DataError: The data are missing, or cannot be read.
    """
    suffix = _suffix(path)
    if is_file(path):
        if config is not None:
            raise UsageError(f"config {config!r} has no effect: {path} is a single file; leave config out")
        check_file(path)
        if suffix in _DELIMITERS:
            return _open_table(path, split or "test", _DELIMITERS[suffix])
        if suffix == ".jsonl":
            return _open_json_lines(path, split or "test")
    elif os.path.isfile(path):
        raise UsageError(f"{path}: unsupported file type; expected {', '.join(FILES)}")
    return _of_dataset(*_load(path, config, split, cache_dir), path)


def is_file(path: str) -> bool:
    """Whether a path is a single file, by its suffix, and so a single split."""
    return _suffix(path) in FILES and not os.path.isdir(path)


def _suffix(path: str) -> str:
    return os.path.splitext(path)[1].lower()


def check_file(path: str) -> None:
    """Refuse a path with a file's suffix that is missing or not a regular file, with a `MissingFileError`."""
    if is_file(path) and not os.path.isfile(path):
        reason = (
            "it is a pipe or a device; expected a regular file" if os.path.exists(path) else "the file does not exist"
        )
        raise MissingFileError(reason, path=path)


def check_image_folder(folder: str | None) -> None:
    """Refuse a folder of images that does not exist, with a `MissingFileError`."""
    if folder is not None and not os.path.isdir(folder):
        raise MissingFileError("the folder of images does not exist (data: {images: ...} in a task file)", path=folder)


def _open_table(path: str, split: str, delimiter: str) -> OwnSource:
    columns = tuple(first_csv_fields(path, delimiter))
    check_header(path, columns, ())
    folders, fingerprint = (os.path.dirname(path),), files_fingerprint([path])

    def read(images: Collection[str], _: Collection[str]) -> Iterator[Row]:
        return iterate_table(path, (), delimiter=delimiter, image_columns=images)

    return OwnSource(columns, columns, split, folders, fingerprint, read)


def _open_json_lines(path: str, split: str) -> OwnSource:
    columns: dict[str, None] = {}
    nested, broken, number = set[str](), "", 0
    for number, raw in iterate_jsonl_rows(path):
        columns |= dict.fromkeys(raw)
        nested |= {name for name, value in raw.items() if isinstance(value, (dict, list))}
        if ROW_ERROR in raw and not broken:
            broken = f"; row {number}: {raw[ROW_ERROR]}"
    if not number:
        raise BadAnnotationError("the file is empty; expected JSON Lines, one object per line", path=path)
    with open(path, encoding="utf-8-sig") as file:
        if file.read(1) == "[":
            reason = "the file is a JSON list; expected JSON Lines: one object per line, without commas between them"
            raise BadAnnotationError(reason, path=path)
    columns.pop(ROW_ERROR, None)
    groups = tuple(name for name in columns if name not in nested)
    folders, fingerprint = (os.path.dirname(path),), files_fingerprint([path])
    return OwnSource(tuple(columns), groups, split, folders, fingerprint, lambda *_: iterate_jsonl_rows(path), broken)


def _load(path: str, config: str | None, split: str | None, cache_dir: str | None) -> tuple[datasets.Dataset, str]:
    """The rows, and the name of their split."""
    saved = [name for name in ("state.json", "dataset_dict.json") if os.path.isfile(os.path.join(path, name))]
    try:
        if os.path.isfile(path):
            return load_prepared("parquet", None, "train", cache_dir, data_files=path), split or "test"
        found = datasets.load_from_disk(path) if saved else load_prepared(path, config, None, cache_dir)
    except BadAnnotationError:
        raise
    except (FileNotFoundError, ConnectionError) as error:
        reason = f"neither a file or folder here nor a dataset on the Hub: {error}"
        raise MissingFileError(reason, path=path) from error
    except ValueError as error:
        if isinstance(error, pa.ArrowInvalid):
            raise BadAnnotationError(f"cannot be read: {error}", path=path) from error
        raise UsageError(f"{path} cannot be loaded with config {config!r}: {error}") from error
    # Damaged data can raise errors of pyarrow, of pandas or of `datasets`.
    except Exception as error:
        # The message of `datasets` is generic; the cause has the details.
        cause = error.__cause__ or error
        raise BadAnnotationError(f"cannot be read: {type(cause).__name__}: {cause}", path=path) from error
    if isinstance(found, datasets.Dataset):
        return found, split or str(found.split or "test")
    if split is None:
        split = next(iter(found)) if len(found) == 1 else "test"
        if split not in found:
            how = "choose one with --split, or in the task file with data: {split: ...}"
            raise UsageError(f"{path} has several splits but no 'test': {', '.join(found)}; {how}")
    if split not in found:
        raise unknown_name("split", split, found, f"of {path}")
    return found[split], split


def _of_dataset(dataset: datasets.Dataset, split: str, path: str) -> OwnSource:
    features = dataset.features
    groups = tuple(name for name, feature in features.items() if _is_scalar(feature))
    # `datasets` reads whole row groups of Parquet files, and their memory stays with pyarrow.
    pa.default_memory_pool().release_unused()

    def read(image_columns: Collection[str], further: Collection[str]) -> Iterator[Row]:
        plain = [name for name in dataset.column_names if name not in image_columns and name in (*groups, *further)]
        labels = [name for name in plain if isinstance(features[name], datasets.ClassLabel)]
        for start in range(0, len(dataset), BATCH):
            part = dataset.select(range(start, min(start + BATCH, len(dataset))))
            rows = part.select_columns(plain).to_list() if plain else [{} for _ in range(len(part))]
            for name in labels:
                for row in rows:
                    row[name] = None if row[name] is None else features[name].int2str(row[name])
            for name in image_columns:
                for row, cell in zip(rows, _image_cells(part, name), strict=True):
                    row[name] = cell
            yield from enumerate(rows, start + 1)

    in_cache = os.path.join(constants.HF_HUB_CACHE, f"datasets--{path.replace('/', '--')}")
    folder = path if os.path.isdir(path) else os.path.dirname(path) if os.path.isfile(path) else in_cache
    return OwnSource(tuple(dataset.column_names), groups, split, (folder,), fingerprint(dataset), read)


def _is_scalar(feature: Any) -> bool:
    if isinstance(feature, datasets.ClassLabel):
        return True
    return isinstance(feature, datasets.Value) and feature.dtype not in ("binary", "large_binary", "null")


@dataclass(frozen=True)
class _DatasetCell(ImageCell):
    """The location of an image in a dataset in Arrow format."""

    table: datasets.Dataset
    column: str
    row: int
    place: int | None
    """Index within the row if the column has several images per row."""

    def load(self) -> bytes:
        """Read the image."""
        value = self.table[self.row][self.column][0].as_py()
        value = value if self.place is None else value[self.place]
        encoded: bytes = value if isinstance(value, bytes) else value["bytes"]
        return encoded


def _image_cells(dataset: datasets.Dataset, name: str) -> list[Any]:
    """A column's images as cells that read nothing yet; texts, and images that are only paths, as texts."""
    feature = dataset.features[name]
    inner = feature[0] if isinstance(feature, list) else getattr(feature, "feature", None)
    held = feature if inner is None else inner
    if isinstance(held, datasets.Value) and held.dtype in ("string", "large_string"):
        return list(dataset[name])
    # Without the metadata of `datasets`, a Parquet column of images is one of bytes and paths.
    has_paths = isinstance(held, datasets.Image) or (isinstance(held, dict) and held.keys() == {"bytes", "path"})
    encoded = held["bytes"] if isinstance(held, dict) and has_paths else held
    if not isinstance(held, datasets.Image) and "binary" not in str(getattr(encoded, "dtype", "")):
        reason = f"column {name!r} must contain images (bytes, {{bytes, path}} or paths), found {feature}"
        raise BadAnnotationError(reason)
    table = dataset.select_columns([name]).with_format("arrow")
    values = table[:][name]
    images = values if inner is None else pc.list_flatten(values)
    has_bytes = (pc.struct_field(images, "bytes") if has_paths else images).is_valid()
    paths = pc.struct_field(images, "path").to_pylist() if has_paths else [None] * len(images)
    flat = zip(has_bytes.to_pylist(), paths, strict=True)

    def cell(row: int, place: int | None) -> Any:
        is_embedded, path = next(flat)
        return _DatasetCell(table, name, row, place) if is_embedded else path

    if inner is None:
        return [cell(row, None) for row in range(len(values))]
    counts = pc.list_value_length(values).to_pylist()
    return [[cell(row, place) for place in range(count or 0)] for row, count in enumerate(counts)]
