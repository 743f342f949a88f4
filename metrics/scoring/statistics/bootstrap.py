"""Bootstrap replicates of means, ratios and correlations over items.

The source of randomness is a NumPy Generator that the caller seeds and passes in.
"""

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.inputs import FloatArray, check_lengths, check_numbers, scaled
from eyechart.metrics.scoring.statistics.resampling import resampled_counts, score_resamples

IntArray = NDArray[np.int32]

RESAMPLES = 1000
# Products with about this many counts are too small for BLAS to start threads, which would wait longer than compute.
_PRODUCT = 1 << 15


def check_seed(seed: object, argument: str = "seed") -> None:
    """Check that a seed is valid for NumPy.

    Raises:
        InputError: It is not a whole number of at least 0.
    """
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise InputError(f"{argument} is {seed!r}; it must be a whole number of at least 0")


def part_generator(seed: int, part: str) -> np.random.Generator:
    """The random generator of one part of the data, so that its interval does not depend on the other parts.

    Args:
        seed: The common seed, at least 0.
        part: The part's name, such as "overall" or "concern=blur".

    Raises:
        InputError: `seed` is not a whole number of at least 0.
    """
    check_seed(seed)
    return np.random.default_rng([seed, zlib.crc32(part.encode())])


def bootstrap_ratios(
    numerators: ArrayLike, denominators: ArrayLike, rng: np.random.Generator, resamples: int = RESAMPLES
) -> FloatArray:
    """Bootstrap replicates of ratios of sums over items, all on the same resamples.

    Args:
        numerators: k numbers per item, shape (n, k).
        denominators: k non-negative numbers per item, shape (n, k).
        rng: Random generator.
        resamples: Number of resamples.

    Returns:
        Replicates, shape (resamples, k); nan if a resample's denominator is 0.

    Examples:
        >>> bootstrap_ratios([[3, 0], [3, 0]], [[2, 0], [2, 0]], np.random.default_rng(0), resamples=2).tolist()
        [[1.5, nan], [1.5, nan]]
    """
    above = np.asarray(numerators, dtype=np.float64)
    n = check_lengths(numerators=above, denominators=np.asarray(denominators))
    below = check_numbers("denominators", denominators, columns=above.shape[1])
    both = np.hstack([above, below])
    sums = np.array([np.einsum("i,ik", counts, both) for counts in resampled_counts(n, rng, resamples)])
    above, below = np.hsplit(sums, 2)
    return np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)


