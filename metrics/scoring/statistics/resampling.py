"""Bootstrap resamples of items, drawn one after the other and scored in threads.

The source of randomness is a NumPy Generator that the caller seeds and passes in. The draws depend neither on the
number of threads nor on the size of the blocks.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from eyechart.metrics.scoring.inputs import FloatArray

# Number of counts in a block of resamples, small enough for the processor's cache, and minimum number of resamples.
_BLOCK = 1 << 15
_FEWEST_ROWS = 4
# NumPy lets other threads run only during long operations; with fewer items, threads would wait for each other.
_THREADED_ITEMS = 1 << 14
# Drawing takes a third of the time and runs in one thread at a time, so more threads would be idle.
_MOST_THREADS = 4


def resampled_counts(n: int, rng: np.random.Generator, resamples: int) -> Iterator[FloatArray]:
    """Draw resamples of n items, one after the other.

    Args:
        n: Number of items.
        rng: Random generator.
        resamples: Number of resamples.

    Yields:
        How often each item is drawn, shape (n,); the counts sum to n.
    """
    for _ in range(resamples):
        yield _draw(n, rng).astype(np.float64)


def score_resamples(
    score: Callable[[FloatArray], FloatArray], n: int, rng: np.random.Generator, resamples: int, scores: int = 2
) -> FloatArray:
    """Scores of every resample, computed in threads if there are many items.

    Args:
        score: A function of counts of items, shape (rows, n), that returns scores of shape (scores, rows). It runs in
            several threads at the same time.
        n: Number of items.
        rng: Random generator.
        resamples: Number of resamples.
        scores: Number of scores of each resample.

    Returns:
        Shape (scores, resamples), the same for any number of threads.
    """
    rows = max(_FEWEST_ROWS, _BLOCK // n)
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
                    row[:] = _draw(n, rng)
            found[:, first : first + len(counts)] = score(counts)

    threads = min(_MOST_THREADS, os.cpu_count() or 1) if n >= _THREADED_ITEMS else 1
    with ThreadPoolExecutor(threads) as pool:
        for worker in [pool.submit(work) for _ in range(threads)]:
            worker.result()
    return found


def _draw(n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    return np.bincount(rng.integers(0, n, size=n), minlength=n)
