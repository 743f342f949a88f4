"""95 % intervals of means of numbers between two ends, such as a judge's scores from 0 to 2.

Near an end, a mean varies more in one direction than in the other, which a bootstrap with few items does not show. So
the mean is taken as a share of the way from the lower end to the upper one, and has Wilson's interval at the effective
number of items: the variance that answers right or wrong would have, divided by that of the numbers. The variance, the
degrees of freedom and the widest interval are those of `shares`.

Coverage by simulation: `docs/coverage.md`.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from eyechart.metrics.scoring.inputs import FloatArray, check_numbers
from eyechart.metrics.scoring.statistics.intervals import FEW_UNITS, Interval, student, wilson_of_share
from eyechart.metrics.scoring.statistics.shares import Clusters, clustered_variance, rare_freedom

# Rounding errors make equal sums of scores differ by less than this share of the scale.
_EQUAL = 1e-12


def bounded_mean_interval(values: ArrayLike, limits: tuple[float, float], clusters: Clusters | None = None) -> Interval:
    """Interval of a mean.

    Args:
        values: The number of each item, shape (n,), within the limits.
        limits: The lowest and the highest possible number.
        clusters: Which items belong together; None if they are independent.

    Returns:
        The interval, within the limits, of kind "bounded", "bounded-clustered" if items share a cluster, or
        "bounded-unread" if clusters are not known. It is of kind "none" with fewer than `FEW_UNITS` units, and of kind
        "constant" if all numbers are equal.

    Examples:
        >>> bounded_mean_interval([2.0] * 50 + [1.2] * 10, (0, 2)).rounded()
        (1.7578, 1.9286)
    """
    (low, high), numbers = limits, check_numbers("values", np.asarray(values, dtype=np.float64))
    clusters = clusters or Clusters(np.arange(len(numbers)))
    units = clusters.n_clusters
    if units < FEW_UNITS:
        return Interval.undefined(units)
    if np.ptp(numbers) < _EQUAL * (high - low):
        return Interval(math.nan, math.nan, "constant", units)
    kind = "bounded" if units == len(numbers) else "bounded-clustered"
    kind = kind if clusters.are_known else "bounded-unread"
    least, most = _wilson((numbers - low) / (high - low), clusters)
    return Interval(low + (high - low) * least, low + (high - low) * most, kind, units)


def _wilson(parts: FloatArray, clusters: Clusters) -> tuple[float, float]:
    share = float(parts.mean())
    variance, freedom = clustered_variance(parts, clusters.numbers)
    freedom = min(freedom, rare_freedom(parts, share, clusters))
    found = wilson_of_share(share, share * (1 - share) / variance, student(freedom + 1)) if variance else (0.0, 1.0)
    return min(found, wilson_of_share(share, clusters.effective), key=lambda ends: ends[1] - ends[0])
