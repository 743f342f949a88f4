"""What a board shows: its columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

Path = tuple[str, ...]
"""Keys, outermost first."""


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
