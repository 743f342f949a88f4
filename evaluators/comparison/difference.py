"""The result of a paired test on one score of two runs, with descriptions of tests and intervals."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from eyechart.evaluators.comparison.compared_score import ComparedScore
from eyechart.metrics.score_spec import Unit
from eyechart.metrics.scores import spec
from eyechart.metrics.scoring.statistics.intervals import KINDS, Interval

_BEYOND = " (Student's t if all resamples have the same sign)"

TESTS: Mapping[str, str] = {
    "McNemar, exact": "McNemar's exact test",
    "clustered": "cluster-robust t test, p never below McNemar's",
    "dyadic": "t test robust to shared images, p never below McNemar's",
    "paired bootstrap": "paired bootstrap" + _BEYOND,
    "paired bootstrap over images": "paired bootstrap over images" + _BEYOND,
    "paired bootstrap over pools": "paired bootstrap over pools" + _BEYOND,
    "swaps": "permutation test that swaps the models' scores on random items",
}
"""Descriptions of the tests of a difference."""
INTERVALS: Mapping[str, str] = {
    **{kind: KINDS[kind] for kind in ("paired", "paired-unread", "bootstrap", "none")},
    "student-clustered": "Student's t interval of a difference of means, from a cluster-robust variance",
    "student-dyadic": "Student's t interval of a difference of means, from a variance robust to shared images",
    "swaps": "from the 5 % bound of the permutation test",
    "constant": "no interval, as the difference is the same in all resamples, clusters or pairs, so its uncertainty "
    "cannot be estimated",
}
"""Descriptions of the kinds of 95 % intervals of a difference."""


@dataclass(frozen=True)
class Difference(ComparedScore):
    """One score of one task in two runs."""

    n: int
    """Items in both runs."""
    first: float = math.nan
    second: float = math.nan
    difference: float = math.nan
    """The first run's score minus the second's."""
    difference_ci95: tuple[float, float] = (math.nan, math.nan)
    """Its 95 % interval."""
    interval_kind: str = "none"
    """One of `INTERVALS`."""
    units: int = 0
    """Number of independent units that the interval is based on: items, clusters of items, images or pools."""
    n_unread: int = 0
    """Items that count as independent because neither run records what they share with others."""
    p_value: float = math.nan
    """Two-sided."""
    test: str = "none"
    """One of `TESTS`, or "none"; without a p-value, the test that would have been made."""
    only_first: tuple[str, ...] = ()
    """Items that are correct only in the first run."""
    only_second: tuple[str, ...] = ()
    p_holm: float = math.nan
    """The p-value, Holm-adjusted over all pairs of runs for this score of this task."""
    note: str = ""
    """Why the difference is undefined, or why a defined difference has neither test nor interval."""

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
        """This difference with an interval, in the unit of the score."""
        ends = (interval.low, interval.high)
        return replace(self, difference_ci95=ends, interval_kind=interval.kind, units=interval.units)


def signed(key: str, value: float) -> str:
    """A difference of two values of a score with its sign; a difference of percentages is in points.

    Examples:
        >>> signed("accuracy", 0.1333), signed("srcc", -0.012)
        ('+13.33 points', '-0.012')
    """
    shown = f"{'+' if value >= 0 else ''}{spec(key).shown(value)}"
    is_percentage = spec(key).unit in (Unit.FRACTION, Unit.PERCENT)
    return f"{shown.removesuffix(' %')} points" if is_percentage and math.isfinite(value) else shown


def shown_p(value: float) -> str:
    """A p-value in a table; "" if missing."""
    return "" if math.isnan(value) else "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def p_words(value: float) -> str:
    """A p-value in a sentence.

    Examples:
        >>> p_words(0.00001), p_words(0.048)
        ('p < 0.0001', 'p = 0.0480')
    """
    shown = shown_p(value)
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"
