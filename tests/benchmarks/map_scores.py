"""Time of MAP scores against the form they have in the paper's released code, and its growth with the images.

Run it as a script; the dense reference takes about ten seconds. The aim is 100,000 images with 10 rounds in 1 s.
The reference maximises the same objective (2AFC, Eq. 2) on the full matrix of preferences with
`scipy.optimize.minimize` under the constraint that scores sum to zero, without a gradient, as the released code does.
"""

import os
import time
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize
from scipy.stats import norm

from eyechart.metrics.scoring.pair_ranking import map_scores

ROUNDS = 10


def outcomes(n_images: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Winners and losers of rounds of random matchings, by a judge with noise."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=n_images)
    first, second = np.concatenate([rng.permutation(n_images).reshape(-1, 2) for _ in range(ROUNDS)]).T
    wins = quality[first] - quality[second] + rng.normal(size=len(first)) > 0
    return np.where(wins, first, second), np.where(wins, second, first)


def dense_scores(winners: np.ndarray, losers: np.ndarray, n_images: int) -> np.ndarray:
    """The same optimum on the full matrix, with derivatives by finite differences."""
    counts = np.zeros((n_images, n_images))
    np.add.at(counts, (winners, losers), 1)

    def loss(q: np.ndarray) -> float:
        return q @ q / 2 - np.sum(counts * norm.logcdf(q[:, None] - q))

    sums_to_zero = {"type": "eq", "fun": np.sum}
    return minimize(loss, np.zeros(n_images), constraints=sums_to_zero, options={"ftol": 1e-10, "maxiter": 1000}).x


def seconds(compute: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Shortest processor time and shortest elapsed time out of some runs, which other work disturbs least."""
    processor, elapsed = [], []
    for _ in range(repeats):
        starts = time.process_time(), time.perf_counter()
        compute()
        processor.append(time.process_time() - starts[0])
        elapsed.append(time.perf_counter() - starts[1])
    return min(processor), min(elapsed)


def main() -> None:
    """Print times, ratios and the difference to the dense optimum."""
    print(f"load average over one minute: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"{'':24} {'processor':>11} {'elapsed':>11}")
    winners, losers = outcomes(160)
    found: dict[str, np.ndarray] = {}
    dense = seconds(lambda: found.update(dense=dense_scores(winners, losers, 160)), repeats=1)
    print(f"{'dense, 160 images':24} {dense[0]:9.3f} s {dense[1]:9.3f} s")
    times = {}
    for n_images in (160, 10_000, 100_000):
        pairs = outcomes(n_images)
        times[n_images] = seconds(lambda pairs=pairs, n=n_images: map_scores(*pairs, n), repeats=5)
        print(f"{f'sparse, {n_images} images':24} {times[n_images][0]:9.4f} s {times[n_images][1]:9.4f} s")
    difference = np.abs(found["dense"] - map_scores(winners, losers, 160)).max()
    print(f"dense over sparse at 160 images: {dense[0] / times[160][0]:.0f}; largest difference {difference:.1g}")
    print(f"growth from 10,000 to 100,000 images: {times[100_000][0] / times[10_000][0]:.1f} (10 where it is linear)")
    print(f"100,000 images take {times[100_000][0]:.2f} s of processor time; the aim is 1 s")


if __name__ == "__main__":
    main()
