"""Reading the Parquet form of a release: annotations at once, image bytes one row group at a time."""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from eyechart.datasets_scripts.common.errors import BadAnnotationError
from eyechart.datasets_scripts.common.errors import unknown_name
from eyechart.datasets_scripts.common.readers import Row


@dataclass(frozen=True)
class ParquetCell:
    """Where an encoded image is; small, so that lists of rows stay small."""

    path: str
    """The Parquet file."""
    column: str
    """The image column."""
    group: int
    """Row group of the file."""
    index: int
    """Row within the group."""


def read_parquet_rows(path: str, required: list[str], image_columns: list[str]) -> list[Row]:
    """Read a Parquet file's rows, counted from 1, with a `ParquetCell` (or None, if null) in each image column.

    Raises:
        BadAnnotationError: Not a Parquet file, or a required column is missing.
    """
    try:
        with pq.ParquetFile(path) as file:
            found = file.schema_arrow.names
            for name in [*required, *image_columns]:
                if name not in found:
                    raise BadAnnotationError(f"a column is missing: {unknown_name('column', name, found)}", path=path)
            plain = [name for name in found if name not in image_columns]
            rows = []
            for group in range(file.num_row_groups):
                columns = file.read_row_group(group, columns=plain).to_pylist()
                for column in image_columns:
                    for index, present in enumerate(_present(file, group, column)):
                        columns[index][column] = ParquetCell(path, column, group, index) if present else None
                rows += columns
    except (pa.ArrowException, OSError) as error:
        raise BadAnnotationError(f"cannot be read as Parquet: {error}", path=path) from error
    return list(enumerate(rows, 1))


class ParquetCells:
    """Loads images from `ParquetCell`s, keeping the last row group, which is enough for rows in file order."""

    def __init__(self) -> None:
        """Start with nothing loaded."""
        self._key: tuple[str, str, int] | None = None
        self._column: pa.ChunkedArray | None = None

    def load(self, image: Any) -> Any:
        """Return the `{"bytes", "path"}` value of a cell; anything else is returned as it is."""
        if not isinstance(image, ParquetCell):
            return image
        key = (image.path, image.column, image.group)
        if self._column is None or key != self._key:
            with pq.ParquetFile(image.path) as file:
                self._column = file.read_row_group(image.group, columns=[image.column]).column(image.column)
            self._key = key
        return self._column[image.index].as_py()


def _present(file: pq.ParquetFile, group: int, column: str) -> list[bool]:
    """Tell for every row of a group whether its image holds bytes, without keeping them."""
    values = file.read_row_group(group, columns=[column]).column(column)
    if pa.types.is_struct(values.type) and "bytes" in [field.name for field in values.type]:
        values = pa.chunked_array([chunk.field("bytes") for chunk in values.chunks], type=pa.binary())
    return [bool(valid) for valid in values.is_valid().to_pylist()]
