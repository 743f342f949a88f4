"""What a board shows: its columns, and the range in which each score can lie."""

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace
from typing import Any

Path = tuple[str, ...]
"""Keys, outermost first."""


@dataclass(frozen=True)
class Range:
    """Where a score can lie."""

    low: float
    high: float


FRACTION = Range(0.0, 1.0)
PERCENT = Range(0.0, 100.0)
CORRELATION = Range(-1.0, 1.0)
RATING = Range(0.0, 2.0)

RANGES: Mapping[str, Range] = {
    **dict.fromkeys(("accuracy", "random_guess", "yes", "no", "exact", "p0", "p1", "p2"), FRACTION),
    **dict.fromkeys(("circular_accuracy", "vanilla_accuracy", "circular", "vanilla"), FRACTION),
    **dict.fromkeys(("answer_rate", "answer_accuracy"), FRACTION),
    **dict.fromkeys(("score_cc", "score_rc", "score_sa"), PERCENT),
    **dict.fromkeys(("consistency", "accuracy_all", "accuracy_consistent"), FRACTION),
    **dict.fromkeys(("first_rate", "second_rate", "draw_rate"), FRACTION),
    **dict.fromkeys(("srcc", "plcc", "krcc", "plcc_fitted"), CORRELATION),
    **dict.fromkeys(("score", "mean"), RATING),
    "sum": Range(0.0, 6.0),
    "rmse_fitted": Range(0.0, float("inf")),
}
"""The range of a score by its key, wherever it stands; `<key>_ci95` is an interval in the same range."""
COUNTS = frozenset(
    {
        *("n", "n_questions", "n_vanilla", "n_passes", "n_pairs", "n_images", "n_consistent", "n_refused"),
        *("n_yes", "n_no", "n_pools", "dropped", "equal_quality", "forced_unmatched", "failed_rounds", "unscored"),
    }
)
"""Keys of whole numbers from 0 on, wherever they stand."""


@dataclass(frozen=True)
class Column:
    """One column of a board."""

    name: str
    """Unique in its board: in the address of the page, and in the papers' tables."""
    label: str
    """Its heading."""
    path: Path
    """Where in the scores its value stands."""
    interval: Path = ()
    """Where its 95 % interval stands; empty if there is none."""
    scale: int = 1
    """What the value is multiplied with to be shown; 100 makes percent."""
    digits: int = 3
    """Decimals shown."""
    unit: str = ""
    """What stands behind the heading: "%" or nothing."""
    part: str = ""
    """The breakdown it belongs to, such as "by type"; empty for scores of everything."""
    about: str = ""
    """What its heading stands for, where that is an abbreviation."""

    def shown(self, value: float) -> str:
        """The value as the page prints it."""
        return f"{value * self.scale:.{self.digits}f}"


def look_up(scores: Mapping[str, Any], path: Sequence[str]) -> Any:
    """What stands at a path; None where the path ends early."""
    found: Any = scores
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def percent(name: str, label: str, interval: str = "") -> Column:
    """A column for a fraction, shown in percent."""
    return Column(name, label, (name,), (interval,) if interval else (), scale=100, digits=2, unit="%")


def number(name: str, label: str, interval: str = "", digits: int = 3) -> Column:
    """A column for a score that is shown as it is."""
    return Column(name, label, (name,), (interval,) if interval else (), digits=digits)


def broken_down(column: Column, part: str, group: str, values: Mapping[str, str]) -> tuple[Column, ...]:
    """The column again for each value of a group.

    Args:
        column: The column over everything.
        part: What the breakdown is called.
        group: Key in the scores.
        values: The group's values with their headings.

    Returns:
        Columns named `<value>`, or `<value>.<column>` where the group is one of databases or several scores are shown.
    """
    return tuple(
        replace(
            column,
            name=f"{value}.{column.name}",
            label=label,
            path=(group, value, *column.path),
            interval=(group, value, *column.interval) if column.interval else (),
            part=part,
        )
        for value, label in values.items()
    )
