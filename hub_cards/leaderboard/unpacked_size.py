"""What a Parquet file takes once it is read, found without reading it whole: a small file can stand for any amount."""

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
    """Refuse a file whose columns take too much memory.

    The sizes that the file states are checked first. They may be wrong, and count a text that many rows share once. So
    the rows are then counted, with shared texts left shared.

    Args:
        path: The file.
        columns: Those that will be read; the others do not count.
        most: Bytes.

    Raises:
        BadResultsError: They take more, or the file cannot be read.
    """
    from pyarrow import ArrowException, parquet

    reason = f"it unpacks to more than {most:,} bytes; an entry's takes at most that"
    try:
        with parquet.ParquetFile(path) as file:
            every = map(file.schema.column, range(len(file.schema)))
            known = [column for column in every if column.path.split(".")[0] in columns]
            # Not of single columns: where the file is damaged, asking for these ends the process.
            groups = [file.metadata.row_group(group) for group in range(file.num_row_groups)]
            stated = sum(group.total_byte_size + _NUMBER_BYTES * len(known) * group.num_rows for group in groups)
            names = [name for name in file.schema_arrow.names if name in columns]
        for column in known:
            if column.physical_type == "FIXED_LEN_BYTE_ARRAY":
                raise BadResultsError(f"its column {column.path} holds texts of one length", path=path)
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
    """The bytes of a column's values, with each text as often as it is there."""
    from pyarrow import compute, types

    if types.is_dictionary(values.type):
        lengths = compute.binary_length(values.dictionary).take(values.indices)
        return (compute.sum(lengths).as_py() or 0) + _OFFSET_BYTES * len(values)
    if types.is_nested(values.type):
        parts = [values.keys, values.items] if types.is_map(values.type) else values.flatten()
        return sum(map(_size, parts if isinstance(parts, list) else [parts])) + _OFFSET_BYTES * len(values)
    return int(values.nbytes)
