"""How often nominal 95 % intervals cover the truth, on simulated runs.

`python -m tests.benchmarks.coverage --out docs/coverage.md` writes the table; 2,000 runs of every row take about 20
minutes on two cores. `--only FAMILY` recreates only the rows of one family. Each row simulates data with a known true
score (from a formula, or the mean over many draws), and counts the runs whose interval contains it. Seeds are fixed, so
the table is reproducible. With 2,000 runs, a coverage of 95 % is estimated to within about 1 percentage point.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.special import expit, ndtr
from scipy.stats import spearmanr

from eyechart.metrics.scoring.inputs import FloatArray
from eyechart.metrics.scoring.pair_ranking import map_scores
from eyechart.metrics.scoring.statistics.bootstrap import bootstrap_correlations, part_generator
from eyechart.metrics.scoring.statistics.dyadic import dyadic_share_interval
from eyechart.metrics.scoring.statistics.intervals import Interval, percentile_interval
from eyechart.metrics.scoring.statistics.pearson import plcc_difference, plcc_interval
from eyechart.metrics.scoring.statistics.shares import (
    Clusters,
    balanced_interval,
    bounded_mean_interval,
    share_interval,
)

RUNS = 2000
NOMINAL = (0.93, 0.97)
_DRAWS = 4_000_000
"""Number of draws for a true score that has no formula."""

Draw = Callable[..., Interval]
"""Takes a generator and a row's settings; returns the interval of one simulated run."""


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


@dataclass(frozen=True)
class Row:
    """One row of the table."""

    family: str
    setting: str
    draw: Draw
    truth: float
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Found:
    """What the runs of a row gave."""

    coverage: float
    width: float
    """Mean width of the intervals."""
    without: float
    """Share of runs without an interval."""
    few: float = 0.0
    """Share of runs with an interval of kind "jackknife-few"."""

    @property
    def remark(self) -> str:
        """The last column of the table."""
        low, high = NOMINAL
        mark = "" if low <= self.coverage <= high else "too narrow" if self.coverage < low else "wider than needed"
        few = f"a few items decide in {100 * self.few:.0f} %" if self.few >= 0.005 else ""
        none = f"none in {100 * self.without:.1f} %" if self.without else ""
        return ", ".join(note for note in (mark, few, none) if note)


def simulate(row: Row, runs: int) -> Found:
    """Coverage of a row's intervals. The seed is the row's name."""
    rng = part_generator(0, f"{row.family}, {row.setting}")
    intervals = [row.draw(rng, **row.arguments) for _ in range(runs)]
    defined = [one for one in intervals if one.low == one.low]
    if not defined:
        return Found(float("nan"), float("nan"), 1.0)
    # Rounded as shown, so that the remark agrees with the figure.
    hits = round(float(np.mean([one.low <= row.truth <= one.high for one in defined])), 3)
    few = sum(one.kind == "jackknife-few" for one in intervals)
    width = float(np.mean([one.high - one.low for one in defined]))
    return Found(hits, width, 1 - len(defined) / runs, few / runs)


def rows() -> Iterator[Row]:
    """The table's rows."""
    for n, share in ((100, 0.5), (100, 0.7), (100, 0.9), (1000, 0.9)):
        about = {"n": n, "share": share}
        yield Row("Wilson, independent questions", f"n {n}, share {share}", independent, share, about)
    yield from _shares()
    for images in (60, 300):
        about = {"images": images, "correlation": 0.3}
        yield Row("Balanced yes/no accuracy", f"{images} images, correlation 0.3", balanced, 0.7, about)
    yield from _pairs()
    yield from _correlations()
    yield from _rankings()
    yield from _judged_means()


