"""Bootstrap replicates of ratios and correlations over items, drawn one after the other and computed in threads.

The source of randomness is a NumPy Generator that the caller seeds and passes in. The draws depend neither on the
number of threads nor on the size of the blocks, so scores of the same items, computed with equal generators, are on the
same resamples, and their replicates can be subtracted.
"""

import os
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.inputs import FloatArray, scaled

RESAMPLES = 1000
# Number of counts in a block of resamples, small enough for the processor's cache, and minimum number of resamples.
_BLOCK = 1 << 15
_FEWEST_ROWS = 4
# NumPy lets other threads run only during long operations; with fewer items, threads would wait for each other.
_THREADED_ITEMS = 1 << 14
# Drawing takes a third of the time and runs in one thread at a time, so more threads would be idle.
_MOST_THREADS = 4
# Products with about this many counts are too small for BLAS to start threads, which would wait longer than compute.
_PRODUCT = 1 << 15


def check_seed(seed: object, argument: str = "seed") -> None:
    """Raise `InputError` unless a seed is a whole number of at least 0."""
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise InputError(f"{argument} is {seed!r}; it must be a whole number of at least 0")


def part_generator(seed: int, part: str) -> np.random.Generator:
    """The random generator of one part of the data, such as "concern=blur", so that no interval depends on the others.

    Raises:
        InputError: `seed` is not a whole number of at least 0.
    """
    check_seed(seed)
    return np.random.default_rng([seed, zlib.crc32(part.encode())])


def bootstrap(
    score: Callable[[FloatArray], FloatArray], scores: int, n: int, rng: np.random.Generator, resamples: int
) -> FloatArray:
    """Scores of every resample of n items, computed in threads if there are many items.

    Args:
        score: A function of how often each item is drawn, shape (rows, n), that returns the scores of each row, shape
            (scores, rows). It runs in several threads at the same time.
        scores: Number of scores of each resample.
        n: Number of items.
        rng: Random generator.
        resamples: Number of resamples.

    Returns:
        Shape (scores, resamples), the same for any number of threads.
    """
    rows = max(_FEWEST_ROWS, _BLOCK // max(n, 1))
    starts, drawing = iter(range(0, resamples, rows)), Lock()
    found = np.empty((scores, resamples))

    def work() -> None:
        block = np.empty((min(rows, resamples), n))
        while True:
            with drawing:
                first = next(starts, None)
                if first is None:
                    return
                counts = block[: resamples - first]
                for row in counts:
                    row[:] = np.bincount(rng.integers(0, n, size=n), minlength=n)
            found[:, first : first + len(counts)] = score(counts)

    threads = min(_MOST_THREADS, os.cpu_count() or 1) if n >= _THREADED_ITEMS else 1
    with ThreadPoolExecutor(threads) as pool:
        for worker in [pool.submit(work) for _ in range(threads)]:
            worker.result()
    return found


def bootstrap_ratios(
    numerators: FloatArray, denominators: FloatArray, rng: np.random.Generator, resamples: int = RESAMPLES
) -> FloatArray:
    """Bootstrap replicates of ratios of sums over items.

    Args:
        numerators: k numbers per item, shape (n, k).
        denominators: k non-negative numbers per item, shape (n, k).
        rng: Random generator.
        resamples: Number of resamples.

    Returns:
        Shape (resamples, k); nan if a resample's denominator is 0.

    Examples:
        >>> above, below = np.array([[3.0, 0], [3, 0]]), np.array([[2.0, 0], [2, 0]])
        >>> bootstrap_ratios(above, below, np.random.default_rng(0), resamples=2).tolist()
        [[1.5, nan], [1.5, nan]]
    """
    n, k = numerators.shape
    both = np.hstack([numerators, denominators])
    sums = bootstrap(lambda block: np.einsum("ri,ik->kr", block, both), 2 * k, n, rng, resamples).T
    above, below = np.hsplit(sums, 2)
    return np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)


def bootstrap_correlations(
    predictions: ArrayLike,
    references: ArrayLike,
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
    ranking: ArrayLike | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Bootstrap replicates of SRCC and PLCC over items; it is fastest if the items are sorted by `ranking`.

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
    x, y = np.asarray(predictions, dtype=np.float64), np.asarray(references, dtype=np.float64)
    by_prediction = _Ranking(x if ranking is None else np.asarray(ranking, dtype=np.float64))
    by_reference, moments = _Ranking(y), _moments(x, y)

    def score(block: FloatArray) -> FloatArray:
        srcc = [_srcc(by_prediction.midranks(counts), by_reference.midranks(counts), counts) for counts in block]
        return np.stack([srcc, _weighted_plcc(moments, block)])

    srcc, plcc = bootstrap(score, 2, len(x), rng, resamples)
    return srcc, plcc


_MidRanks = tuple[NDArray[np.int32], float]


class _Ranking:
    """A column's order, which gives its mid-ranks in every resample without sorting again."""

    def __init__(self, values: FloatArray) -> None:
        """Sort once."""
        distinct, self.dense = np.unique(values, return_inverse=True)
        self.order = np.argsort(values, kind="stable")
        self.tied = len(distinct) < len(values)
        self.sorted = not self.tied and bool(np.all(values[1:] > values[:-1]))

    def midranks(self, counts: FloatArray) -> _MidRanks:
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
def _srcc(x: _MidRanks, y: _MidRanks, counts: FloatArray) -> float:
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