def bootstrap_correlations(
    predictions: ArrayLike,
    references: ArrayLike,
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
    ranking: ArrayLike | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Bootstrap replicates of SRCC and PLCC over items, both on the same resamples.

    A resample repeats item i c_i times, so its mid-ranks follow from the cumulative counts of the sorted distinct
    values, without sorting again.

    Args:
        predictions: Scores, shape (n,).
        references: Opinion scores, shape (n,).
        rng: Random generator.
        resamples: Number of resamples.
        ranking: Scores for SRCC, if its ties should differ from those of `predictions`.

    Returns:
        Replicates of SRCC and of PLCC, shape (resamples,) each; nan if a resample is constant.

    Examples:
        >>> s, p = bootstrap_correlations([1, 2, 3, 4], [2, 4, 6, 8], np.random.default_rng(0), resamples=5)
        >>> s.round(6).tolist(), p.round(6).tolist()
        ([1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0])
    """
    x, y = check_numbers("predictions", predictions), check_numbers("references", references)
    ranked = x if ranking is None else check_numbers("ranking", ranking)
    n = check_lengths(predictions=x, references=y, ranking=ranked)
    # With sorted items, the gathers below read memory in order.
    order = np.argsort(ranked, kind="stable")
    by_prediction, by_reference = _Ranking(ranked[order]), _Ranking(y[order])
    moments = _moments(x[order], y[order])

    def score(block: FloatArray) -> FloatArray:
        srcc = [_srcc(by_prediction.midranks(counts), by_reference.midranks(counts), counts) for counts in block]
        return np.stack([srcc, _weighted_plcc(moments, block)])

    found = score_resamples(score, n, rng, resamples)
    return found[0], found[1]


def bootstrap_srcc_columns(
    columns: Sequence[ArrayLike], references: ArrayLike, rng: np.random.Generator, resamples: int = RESAMPLES
) -> FloatArray:
    """Bootstrap replicates of the SRCC of several predictions of the same references, all on the same resamples.

    `bootstrap_correlations` draws different resamples in each call, so its replicates cannot be subtracted.

    Args:
        columns: Scores of k models, at least one, shape (k, n).
        references: Opinion scores, shape (n,).
        rng: Random generator.
        resamples: Number of resamples.

    Returns:
        Replicates, shape (k, resamples); nan if a resample is constant.

    Examples:
        >>> columns = [[1, 2, 3, 4], [9, 6, 5, 2]]
        >>> bootstrap_srcc_columns(columns, [1, 3, 4, 5], np.random.default_rng(0), resamples=2).round(6).tolist()
        [[1.0, 1.0], [-1.0, -1.0]]
    """
    scores, known = _checked(columns, references)
    rankings, by_reference = [_Ranking(column) for column in scores], _Ranking(known)

    def score(block: FloatArray) -> FloatArray:
        found = np.empty((len(rankings), len(block)))
        for index, counts in enumerate(block):
            reference = by_reference.midranks(counts)
            found[:, index] = [_srcc(ranking.midranks(counts), reference, counts) for ranking in rankings]
        return found

    return score_resamples(score, len(known), rng, resamples, len(rankings))


def bootstrap_plcc_columns(
    columns: Sequence[ArrayLike], references: ArrayLike, rng: np.random.Generator, resamples: int = RESAMPLES
) -> FloatArray:
    """Bootstrap replicates of the PLCC of several predictions; arguments as for `bootstrap_srcc_columns`.

    Examples:
        >>> rng = np.random.default_rng(1)
        >>> bootstrap_plcc_columns([[1, 2, 3], [3, 2, 1]], [2, 4, 6], rng, resamples=2).round(6).tolist()
        [[1.0, 1.0], [-1.0, -1.0]]
    """
    scores, known = _checked(columns, references)
    moments = [_moments(column, known) for column in scores]

    def score(block: FloatArray) -> FloatArray:
        return np.stack([_weighted_plcc(rows, block) for rows in moments])

    return score_resamples(score, len(known), rng, resamples, len(moments))


def _checked(columns: Sequence[ArrayLike], references: ArrayLike) -> tuple[list[FloatArray], FloatArray]:
    known = check_numbers("references", references)
    scores = {f"columns[{place}]": check_numbers(f"columns[{place}]", one) for place, one in enumerate(columns)}
    check_lengths(**scores, references=known)
    return list(scores.values()), known


class _Ranking:
    """A column's order, which gives its mid-ranks in every resample without sorting again."""

    def __init__(self, values: FloatArray) -> None:
        """Sort once."""
        distinct, self.dense = np.unique(values, return_inverse=True)
        self.order = np.argsort(values, kind="stable")
        self.tied = len(distinct) < len(values)
        self.sorted = not self.tied and bool(np.all(values[1:] > values[:-1]))

    def midranks(self, counts: FloatArray) -> tuple[IntArray, float]:
        """Twice each item's centred mid-rank in the resample, and the sum of squares of these over the draws."""
        n = len(counts)
        equal = np.bincount(self.dense, counts) if self.tied else counts
        # Small integers are faster than floats and equally exact, and `take` is faster if it does not check indices.
        share = equal.astype(np.int32)
        if not (self.tied or self.sorted):
            share = share.take(self.order, mode="clip")
        doubled = np.cumsum(share, dtype=np.int32)
        doubled *= 2
        doubled -= share
        doubled -= n
        if not self.sorted:
            doubled = doubled.take(self.dense, mode="clip")
        # The ranks 1 to n have n (n^2 - 1) / 12, of which m equal values take away m (m^2 - 1) / 12.
        return doubled, (float(n) * n * n - float(np.einsum("i,i,i", equal, equal, equal))) / 3


# einsum, not `@`: on short vectors, threaded BLAS waits longer than it computes, up to tenfold on a busy machine.
def _srcc(x: tuple[IntArray, float], y: tuple[IntArray, float], counts: FloatArray) -> float:
    """SRCC of a resample from the mid-ranks of both columns."""
    (mid_x, squares_x), (mid_y, squares_y) = x, y
    if squares_x <= 0 or squares_y <= 0:
        return float("nan")
    return float(np.einsum("i,i,i", counts, mid_x, mid_y) / np.sqrt(squares_x * squares_y))


def _moments(x: FloatArray, y: FloatArray) -> FloatArray:
    """Rows whose weighted sums give a weighted Pearson correlation, from standardised values for precision."""
    (x, _), (y, _) = scaled(x), scaled(y)
    u = (x - x.mean()) / (x.std() or 1.0)
    v = (y - y.mean()) / (y.std() or 1.0)
    return np.stack([u, v, u * u, v * v, u * v])


def _weighted_plcc(moments: FloatArray, block: FloatArray) -> FloatArray:
    """PLCC of every row of counts."""
    rows, n = block.shape
    step = max(1, _PRODUCT // rows)
    parts = (slice(first, first + step) for first in range(0, n, step))
    u, v, uu, vv, uv = sum(moments[:, part] @ block[:, part].T for part in parts) / n
    spread_x, spread_y = uu - u * u, vv - v * v
    # Because of rounding, the spread of a constant resample is about 1e-16, not 0.
    spread = np.where((spread_x < 1e-12) | (spread_y < 1e-12), np.nan, spread_x * spread_y)
    return np.clip((uv - u * v) / np.sqrt(spread), -1.0, 1.0)
