"""Charts as data: what is drawn, said in words for those who do not see it, and put into numbers below it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from eyechart.evaluators.results.results_file import RESULTS_FILE

_SCATTERED = 500
"""Points of a scatter that are drawn; more would only be a blot, and make a page slow."""
_LABELLED = 40
"""Labels that can be read; drawing thousands would take minutes."""
CHANCE = "chance level"
WHISKERS = "Whiskers are 95 % intervals."
_SHAPES = {"dots": "Dot plot", "radar": "Radar chart", "bars": "Bar chart", "lines": "Line chart"}


@dataclass(frozen=True)
class Series:
    """One run's values along the labels of a chart, nan where undefined."""

    name: str
    values: tuple[float, ...]
    intervals: tuple[tuple[float, float] | None, ...] = ()
    """95 % intervals; empty where there are none."""
    stack: str = ""
    """Bars of one stack stand on each other; "" stands alone."""
    is_bound: bool = False
    """Whether it is a limit that is drawn apart."""


@dataclass(frozen=True)
class Chart:
    """Values of several runs along the same labels."""

    key: str
    """File name without ending, unique in a report."""
    kind: Literal["dots", "radar", "bars", "lines"]
    title: str
    """What it shows, without the task."""
    labels: tuple[str, ...]
    series: tuple[Series, ...]
    unit: str
    """What the values are, for the axis."""
    note: str = ""
    """What the reader has to know."""
    limits: tuple[float, float] | None = None
    """Range of the axis of values; None is that of the values."""
    label_axis: str = ""
    """What the labels are, for the axis of lines."""
    chance: tuple[float, ...] = ()
    """Chance level of each label, nan where it has none; empty where none has."""
    breaks: tuple[int, ...] = ()
    """Places of labels before which a group begins; dots leave a gap there."""
    is_extra: bool = False
    """Whether the page folds it."""

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
        """Head of the table of its numbers."""
        return [self.label_axis or "", *(series.name for series in self.series), *([CHANCE] if self.chance else [])]

    @property
    def rows(self) -> list[list[str]]:
        """The table of its numbers."""
        return [
            [
                label,
                *(_with_interval(series, place) for series in self.series),
                *(shown(level) for level in self.chance[place : place + 1]),
            ]
            for place, label in enumerate(self.labels)
        ]


@dataclass(frozen=True)
class Scatter:
    """Predicted against human quality, with the fitted logistic."""

    key: str
    title: str
    predicted: tuple[float, ...]
    human: tuple[float, ...]
    total: int
    """How many images there are; as many or fewer are drawn."""
    facts: tuple[tuple[str, str], ...]
    """Scores of the metric, by name."""
    curve: tuple[tuple[float, float], ...] = ()
    """Points of the logistic; empty where there is no fit."""
    note: str = ""
    is_extra: bool = False
    """Whether the page folds it."""
    kind: Literal["scatter"] = field(default="scatter", init=False)

    @property
    def description(self) -> str:
        """The chart in words."""
        facts = ", ".join(f"{name} {value}" for name, value in self.facts)
        drawn = f"{len(self.predicted)} of {self.total} images" if len(self.predicted) < self.total else "all images"
        fit = "with the fitted logistic" if self.curve else "without a fit"
        return f"Scatter plot of predicted against human quality, {drawn}, {fit}. {facts}."

    @property
    def columns(self) -> list[str]:
        """Head of the table of its numbers."""
        return ["", self.title]

    @property
    def rows(self) -> list[list[str]]:
        """The table of its numbers."""
        return [list(fact) for fact in self.facts]


def readable(chart: Chart) -> Chart:
    """The chart with no more labels than can be read, and a note of those that are not drawn."""
    count = len(chart.labels)
    if chart.kind == "lines" or count <= _LABELLED:
        return chart
    note = f"The first {_LABELLED} of {count:,} are drawn; all are in {RESULTS_FILE}."
    return replace(
        chart,
        labels=chart.labels[:_LABELLED],
        chance=chart.chance[:_LABELLED],
        series=tuple(
            replace(one, values=one.values[:_LABELLED], intervals=one.intervals[:_LABELLED]) for one in chart.series
        ),
        note=f"{note} {chart.note}".strip(),
    )


def evenly_spread(count: int) -> list[int]:
    """Places of the points of a scatter that are drawn, of those in order of their predicted quality.

    Examples:
        >>> evenly_spread(3)
        [0, 1, 2]
        >>> places = evenly_spread(10_000)
        >>> len(places), places[0], places[-1]
        (500, 0, 9999)
    """
    if count <= _SCATTERED:
        return list(range(count))
    return [round(place * (count - 1) / (_SCATTERED - 1)) for place in range(_SCATTERED)]


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
