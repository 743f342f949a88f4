"""Time of bootstrap intervals of SRCC against `scipy.stats.bootstrap` with `spearmanr`.

Run it as a script on an idle machine; it takes about half a minute. The aim is 0.8 s for 1,000 resamples of one SRCC at
n = 81,284. SRCC comes with PLCC here and SciPy's without. SciPy sorts each resample anew; it gets fewer resamples, and
its time is scaled up. Ratios are of processor time, which other work disturbs least; the time elapsed is shorter than
that where threads share many items.
"""

import os
import time
from collections.abc import Callable

import numpy as np
from scipy import stats

from eyechart.metrics.scoring.statistics.bootstrap import bootstrap_correlations
from eyechart.metrics.scoring.statistics.intervals import percentile_interval

RESAMPLES = 1000
SCIPY_RESAMPLES = 50
AIM = 0.8


def scores(n: int, ties: bool) -> tuple[np.ndarray, np.ndarray]:
    """Predictions and opinion scores that correlate; with `ties`, opinions have two decimals, as published ones do."""
    rng = np.random.default_rng(0)
    # The bootstrap is fastest with sorted items, as in `quality.scores`.
    x = np.sort(rng.normal(size=n))
    y = x + rng.normal(size=n)
    return x, np.round(y, 2) if ties else y


def scipy_bootstrap(x: np.ndarray, y: np.ndarray) -> object:
    """The same interval from few resamples."""
    return stats.bootstrap(
        (x, y),
        lambda a, b: stats.spearmanr(a, b).statistic,
        paired=True,
        vectorized=False,
        n_resamples=SCIPY_RESAMPLES,
        method="percentile",
        rng=np.random.default_rng(0),
    )


def seconds(compute: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Shortest processor time and shortest time elapsed out of some runs."""
    found = []
    for _ in range(repeats):
        starts = time.process_time(), time.perf_counter()
        compute()
        found.append((time.process_time() - starts[0], time.perf_counter() - starts[1]))
    processor, elapsed = zip(*found, strict=True)
    return min(processor), min(elapsed)


def main() -> None:
    """Print times and ratios."""
    print(f"load average over one minute: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"{RESAMPLES} resamples; scipy.stats.bootstrap is run with {SCIPY_RESAMPLES} and scaled to {RESAMPLES}")
    for n in (1_000, 10_000, 81_284):
        for ties in (False, True):
            x, y = scores(n, ties)
            both = seconds(lambda x=x, y=y: bootstrap_correlations(x, y, np.random.default_rng(0), RESAMPLES), 3)
            scipy = seconds(lambda x=x, y=y: scipy_bootstrap(x, y), 1)[0] * RESAMPLES / SCIPY_RESAMPLES
            print(
                f"n = {n:6,}, {'ties' if ties else 'no ties':7}: "
                f"SRCC and PLCC {both[0]:6.2f} s ({both[1]:.2f} s elapsed), "
                f"SciPy's one SRCC {scipy:6.2f} s, {scipy / both[0]:4.1f} times as long as SRCC and PLCC"
            )
    print(f"SRCC and PLCC of the last take {both[1] / AIM:.2f} of the aim of {AIM} s for SRCC, by time elapsed")
    ours = percentile_interval(bootstrap_correlations(x, y, np.random.default_rng(0), RESAMPLES)[0], len(x))
    theirs = scipy_bootstrap(x, y).confidence_interval
    print(f"intervals of the last: {ours.low:.4f} to {ours.high:.4f}, SciPy {theirs.low:.4f} to {theirs.high:.4f}")


if __name__ == "__main__":
    main()
