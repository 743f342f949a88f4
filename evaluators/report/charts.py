"""Charts as data: what is drawn, its description in words for screen readers, and the table of its values."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

CHANCE = "chance level"
_SHAPES = {"dots": "Dot plot", "radar": "Radar chart", "lines": "Line chart"}


@dataclass(frozen=True)
class Series:
    """One run's values, one per label of the chart; nan if undefined."""

    name: str
    values: tuple[float, ...]
    intervals: tuple[tuple[float, float] | None, ...] = ()
    """95 % intervals; empty if missing."""
    is_bound: bool = False
    """Whether this is a bound, which is drawn without a colour of its own."""


@dataclass(frozen=True)
class Chart:
    """Values of several runs along the same labels."""

    key: str
    """File name without extension, unique in a report."""
    kind: Literal["dots", "radar", "lines"]
    title: str
    """The title, without the task."""
    labels: tuple[str, ...]
    series: tuple[Series, ...]
    unit: str
    """Label of the axis of values."""
    note: str = ""
    """Remark below the chart."""
    limits: tuple[float, float] | None = None
    """Range of the axis of values; None fits it to the values."""
    label_axis: str = ""
    """Label of the other axis; used in line charts."""
    chance: tuple[float, ...] = ()
    """Chance level of each label, nan if it has none; empty if no label has one."""
    breaks: tuple[int, ...] = ()
    """Indices of labels that begin a group; dot plots leave a gap there."""
    is_extra: bool = False
    """Whether the page shows it only under "More figures"."""

    @property
    def description(self) -> str:
        """The chart in words."""
        parts = [f"{_SHAPES[self.kind]} of {self.unit}."]
        for series in self.series:
            values = zip(self.labels, series.values, strict=True)
            parts.append(f"{series.name}: {', '.join(f'{label} {shown(value)}' for label, value in values)}.")
        return " ".join(parts)

    @property
    def columns(self) -> list[str]:
        """Head of the table of values."""
        return [self.label_axis, *(series.name for series in self.series), *([CHANCE] if self.chance else [])]

    @property
    def rows(self) -> list[list[str]]:
        """Rows of the table of values."""
        return [
            [
                label,
                *(_with_interval(series, place) for series in self.series),
                *("" if math.isnan(level) else shown(level) for level in self.chance[place : place + 1]),
            ]
            for place, label in enumerate(self.labels)
        ]


def shown(value: float) -> str:
    """A value with at most three decimals.

    Examples:
        >>> shown(0.5), shown(48.33333), shown(float("nan"))
        ('0.5', '48.333', 'undefined')
    """
    if math.isnan(value):
        return "undefined"
    return f"{value:.3f}".rstrip("0").rstrip(".") if abs(value) < 1e6 else f"{value:g}"


def one_line(text: str) -> str:
    r"""A text of unknown origin on one line, without control characters.

    Examples:
        >>> one_line("a\x07  b\n")
        'a b'
    """
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def finite(series: Sequence[Series]) -> list[float]:
    """All values that are defined."""
    return [value for one in series for value in one.values if math.isfinite(value)]


def _with_interval(series: Series, place: int) -> str:
    ends = series.intervals[place] if series.intervals else None
    value = shown(series.values[place])
    return value if ends is None else f"{value} ({shown(ends[0])} to {shown(ends[1])})"
