"""Simulated runs whose true score is known, for `coverage`: each function returns the interval of one run."""

from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.special import expit, ndtr

from eyechart.metrics.scoring.inputs import FloatArray
from eyechart.metrics.scoring.pair_ranking import map_scores
from eyechart.metrics.scoring.statistics.bootstrap import bootstrap_correlations
from eyechart.metrics.scoring.statistics.dyadic import dyadic_share_interval
from eyechart.metrics.scoring.statistics.intervals import Interval, percentile_interval
from eyechart.metrics.scoring.statistics.pearson import plcc_difference, plcc_interval
from eyechart.metrics.scoring.statistics.shares import (
    Clusters,
    balanced_interval,
    bounded_mean_interval,
    share_interval,
)

ERROR = 0.8
"""Standard deviation of a model's errors; that of quality is 1."""
OUTLIERS = (0.02, 10.0)
"""Share of images with an additional error, and the standard deviation of that error."""


def independent(rng: Generator, n: int, share: float) -> Interval:
    """n questions about n images."""
    return share_interval(rng.random(n) < share)


def sharing(rng: Generator, images: int, questions: int, correlation: float, share: float) -> Interval:
    """Questions about the same image, whose chance to be right is drawn for each image from a beta distribution."""
    if correlation:
        size = 1 / correlation - 1
        chance = rng.beta(share * size, (1 - share) * size, images)
    else:
        chance = np.full(images, share)
    right = rng.random((images, questions)) < chance[:, None]
    numbers = np.repeat(np.arange(images), questions)
    return share_interval(right.ravel(), Clusters(numbers))


def unequal(rng: Generator, sizes: list[int], share: float) -> Interval:
    """The same with a different number of questions for each image; the correlation is two thirds."""
    chance = rng.beta(share / 2, (1 - share) / 2, len(sizes))
    numbers = np.repeat(np.arange(len(sizes)), sizes)
    return share_interval(rng.random(len(numbers)) < chance[numbers], Clusters(numbers))


def balanced(rng: Generator, images: int, correlation: float) -> Interval:
    """A yes and a no question about each image."""
    size = 1 / correlation - 1
    chance = rng.beta(0.7 * size, 0.3 * size, images)
    yes, no = (rng.random((2, images)) < np.stack([chance, chance])).tolist()
    numbers = Clusters(np.arange(images))
    return balanced_interval(yes, no, numbers, numbers)


