"""How long work takes, and how that grows with its input, which alone does not depend on the machine."""

import time
from collections.abc import Callable

SMALL, LARGE = 6_000, 24_000


def growth(work: Callable[[int], object]) -> float:
    """Processor time of `work(LARGE)` over that of `work(SMALL)`: 4 if it is linear, 16 if it is quadratic."""

    def seconds(size: int) -> float:
        start = time.process_time()
        work(size)
        return time.process_time() - start

    # A machine that others use too makes any one measurement too long, so what looks too long is measured again.
    small, large = seconds(SMALL), seconds(LARGE)
    for _ in range(12):
        # Below a millisecond, what is the same for every size counts for more than the size.
        if large < 6 * max(small, 1e-3):
            break
        small, large = min(small, seconds(SMALL)), min(large, seconds(LARGE))
    return large / max(small, 1e-3)


def shortest_time(work: Callable[[], object], repetitions: int = 5) -> float:
    """Processor time of all threads in seconds: the shortest one, which other work on the machine disturbs least."""
    best = float("inf")
    for _ in range(repetitions):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best
