"""Reading a release in Parquet form: all annotations at once, image bytes one row group at a time."""

from dataclasses import dataclass
from itertools import product
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from eyechart.datasets_scripts.common.errors import BadAnnotationError, missing_column
from eyechart.datasets_scripts.common.files.image_cells import ImageCell, base64_problem, decode_base64, is_base64
from eyechart.datasets_scripts.common.files.readers import Row


@dataclass
class ParquetImages:
    """One image column of a Parquet file; keeps only the last row group, which is enough for rows in file order."""

    path: str
    column: str
    kept: tuple[int, Any] = (-1, None)


@dataclass(frozen=True)
class ParquetCell(ImageCell):
    """An encoded image in one row of a row group."""

    images: ParquetImages
    group: int
    index: int
    problem: str = ""

    def load(self) -> bytes:
        """Read the image, with its row group unless that was the last one read."""
        images = self.images
        if images.kept[0] != self.group:
            with pq.ParquetFile(images.path) as file:
                images.kept = self.group, file.read_row_group(self.group, columns=[images.column]).column(0)
        value = images.kept[1][self.index].as_py()
        encoded: bytes = value["bytes"] if isinstance(value, dict) else value
        return decode_base64(value) if isinstance(value, str) else encoded


def read_parquet_rows(path: str, required: list[str], image_columns: list[str]) -> list[Row]:
    """Read a Parquet file's rows, numbered from 1, with a `ParquetCell` (None for null) in each image column.

    Text in an image column is base64; a short one is returned unchanged. `BadAnnotationError` for any other file.
    """
    rows: list[dict[str, Any]] = []
    try:
        with pq.ParquetFile(path) as file:
            found = file.schema_arrow.names
            for name in [*required, *image_columns]:
                if name not in found:
                    raise BadAnnotationError(missing_column(name, found), path=path)
            images = {column: ParquetImages(path, column) for column in image_columns}
            for group in range(file.num_row_groups):
                part = file.read_row_group(group).to_pylist()
                for column, index in product(image_columns, range(len(part))):
                    part[index][column] = _cell(images[column], group, index, part[index][column])
                rows += part
    except (pa.ArrowException, OSError, TypeError) as error:
        reason = f"cannot be read as Parquet: {error}. Save or download the file again"
        raise BadAnnotationError(reason, path=path) from error
    return list(enumerate(rows, 1))


def _cell(images: ParquetImages, group: int, index: int, value: Any) -> ParquetCell | str | None:
    encoded = value.get("bytes") if isinstance(value, dict) else value
    if encoded is None or (isinstance(encoded, str) and not is_base64(encoded)):
        return encoded
    if not isinstance(encoded, bytes | str):
        raise TypeError(f"an image must be bytes or base64, found {encoded!r:.80}")
    return ParquetCell(images, group, index, base64_problem(encoded) if isinstance(encoded, str) else "")
