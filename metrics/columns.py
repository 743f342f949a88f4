"""Checks of an `evaluate` module's columns, before `evaluate` receives them.

`evaluate` (0.4.6) casts silently: 1.5 to the whole number 1, "xy" to the options x and y, the error object of a failed
response to the text of an answer. When it rejects a value, it names neither the argument nor the row.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from numbers import Integral, Real
from typing import Any

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.inputs import check_lengths


@dataclass(frozen=True)
class _Kind:
    """What a column may contain.

    Attributes:
        plain: Types whose values are always allowed, for a quick test that nearly every column passes.
        fits: Whether a value of another type is allowed.
        one: Name of a value in messages.
        several: Name of a list of values in messages.
    """

    plain: frozenset[type]
    fits: Callable[[Any], bool]
    one: str
    several: str


def _is_whole(value: Any) -> bool:
    if isinstance(value, str):
        return _is_text_of(int, value)
    return isinstance(value, Integral) or (isinstance(value, Real) and float(value).is_integer())


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return _is_text_of(float, value)
    try:
        # Tensors of one number have `item`; `evaluate` takes them too.
        number = value.item() if hasattr(value, "item") else value
        return isinstance(number, Real) and not isinstance(number, bool) and isinstance(float(number), float)
    except (ValueError, RuntimeError, OverflowError):
        return False


def _is_text_of(number: Callable[[str], object], text: str) -> bool:
    """Whether a text is a number, as in released score files ("2.82 "), so that casting it loses nothing."""
    try:
        number(text)
    except ValueError:
        return False
    return True


_TEXT = _Kind(frozenset({str}), lambda value: isinstance(value, str), 'a string (use "" for an empty text)', "strings")
# The scoring functions reject None where it has no meaning.
_NAME = _Kind(
    frozenset({str, int, type(None)}), lambda value: isinstance(value, str | Integral), "a string or a whole number", ""
)
_WHOLE = _Kind(frozenset({int}), _is_whole, "a whole number", "whole numbers")
_NUMBER = _Kind(frozenset({float}), _is_number, "a number", "numbers")

_KINDS = {"string": _TEXT, "large_string": _NAME, "int64": _WHOLE, "float64": _NUMBER}


def check_columns(columns: Mapping[str, Any], features: Mapping[str, Any]) -> dict[str, Sequence[Any]]:
    """Check columns against their features and return them as lists.

    Args:
        columns: Columns by argument name: lists, arrays, tensors or columns of a dataset.
        features: Feature of each column, from `datasets`: a value, or a sequence of values.

    Returns:
        The columns, all of the same length.

    Raises:
        InputError: A column is missing or is not a list, lengths differ, or a value would have to be cast; the message
            names the argument and the first invalid row.

    Examples:
        >>> from datasets import Value
        >>> check_columns({"rotations": [0, 1]}, {"rotations": Value("int64")})
        {'rotations': [0, 1]}
    """
    listed = {name: _listed(name, columns.get(name)) for name in features}
    # A process, or the last batch of a run, may have no rows. `compute` checks that there are rows in total.
    if any(len(column) for column in listed.values()):
        check_lengths(**listed)
    for name, column in listed.items():
        values_of_row = getattr(features[name], "feature", None)
        if values_of_row is None:
            _check_values(name, column, _KINDS[features[name].dtype])
        else:
            _check_rows(name, column, _KINDS[values_of_row.dtype])
    return listed


def _listed(name: str, column: Any) -> Sequence[Any]:
    if column is None:
        raise InputError(f"{name} is missing; it must be a list with one value per row")
    if hasattr(column, "tolist"):
        column = column.tolist()
    if isinstance(column, str | bytes | Mapping) or not hasattr(column, "__len__"):
        raise InputError(f"{name} must be a list with one value per row; it is {column!r}")
    # A dataset column that is not sliced reads its rows one by one.
    return column if isinstance(column, list | tuple) else column[:]


def _check_values(name: str, column: Sequence[Any], kind: _Kind) -> None:
    if kind.plain.issuperset(map(type, column)):
        return
    for row, value in enumerate(column):
        if type(value) not in kind.plain and not kind.fits(value):
            raise InputError(f"{name}[{row}] is {value!r:.200}; it must be {kind.one}")


def _check_rows(name: str, column: Sequence[Any], kind: _Kind) -> None:
    if {list}.issuperset(map(type, column)) and kind.plain.issuperset(map(type, chain.from_iterable(column))):
        return
    for row, values in enumerate(column):
        listed = hasattr(values, "__len__") and not isinstance(values, str | bytes | Mapping)
        if not listed or not all(type(value) in kind.plain or kind.fits(value) for value in values):
            raise InputError(f"{name}[{row}] is {values!r}; it must be a list of {kind.several}")


class CheckedColumns:
    """Base class that a metric lists before `evaluate.Metric`, so that its columns are checked first.

    It is not an `evaluate` module itself, because `evaluate` uses the first module class that it finds in a file.
    """

    # Set by `evaluate`.
    features: Mapping[str, Any]

    # `compute` calls this method too. The arguments are those of `evaluate`, whose columns may have any name.
    def add_batch(self, *, predictions: Any = None, references: Any = None, **columns: Any) -> None:
        """Add rows.

        Args:
            predictions: The column `predictions`.
            references: The column `references`.
            columns: The other columns, by name.

        Raises:
            InputError: As for `check_columns`.
        """
        given = {"predictions": predictions, "references": references} | columns
        super().add_batch(**given | check_columns(given, self.features))  # type: ignore[misc]

    def add(self, *, prediction: Any = None, reference: Any = None, **values: Any) -> None:
        """Add one row.

        Args:
            prediction: The row's value of `predictions`.
            reference: The row's value of `references`.
            values: The row's values of the other columns, by name.

        Raises:
            InputError: As for `check_columns`.
        """
        row = {"predictions": prediction, "references": reference} | values
        self.add_batch(**{name: [value] for name, value in row.items()})
