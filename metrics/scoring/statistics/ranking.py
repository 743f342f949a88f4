"""Rankings of models that answered the same items: places by paired tests, and probabilities of ranks.

Two models share a place unless a paired test shows a difference. Overlapping intervals cannot show that, because both
models answered the same items (Schenker and Gentleman, The American Statistician, 2001). The probability of a rank is
the share of bootstrap resamples in which a model has this rank.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from eyechart.metrics.scoring.inputs import FloatArray
from eyechart.metrics.scoring.statistics.bootstrap import RESAMPLES
from eyechart.metrics.scoring.statistics.resampling import resampled_counts
from eyechart.metrics.scoring.statistics.significance import holm

SIGNIFICANCE = 0.05
"""A p-value below this shows a difference between two models."""
_IndexArray = NDArray[np.int64]


def places(scores: ArrayLike, p_values: ArrayLike) -> list[int]:
    """The place of each model: one more than the number of significantly better models.

    Args:
        scores: Shape (k,), higher is better.
        p_values: Adjusted p-values of the difference between each two models, shape (k, k), symmetric; nan if there is
            no test, which counts as no difference.

    Examples:
        >>> p_values = [[1, 0.2, 0.01], [0.2, 1, 0.3], [0.01, 0.3, 1]]
        >>> places([0.8, 0.7, 0.6], p_values)
        [1, 1, 2]
    """
    values = np.asarray(scores, dtype=np.float64)
    better = (values[:, None] > values[None, :]) & (np.asarray(p_values, dtype=np.float64) < SIGNIFICANCE)
    return [1 + int(count) for count in better.sum(axis=0)]


def adjusted_pairs(p_values: FloatArray) -> FloatArray:
    """Holm-adjusted p-values of the difference between each two models.

    Args:
        p_values: Shape (k, k); only the values above the diagonal are used; nan if there is no test.

    Returns:
        Shape (k, k), symmetric; nan if there is no test, and on the diagonal.

    Examples:
        >>> adjusted_pairs(np.array([[0, 0.01, 0.03], [0, 0, np.nan], [0, 0, 0]])).tolist()
        [[nan, 0.02, 0.03], [0.02, nan, nan], [0.03, nan, nan]]
    """
    found = np.full_like(p_values, np.nan)
    rows, columns = np.nonzero(np.triu(~np.isnan(p_values), 1))
    if len(rows):
        found[rows, columns] = found[columns, rows] = holm(p_values[rows, columns])
    return found


def rank_probabilities(replicates: FloatArray) -> FloatArray:
    """How often each model has each rank. Models with equal scores in a resample share the better rank.

    Args:
        replicates: Bootstrap replicates of the models' scores, one column per resample, shape (k, resamples). Columns
            with nan are left out.

    Returns:
        Shape (k, k): row i and column r have the probability that model i has rank r + 1. Each row sums to 1; nan if no
        resample is defined.

    Examples:
        >>> rank_probabilities(np.array([[0.6, 0.7, 0.5, 0.9], [0.5, 0.6, 0.6, 0.8]])).tolist()
        [[0.75, 0.25], [0.25, 0.75]]
    """
    k = len(replicates)
    defined = replicates[:, ~np.isnan(replicates).any(axis=0)]
    if not defined.shape[1]:
        return np.full((k, k), np.nan)
    found = rankdata(-defined, method="min", axis=0)
    return np.stack([(found == rank).mean(axis=1) for rank in range(1, k + 1)], axis=1)


def share_replicates(
    values: FloatArray, clusters: _IndexArray, rng: np.random.Generator, resamples: int = RESAMPLES
) -> FloatArray:
    """Bootstrap replicates of several models' means over the same items; complete clusters are drawn.

    Args:
        values: Score of each model for each item, shape (k, n).
        clusters: Number of each item's cluster, counted from 0, shape (n,).
        rng: Random generator.
        resamples: Number of resamples.

    Returns:
        Shape (k, resamples).
    """
    sizes = np.bincount(clusters).astype(np.float64)
    sums = np.stack([np.bincount(clusters, weights=row) for row in values])
    return _weighted(lambda counts: (sums @ counts, float(sizes @ counts)), len(sizes), rng, resamples)


def dyadic_replicates(
    values: FloatArray, first: _IndexArray, second: _IndexArray, rng: np.random.Generator, resamples: int = RESAMPLES
) -> FloatArray:
    """Bootstrap replicates of several models' means over the same pairs of images; images are drawn.

    The weight of a pair is the product of the numbers of times that its two images were drawn.

    Args:
        values: Score of each model for each pair, shape (k, n).
        first: Number of each pair's first image, shape (n,).
        second: Number of each pair's second image, shape (n,).
        rng: Random generator.
        resamples: Number of resamples.

    Returns:
        Shape (k, resamples); nan if a resample contains no pair.
    """

    def score(counts: FloatArray) -> tuple[FloatArray, float]:
        weights = counts[first] * counts[second]
        return values @ weights, float(weights.sum())

    return _weighted(score, 1 + int(max(first.max(), second.max())), rng, resamples)


def _weighted(
    score: Callable[[FloatArray], tuple[FloatArray, float]], n: int, rng: np.random.Generator, resamples: int
) -> FloatArray:
    """Weighted sums divided by weights, one column for each resample of n units."""
    found = [score(counts) for counts in resampled_counts(n, rng, resamples)]
    return np.stack([above / below if below else np.full_like(above, np.nan) for above, below in found], axis=1)
