"""The declaration of a score; the table of all declarations is in `scores`."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Unit(StrEnum):
    """The unit of a score."""

    FRACTION = "fraction"
    """From 0 to 1; shown as a percentage."""
    PERCENT = "percent"
    """From 0 to 100."""
    CORRELATION = "correlation"
    POINTS = "points"
    """On the protocol's own scale."""
    COUNT = "count"
    """A whole number of at least 0."""


@dataclass(frozen=True)
class ScoreSpec:
    """The declaration of one score that metrics return."""

    key: str
    label: str
    """Its name in tables."""
    modules: tuple[str, ...]
    """The metrics that return it."""
    unit: Unit = Unit.FRACTION
    low: float = 0.0
    high: float = 1.0
    higher_is_better: bool | None = True
    """None if neither direction is better."""
    has_interval: bool = False
    """Whether metrics return its 95 % interval, under `interval_key`."""
    no_interval: str = ""
    """Why it has no interval, if the printed table shows it."""
    chance: str | float | None = None
    """Its chance level, or the key of its chance level."""
    counts: tuple[str, ...] = ("n",)
    """Keys of the counts whose sum is the number of items that it is computed from."""
    headline: bool = False
    """Whether it is the one number that represents its metrics."""
    above_zero: bool = False
    """Whether the printed table shows it only if it is above 0, as for shares of unreadable replies."""
    in_table: bool = True
    """Whether the printed table shows it. A score within a mapping is shown for all items only, not by group."""
    range_key: str = ""
    """Key of its `[low, high]` in a metric's result, if each task declares its own."""
    part_of: str = ""
    """Key of the score that it is a part of; tables show it below that score."""
    of: tuple[str, ...] = ()
    """Columns of items by which two runs are compared on it: it is the mean of the column, the sum of their means, or
    a correlation of the column with `against`."""
    is_averaged: bool = False
    """Whether it is the mean, not the sum, of the means of several columns."""
    correlation: str = ""
    """"spearman" or "pearson", if two runs are compared on it as a correlation."""
    against: str = ""
    """The column of items with the human judgement."""
    images: tuple[str, ...] = ()
    """Columns of items with the images that items share; a correlation without `of` is one of images ranked from
    items."""

    @property
    def is_percentage(self) -> bool:
        """Whether it is shown as a percentage."""
        return self.unit in (Unit.FRACTION, Unit.PERCENT)

    @property
    def scale(self) -> int:
        """The factor that turns its value into the shown number."""
        return 100 if self.unit is Unit.FRACTION else 1

    @property
    def digits(self) -> int:
        """Decimals shown."""
        return 2 if self.is_percentage else 3

    @property
    def interval_key(self) -> str:
        """The key of its 95 % interval, which stands next to it."""
        return f"{self.key}_ci95"

    def value(self, scores: Mapping[str, Any]) -> Any:
        """Its value in a metric's result; None if it is missing."""
        return value_at(scores, self.key)

    def bounds(self, scores: Mapping[str, Any]) -> Any:
        """Its 95 % interval as `[low, high]`; None if it has none."""
        return value_at(scores, self.interval_key) if self.has_interval else None

    def limits(self, scores: Mapping[str, Any]) -> tuple[float, float]:
        """Its lowest and highest possible value."""
        low, high = value_at(scores, self.range_key) or (self.low, self.high)
        return low, high

    def chance_level(self, scores: Mapping[str, Any]) -> float | None:
        """Its chance level; None if that is not known."""
        return value_at(scores, self.chance) if isinstance(self.chance, str) else self.chance

    def n(self, scores: Mapping[str, Any]) -> int | None:
        """The number of items that it is computed from; None if a count is missing."""
        found = [value_at(scores, key) for key in self.counts]
        return None if not found or None in found else sum(found)

    def shown(self, value: float | None) -> str:
        """A value of this score as text.

        Examples:
            >>> from eyechart.metrics.scores import spec
            >>> spec("accuracy").shown(0.5), spec("score_sa").shown(50.0), spec("srcc").shown(float("nan"))
            ('50.00 %', '50.00 %', 'undefined')
        """
        if value is None:
            return ""
        if not math.isfinite(value):
            return "undefined"
        if self.unit is Unit.COUNT:
            return f"{value:,}"
        return f"{self.scale * value:.{self.digits}f}{' %' if self.is_percentage else ''}"

    def number(self, value: float | None) -> str:
        """The same without the sign of a percentage, for columns of numbers."""
        return self.shown(value).removesuffix(" %")


def value_at(scores: Mapping[str, Any], key: str) -> Any:
    """The value of a key, in which dots lead into nested mappings; None if there is no such value."""
    found: Any = scores
    for part in key.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found