def _shares() -> Iterator[Row]:
    few = [(4, 0.0, 0.7), (10, 0.3, 0.7), (10, 0.7, 0.7), (10, 0.0, 0.9), (4, 0.3, 0.9)]
    at_40 = [(10, 0.0, 0.7), (4, 0.7, 0.9)]
    many = [(3, 0.3, 0.7), (10, 0.0, 0.7), (10, 0.7, 0.7)]
    for images, chosen in ((20, few), (30, few), (39, at_40), (40, at_40), (60, many), (300, many)):
        for questions, correlation, share in chosen:
            about = {"images": images, "questions": questions, "correlation": correlation, "share": share}
            setting = f"{images} images, {questions} questions each, correlation {correlation}, share {share}"
            yield Row("Wilson, questions that share images", setting, sharing, share, about)
    different = np.random.default_rng(0).lognormal(sigma=1, size=150).round().astype(int) + 1
    for setting, sizes, share in (
        ("45 images with one question, one with 300", [300, *[1] * 45], 0.7),
        ("150 images with 1 to about 15 questions", different.tolist(), 0.7),
        ("300 images, 3 questions each, share 0.95", [3] * 300, 0.95),
        ("60 images, 10 questions each, share 0.98", [10] * 60, 0.98),
    ):
        yield Row("Wilson, questions that share images", setting, unequal, share, {"sizes": sizes, "share": share})


def _pairs() -> Iterator[Row]:
    typical = [(images, rounds, deviation) for images in (20, 30, 60) for rounds in (4, 12) for deviation in (0, 1, 2)]
    large = [(160, 12, 1), (1000, 12, 1)]
    high = [
        (20, 12, 1, 2.88),
        (30, 12, 1, 2.88),
        (60, 4, 1, 2.88),
        (60, 12, 1, 2.88),
        (60, 12, 1, 4.35),
        (160, 12, 1, 4.35),
        (160, 12, 2, 6.33),
    ]
    for images, rounds, deviation, log_odds in [*((*one, 1.0) for one in typical + large), *high]:
        about = {"images": images, "rounds": rounds, "deviation": deviation, "log_odds": log_odds}
        truth = _true_share(deviation, log_odds)
        setting = f"{images} images, {rounds} rounds, effects of sd {deviation}, share {truth:.2f}"
        yield Row("Dyadic, accuracy of pairs", setting, dyadic, truth, about)


def _correlations() -> Iterator[Row]:
    for n, correlation in ((60, 0.5), (60, 0.9), (300, 0.5), (300, 0.9), (3000, 0.9)):
        about = {"n": n, "correlation": correlation}
        setting, ranks = f"n {n}, correlation {correlation}", float(6 / np.pi * np.arcsin(correlation / 2))
        yield Row("Bootstrap, SRCC", setting, rank_correlated, ranks, about)
        yield Row("Jackknife, PLCC", setting, correlated, correlation, about)
    share, deviation = OUTLIERS
    with_errors = (1 + ERROR**2) ** -0.5
    true = {
        "both t with 3 df": ("predictions and quality t with 3 df", 0.8),
        "both lognormal": ("predictions and quality lognormal", float(np.expm1(0.8) / np.expm1(1))),
        "nearly 0 or 1": ("predictions nearly 0 or 1", _true_correlation("nearly 0 or 1")),
        "skewed": ("skewed predictions", _true_correlation("skewed")),
        "t with 3 df": ("errors t with 3 df", with_errors),
        "lognormal": ("lognormal errors", with_errors),
        "growing": ("errors that grow with quality", with_errors),
        "outliers": ("2 % outliers", (1 + ERROR**2 + share * deviation**2) ** -0.5),
    }
    for kind, (data, truth) in true.items():
        for n in (60, 300) if kind in ("both lognormal", "nearly 0 or 1", "skewed") else (60, 300, 3000):
            yield Row("Jackknife, PLCC", f"n {n}, {data}", unusually_correlated, truth, {"kind": kind, "n": n})
    for originals, versions in ((30, 29), (81, 125)):
        about = {"originals": originals, "versions": versions}
        setting = f"{versions} distorted versions of {originals} originals"
        yield Row("Jackknife, PLCC", setting, distorted, with_errors, about)
    for kind in ("normal", "t with 3 df", "lognormal", "growing"):
        about = {"kind": kind, "n": 60}
        setting = f"n 60, equally good models, {true[kind][0] if kind in true else 'normal errors'}"
        yield Row("Swaps, difference of two PLCCs", setting, equally_good, 0.0, about)


