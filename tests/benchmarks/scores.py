"""Time of bootstrap intervals, compared with SciPy, of MAP scores and of correlations.

`python -m tests.benchmarks.scores bootstrap map correlations` runs all three; name those that you need.

- bootstrap: 1,000 resamples of SRCC and PLCC against `scipy.stats.bootstrap` with `spearmanr`, which sorts each
  resample anew; it gets fewer resamples and only SRCC, and its time is scaled up. Opinion scores of two decimals, as
  published ones have, give ties. The aim is 0.8 s elapsed at n = 81,284.
- map: MAP scores (2AFC, Eq. 2) after 10 rounds. The aim is 1 s for 100,000 images.
- correlations: `correlate` with the 4-parameter fit and 1,000 resamples, then the 5-parameter fit, of 15 models on
  databases of the sizes of Q-Bench's seven, in as many threads as there are cores. The aim is 45 s elapsed.
"""

import argparse
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from scipy import stats

from eyechart.metrics.scoring.pair_ranking import map_scores
from eyechart.metrics.scoring.quality.correlation import fit_logistic
from eyechart.metrics.scoring.quality.pooling import pool
from eyechart.metrics.scoring.quality.scores import QualitySettings, correlate
from eyechart.metrics.scoring.statistics.bootstrap import bootstrap_correlations

RESAMPLES, SCIPY_RESAMPLES = 1000, 50
MODELS = 15
SIZES = {
    "KADID-10k": 10_125,
    "KonIQ-10k": 10_073,
    "SPAQ": 11_125,
    "LIVE-FB": 39_810,
    "LIVE Challenge": 1_169,
    "AGIQA-3K": 2_982,
    "CGIQA-6K": 6_000,
}


def seconds(compute: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Shortest processor time and shortest time elapsed out of some runs, which other work disturbs least."""
    times = []
    for _ in range(repeats):
        starts = time.process_time(), time.perf_counter()
        compute()
        times.append((time.process_time() - starts[0], time.perf_counter() - starts[1]))
    processor, elapsed = zip(*times, strict=True)
    return min(processor), min(elapsed)


def scipy_bootstrap(x: np.ndarray, y: np.ndarray) -> object:
    """The interval of SRCC from few resamples."""
    options = {"paired": True, "vectorized": False, "n_resamples": SCIPY_RESAMPLES, "method": "percentile"}
    return stats.bootstrap(
        (x, y), lambda a, b: stats.spearmanr(a, b).statistic, rng=np.random.default_rng(0), **options
    )


def bootstrap() -> None:
    """Print times with and without ties, and both intervals of the largest data."""
    for n in (1_000, 10_000, 81_284):
        for ties in (False, True):
            rng = np.random.default_rng(0)
            # The bootstrap is fastest with sorted items, as in `quality.scores`.
            x = np.sort(rng.normal(size=n))
            y = x + rng.normal(size=n)
            y = np.round(y, 2) if ties else y
            ours = seconds(lambda x=x, y=y: bootstrap_correlations(x, y, np.random.default_rng(0), RESAMPLES), 3)
            scipy = seconds(lambda x=x, y=y: scipy_bootstrap(x, y), 1)[0] * RESAMPLES / SCIPY_RESAMPLES
            print(
                f"n = {n:6,}, {'ties' if ties else 'no ties':7}: SRCC and PLCC {ours[0]:6.2f} s ({ours[1]:.2f} s "
                f"elapsed), SciPy's SRCC {scipy:6.2f} s, {scipy / ours[0]:4.1f} times as long"
            )


def outcomes(n_images: int) -> tuple[np.ndarray, np.ndarray]:
    """Winners and losers of 10 rounds of random matchings, by a judge with noise."""
    rng = np.random.default_rng(0)
    quality = rng.normal(size=n_images)
    first, second = np.concatenate([rng.permutation(n_images).reshape(-1, 2) for _ in range(10)]).T
    wins = quality[first] - quality[second] + rng.normal(size=len(first)) > 0
    return np.where(wins, first, second), np.where(wins, second, first)


def map_ranking() -> None:
    """Print times, which are to grow with the number of images."""
    for n_images in (160, 10_000, 100_000):
        processor, elapsed = seconds(partial(map_scores, *outcomes(n_images), n_images), 5)
        print(f"{n_images:,} images: {processor:.4f} s ({elapsed:.4f} s elapsed)")


def model_scores(n: int, model: int) -> tuple[np.ndarray, np.ndarray]:
    """Logits of a model that agrees with people more the higher its number, and opinion scores with two decimals."""
    rng = np.random.default_rng([n, model])
    quality, noise, agreement = rng.normal(size=n), rng.normal(size=(n, 2)), (model + 1) / MODELS
    logits = np.stack([agreement * quality, -agreement * quality], axis=1) + noise + [12.0, 11.0]
    return logits, np.round(50 + 15 * np.tanh(quality) + 3 * rng.normal(size=n), 2)


def score_model(name: str, n: int, model: int) -> float:
    """Score one model on one database; gives the time of its 5-parameter fit."""
    logits, opinions = model_scores(n, model)
    pooled = pool(logits, "softmax", 100.0)
    four = correlate(name, pooled, opinions, QualitySettings(fit="logistic4", resamples=RESAMPLES), ["spearman"])
    before = time.thread_time()
    five = fit_logistic(pooled.values, opinions, "logistic5")
    assert five.plcc >= four.scores["plcc_fitted"] - 1e-9
    return time.thread_time() - before


def correlations() -> None:
    """Print the time of every database and of all."""
    print(f"{'':16} {'images':>7} {'processor':>11} {'elapsed':>10} {'of which the 5-parameter fits':>31}")
    totals = np.zeros(3)
    with ThreadPoolExecutor(os.cpu_count()) as cores:
        for name, n in SIZES.items():
            starts = time.process_time(), time.perf_counter()
            fits = sum(cores.map(partial(score_model, name, n), range(MODELS)))
            spent = np.array([time.process_time() - starts[0], time.perf_counter() - starts[1], fits])
            print(f"{name:16} {n:7,} {spent[0]:9.2f} s {spent[1]:8.2f} s {spent[2]:29.2f} s")
            totals += spent
    print(f"{'all':24} {totals[0]:9.2f} s {totals[1]:8.2f} s {totals[2]:29.2f} s")


def main() -> None:
    """Run the parts that are named."""
    parts = {"bootstrap": bootstrap, "map": map_ranking, "correlations": correlations}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=parts)
    print(f"load average over one minute: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for part in parser.parse_args().parts:
        parts[part]()


if __name__ == "__main__":
    main()
