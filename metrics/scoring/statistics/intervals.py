"""95 % intervals of results: Wilson intervals of shares, bootstrap percentiles, intervals of means of scores."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from eyechart.metrics.scoring.inputs import FloatArray

LEVEL = 0.95
# Rounding errors make equal replicates differ by less than this.
_EQUAL = 1e-12
NORMAL = float(ndtri((1 + LEVEL) / 2))
FEW_UNITS = 20
"""With fewer units, bootstrap intervals are too narrow."""
KINDS: Mapping[str, str] = {
    "wilson": "Wilson score interval of a share, or of a mean between two ends, of independent items",
    "wilson-unread": "Wilson score interval; images were not read, so items that share an image count as independent",
    "wilson-clustered": "Wilson score interval with a variance that is robust to shared images or clusters (effective "
    "number of items)",
    "mean": "intervals of several scores, combined into an interval of their mean",
    "jackknife": "jackknife over items on Fisher's z, with Student's t",
    "jackknife-few": "jackknife over items on Fisher's z, with Student's t; a few items decide the correlation, so the "
    "interval is wide",
    "bootstrap": "percentile bootstrap over units, widened for small samples with Student's t",
    "none": f"no interval, as there are fewer than {FEW_UNITS} units, or the score or one of its parts does not vary",
}
"""Kinds of 95 % intervals: the name in results, and its explanation."""
PLAIN = ("wilson", "mean", "jackknife", "bootstrap")
"""Kinds in which items do not belong to clusters."""


@dataclass(frozen=True)
class Interval:
    """A 95 % interval."""

    low: float
    high: float
    """Both ends are nan if there is no interval."""
    kind: str
    """One of `KINDS`."""
    units: int
    """Number of independent units that it is computed from: items, clusters of items, or images."""

    @classmethod
    def undefined(cls, units: int) -> "Interval":
        """No interval."""
        return cls(math.nan, math.nan, "none", units)

    def scaled(self, factor: float) -> "Interval":
        """The interval in another unit of the score."""
        return replace(self, low=factor * self.low, high=factor * self.high)

    def described(self) -> dict[str, Any]:
        """Its kind and units, for results."""
        return {"kind": self.kind, "units": self.units}

    def rounded(self, digits: int = 4) -> tuple[float, float]:
        """Its ends, rounded."""
        return round(self.low, digits), round(self.high, digits)


def listed_intervals(found: Mapping[str, Interval]) -> dict[str, Any]:
    """The interval of each score in the form of results: `<name>_ci95`, and `intervals` with kinds and units."""
    return {
        **{f"{key}_ci95": [one.low, one.high] for key, one in found.items()},
        "intervals": {key: one.described() for key, one in found.items()},
    }


def wilson_interval(successes: int, n: int) -> tuple[float, float]:
    """95 % Wilson score interval of a share of n >= 1 answers.

    Examples:
        >>> [round(end, 4) for end in wilson_interval(8, 10)]
        [0.4902, 0.9433]
    """
    return wilson_of_share(successes / n, n)


def wilson_of_share(share: float, n: float, quantile: float = NORMAL) -> tuple[float, float]:
    """Wilson's interval of a share of n items; n above 0 may be an effective number of items, and the quantile of t."""
    # scipy.stats.binomtest takes whole numbers only.
    z = quantile
    shrinkage = 1 + z * z / n
    centre = (share + z * z / (2 * n)) / shrinkage
    half = z * math.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2) / shrinkage
    # Rounding would give about 1e-17 instead of an exact 0 or 1.
    return max(centre - half, 0.0) if share else 0.0, min(centre + half, 1.0) if share < 1 else 1.0


def percentile_interval(replicates: FloatArray, units: int) -> Interval:
    """Percentile interval of bootstrap replicates, without those that are nan (undefined resamples).

    The interval is widened with Student's t: each tail has a share Phi(-t sqrt(n / (n - 1))) of the replicates, which
    is less than 2.5 % (Hesterberg, "What Teachers Should Know About the Bootstrap", The American Statistician, 2015:
    the "expanded percentile interval").

    Examples:
        >>> percentile_interval(np.arange(1001.0), 40).rounded(1)
        (20.3, 979.7)
    """
    defined = replicates[~np.isnan(replicates)]
    if units < FEW_UNITS or not len(defined) or np.ptp(defined) < _EQUAL:
        return Interval.undefined(units)
    tail = float(ndtr(stdtrit(units - 1, (1 - LEVEL) / 2) * math.sqrt(units / (units - 1))))
    low, high = np.quantile(defined, [tail, 1 - tail])
    return Interval(float(low), float(high), "bootstrap", units)


def mean_interval(values: Sequence[float], intervals: Sequence[Interval]) -> Interval:
    """The interval of a mean of scores on different items, from the interval of each.

    It combines the distances of the scores from the ends of their intervals (Zou and Donner, Statistics in Medicine,
    2008, Eq. 6). Its units are the sum of all units.
    """
    units = sum(one.units for one in intervals)
    if any(math.isnan(one.low) for one in intervals):
        return Interval.undefined(units)
    mean = math.fsum(values) / len(values)
    # Both ends of a bootstrap interval may be on the same side of the score.
    below = math.hypot(*(max(value - one.low, 0) for value, one in zip(values, intervals, strict=True))) / len(values)
    above = math.hypot(*(max(one.high - value, 0) for value, one in zip(values, intervals, strict=True))) / len(values)
    return Interval(mean - below, mean + above, "mean", units)


def student(units: float) -> float:
    """The quantile of Student's t for 95 % intervals, with `units` - 1 degrees of freedom."""
    return float(stdtrit(units - 1, (1 + LEVEL) / 2))
