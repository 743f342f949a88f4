"""The texts that a judge compares: which rows have something to compare with, and which have nothing to judge."""

import warnings
from collections.abc import Sequence

from eyechart.metrics.scoring.errors import InputError, LeftOutWarning
from eyechart.metrics.scoring.inputs import check_lengths


def check_texts(**columns: Sequence[str]) -> int:
    """Number of rows of columns of texts.

    Args:
        columns: Columns by argument name; the first one sets the length.

    Raises:
        InputError: The lengths differ, there are no rows, or a value is no string.

    Examples:
        >>> check_texts(predictions=["dark"], references=[""])
        1
    """
    n = check_lengths(**columns)
    for name, values in columns.items():
        for row, value in enumerate(values):
            if not isinstance(value, str):
                raise InputError(f'{name}[{row}] is {value!r}; it must be a string ("" if there is none)')
    return n


def rows_with_reference(references: Sequence[str]) -> list[int]:
    """Rows whose reference is not empty; the others have a private reference and cannot be scored.

    Args:
        references: Reference texts, "" where there is none.

    Returns:
        Row numbers, in order.

    Raises:
        InputError: No row has a reference.

    Warns:
        LeftOutWarning: Some rows have none.

    Examples:
        >>> rows_with_reference(["It is dark.", "A noisy picture."])
        [0, 1]
    """
    rows = [row for row, reference in enumerate(references) if reference.strip()]
    if not rows:
        raise InputError(f"all {len(references)} references are empty; without one there is nothing to judge by")
    if len(rows) < len(references):
        first = next(row for row, reference in enumerate(references) if not reference.strip())
        left_out = len(references) - len(rows)
        message = f"{left_out} of {len(references)} rows are left out: references[{first}] is empty, the first of them"
        warnings.warn(message, LeftOutWarning, stacklevel=5)
    return rows
