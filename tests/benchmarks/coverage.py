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
from scipy.special import expit
from scipy.stats import spearmanr

from eyechart.metrics.scoring.statistics.bootstrap import part_generator
from eyechart.metrics.scoring.statistics.intervals import Interval
from tests.benchmarks import simulated_runs as runs_of

RUNS = 2000
NOMINAL = (0.93, 0.97)
_DRAWS = 4_000_000
"""Number of draws for a true score that has no formula."""

Draw = Callable[..., Interval]
"""Takes a generator and a row's settings; returns the interval of one simulated run."""


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
    """Among the runs with an interval."""
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
        yield Row("Wilson, independent questions", f"n {n}, share {share}", runs_of.independent, share, about)
    yield from _shares()
    for images in (60, 300):
        about = {"images": images, "correlation": 0.3}
        yield Row("Balanced yes/no accuracy", f"{images} images, correlation 0.3", runs_of.balanced, 0.7, about)
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
            yield Row("Wilson, questions that share images", setting, runs_of.sharing, share, about)
    different = np.random.default_rng(0).lognormal(sigma=1, size=150).round().astype(int) + 1
    for setting, sizes, share in (
        ("45 images with one question, one with 300", [300, *[1] * 45], 0.7),
        ("150 images with 1 to about 15 questions", different.tolist(), 0.7),
        ("300 images, 3 questions each, share 0.95", [3] * 300, 0.95),
        ("60 images, 10 questions each, share 0.98", [10] * 60, 0.98),
    ):
        about = {"sizes": sizes, "share": share}
        yield Row("Wilson, questions that share images", setting, runs_of.unequal, share, about)


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
        yield Row("Dyadic, accuracy of pairs", setting, runs_of.dyadic, truth, about)


def _correlations() -> Iterator[Row]:
    for n, correlation in ((60, 0.5), (60, 0.9), (300, 0.5), (300, 0.9), (3000, 0.9)):
        about = {"n": n, "correlation": correlation}
        setting, ranks = f"n {n}, correlation {correlation}", float(6 / np.pi * np.arcsin(correlation / 2))
        yield Row("Bootstrap, SRCC", setting, runs_of.rank_correlated, ranks, about)
        yield Row("Jackknife, PLCC", setting, runs_of.correlated, correlation, about)
    share, deviation = runs_of.OUTLIERS
    with_errors = (1 + runs_of.ERROR**2) ** -0.5
    true = {
        "both t with 3 df": ("predictions and quality t with 3 df", 0.8),
        "both lognormal": ("predictions and quality lognormal", float(np.expm1(0.8) / np.expm1(1))),
        "nearly 0 or 1": ("predictions nearly 0 or 1", _true_correlation("nearly 0 or 1")),
        "skewed": ("skewed predictions", _true_correlation("skewed")),
        "t with 3 df": ("errors t with 3 df", with_errors),
        "lognormal": ("lognormal errors", with_errors),
        "growing": ("errors that grow with quality", with_errors),
        "outliers": ("2 % outliers", (1 + runs_of.ERROR**2 + share * deviation**2) ** -0.5),
    }
    for kind, (data, truth) in true.items():
        for n in (60, 300) if kind in ("both lognormal", "nearly 0 or 1", "skewed") else (60, 300, 3000):
            about = {"kind": kind, "n": n}
            yield Row("Jackknife, PLCC", f"n {n}, {data}", runs_of.unusually_correlated, truth, about)
    for originals, versions in ((30, 29), (81, 125)):
        about = {"originals": originals, "versions": versions}
        setting = f"{versions} distorted versions of {originals} originals"
        yield Row("Jackknife, PLCC", setting, runs_of.distorted, with_errors, about)
    for kind in ("normal", "t with 3 df", "lognormal", "growing"):
        about = {"kind": kind, "n": 60}
        setting = f"n 60, equally good models, {true[kind][0] if kind in true else 'normal errors'}"
        yield Row("Swaps, difference of two PLCCs", setting, runs_of.equally_good, 0.0, about)


def _rankings() -> Iterator[Row]:
    for rounds in (4, 12):
        for images in (60, 160):
            for correlation, sharpness in ((0.5, 1.0), (0.9, 2.0)):
                about = {"images": images, "rounds": rounds, "correlation": correlation, "sharpness": sharpness}
                truth = _true_ranking(**about)
                setting = f"{images} images, {rounds} rounds, true SRCC {truth:.2f}"
                yield Row("Bootstrap, SRCC of MAP scores", setting, runs_of.ranked, truth, about)


def _judged_means() -> Iterator[Row]:
    scales = {0.14: (0.9, 0.06, 0.04), 1.2: (0.2, 0.4, 0.4), 1.87: (0.03, 0.07, 0.9)}
    near_ends = [(images, 1, mean) for mean in (0.14, 1.87) for images in (60, 100, 300, 500)]
    for images, texts, mean in [*near_ends, (60, 1, 1.2), (300, 1, 1.2), (60, 3, 1.2), (300, 3, 1.87)]:
        about = {"images": images, "texts": texts, "probabilities": scales[mean]}
        setting = f"{images} images, {texts} text{'s' if texts > 1 else ''} each, mean {mean} of 2"
        yield Row("Wilson, judged means", setting, runs_of.judged, mean, about)


@cache
def _true_share(deviation: float, log_odds: float) -> float:
    effects = np.sqrt(2) * deviation * np.random.default_rng(0).normal(size=_DRAWS)
    return float(expit(log_odds + effects).mean())


def _true_correlation(kind: str) -> float:
    return float(np.corrcoef(*runs_of.unusual(np.random.default_rng(0), kind, _DRAWS))[0, 1])


def _true_ranking(**about: Any) -> float:
    """The mean SRCC over many runs of as many images and rounds: what such a run estimates."""
    rng = np.random.default_rng(1)
    return float(np.mean([spearmanr(*runs_of.pair_rankings(rng, **about)).statistic for _ in range(4000)]))


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
    yield "`python -m tests.benchmarks.coverage --out docs/coverage.md` writes this page;"
    yield "`tests/benchmarks/simulated_runs.py` defines the simulated data."
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
