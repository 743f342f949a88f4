"""Bootstrap replicates of ratios and correlations over items, drawn one after the other and computed in threads.

The source of randomness is a NumPy Generator that the caller seeds and passes in. The draws depend neither on the
number of threads nor on the size of the blocks, so scores of the same items, computed with equal generators, are on the
same resamples, and their replicates can be subtracted.
"""

import os
import zlib
from collections.abc import Callable, Sequence
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
    """The generator of one part of the data, such as "concern=blur", so that no interval depends on the others."""
    check_seed(seed)
    return np.random.default_rng([seed, zlib.crc32(part.encode())])


def bootstrap(
    score: Callable[[FloatArray], FloatArray], scores: int, n: int, rng: np.random.Generator, resamples: int
) -> FloatArray:
    """Scores of every resample of n items, shape (scores, resamples), the same for any number of threads.

    `score` is a function of how often each item is drawn, shape (rows, n), that returns shape (scores, rows). With many
    items, it runs in several threads at the same time.
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
    """Bootstrap replicates of k ratios of sums over items, shape (resamples, k); nan if a denominator is 0.

    `numerators` and `denominators`, which are not negative, have shape (n, k).
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
    kinds: Sequence[str] = ("spearman", "pearson"),
) -> FloatArray:
    """Bootstrap replicates of correlations over n items, shape (kinds, resamples); nan if a resample is constant.

    The draws do not depend on `kinds`. A resample repeats item i c_i times, so its mid-ranks follow from the cumulative
    counts of the sorted distinct values, without sorting again. It is fastest if the items are sorted.

    Examples:
        >>> bootstrap_correlations([1, 2, 3, 4], [2, 4, 6, 8], np.random.default_rng(0), resamples=2).round(6).tolist()
        [[1.0, 1.0], [1.0, 1.0]]
    """
    x, y = np.asarray(predictions, dtype=np.float64), np.asarray(references, dtype=np.float64)
    of_kind = {"spearman": _srcc, "pearson": _plcc}
    computed = [of_kind[kind](x, y) for kind in kinds]
    return bootstrap(lambda block: np.stack([of(block) for of in computed]), len(kinds), len(x), rng, resamples)


_MidRanks = tuple[NDArray[np.int32], float]


class _Ranking:
    """A column's order, which gives its mid-ranks in every resample without sorting again."""

    def __init__(self, values: FloatArray) -> None:
        """Sort."""
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


def _srcc(x: FloatArray, y: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """The function of SRCCs of rows of counts."""
    rankings = _Ranking(x), _Ranking(y)

    def one(counts: FloatArray) -> float:
        (mid_x, squares_x), (mid_y, squares_y) = (ranking.midranks(counts) for ranking in rankings)
        if squares_x <= 0 or squares_y <= 0:
            return float("nan")
        # einsum, not `@`: on short vectors, threaded BLAS waits longer than it computes, up to tenfold if it is busy.
        return float(np.einsum("i,i,i", counts, mid_x, mid_y) / np.sqrt(squares_x * squares_y))

    return lambda block: np.array([one(counts) for counts in block])


def _plcc(x: FloatArray, y: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """The function of PLCCs of rows of counts, from weighted sums of standardised values, for precision."""
    u, v = ((column - column.mean()) / (column.std() or 1.0) for column, _ in (scaled(x), scaled(y)))
    moments = np.stack([u, v, u * u, v * v, u * v])

    def score(block: FloatArray) -> FloatArray:
        rows, n = block.shape
        step = max(1, _PRODUCT // rows)
        parts = (slice(first, first + step) for first in range(0, n, step))
        u, v, uu, vv, uv = sum(moments[:, part] @ block[:, part].T for part in parts) / n
        spread_x, spread_y = uu - u * u, vv - v * v
        # Because of rounding, the spread of a constant resample is about 1e-16, not 0.
        spread = np.where((spread_x < 1e-12) | (spread_y < 1e-12), np.nan, spread_x * spread_y)
        return np.clip((uv - u * v) / np.sqrt(spread), -1.0, 1.0)

    return score
