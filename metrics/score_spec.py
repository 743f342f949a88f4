"""What a declaration of a score says: `scores` holds the table of them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Unit(StrEnum):
    """What a number counts in."""

    FRACTION = "fraction"
    """From 0 to 1; shown in percent."""
    PERCENT = "percent"
    """From 0 to 100."""
    CORRELATION = "correlation"
    POINTS = "points"
    """Of a scale of the protocol's own."""
    COUNT = "count"
    """A whole number from 0 on."""


@dataclass(frozen=True)
class ScoreSpec:
    """One number that metrics return."""

    key: str
    label: str
    """What tables call it."""
    modules: tuple[str, ...]
    """The metrics that return it."""
    unit: Unit = Unit.FRACTION
    low: float = 0.0
    high: float = 1.0
    higher_is_better: bool | None = True
    """None where neither end is better."""
    interval: str | None = None
    """Key of its 95 % interval."""
    no_interval: str = ""
    """Why it has none, for one that the printed table shows."""
    chance: str | float | None = None
    """Its value for random answers, or the key of that value."""
    counts: tuple[str, ...] = ("n",)
    """Keys of the numbers of items that it is made of, which add up."""
    headline: bool = False
    """Whether it stands for its metrics where one number has to."""
    above_zero: bool = False
    """Whether the printed table shows it where it is not 0, as a fault is."""
    in_table: bool = True
    """Whether the printed table shows it; one within a mapping is shown for all items, not by group."""
    part_of: str = ""
    """Key of the score that it is a part of, below which it is shown."""

    def value(self, scores: Mapping[str, Any]) -> Any:
        """Its value in what a metric returned, None where it is not there."""
        return value_at(scores, self.key)

    def bounds(self, scores: Mapping[str, Any]) -> Any:
        """Its 95 % interval as `[low, high]`, None where there is none."""
        return None if self.interval is None else value_at(scores, self.interval)

    def chance_level(self, scores: Mapping[str, Any]) -> float | None:
        """Its value for random answers, None where that is not known."""
        return value_at(scores, self.chance) if isinstance(self.chance, str) else self.chance

    def n(self, scores: Mapping[str, Any]) -> int | None:
        """The number of items behind it, None where that is not there."""
        found = [value_at(scores, key) for key in self.counts]
        return None if not found or None in found else sum(found)

    def shown(self, value: float | None) -> str:
        """A value of it as text.

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
        if self.unit in (Unit.FRACTION, Unit.PERCENT):
            return f"{100 * value if self.unit is Unit.FRACTION else value:.2f} %"
        return f"{value:.3f}"


def value_at(scores: Mapping[str, Any], key: str) -> Any:
    """What stands at a key, with dots where that is within mappings; None where nothing does.

    Examples:
        >>> value_at({"yes_no": {"mean": 0.5}}, "yes_no.mean"), value_at({}, "yes_no.mean")
        (0.5, None)
    """
    found: Any = scores
    for part in key.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found
