"""Columns: checks of arguments, whose errors name the argument and the first invalid row; and items.

Items are the outcome of each row of a metric's input, as columns of plain Python values. Every metric consists of two
functions. The first reads the replies, with the help of a judge if there is one, and returns the items. It may be
called for some rows at a time, as replies arrive. The second computes all scores from these columns, the references and
the settings, so that scores can be recomputed from stored columns.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence, Sized
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.metrics.scoring.errors import InputError

FloatArray = NDArray[np.float64]
Items = dict[str, list[Any]]
"""Columns by name, as written."""
ItemColumns = Mapping[str, Sequence[Any]]
"""Columns by name, as read from any source."""


def select_rows(items: ItemColumns, rows: Sequence[int]) -> Items:
    """Some rows of every column."""
    return {name: [column[row] for row in rows] for name, column in items.items()}


def check_lengths(**columns: Sized) -> int:
    """Check that columns, by argument name, have the same length of at least 1, and return it."""
    names = list(columns)
    expected = len(columns[names[0]])
    for name in names[1:]:
        if len(columns[name]) != expected:
            raise InputError(
                f"{name} has {len(columns[name])} rows and {names[0]} has {expected}; "
                f"row {min(len(columns[name]), expected)} is the first without a partner"
            )
    if expected == 0:
        raise InputError(f"{names[0]} is empty; at least one row is needed")
    return expected


def check_numbers(argument: str, values: ArrayLike, columns: int | None = None) -> FloatArray:
    """Values as a float64 array of shape (n,), or (n, columns); all must be finite numbers."""
    shape = () if columns is None else (columns,)
    array = _as_floats(values)
    if array is not None and array.ndim and not len(array):
        return array.reshape(0, *shape)
    if array is None or not array.ndim or array.shape[1:] != shape:
        rows = values if isinstance(values, Sequence) else np.atleast_1d(np.asarray(values, dtype=object))
        misfits = (row for row, value in enumerate(map(_as_floats, rows)) if value is None or value.shape != shape)
        row = next(misfits, 0)
        kind = "one number" if columns is None else f"{columns} numbers"
        raise InputError(f"{argument} must contain {kind} per row; {argument}[{row}] is {rows[row]!r:.200}")
    finite = np.isfinite(array) if columns is None else np.isfinite(array).all(axis=1)
    if not finite.all():
        row = int(np.argmin(finite))
        raise InputError(f"{argument}[{row}] is {array[row].tolist()!r}; it must be finite")
    return array


def _as_floats(value: Any) -> FloatArray | None:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None


def check_opinions(argument: str, values: ArrayLike) -> FloatArray:
    """Opinion scores as `check_numbers` returns them; booleans and texts are errors too."""
    for row, value in enumerate(np.asarray(values, dtype=object).flat):
        if isinstance(value, bool | np.bool_ | str | bytes):
            raise InputError(f"{argument} must contain one number per row; {argument}[{row}] is {value!r:.200}")
    return check_numbers(argument, values)


def scaled(values: FloatArray) -> tuple[FloatArray, int]:
    """Values divided by a power of two, and its exponent, so that their sums and squares do not overflow or underflow.

    The scaled values are at most 1 in size; the division causes no rounding.
    """
    exponent = int(np.frexp(np.abs(values).max())[1])
    return np.ldexp(values, -exponent), exponent


def check_count(argument: str, value: object) -> None:
    """Check that a value is a whole number of at least 1."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InputError(f"{argument} is {value!r}; it must be a whole number of at least 1")


def check_groups(groups: Mapping[str, Sequence[Any]] | None, n: int) -> dict[str, list[str]]:
    """Groups, each a name with one value for each of n rows, as lists of strings."""
    if groups is None:
        return {}
    if not isinstance(groups, Mapping):
        raise InputError(f"groups must map each group name to a list with one value per row; it is {groups!r:.200}")
    for name, values in groups.items():
        if isinstance(values, str) or not hasattr(values, "__len__"):
            raise InputError(f"groups[{name!r}] must be a list with one value per row; it is {values!r}")
        check_lengths(predictions=range(n), **{f"groups[{name!r}]": values})
    return {str(name): list(map(str, values)) for name, values in groups.items()}


def check_member(argument: str, value: object, allowed: Sequence[str]) -> None:
    """Check that a value is one of those allowed."""
    if value in allowed:
        return
    near = get_close_matches(str(value), allowed, n=1)
    hint = f". Did you mean {near[0]!r}?" if near else ""
    raise InputError(f"{argument} is {value!r}; allowed: {', '.join(map(repr, allowed)) or 'none'}{hint}")


def rows_by_value(values: Sequence[str]) -> dict[str, list[int]]:
    """The row numbers of each distinct value, in order of first appearance."""
    rows: defaultdict[str, list[int]] = defaultdict(list)
    for row, value in enumerate(values):
        rows[value].append(row)
    return dict(rows)


def map_groups(
    groups: Mapping[str, Sequence[str]], compute: Callable[[str, list[int]], dict[str, Any]]
) -> dict[str, dict[str, dict[str, Any]]]:
    """Scores for each value of each group, under the keys that results use.

    `compute` is a function of a part's name, such as "concern=blur", and its row numbers.

    Examples:
        >>> map_groups({"type": ["what", "how", "what"]}, lambda part, rows: {"n": len(rows)})
        {'by_type': {'what': {'n': 2}, 'how': {'n': 1}}}
    """
    return {
        f"by_{name}": {value: compute(f"{name}={value}", rows) for value, rows in rows_by_value(values).items()}
        for name, values in groups.items()
    }
