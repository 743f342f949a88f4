"""Bootstrap resamples of items, drawn one after the other and scored in threads.

Randomness is a NumPy Generator that the caller seeds and passes in. Neither the number of threads nor the size of the
blocks changes a draw.
"""

import os
from collections.abc import Callable
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import numpy as np

from eyechart.metrics.scoring.inputs import FloatArray

# A block of resamples has about this many counts, few enough for the processor's cache, and at least so many resamples.
_BLOCK = 1 << 15
_FEWEST_ROWS = 4
# NumPy lets other threads run during its long operations only; with fewer items, threads would wait for each other.
_THREADED_ITEMS = 1 << 12
# Drawing takes a third of the time and one thread at a time, so that more threads would find nothing to do.
_MOST_THREADS = 4


def resampled_counts(n: int, rng: np.random.Generator, resamples: int) -> Iterator[FloatArray]:
    """How often each of n items is drawn, one resample after the other.

    Args:
        n: Number of items.
        rng: Source of the draws.
        resamples: Number of resamples.

    Yields:
        Counts, shape (n,), that sum to n.
    """
    for _, block in _blocks(n, rng, resamples):
        yield from block


def score_resamples(
    score: Callable[[FloatArray], FloatArray], n: int, rng: np.random.Generator, resamples: int
) -> FloatArray:
    """Two scores of every resample, computed in threads where there are many items.

    Args:
        score: Takes counts of items, shape (rows, n), and returns its scores of each row, shape (2, rows). It runs in
            several threads at once.
        n: Number of items.
        rng: Source of the draws.
        resamples: Number of resamples.

    Returns:
        Scores, shape (2, resamples), the same for any number of threads.
    """
    blocks, drawing = _blocks(n, rng, resamples), Lock()
    found = np.empty((2, resamples))

    def work() -> None:
        while True:
            with drawing:
                drawn = next(blocks, None)
            if drawn is None:
                return
            first, counts = drawn
            found[:, first : first + len(counts)] = score(counts)

    threads = min(_MOST_THREADS, os.cpu_count() or 1) if n >= _THREADED_ITEMS else 1
    with ThreadPoolExecutor(threads) as pool:
        for worker in [pool.submit(work) for _ in range(threads)]:
            worker.result()
    return found


def _blocks(n: int, rng: np.random.Generator, resamples: int) -> Iterator[tuple[int, FloatArray]]:
    """The number of each block's first resample, and the block's counts, one row a resample."""
    rows = max(_FEWEST_ROWS, _BLOCK // n)
    for first in range(0, resamples, rows):
        counts = np.empty((min(rows, resamples - first), n))
        for row in counts:
            row[:] = np.bincount(rng.integers(0, n, size=n), minlength=n)
        yield first, counts
