"""95 % intervals for the difference of two shares of the same items, for example answered with and without images.

Source: Bonett and Price, "Adjusted Wald Confidence Interval for a Difference of Binomial Proportions Based on Paired
Data" (Journal of Educational and Behavioral Statistics, 2012). One item is added to either kind of discordant items, so
that there is an interval even if all items have the same difference. Items of one cluster count as fewer, as in
`shares`.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from eyechart.metrics.scoring.inputs import FloatArray, check_lengths, check_numbers
from eyechart.metrics.scoring.statistics.intervals import NORMAL, Interval, student
from eyechart.metrics.scoring.statistics.shares import Clusters, clustered_variance


def paired_share_interval(first: ArrayLike, second: ArrayLike, clusters: Clusters | None = None) -> Interval:
    """Interval for the difference of two shares of the same items, first minus second.

    Args:
        first: Whether each item is correct in the first way of answering, shape (n,).
        second: Whether each item is correct in the second way, shape (n,).
        clusters: Which items belong together; None if they are independent.

    Returns:
        The interval, within [-1, 1].

    Raises:
        InputError: The lengths differ, or there are no items.

    Examples:
        >>> paired_share_interval([True] * 30 + [False] * 10, [True] * 20 + [False] * 20).rounded()
        (0.0934, 0.3828)
        >>> paired_share_interval([True] * 40, [True] * 40).rounded()
        (-0.066, 0.066)
    """
    one, other = check_numbers("first", first), check_numbers("second", second)
    n = check_lengths(first=one, second=other)
    clusters = clusters or Clusters.of(None, n)
    difference, n_clusters = one - other, clusters.n_clusters
    if n_clusters == n:
        return Interval(*_bonett_price(difference, n), "paired" if clusters.are_known else "paired-unread", n)
    by_cluster = Interval(*_bonett_price(difference, clusters.effective), "paired-by-cluster", n_clusters)
    independent = float(difference.var()) / n
    if n_clusters == 1 or not independent:
        return by_cluster
    variance, freedom = clustered_variance(difference, clusters.numbers)
    effective = n * independent / max(variance, independent)
    found = Interval(*_bonett_price(difference, effective, student(freedom + 1)), "paired-clustered", n_clusters)
    return min(found, by_cluster, key=lambda one: one.high - one.low)


def _bonett_price(difference: FloatArray, n: float, quantile: float = NORMAL) -> tuple[float, float]:
    gained, lost = ((n * float(np.mean(side)) + 1) / (n + 2) for side in (difference > 0, difference < 0))
    middle = gained - lost
    reach = quantile * math.sqrt((gained + lost - middle**2) / (n + 2))
    return max(-1.0, middle - reach), min(1.0, middle + reach)
