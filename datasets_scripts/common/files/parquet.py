"""Reading a release in Parquet form: all annotations at once, image bytes one row group at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from eyechart.datasets_scripts.common.errors import BadAnnotationError, missing_column
from eyechart.datasets_scripts.common.files.base64_images import base64_problem, decode_base64, is_base64
from eyechart.datasets_scripts.common.files.image_cells import ImageCell
from eyechart.datasets_scripts.common.files.readers import Row


class ParquetImages:
    """One image column of a Parquet file; keeps only the last row group, which is enough for rows in file order."""

    def __init__(self, path: str, column: str) -> None:
        """Read nothing yet."""
        self._path = path
        self._column = column
        self._group: int | None = None
        self._values: pa.ChunkedArray | None = None

    def value(self, group: int, index: int) -> Any:
        """The bytes, base64 text or `{"bytes", "path"}` value in one row of a row group."""
        if self._values is None or group != self._group:
            with pq.ParquetFile(self._path) as file:
                self._values = file.read_row_group(group, columns=[self._column]).column(self._column)
            self._group = group
        return self._values[index].as_py()


@dataclass(frozen=True)
class ParquetCell(ImageCell):
    """Where an encoded image is in a Parquet file."""

    images: ParquetImages
    group: int
    """Row group of the file."""
    index: int
    """Row within the group."""
    problem: str = ""
    """Why the base64 text cannot be decoded; "" if it can, or if the cell is not base64."""

    def load(self) -> bytes:
        """Read the image, with its row group unless that was the last one read."""
        value = self.images.value(self.group, self.index)
        encoded: bytes = value["bytes"] if isinstance(value, dict) else value
        return decode_base64(value) if isinstance(value, str) else encoded


def read_parquet_rows(path: str, required: list[str], image_columns: list[str]) -> list[Row]:
    """Read a Parquet file's rows, numbered from 1, with a `ParquetCell` (None for null) in each image column.

    Text in an image column is base64; cells too short for an image are returned unchanged.

    Raises:
        BadAnnotationError: Not a Parquet file, a required column is missing, or an image column has no images.
    """
    try:
        with pq.ParquetFile(path) as file:
            found = file.schema_arrow.names
            for name in [*required, *image_columns]:
                if name not in found:
                    raise BadAnnotationError(missing_column(name, found), path=path)
            plain = [name for name in found if name not in image_columns]
            images = {column: ParquetImages(path, column) for column in image_columns}
            rows = []
            for group in range(file.num_row_groups):
                columns = file.read_row_group(group, columns=plain).to_pylist()
                for column in image_columns:
                    for index, cell in enumerate(_cells(file, path, group, column, images[column])):
                        columns[index][column] = cell
                rows += columns
    except (pa.ArrowException, OSError) as error:
        reason = f"cannot be read as Parquet: {error}. Save or download the file again"
        raise BadAnnotationError(reason, path=path) from error
    return list(enumerate(rows, 1))


def _cells(
    file: pq.ParquetFile, path: str, group: int, column: str, images: ParquetImages
) -> Iterator[ParquetCell | str | None]:
    """Locate the image of every row of a row group, without keeping the image."""
    values = file.read_row_group(group, columns=[column]).column(column)
    if pa.types.is_struct(values.type) and "bytes" in [field.name for field in values.type]:
        values = pa.chunked_array([chunk.field("bytes") for chunk in values.chunks], values.type.field("bytes").type)
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    is_text = values.type in (pa.string(), pa.large_string())
    # A column of only nulls has the type `null`.
    if not (is_text or values.type in (pa.binary(), pa.large_binary(), pa.null())):
        reason = f"column {column!r} must contain images as bytes or base64, found {values.type}"
        raise BadAnnotationError(reason, path=path)
    for index, value in enumerate(values):
        if not value.is_valid:
            yield None
        elif not is_text:
            yield ParquetCell(images, group, index)
        else:
            text = value.as_py()
            yield ParquetCell(images, group, index, base64_problem(text)) if is_base64(text) else text
