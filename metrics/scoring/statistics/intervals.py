"""95 % intervals as results have them: Wilson's for shares, percentiles of bootstrap replicates for all else."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.inputs import FloatArray

LEVEL = 0.95
# Rounding leaves less than this between equal replicates.
_EQUAL = 1e-12
NORMAL = float(ndtri((1 + LEVEL) / 2))
FEW_UNITS = 20
"""With fewer units the bootstrap's intervals are too narrow."""
KINDS: Mapping[str, str] = {
    "wilson": "Wilson score interval of a share of independent items",
    "wilson-unread": "Wilson score interval; images were not read, so questions that share one count as independent",
    "wilson-clustered": "Wilson score interval at the effective number of items, from a cluster-robust variance",
    "wilson-by-cluster": "Wilson score interval in which the items of a cluster count as one, as clusters are few, or "
    "all have the same share",
    "dyadic": "Wilson score interval at the effective number of pairs, from a variance that is robust to shared images",
    "dyadic-by-image": "Wilson score interval in which two images count as one pair, as images are few, or those "
    "with a right or with a wrong answer are, or all pairs count alike",
    "paired": "Bonett and Price's interval of a difference of two shares of the same independent items",
    "paired-unread": "Bonett and Price's interval; images were not read, so questions that share one count as "
    "independent",
    "paired-clustered": "Bonett and Price's interval at the effective number of items, from a cluster-robust variance",
    "paired-by-cluster": "Bonett and Price's interval in which the items of a cluster count as one, as clusters "
    "are few, or all items differ alike",
    "mean": "intervals of several scores, combined into that of their mean",
    "bootstrap": "percentile bootstrap over units, its tails made smaller for few units by Student's t",
    "bootstrap-clustered": "percentile bootstrap over clusters of items, its tails made smaller for few clusters by "
    "Student's t",
    "bootstrap-unread": "percentile bootstrap over items; images were not read, so texts about the same one count as "
    "independent",
    "calibration": "bootstrap over units that bounds how much chance adds to a calibration error",
    "finite-population": "interval of the score on all items, from a random sample of them",
    "ranking": "no interval, as fewer pairs rank images less surely than all of them",
    "constant": "no interval, as all resamples give the same score, which says nothing of how sure it is",
    "constant-part": "no interval, as all resamples give the same score in one part of it, which says nothing of how "
    "sure that part is",
    "none": f"no interval, as there are fewer than {FEW_UNITS} units or the score is undefined",
}
"""Kinds of 95 % intervals, as results name them, in words."""
PLAIN = ("wilson", "paired", "mean", "bootstrap")
"""Kinds that allow for nothing that items have in common."""


@dataclass(frozen=True)
class Interval:
    """A 95 % interval.

    Attributes:
        low: Its lower end, nan where there is no interval.
        high: Its upper end.
        kind: One of `KINDS`.
        units: Number of independent units behind it: items, clusters of items, or images.
    """

    low: float
    high: float
    kind: str
    units: int

    @classmethod
    def undefined(cls, units: int) -> "Interval":
        """No interval, as there are too few units."""
        return cls(math.nan, math.nan, "none", units)

    def scaled(self, factor: float) -> "Interval":
        """The same in another unit."""
        return replace(self, low=factor * self.low, high=factor * self.high)

    def described(self) -> dict[str, Any]:
        """What it rests on, for results."""
        return {"kind": self.kind, "units": self.units}

    def rounded(self, digits: int = 4) -> tuple[float, float]:
        """Its ends, rounded."""
        return round(self.low, digits), round(self.high, digits)


