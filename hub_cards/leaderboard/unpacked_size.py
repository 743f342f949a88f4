"""The memory that a Parquet file needs, found without loading all of it: a small file can unpack to any size."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from eyechart.datasets_scripts.common.errors import BadResultsError

if TYPE_CHECKING:
    from pyarrow import Array

_ROWS = 4096
_OFFSET_BYTES = 4
_NUMBER_BYTES = 8


def check_unpacked_size(path: Path, columns: Sequence[str], most: int) -> None:
    """Refuse a file whose columns need too much memory.

    The sizes stated in the file are checked first. They may be wrong, and count a text shared by many rows only once.
    The actual sizes are therefore summed batch by batch, without unpacking shared texts.

    Args:
        path: The file.
        columns: The columns that will be read; others do not count.
        most: The limit in bytes.

    Raises:
        BadResultsError: The columns need more, or the file cannot be read.
    """
    from pyarrow import ArrowException, parquet

    reason = f"unpacks to more than {most:,} bytes, the limit for an entry"
    try:
        with parquet.ParquetFile(path) as file:
            every = map(file.schema.column, range(len(file.schema)))
            known = [column for column in every if column.path.split(".")[0] in columns]
            # Sizes of row groups, not of columns: for a damaged file, reading the latter crashes the process.
            groups = [file.metadata.row_group(group) for group in range(file.num_row_groups)]
            stated = sum(group.total_byte_size + _NUMBER_BYTES * len(known) * group.num_rows for group in groups)
            names = [name for name in file.schema_arrow.names if name in columns]
        for column in known:
            if column.physical_type == "FIXED_LEN_BYTE_ARRAY":
                raise BadResultsError(f"column {column.path} has fixed-length texts; expected strings", path=path)
        texts = [column.path for column in known if column.physical_type == "BYTE_ARRAY"]
        if stated > most:
            raise BadResultsError(reason, path=path)
        found = 0
        with parquet.ParquetFile(path, read_dictionary=texts) as file:
            for batch in file.iter_batches(_ROWS, columns=names, use_threads=False):
                found += sum(map(_size, batch.columns))
                if found > most:
                    raise BadResultsError(reason, path=path)
    except (ArrowException, OSError, ValueError, LookupError) as error:
        raise BadResultsError(f"cannot be read as predictions: {error}", path=path) from error


def _size(values: "Array") -> int:
    """The bytes of a column's values, counting each repeated text every time."""
    from pyarrow import compute, types

    if types.is_dictionary(values.type):
        lengths = compute.binary_length(values.dictionary).take(values.indices)
        return (compute.sum(lengths).as_py() or 0) + _OFFSET_BYTES * len(values)
    if types.is_nested(values.type):
        parts = [values.keys, values.items] if types.is_map(values.type) else values.flatten()
        return sum(map(_size, parts if isinstance(parts, list) else [parts])) + _OFFSET_BYTES * len(values)
    return int(values.nbytes)
