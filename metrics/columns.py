"""Checks of an `evaluate` module's columns, before `evaluate` receives them.

`evaluate` (0.4.6) casts silently: 1.5 to the whole number 1, "xy" to the options x and y, the error object of a failed
response to the text of an answer. When it rejects a value, it names neither the argument nor the row.
"""

from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.inputs import check_lengths


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool | np.bool_) and isinstance(float(value), float)


class _Kind(NamedTuple):
    one: str
    several: str
    plain: tuple[type, ...]
    """Types whose values are always allowed."""
    fits: Callable[[Any], bool] = lambda value: False
    """Whether another value is allowed; it may raise instead."""


_KINDS = {
    "string": _Kind('a string (use "" for an empty text)', "strings", (str,)),
    # The scoring functions reject None where it has no meaning.
    "large_string": _Kind("a string or a whole number", "", (str, Integral, type(None))),
    # Released score files have numbers as texts ("2.82 ").
    "int64": _Kind("a whole number", "", (int,), lambda value: int(value) == float(value)),
    "float64": _Kind("a number", "numbers", (float,), _is_number),
}


def check_columns(columns: Mapping[str, Any], features: Mapping[str, Any]) -> dict[str, Sequence[Any]]:
    """Check columns against their features, from `datasets`, and return them as lists.

    Raises `InputError` if a column is missing or is not a list, lengths differ, or a value would have to be cast.
    """
    listed = {name: _listed(name, columns.get(name)) for name in features}
    # A process, or the last batch of a run, may have no rows. `compute` checks that there are rows in total.
    if any(len(column) for column in listed.values()):
        check_lengths(**listed)
    for name, column in listed.items():
        inner = getattr(features[name], "feature", None)
        kind = _KINDS[(inner or features[name]).dtype]
        for row, value in enumerate(column):
            if inner is None and not _fits(kind, value):
                raise InputError(f"{name}[{row}] is {value!r:.200}; it must be {kind.one}")
            if inner is not None and not (_is_list(value) and all(_fits(kind, one) for one in value)):
                raise InputError(f"{name}[{row}] is {value!r:.200}; it must be a list of {kind.several}")
    return listed


def _listed(name: str, column: Any) -> Sequence[Any]:
    if hasattr(column, "tolist"):
        column = column.tolist()
    if not _is_list(column):
        raise InputError(f"{name} must be a list with one value per row; it is {column!r:.200}")
    # A dataset column that is not sliced reads its rows one by one.
    return column if isinstance(column, list | tuple) else column[:]


def _is_list(column: object) -> bool:
    return hasattr(column, "__len__") and not isinstance(column, str | bytes | Mapping)


def _fits(kind: _Kind, value: Any) -> bool:
    try:
        return isinstance(value, kind.plain) or kind.fits(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return False


class CheckedColumns:
    """Base class that a metric lists before `evaluate.Metric`, so that its columns are checked first.

    It is not an `evaluate` module itself, because `evaluate` uses the first module class that it finds in a file.
    """

    # Set by `evaluate`.
    features: Mapping[str, Any]
    num_process: int

    def compute(self, **arguments: Any) -> dict[str, Any] | None:
        """Compute the scores; see `evaluate.EvaluationModule.compute`.

        With several processes, `evaluate` gathers only the columns; other arguments must not have one value per row.
        """
        for name, value in arguments.items():
            is_per_row = _is_list(value) or isinstance(value, Mapping)
            if self.num_process > 1 and name not in self.features and is_per_row:
                gathered = ", ".join(self.features)
                raise InputError(f"{name} cannot be used with num_process > 1: only {gathered} are gathered")
        return super().compute(**arguments)  # type: ignore[misc]

    # `compute` calls this method too. The arguments are those of `evaluate`, whose columns may have any name.
    def add_batch(self, *, predictions: Any = None, references: Any = None, **columns: Any) -> None:
        """Add rows; raises InputError as `check_columns`."""
        given = {"predictions": predictions, "references": references} | columns
        super().add_batch(**given | check_columns(given, self.features))  # type: ignore[misc]

    def add(self, *, prediction: Any = None, reference: Any = None, **values: Any) -> None:
        """Add one row; raises InputError as `check_columns`."""
        row = {"predictions": prediction, "references": reference} | values
        self.add_batch(**{name: [value] for name, value in row.items()})