def listed_intervals(found: Mapping[str, Interval]) -> dict[str, Any]:
    """Intervals as results have them.

    Args:
        found: The interval of each score, by the score's name.

    Returns:
        `<name>_ci95` of each, `[low, high]`; and `intervals`, each name to `kind`, one of `KINDS`, and `units`.

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
        successes: Number of right answers.
        n: Number of answers, at least 1.

    Returns:
        Low and high end, in [0, 1].

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
    """Wilson's interval of a share of n items, where n may be an effective number of them.

    Args:
        share: In [0, 1].
        n: Above 0.
        quantile: The normal distribution's, or Student's.

    Examples:
        >>> [round(end, 4) for end in wilson_of_share(0.8, 7.5)]
        [0.4444, 0.9524]
    """
    # Not scipy.stats.binomtest, which computes a p-value of no use here and takes a hundred times as long.
    z = quantile
    shrinkage = 1 + z * z / n
    centre = (share + z * z / (2 * n)) / shrinkage
    half = z * math.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2) / shrinkage
    # Rounding would leave about 1e-17 where the ends are exact.
    return max(centre - half, 0.0) if share else 0.0, min(centre + half, 1.0) if share < 1 else 1.0


def percentile_interval(replicates: FloatArray, units: int) -> Interval:
    """Percentile interval of bootstrap replicates; replicates that are nan (undefined resamples) are left out.

    The tails are those of Student's t in place of the normal distribution's: Phi(-t sqrt(n / (n - 1))) of the
    replicates on either side, which is less than 2.5 % (Hesterberg, "What Teachers Should Know About the Bootstrap",
    The American Statistician, 2015: the "expanded percentile interval").

    Args:
        replicates: Shape (resamples,).
        units: Number n of the units that were resampled.

    Returns:
        The interval; of the kind "none" where there are fewer than `FEW_UNITS` or no replicate is defined, and
        "constant" where all replicates are equal.

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

    The distances of the scores' own ends are combined (Zou and Donner, Statistics in Medicine, 2008, Eq. 6).

    Args:
        values: The scores, at least one.
        intervals: Of each.

    Returns:
        Of the kind "none" where one of them has no interval, "finite-population" where one of them is, else "mean". Its
        units are those of all together.

    Examples:
        >>> parts = Interval(0.5, 0.7, "bootstrap", 80), Interval(0.7, 0.9, "bootstrap", 60)
        >>> mean_interval([0.6, 0.8], parts).rounded(), mean_interval([0.6, 0.8], parts).units
        ((0.6293, 0.7707), 140)
    """
    units = sum(one.units for one in intervals)
    if any(math.isnan(one.low) for one in intervals):
        return Interval.undefined(units)
    mean = math.fsum(values) / len(values)
    # The ends of a bootstrap may both lie on one side of the score.
    below = math.hypot(*(max(value - one.low, 0) for value, one in zip(values, intervals, strict=True))) / len(values)
    above = math.hypot(*(max(one.high - value, 0) for value, one in zip(values, intervals, strict=True))) / len(values)
    is_of_samples = any(one.kind == "finite-population" for one in intervals)
    return Interval(mean - below, mean + above, "finite-population" if is_of_samples else "mean", units)


def finite_interval(
    interval: Interval, value: float, fraction: float, n: int | None = None, scale: float = 1.0
) -> Interval:
    """The interval of a score on all items, from that on a random sample of them.

    Args:
        interval: Of the score on the sample.
        value: The score on the sample.
        fraction: Share of all items that were drawn, below 1.
        n: Number of items drawn, for a share: Wilson's interval is then taken at n / (1 - fraction) items. Other
            intervals have their distances from the score multiplied by sqrt(1 - fraction).
        scale: The share's highest value, such as 100.

    Examples:
        >>> sampled = Interval(*wilson_interval(80, 100), "wilson", 100)
        >>> sampled.rounded(3), finite_interval(sampled, 0.8, 0.2, n=100).rounded(3)
        ((0.711, 0.867), (0.721, 0.861))
    """
    if n:
        low, high = (scale * end for end in wilson_of_share(value / scale, n / (1 - fraction)))
    else:
        shrinkage = math.sqrt(1 - fraction)
        low, high = value - shrinkage * (value - interval.low), value + shrinkage * (interval.high - value)
    return Interval(low, high, "finite-population", n or interval.units)


def student(units: float) -> float:
    """The quantile of Student's t for 95 % intervals, with one degree of freedom less than there are units.

    Examples:
        >>> round(student(61), 4)
        2.0003
    """
    return float(stdtrit(units - 1, (1 + LEVEL) / 2))
