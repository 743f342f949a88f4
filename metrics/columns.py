"""Columns of an `evaluate` module, checked before `evaluate` takes them.

`evaluate` (0.4.6) casts without a word: 1.5 to the whole number 1, "xy" to the options x and y, the error object of a
failed response to the text of an answer. Where it does refuse a value, it names neither the argument nor the row.
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
    """What a column may hold.

    Attributes:
        plain: Types whose values all fit, for a quick test that nearly every column passes.
        fits: Whether a value of another type fits.
        one: What a value is called in messages.
        several: What a row of values is called.
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
    # Tensors of one number have `item`; `evaluate` takes them too.
    return isinstance(value, Real) or hasattr(value, "item")


def _is_text_of(number: Callable[[str], object], text: str) -> bool:
    """Whether a text is a number, as in released score files ("2.82 "); its cast loses nothing."""
    try:
        number(text)
    except ValueError:
        return False
    return True


_TEXT = _Kind(frozenset({str}), lambda value: isinstance(value, str), 'a string ("" if there is none)', "strings")
# None is refused where it has no meaning by the scoring functions.
_NAME = _Kind(
    frozenset({str, int, type(None)}), lambda value: isinstance(value, str | Integral), "a string or a whole number", ""
)
_WHOLE = _Kind(frozenset({int}), _is_whole, "a whole number", "whole numbers")
_NUMBER = _Kind(frozenset({int, float}), _is_number, "a number", "numbers")

_KINDS = {"string": _TEXT, "large_string": _NAME, "int64": _WHOLE, "float64": _NUMBER}


def check_columns(columns: Mapping[str, Any], features: Mapping[str, Any]) -> dict[str, Sequence[Any]]:
    """Columns as lists, of equal length and of the kind that their features say.

    Args:
        columns: Columns by argument name: lists, arrays, tensors or columns of a data set.
        features: Feature of each column, from `datasets`: a value, or a sequence of values.

    Raises:
        InputError: A column is missing or no list, lengths differ, or a value would have to be cast; the message names
            the argument and the first offending row.

    Examples:
        >>> from datasets import Value
        >>> check_columns({"rotations": [0, 1]}, {"rotations": Value("int64")})
        {'rotations': [0, 1]}
    """
    listed = {name: _listed(name, columns.get(name)) for name in features}
    # A process, or the last batch of a run, may have no rows; that there are none at all is found when scores are made.
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
        raise InputError(f"{name} is missing; it must be a list with a value per row")
    if hasattr(column, "tolist"):
        column = column.tolist()
    if isinstance(column, str | bytes | Mapping) or not hasattr(column, "__len__"):
        raise InputError(f"{name} must be a list with a value per row; it is {column!r}")
    # A column of a data set reads its rows one by one unless it is sliced.
    return column if isinstance(column, list | tuple) else column[:]


def _check_values(name: str, column: Sequence[Any], kind: _Kind) -> None:
    if kind.plain.issuperset(map(type, column)):
        return
    for row, value in enumerate(column):
        if type(value) not in kind.plain and not kind.fits(value):
            raise InputError(f"{name}[{row}] is {value!r}; it must be {kind.one}")


def _check_rows(name: str, column: Sequence[Any], kind: _Kind) -> None:
    if {list}.issuperset(map(type, column)) and kind.plain.issuperset(map(type, chain.from_iterable(column))):
        return
    for row, values in enumerate(column):
        listed = hasattr(values, "__len__") and not isinstance(values, str | bytes | Mapping)
        if not listed or not all(type(value) in kind.plain or kind.fits(value) for value in values):
            raise InputError(f"{name}[{row}] is {values!r}; it must be a list of {kind.several}")


class CheckedColumns:
    """What a metric inherits from before `evaluate.Metric`, so that its columns are checked first.

    It is no `evaluate` module itself: `evaluate` takes the first one that it finds in a file for the metric.
    """

    # Set by `evaluate`.
    features: Mapping[str, Any]

    # `compute` goes through it as well. The arguments are those of `evaluate`, whose columns have any name.
    def add_batch(self, *, predictions: Any = None, references: Any = None, **columns: Any) -> None:
        """Add rows.

        Args:
            predictions: The column of this name.
            references: The column of this name.
            columns: The other columns.

        Raises:
            InputError: As for `check_columns`.
        """
        given = {"predictions": predictions, "references": references} | columns
        super().add_batch(**given | check_columns(given, self.features))  # type: ignore[misc]

    def add(self, *, prediction: Any = None, reference: Any = None, **values: Any) -> None:
        """Add one row.

        Args:
            prediction: Its value of `predictions`.
            reference: Its value of `references`.
            values: Its values of the other columns.

        Raises:
            InputError: As for `check_columns`.
        """
        row = {"predictions": prediction, "references": reference} | values
        self.add_batch(**{name: [value] for name, value in row.items()})
