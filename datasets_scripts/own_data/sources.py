"""Opening your own data: a table, a folder or a dataset on the Hub, as rows with its own column names."""

import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

import datasets
import pyarrow as pa
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
        if suffix != ".parquet":
            return _open_text(path, split or "test", _DELIMITERS.get(suffix))
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
        is_device = os.path.exists(path)
        reason = "it is a pipe or a device; expected a regular file" if is_device else "the file does not exist"
        raise MissingFileError(reason, path=path)


def check_image_folder(folder: str | None) -> None:
    """Refuse a folder of images that does not exist, with a `MissingFileError`."""
    if folder is not None and not os.path.isdir(folder):
        raise MissingFileError("the folder of images does not exist (data: {images: ...} in a task file)", path=folder)


def _open_text(path: str, split: str, delimiter: str | None) -> OwnSource:
    """Open a table, or JSON Lines if there is no delimiter."""

    def read(images: Collection[str], _: Collection[str]) -> Iterator[Row]:
        if delimiter is None:
            return iterate_jsonl_rows(path)
        return iterate_table(path, (), delimiter=delimiter, image_columns=images)

    nested, unread = set[str](), ""
    if delimiter is None:
        columns: dict[str, None] = {}
        for number, raw in iterate_jsonl_rows(path):
            if ROW_ERROR in raw:
                unread = unread or f"; row {number}: {raw[ROW_ERROR]}"
            else:
                columns |= dict.fromkeys(raw)
                nested |= {name for name, value in raw.items() if isinstance(value, dict | list)}
    else:
        header = first_csv_fields(path, delimiter)
        check_header(path, header, ())
        columns = dict.fromkeys(header)
    groups = tuple(name for name in columns if name not in nested)
    return OwnSource(tuple(columns), groups, split, (os.path.dirname(path),), files_fingerprint([path]), read, unread)


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
        for name in image_columns:
            _check_images(name, features[name])
        plain = [name for name in dataset.column_names if name not in image_columns and name in (*groups, *further)]
        labels = [name for name in plain if isinstance(features[name], datasets.ClassLabel)]
        for start in range(0, len(dataset), BATCH):
            part = dataset.select(range(start, min(start + BATCH, len(dataset))))
            rows = part.select_columns(plain).to_list() if plain else [{} for _ in range(len(part))]
            for name in labels:
                for row in rows:
                    row[name] = None if row[name] is None else features[name].int2str(row[name])
            for name in image_columns:
                values = part.select_columns([name]).with_format("arrow")[:][name]
                for row, value in zip(rows, values, strict=True):
                    row[name] = _image_cell(value)
            yield from enumerate(rows, start + 1)

    in_cache = os.path.join(constants.HF_HUB_CACHE, f"datasets--{path.replace('/', '--')}")
    folder = path if os.path.isdir(path) else os.path.dirname(path) if os.path.isfile(path) else in_cache
    return OwnSource(tuple(dataset.column_names), groups, split, (folder,), fingerprint(dataset), read)


def _is_scalar(feature: Any) -> bool:
    is_value = isinstance(feature, datasets.Value) and feature.dtype not in ("binary", "large_binary", "null")
    return is_value or isinstance(feature, datasets.ClassLabel)


def _check_images(name: str, feature: Any) -> None:
    held = feature[0] if isinstance(feature, list) else getattr(feature, "feature", feature)
    # Without the metadata of `datasets`, a Parquet column of images is one of bytes and paths.
    encoded = held["bytes"] if isinstance(held, dict) and held.keys() == {"bytes", "path"} else held
    is_known = getattr(encoded, "dtype", "").removeprefix("large_") in ("binary", "string")
    if not is_known and not isinstance(held, datasets.Image):
        reason = f"column {name!r} must contain images (bytes, {{bytes, path}} or paths), found {feature}"
        raise BadAnnotationError(reason)


@dataclass(frozen=True)
class _ArrowCell(ImageCell):
    """An image in a memory-mapped Arrow file."""

    value: pa.Scalar

    def load(self) -> bytes:
        encoded: bytes = self.value.as_py()
        return encoded


def _image_cell(value: pa.Scalar) -> Any:
    """An image, or a list of images, whose bytes are not yet read; a text, or an image that is only a path, as text."""
    if isinstance(value, pa.ListScalar):
        return [_image_cell(item) for item in value.values or ()]
    if isinstance(value, pa.StructScalar) and value.is_valid:
        return _image_cell(value["bytes"]) or value["path"].as_py()
    if value.is_valid and (pa.types.is_binary(value.type) or pa.types.is_large_binary(value.type)):
        return _ArrowCell(value)
    return value.as_py()