def _rankings() -> Iterator[Row]:
    for rounds in (4, 12):
        for images in (60, 160):
            for correlation, sharpness in ((0.5, 1.0), (0.9, 2.0)):
                about = {"images": images, "rounds": rounds, "correlation": correlation, "sharpness": sharpness}
                truth = _true_ranking(**about)
                setting = f"{images} images, {rounds} rounds, true SRCC {truth:.2f}"
                yield Row("Bootstrap, SRCC of MAP scores", setting, ranked, truth, about)


def _judged_means() -> Iterator[Row]:
    scales = {0.14: (0.9, 0.06, 0.04), 1.2: (0.2, 0.4, 0.4), 1.87: (0.03, 0.07, 0.9)}
    near_ends = [(images, 1, mean) for mean in (0.14, 1.87) for images in (60, 100, 300, 500)]
    for images, texts, mean in [*near_ends, (60, 1, 1.2), (300, 1, 1.2), (60, 3, 1.2), (300, 3, 1.87)]:
        about = {"images": images, "texts": texts, "probabilities": scales[mean]}
        setting = f"{images} images, {texts} text{'s' if texts > 1 else ''} each, mean {mean} of 2"
        yield Row("Wilson, judged means", setting, judged, mean, about)


@cache
def _true_share(deviation: float, log_odds: float) -> float:
    effects = np.sqrt(2) * deviation * np.random.default_rng(0).normal(size=_DRAWS)
    return float(expit(log_odds + effects).mean())


def _true_correlation(kind: str) -> float:
    return float(np.corrcoef(*unusual(np.random.default_rng(0), kind, _DRAWS))[0, 1])


def _true_ranking(**about: Any) -> float:
    """The mean SRCC over many runs of as many images and rounds: what such a run estimates."""
    rng = np.random.default_rng(1)
    return float(np.mean([spearmanr(*pair_rankings(rng, **about)).statistic for _ in range(4000)]))


def _table(found: list[tuple[Row, Found]], runs: int) -> Iterator[str]:
    low, high = NOMINAL
    families = list(dict.fromkeys(row.family for row, _ in found))
    found = sorted(found, key=lambda one: families.index(one[0].family))
    missed = sum(not low <= one.coverage <= high for _, one in found)
    yield "# Coverage of 95 % intervals"
    yield ""
    yield "This table shows how often 95 % intervals cover the true score in simulated data. Each row is based on"
    yield f"{runs:,} simulated runs. Good intervals cover the true score in 93 to 97 % of the runs:"
    yield f"{len(found) - missed} of {len(found)} rows do. [Intervals](topics/intervals.md) explains the kinds."
    yield '"A few items decide in 50 %" means that half of the intervals are of kind `jackknife-few`.'
    yield ""
    yield "`python -m tests.benchmarks.coverage --out docs/coverage.md` writes this page and simulates the data."
    yield ""
    yield "| interval | data | coverage | mean width | remark |"
    yield "|---|---|---:|---:|---|"
    for row, one in found:
        yield f"| {row.family} | {row.setting} | {100 * one.coverage:.1f} % | {one.width:.3f} | {one.remark} |"


def main() -> None:
    """Print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS, help="number of simulated runs per row")
    parser.add_argument("--only", default="", help="only rows whose family starts with this text")
    parser.add_argument("--out", type=Path, help="write to this file instead of printing")
    given = parser.parse_args()
    chosen = [row for row in rows() if row.family.startswith(given.only)]
    found = []
    with ProcessPoolExecutor() as pool:
        futures = [pool.submit(simulate, row, given.runs) for row in chosen]
        for row, future in zip(chosen, futures, strict=True):
            found.append((row, future.result()))
            print(row.family, "|", row.setting, "|", found[-1][1], file=sys.stderr)
    text = "\n".join(_table(found, given.runs)) + "\n"
    if given.out is None:
        print(text)
    else:
        given.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
