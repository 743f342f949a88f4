"""How work grows with its input: the one thing about speed that does not depend on the machine."""

import time
from collections.abc import Callable

SMALL, LARGE = 20_000, 80_000


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