def rounds_of_pairs(rng: Generator, images: int, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """2AFC's pairs: in each round, every image meets one other."""
    orders = [rng.permutation(images)[: images // 2 * 2] for _ in range(rounds)]
    return np.concatenate([one[::2] for one in orders]), np.concatenate([one[1::2] for one in orders])


def dyadic(rng: Generator, images: int, rounds: int, deviation: float, log_odds: float = 1.0) -> Interval:
    """Pairs whose log-odds to be right are a constant and the effects of both images."""
    first, second = rounds_of_pairs(rng, images, rounds)
    effect = deviation * rng.normal(size=images)
    right = rng.random(len(first)) < expit(log_odds + effect[first] + effect[second])
    return dyadic_share_interval(right, first.tolist(), second.tolist())


def normal(rng: Generator, n: int, correlation: float) -> tuple[FloatArray, FloatArray]:
    """Two normal variables."""
    x, noise = rng.normal(size=(2, n))
    return correlation * x + np.sqrt(1 - correlation**2) * noise, x


def rank_correlated(rng: Generator, n: int, correlation: float) -> Interval:
    """SRCC of normal scores."""
    return percentile_interval(bootstrap_correlations(*normal(rng, n, correlation), rng)[0], n)


def correlated(rng: Generator, n: int, correlation: float) -> Interval:
    """PLCC of normal scores."""
    return plcc_interval(*normal(rng, n, correlation))


def errors(rng: Generator, quality: FloatArray, kind: str) -> FloatArray:
    """A model's errors, of variance `ERROR`^2 (without outliers), uncorrelated with quality."""
    n = len(quality)
    if kind == "t with 3 df":
        return ERROR * rng.standard_t(3, n) / np.sqrt(3)
    if kind == "lognormal":
        return ERROR * (rng.lognormal(size=n) - np.exp(0.5)) / np.sqrt(np.e * (np.e - 1))
    if kind == "growing":
        return ERROR * rng.normal(size=n) * np.exp(0.7 * quality - 0.49)
    found = ERROR * rng.normal(size=n)
    if kind == "outliers":
        share, deviation = OUTLIERS
        found += np.where(rng.random(n) < share, deviation * rng.normal(size=n), 0)
    return found


def unusual(rng: Generator, kind: str, n: int) -> tuple[FloatArray, FloatArray]:
    """Predictions and quality that are not bivariate normal."""
    if kind in ("both t with 3 df", "both lognormal"):
        prediction, quality = normal(rng, n, 0.8)
        if kind == "both lognormal":
            return np.exp(prediction), np.exp(quality)
        spread = np.sqrt(rng.chisquare(3, n) / 3)
        return prediction / spread, quality / spread
    quality = rng.normal(size=n)
    seen = quality + errors(rng, quality, kind)
    if kind == "nearly 0 or 1":
        return expit(20 * (seen - 1.5)), quality
    return expit(4 * (seen - 2)) if kind == "skewed" else seen, quality


def unusually_correlated(rng: Generator, kind: str, n: int) -> Interval:
    """PLCC of scores that are not normal."""
    return plcc_interval(*unusual(rng, kind, n))


def distorted(rng: Generator, originals: int, versions: int) -> Interval:
    """PLCC of distorted versions of few originals; half of the variance of a model's errors is that of the original."""
    quality = rng.normal(size=(originals, versions))
    error = ERROR * np.sqrt(0.5) * (rng.normal(size=(originals, 1)) + rng.normal(size=(originals, versions)))
    return plcc_interval((quality + error).ravel(), quality.ravel())


def equally_good(rng: Generator, kind: str, n: int) -> Interval:
    """Difference of the PLCCs of two models with independent errors of the same kind."""
    quality = rng.normal(size=n)
    found = plcc_difference(*(quality + errors(rng, quality, kind) for _ in range(2)), quality, rng)
    return Interval(*found.interval, "swaps", n)


def pair_rankings(
    rng: Generator, images: int, rounds: int, correlation: float, sharpness: float
) -> tuple[FloatArray, FloatArray]:
    """MAP scores from comparisons by a model that sees quality with errors, and opinion scores."""
    quality, error = rng.normal(size=(2, images))
    seen = correlation * quality + np.sqrt(1 - correlation**2) * error
    first, second = rounds_of_pairs(rng, images, rounds)
    first_wins = rng.random(len(first)) < ndtr(sharpness * (seen[first] - seen[second]))
    return map_scores(np.where(first_wins, first, second), np.where(first_wins, second, first), images), quality


def ranked(rng: Generator, images: int, **about: Any) -> Interval:
    """SRCC of images that were ranked by MAP from their pairs; each image is resampled with its MAP score."""
    return percentile_interval(bootstrap_correlations(*pair_rankings(rng, images, **about), rng)[0], images)


def judged(rng: Generator, images: int, texts: int, probabilities: tuple[float, ...]) -> Interval:
    """The mean of a judge's scores 0 to 2 in five rounds; texts about one image share its level half of the time."""
    level = rng.choice(3, p=probabilities, size=images)[:, None]
    own = rng.choice(3, p=probabilities, size=(images, texts))
    score = np.where(rng.random((images, texts)) < 0.5, level, own)[..., None]
    other = rng.choice(3, p=probabilities, size=(images, texts, 5))
    noisy = np.where(rng.random((images, texts, 5)) < 0.8, score, other)
    numbers = np.repeat(np.arange(images), texts)
    return bounded_mean_interval(noisy.mean(axis=2).ravel(), (0, 2), Clusters(numbers))
