"""Time of all correlations of 15 models on 7 databases, with bootstrap intervals and both logistic fits.

Run it as a script. Predictions and opinion scores are made up, in the sizes of Q-Bench's seven databases (KADID-10k,
KonIQ-10k, SPAQ, LIVE-FB, LIVE Challenge, AGIQA-3K, CGIQA-6K), with LIVE-FB whole. The scores come from `correlate`, as
in the metric `softmax_iqa`, with the 4-parameter fit and 1,000 resamples; the 5-parameter fit follows by itself.
Models run in as many threads as there are cores, as all of it are pure functions; processor time is that of one core.
The aim is 45 s elapsed.
"""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from eyechart.metrics.scoring.quality.correlation import fit_logistic
from eyechart.metrics.scoring.quality.pooling import pool
from eyechart.metrics.scoring.quality.scores import QualitySettings, correlate

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
AIM = 45.0


def scores(n: int, model: int) -> tuple[np.ndarray, np.ndarray]:
    """Logits of a model that agrees with people more the higher its number, and opinion scores with two decimals."""
    rng = np.random.default_rng([n, model])
    quality = rng.normal(size=n)
    noise = rng.normal(size=(n, 2))
    agreement = (model + 1) / MODELS
    logits = np.stack([agreement * quality, -agreement * quality], axis=1) + noise + [12.0, 11.0]
    return logits, np.round(50 + 15 * np.tanh(quality) + 3 * rng.normal(size=n), 2)


def cell(name: str, n: int, model: int) -> float:
    """Score one model on one database; gives the time of its 5-parameter fit."""
    logits, opinions = scores(n, model)
    pooled = pool(logits, "softmax", 100.0)
    found = correlate(name, pooled, opinions, QualitySettings(fit="logistic4", resamples=1000), ["spearman"])
    before = time.thread_time()
    five = fit_logistic(pooled.values, opinions, "logistic5")
    assert five.plcc >= found.scores["plcc_fitted"] - 1e-9
    return time.thread_time() - before


def main() -> None:
    """Print the time of every database and of all."""
    print(f"load average over one minute: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"{'':16} {'images':>7} {'processor':>11} {'elapsed':>10} {'of which the 5-parameter fits':>31}")
    totals = np.zeros(3)
    with ThreadPoolExecutor(os.cpu_count()) as cores:
        for name, n in SIZES.items():
            starts = np.array([time.process_time(), time.perf_counter()])
            fits = sum(cores.map(partial(cell, name, n), range(MODELS)))
            spent = np.array([*(np.array([time.process_time(), time.perf_counter()]) - starts), fits])
            print(f"{name:16} {n:7,} {spent[0]:9.2f} s {spent[1]:8.2f} s {spent[2]:29.2f} s")
            totals += spent
    print(f"{'all':16} {'':7} {totals[0]:9.2f} s {totals[1]:8.2f} s {totals[2]:29.2f} s")
    print(f"{MODELS} models by {len(SIZES)} databases take {totals[1] / AIM:.2f} of the aim of {AIM:.0f} s")


if __name__ == "__main__":
    main()
