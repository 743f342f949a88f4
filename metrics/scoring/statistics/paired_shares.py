"""95 % intervals for the difference of two shares of the same items, for example answered with and without images.

Source: Bonett and Price, "Adjusted Wald Confidence Interval for a Difference of Binomial Proportions Based on Paired
Data" (Journal of Educational and Behavioral Statistics, 2012). One item is added to either kind of discordant items, so
that there is an interval even if all items have the same difference. Items of one cluster count as fewer, as in
`shares`.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from eyechart.metrics.scoring.inputs import check_lengths, check_numbers
from eyechart.metrics.scoring.statistics.intervals import NORMAL, Interval, student
from eyechart.metrics.scoring.statistics.shares import FEW_CLUSTERS, Clusters, clustered_variance


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
    effective, quantile = clusters.effective, NORMAL
    if n_clusters == n:
        kind = "paired" if clusters.are_known else "paired-unread"
    elif effective < FEW_CLUSTERS or not (variance := clustered_variance(difference, clusters.numbers)):
        kind = "paired-by-cluster"
    else:
        kind, quantile = "paired-clustered", student(effective)
        effective = float(difference.var()) / max(variance, float(difference.var()) / n)
    gained, lost = (
        (effective * float(np.mean(side)) + 1) / (effective + 2) for side in (difference > 0, difference < 0)
    )
    middle = gained - lost
    reach = quantile * math.sqrt((gained + lost - middle**2) / (effective + 2))
    return Interval(max(-1.0, middle - reach), min(1.0, middle + reach), kind, n_clusters)
