"""Checks of the texts that a judge compares, and rows without a reference."""

import warnings
from collections.abc import Sequence

from eyechart.metrics.scoring.errors import InputError, LeftOutWarning
from eyechart.metrics.scoring.inputs import check_lengths


def check_texts(**columns: Sequence[str]) -> int:
    """Check columns of texts and return their number of rows.

    Args:
        columns: Columns by argument name; the first one sets the length.

    Raises:
        InputError: The lengths differ, there are no rows, or a value is not a string.

    Examples:
        >>> check_texts(predictions=["dark"], references=[""])
        1
    """
    n = check_lengths(**columns)
    for name, values in columns.items():
        for row, value in enumerate(values):
            if not isinstance(value, str):
                raise InputError(f'{name}[{row}] is {value!r}; it must be a string (use "" for an empty text)')
    return n


def kept_rows(rounds: Sequence[object]) -> list[int]:
    """Rows with a reference, which a judge can score.

    Args:
        rounds: The item column `rounds`, None for rows with an empty (private) reference.

    Returns:
        Row numbers, in order.

    Raises:
        InputError: No row has a reference.

    Warns:
        LeftOutWarning: Some rows have no reference.

    Examples:
        >>> kept_rows([[[1, 1]], [[0, None]]])
        [0, 1]
    """
    rows = [row for row, scores in enumerate(rounds) if scores is not None]
    if not rows:
        raise InputError(f"all {len(rounds)} references are empty; a judge needs at least one reference")
    if len(rows) < len(rounds):
        first = next(row for row, scores in enumerate(rounds) if scores is None)
        left_out = len(rounds) - len(rows)
        message = f"{left_out} of {len(rounds)} rows are left out because their reference is empty"
        warnings.warn(f"{message}; the first is references[{first}]", LeftOutWarning, stacklevel=4)
    return rows
