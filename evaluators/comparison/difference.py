"""What a paired test says of one score of two runs, and the words for its test and its interval."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from eyechart.evaluators.comparison.compared_score import ComparedScore
from eyechart.metrics.scoring.statistics.intervals import KINDS, Interval

_BEYOND = ", and Student's t where all resamples agree on the sign"

TESTS: Mapping[str, str] = {
    "McNemar, exact": "McNemar's exact test",
    "clustered": "t test over clusters, never below McNemar's p",
    "dyadic": "t test robust to shared images, never below McNemar's p",
    "paired bootstrap": "paired bootstrap" + _BEYOND,
    "paired bootstrap over images": "paired bootstrap over images" + _BEYOND,
    "paired bootstrap over pools": "paired bootstrap over pools" + _BEYOND,
    "Williams": "Williams' test",
}
"""Tests of a difference, in words."""
INTERVALS: Mapping[str, str] = {
    **{kind: KINDS[kind] for kind in ("paired", "paired-unread", "bootstrap", "none")},
    "student-clustered": "Student's t interval of a difference of means, from a cluster-robust variance",
    "student-dyadic": "Student's t interval of a difference of means, from a variance that is robust to shared images",
    "constant": "no interval, as the difference is the same in all resamples, clusters or pairs, which says nothing of "
    "how sure it is",
}
"""Kinds of 95 % intervals of a difference, in words."""


@dataclass(frozen=True)
class Difference(ComparedScore):
    """One score of one task in two runs."""

    n: int
    """Items in both runs."""
    first: float = math.nan
    second: float = math.nan
    difference: float = math.nan
    """The first run's score less the second's."""
    interval: tuple[float, float] = (math.nan, math.nan)
    """95 % interval of the difference."""
    interval_kind: str = "none"
    """One of `INTERVALS`."""
    units: int = 0
    """Independent units behind the interval: items, clusters of items, images or pools."""
    n_unread: int = 0
    """Items of which neither run says what they share with others, so that they count as independent."""
    p_value: float = math.nan
    """Two-sided."""
    test: str = "none"
    """One of `TESTS`, or "none"; the one that would be made, where there is no p-value."""
    only_first: tuple[str, ...] = ()
    """Items that are correct only in the first run."""
    only_second: tuple[str, ...] = ()
    p_holm: float = math.nan
    """Corrected for all tests of the comparison."""
    note: str = ""
    """Why the difference is undefined, or why there is neither test nor interval of a known one."""

    @property
    def unit_words(self) -> str:
        """The units, such as "60 images"."""
        if self.test == "dyadic" or self.test.endswith("images"):
            kind = "images"
        elif self.test.endswith("pools"):
            kind = "pools"
        else:
            kind = "items" if self.units == self.n else "clusters"
        return f"{self.units:,} {kind}"

    @property
    def has_test(self) -> bool:
        """Whether there is a p-value."""
        return not math.isnan(self.p_value)

    def with_interval(self, interval: Interval) -> "Difference":
        """The same with an interval in its own unit."""
        return replace(self, interval=(interval.low, interval.high), interval_kind=interval.kind, units=interval.units)
