"""95 % intervals of results: Wilson intervals of shares, bootstrap percentiles, intervals of means of scores."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.inputs import FloatArray

LEVEL = 0.95
# Rounding errors make equal replicates differ by less than this.
_EQUAL = 1e-12
NORMAL = float(ndtri((1 + LEVEL) / 2))
FEW_UNITS = 20
"""With fewer units, bootstrap intervals are too narrow."""
KINDS: Mapping[str, str] = {
    "wilson": "Wilson score interval for a proportion of independent items",
    "wilson-unread": "Wilson score interval; images were not read, so questions that share an image count as "
    "independent",
    "wilson-clustered": "Wilson score interval with a cluster-robust variance (effective number of items)",
    "wilson-by-cluster": "Wilson score interval, each cluster counted as one item (few clusters, or few correct or "
    "incorrect answers)",
    "dyadic": "Wilson score interval with a variance that is robust to shared images (effective number of pairs)",
    "dyadic-by-image": "Wilson score interval, two images counted as one pair (few images, few correct or incorrect "
    "answers, or each image in one pair)",
    "paired": "Bonett and Price's interval for a difference of two proportions of the same independent items",
    "paired-unread": "Bonett and Price's interval; images were not read, so questions that share an image count as "
    "independent",
    "paired-clustered": "Bonett and Price's interval with a cluster-robust variance (effective number of items)",
    "paired-by-cluster": "Bonett and Price's interval, each cluster counted as one item (few clusters, or few "
    "differences)",
    "mean": "intervals of several scores, combined into an interval of their mean",
    "jackknife": "jackknife over items on Fisher's z, with Student's t",
    "jackknife-few": "jackknife over items on Fisher's z, with Student's t; a few items decide the correlation, so the "
    "interval is wide",
    "bootstrap": "percentile bootstrap over units, widened for small samples with Student's t",
    "bounded": "Wilson score interval of a mean between two ends (effective number of items)",
    "bounded-clustered": "Wilson score interval of a mean between two ends, with a cluster-robust variance (effective "
    "number of items)",
    "bounded-unread": "Wilson score interval of a mean between two ends; images were not read, so texts about the same "
    "image count as independent",
    "constant": "no interval, as the score is the same without any of the items",
    "constant-part": "no interval, as one of its parts has the same score on all items",
    "none": f"no interval, as there are fewer than {FEW_UNITS} units or the score is undefined",
}
"""Kinds of 95 % intervals: the name in results, and its explanation."""
PLAIN = ("wilson", "paired", "mean", "bounded", "jackknife", "bootstrap")
"""Kinds in which items do not belong to clusters."""


@dataclass(frozen=True)
class Interval:
    """A 95 % interval.

    Attributes:
        low: The lower end; nan if there is no interval.
        high: The upper end; nan if there is no interval.
        kind: One of `KINDS`.
        units: Number of independent units that it is computed from: items, clusters of items, or images.
    """

    low: float
    high: float
    kind: str
    units: int

    @classmethod
    def undefined(cls, units: int) -> "Interval":
        """No interval, because there are too few units."""
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
    """Intervals in the form of results.

    Args:
        found: The interval of each score, by the score's name.

    Returns:
        `<name>_ci95` for each score, `[low, high]`; and `intervals`, a dict from each name to `kind`, one of `KINDS`,
        and `units`.

    Examples:
        >>> listed_intervals({"accuracy": Interval(0.5, 0.75, "wilson", 40)})
        {'accuracy_ci95': [0.5, 0.75], 'intervals': {'accuracy': {'kind': 'wilson', 'units': 40}}}
    """
    return {
        **{f"{key}_ci95": [one.low, one.high] for key, one in found.items()},
        "intervals": {key: one.described() for key, one in found.items()},
    }


def wilson_interval(successes: int, n: int) -> tuple[float, float]:
    """95 % Wilson score interval of a share.

    Args:
        successes: Number of correct answers.
        n: Number of answers, at least 1.

    Returns:
        The lower and the upper end, in [0, 1].

    Raises:
        InputError: Not 0 <= successes <= n, or n < 1.

    Examples:
        >>> [round(end, 4) for end in wilson_interval(8, 10)]
        [0.4902, 0.9433]
    """
    if n < 1 or not 0 <= successes <= n:
        raise InputError(f"successes={successes}, n={n}; needed: 0 <= successes <= n and n >= 1")
    return wilson_of_share(successes / n, n)


def wilson_of_share(share: float, n: float, quantile: float = NORMAL) -> tuple[float, float]:
    """Wilson's interval of a share of n items; n may be an effective number of items.

    Args:
        share: The share, in [0, 1].
        n: Number of items, above 0.
        quantile: Quantile of the normal distribution, or of Student's t.

    Examples:
        >>> [round(end, 4) for end in wilson_of_share(0.8, 7.5)]
        [0.4444, 0.9524]
    """
    # scipy.stats.binomtest also computes a p-value, which is not needed and takes a hundred times as long.
    z = quantile
    shrinkage = 1 + z * z / n
    centre = (share + z * z / (2 * n)) / shrinkage
    half = z * math.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2) / shrinkage
    # Rounding would give about 1e-17 instead of an exact 0 or 1.
    return max(centre - half, 0.0) if share else 0.0, min(centre + half, 1.0) if share < 1 else 1.0


def percentile_interval(replicates: FloatArray, units: int) -> Interval:
    """Percentile interval of bootstrap replicates. Replicates that are nan (undefined resamples) are left out.

    The interval is widened with Student's t: each tail has a share Phi(-t sqrt(n / (n - 1))) of the replicates, which
    is less than 2.5 % (Hesterberg, "What Teachers Should Know About the Bootstrap", The American Statistician, 2015:
    the "expanded percentile interval").

    Args:
        replicates: Shape (resamples,).
        units: Number n of resampled units.

    Returns:
        The interval. It is of kind "none" if there are fewer than `FEW_UNITS` units or no replicate is defined, and of
        kind "constant" if all replicates are equal.

    Examples:
        >>> percentile_interval(np.arange(1001.0), 40).rounded(1), percentile_interval(np.arange(1001.0), 3).kind
        ((20.3, 979.7), 'none')
    """
    defined = replicates[~np.isnan(replicates)]
    if units < FEW_UNITS or not len(defined):
        return Interval.undefined(units)
    if np.ptp(defined) < _EQUAL:
        return replace(Interval.undefined(units), kind="constant")
    tail = float(ndtr(stdtrit(units - 1, (1 - LEVEL) / 2) * math.sqrt(units / (units - 1))))
    low, high = np.quantile(defined, [tail, 1 - tail])
    return Interval(float(low), float(high), "bootstrap", units)


def mean_interval(values: Sequence[float], intervals: Sequence[Interval]) -> Interval:
    """The interval of a mean of scores on different items.

    It combines the distances of the scores from the ends of their intervals (Zou and Donner, Statistics in Medicine,
    2008, Eq. 6).

    Args:
        values: The scores, at least one.
        intervals: The interval of each score.

    Returns:
        The interval. It is of kind "none" if a score has no interval, else of kind "mean". Its units are the sum of all
        units.

    Examples:
        >>> parts = Interval(0.5, 0.7, "bootstrap", 80), Interval(0.7, 0.9, "bootstrap", 60)
        >>> mean_interval([0.6, 0.8], parts).rounded(), mean_interval([0.6, 0.8], parts).units
        ((0.6293, 0.7707), 140)
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
    """The quantile of Student's t for 95 % intervals, with `units` - 1 degrees of freedom.

    Examples:
        >>> round(student(61), 4)
        2.0003
    """
    return float(stdtrit(units - 1, (1 + LEVEL) / 2))
