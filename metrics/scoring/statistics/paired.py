"""Paired tests of two models on the same items, the Holm adjustment over several tests, and rankings of models.

There is McNemar's test for correct and incorrect answers, Student's t for items in clusters, and a paired bootstrap for
SRCC and mean scores. The test of Pearson correlations is in `pearson`, that of pairs of images in `dyadic`.

Sources: McNemar, Psychometrika, 1947; Bonett and Price, "Adjusted Wald Confidence Interval for a Difference of Binomial
Proportions Based on Paired Data", Journal of Educational and Behavioral Statistics, 2012; Holm, Scandinavian Journal of
Statistics, 1979.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, stdtr
from scipy.stats import t as student_t

from eyechart.metrics.scoring.errors import UndefinedScoreError
from eyechart.metrics.scoring.inputs import FloatArray, check_lengths
from eyechart.metrics.scoring.statistics.intervals import FEW_UNITS, NORMAL, percentile_interval, student
from eyechart.metrics.scoring.statistics.shares import Clusters, cluster_sums, clustered_variance

SIGNIFICANCE = 0.05
"""A p-value below this shows a difference between two models."""


@dataclass(frozen=True)
class PairedTest:
    """A comparison of two models on the same n items."""

    difference: float
    """Score of the first model minus that of the second."""
    p_value: float
    """Two-sided."""
    n: int
    interval: tuple[float, float] = (math.nan, math.nan)
    """95 % interval of the difference; nan if the test gives none."""


def student_test(mean: float, deviation: float, n: int, units: float) -> PairedTest:
    """Student's t test of a mean difference from its standard deviation, with `units` - 1 degrees of freedom.

    If the deviation is 0, all units have the same difference: there is no interval, and the p-value is that of the sign
    test, 2 / 2^units.
    """
    if not deviation:
        return PairedTest(mean, 1.0 if mean == 0 else min(1.0, 2 * 0.5**units), n)
    margin = deviation * student(units)
    p_value = float(2 * student_t.sf(abs(mean) / deviation, units - 1))
    return PairedTest(mean, p_value, n, (mean - margin, mean + margin))


def mcnemar(first: ArrayLike, second: ArrayLike) -> PairedTest:
    """McNemar's exact test of correct answers, booleans of shape (n,); items on which the models agree do not count.

    Its interval is Bonett and Price's. It adds one item to either kind of discordant items, so that there is an
    interval even if all items have the same difference. Raises `InputError` for different lengths or no items.

    Examples:
        >>> found = mcnemar([True] * 9 + [False], [False] * 8 + [True, True])
        >>> round(found.p_value, 4), found.difference, [round(end, 4) for end in found.interval]
        (0.0391, 0.7, [0.1538, 1.0])
    """
    one, other = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    n = check_lengths(first=one, second=other)
    only_first, only_second = int(np.sum(one & ~other)), int(np.sum(other & ~one))
    p_value = float(_sign_test(only_first, only_second))
    gained, lost = (only_first + 1) / (n + 2), (only_second + 1) / (n + 2)
    middle = gained - lost
    reach = NORMAL * math.sqrt((gained + lost - middle**2) / (n + 2))
    interval = max(-1.0, middle - reach), min(1.0, middle + reach)
    return PairedTest((only_first - only_second) / n, p_value, n, interval)


def _sign_test(gained: ArrayLike, lost: ArrayLike) -> FloatArray:
    """The two-sided binomial test of equal chances; 1 for none of either."""
    fewer, both = np.minimum(gained, lost), np.add(gained, lost)
    return np.minimum(1.0, 2 * bdtr(fewer, both, 0.5))


def share_p_values(right: NDArray[np.bool_], clusters: Clusters) -> FloatArray:
    """The p-values of the differences between each two of k models' shares of correct items, `right` of shape (k, n).

    Shape (k, k), nan up to the diagonal. Items in clusters have Student's t, whose p-value is at least McNemar's.
    Raises `UndefinedScoreError` for few clusters.
    """
    (k, n), are_clustered = right.shape, clusters.n_clusters < right.shape[1]
    found = np.full((k, k), np.nan)
    if are_clustered:
        clusters.check_for_test()
        sums, others, freedom = cluster_sums(right, clusters.numbers)
    for row in range(k - 1):
        first, second = right[row], right[row + 1 :]
        gained, lost = np.sum(first & ~second, axis=1), np.sum(~first & second, axis=1)
        found[row, row + 1 :] = _sign_test(gained, lost)
        if are_clustered:
            variance = np.sum((sums[row] - sums[row + 1 :]) ** 2 / others, axis=1) / n**4
            mean, of_items = (gained - lost) / n, (gained + lost) / n
            deviation = np.sqrt(np.maximum(variance, (of_items - mean**2) / n))
            # As in `student_test`.
            equal = np.where(mean == 0, 1.0, min(1.0, 2 * 0.5 ** (freedom + 1)))
            t = np.abs(mean) / np.where(deviation > 0, deviation, 1.0)
            tested = np.where(deviation > 0, 2 * stdtr(freedom, -t), equal)
            found[row, row + 1 :] = np.maximum(found[row, row + 1 :], tested)
    return found


def clustered_mean_difference(first: ArrayLike, second: ArrayLike, clusters: Clusters) -> PairedTest:
    """The difference of two models' mean scores, shape (n,), over items that belong to clusters, by Student's t.

    The variance is never taken to be smaller than for independent items. Raises `UndefinedScoreError` for few clusters.
    """
    clusters.check_for_test()
    differences = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    n = len(differences)
    variance, freedom = clustered_variance(differences, clusters.numbers)
    deviation = math.sqrt(max(variance, float(differences.var()) / n))
    return student_test(float(differences.mean()), deviation, n, freedom + 1)


def paired_bootstrap(difference: float, replicates: FloatArray, units: int) -> PairedTest:
    """Paired bootstrap test from replicates of a difference, each computed for both models on the same resampled units.

    The p-value is twice the share of replicates on the rarer side of 0. If all replicates are on one side, the number
    of replicates limits it (to 0.002 with 1,000), and no Holm adjustment over many models could be significant. In this
    case it is the p-value of Student's t, from the mean and standard deviation of the replicates, if this is smaller.

    With fewer than `FEW_UNITS` units, p-value and interval are nan. Raises `UndefinedScoreError` if all replicates are.
    """
    defined = replicates[~np.isnan(replicates)]
    if not len(defined):
        raise UndefinedScoreError("the score is undefined on every resample")
    if units < FEW_UNITS:
        return PairedTest(difference, math.nan, units)
    interval = percentile_interval(defined, units)
    rarer = min(int(np.sum(defined <= 0)), int(np.sum(defined >= 0)))
    # One is added to the count and to the total.
    p_value = min(1.0, 2 * (rarer + 1) / (len(defined) + 1))
    # Equal replicates have no interval, and their standard deviation is not informative.
    if interval.kind == "bootstrap" and not rarer:
        distance = abs(float(defined.mean())) / float(defined.std())
        p_value = min(p_value, float(2 * student_t.sf(distance, units - 1)))
    return PairedTest(difference, p_value, units, (interval.low, interval.high))


def holm(p_values: ArrayLike) -> list[float]:
    """Holm-adjusted p-values, which control the probability of any false positive among all tests.

    Examples:
        >>> [round(value, 3) for value in holm([0.01, 0.04, 0.03, 0.005])]
        [0.03, 0.06, 0.06, 0.02]
    """
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1)))
    return adjusted.tolist()


def adjusted_pairs(p_values: FloatArray) -> FloatArray:
    """Holm-adjusted p-values of the difference between each two models, shape (k, k), symmetric; nan without a test.

    Only the given values above the diagonal are used.

    Examples:
        >>> adjusted_pairs(np.array([[0, 0.01, 0.03], [0, 0, np.nan], [0, 0, 0]])).tolist()
        [[nan, 0.02, 0.03], [0.02, nan, nan], [0.03, nan, nan]]
    """
    found = np.full_like(p_values, np.nan)
    rows, columns = np.nonzero(np.triu(~np.isnan(p_values), 1))
    found[rows, columns] = found[columns, rows] = holm(p_values[rows, columns])
    return found


def places(scores: ArrayLike, p_values: ArrayLike) -> list[int]:
    """The place of each model: one more than the number of significantly better models.

    Two models share a place unless a paired test shows a difference. Overlapping intervals cannot show that, because
    both models answered the same items (Schenker and Gentleman, The American Statistician, 2001). The `p_values` are
    from `adjusted_pairs`; nan counts as no difference.

    Examples:
        >>> p_values = [[1, 0.2, 0.01], [0.2, 1, 0.3], [0.01, 0.3, 1]]
        >>> places([0.8, 0.7, 0.6], p_values)
        [1, 1, 2]
    """
    values = np.asarray(scores, dtype=np.float64)
    better = (values[:, None] > values[None, :]) & (np.asarray(p_values, dtype=np.float64) < SIGNIFICANCE)
    return [1 + int(count) for count in better.sum(axis=0)]
