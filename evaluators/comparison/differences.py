"""Paired tests of two runs on a score: which test it has, by what the table of scores declares.

A share of correct items has the tests of shares, and a PLCC has one that swaps the runs. All else is resampled: SRCC,
sums of judged points, and correlations of images ranked from pairs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from eyechart.evaluators.comparison.item_scores import ItemId, ItemScores, shared_clusters, shared_items
from eyechart.evaluators.results.finished_runs import TaskKey
from eyechart.metrics.score_spec import ScoreSpec
from eyechart.metrics.scores import spec
from eyechart.metrics.scoring.errors import InputError, ScoringError
from eyechart.metrics.scoring.inputs import FloatArray
from eyechart.metrics.scoring.judging.replies import bootstrap_scores, summed_score
from eyechart.metrics.scoring.pairs.scores import resampled_mean
from eyechart.metrics.scoring.quality.correlation import plcc, srcc
from eyechart.metrics.scoring.statistics.bootstrap import RESAMPLES, bootstrap_correlations, part_generator
from eyechart.metrics.scoring.statistics.dyadic import dyadic_mean_difference
from eyechart.metrics.scoring.statistics.intervals import FEW_UNITS
from eyechart.metrics.scoring.statistics.paired import (
    SIGNIFICANCE,
    PairedTest,
    clustered_mean_difference,
    mcnemar,
    paired_bootstrap,
)
from eyechart.metrics.scoring.statistics.pearson import plcc_difference
from eyechart.metrics.scoring.statistics.shares import Clusters

FEW_TO_RESAMPLE = f"no test, as there are fewer than {FEW_UNITS} units to resample"
_CORRELATIONS = {"spearman": srcc, "pearson": plcc}


@dataclass(frozen=True)
class ComparedScore:
    """A score of a task on its data: what a difference, a ranking or a plan belongs to."""

    task: str
    dataset: str
    split: str
    key: str
    """Key of the score in the table of scores; all numbers are in its unit."""
    score: str
    """Its label."""

    @property
    def title(self) -> str:
        """The task and its data, for display."""
        return TaskKey(self.task, self.dataset, self.split).title


@dataclass(frozen=True)
class Difference(ComparedScore):
    """One score of one task in two runs."""

    n: int
    """Items in both runs."""
    first: float = math.nan
    second: float = math.nan
    difference: float = math.nan
    """The first run's score minus the second's."""
    difference_ci95: tuple[float, float] = (math.nan, math.nan)
    """Its 95 % interval."""
    interval_kind: str = "none"
    """One of `DIFFERENCE_INTERVALS` in the notes."""
    units: int = 0
    """Number of independent units that the interval is based on: items, clusters of items, images or pools."""
    p_value: float = math.nan
    """Two-sided."""
    test: str = "none"
    """One of `TESTS` in the notes, or "none"; without a p-value, the test that would have been made."""
    only_first: tuple[str, ...] = ()
    """Items that are correct only in the first run."""
    only_second: tuple[str, ...] = ()
    p_holm: float = math.nan
    """The p-value, Holm-adjusted over all pairs of runs for this score of this task."""
    note: str = ""
    """Why the difference is undefined, or why a defined difference has neither test nor interval."""

    @property
    def unit_words(self) -> str:
        """The units, such as "60 images"."""
        of = {"dyadic": "images", "paired bootstrap over images": "images", "paired bootstrap over pools": "pools"}
        return f"{self.units:,} {of.get(self.test) or ('items' if self.units == self.n else 'clusters')}"

    @property
    def has_test(self) -> bool:
        """Whether there is a p-value."""
        return not math.isnan(self.p_value)

    def ordered(self, first: str = "A", second: str = "B") -> list[str]:
        """The names of the runs, the one that scored significantly higher first; empty if neither did."""
        if not self.p_holm < SIGNIFICANCE:
            return []
        return [first, second] if self.difference > 0 else [second, first]

    def of(self, first: float, second: float) -> "Difference":
        """This difference with the score of each run."""
        return replace(self, first=first, second=second, difference=first - second)

    def tested(self, name: str, test: PairedTest, kind: str = "bootstrap", scale: float = 1.0) -> "Difference":
        """This difference with the result of a test, whose interval is of a kind; `scale` is the score's unit."""
        low, high = test.interval
        kind = "none" if math.isnan(test.p_value) else "constant" if math.isnan(low) else kind
        ends, reason = (scale * low, scale * high), FEW_TO_RESAMPLE if math.isnan(test.p_value) else ""
        return replace(self, test=name, p_value=test.p_value, difference_ci95=ends, interval_kind=kind, note=reason)


def differences(key: TaskKey, runs: Sequence[ItemScores], seed: int) -> list[Difference]:
    """Test every score of a task in two runs that have the same items."""
    return [difference_in(score, key, runs, seed) for score in runs[0].values if score in runs[1].values]


def difference_in(score: ScoreSpec, key: TaskKey, runs: Sequence[ItemScores], seed: int) -> Difference:
    """Test one score of a task in two runs, on the items that have it in both."""
    items, name = shared_items(runs, score).ids, "/".join((*key, score.key))
    clusters = shared_clusters(runs, items)
    aside = ", all images together" if any(run.is_averaged for run in runs) else ""
    result = Difference(*key, score.key, f"{score.label}{aside}", len(items), units=clusters.n_clusters)
    try:
        if score.is_percentage:
            result = _with_shares(result, score, runs, items)
            return result.tested(result.test, *share_test(score, runs, items, clusters), score.high)
        if score.correlation == "pearson" and score.of:
            human = [runs[0].human[item] for item in items]
            a, b = (run.values_of(score, items) for run in runs)
            result = result.of(plcc(a, human), plcc(b, human))
            return result.tested("swaps", plcc_difference(a, b, human, part_generator(seed, name)), "swaps")
        first, second = (resampled(score, run, items, clusters, seed, name) for run in runs)
        result = result.of(first.score, second.score)
        if score.of:
            return result.tested("paired bootstrap", bootstrap_test(first, second))
        over = "images" if first.units == len(items) else "pools"
        return replace(result, units=first.units).tested(f"paired bootstrap over {over}", bootstrap_test(first, second))
    except ScoringError as error:
        return replace(result, note=str(error))


def _with_shares(result: Difference, score: ScoreSpec, runs: Sequence[ItemScores], items: Sequence[str]) -> Difference:
    """A difference with each run's share of correct items, and the items that only one of them has right."""
    first, second = (np.array(run.values_of(score, items), dtype=bool) for run in runs)
    # McNemar's test refuses no items, which have no share.
    gap = score.high * mcnemar(first, second).difference
    images = {image for pair in runs[0].images_of(items) for image in pair}
    name = "dyadic" if images else "clustered" if result.units < len(items) else "McNemar, exact"
    return replace(
        result.of(score.high * float(first.mean()), score.high * float(second.mean())),
        difference=gap,
        units=len(images) or result.units,
        test=name,
        only_first=tuple(item for item, x, y in zip(items, first, second, strict=True) if x and not y),
        only_second=tuple(item for item, x, y in zip(items, first, second, strict=True) if y and not x),
    )


def share_test(
    score: ScoreSpec, runs: Sequence[ItemScores], items: Sequence[ItemId], clusters: Clusters
) -> tuple[PairedTest, str]:
    """The test of two runs' shares of correct items, as fractions, and the kind of its interval.

    Raises `ScoringError` for too few units.
    """
    first, second = (np.array(run.values_of(score, items), dtype=bool) for run in runs)
    independent = mcnemar(first, second)
    if images := runs[0].images_of(items):
        test, kind = dyadic_mean_difference(first, second, *zip(*images, strict=True)), "student"
    elif clusters.n_clusters < len(items):
        test, kind = clustered_mean_difference(first, second, clusters), "student"
    else:
        return independent, "paired" if clusters.are_known else "paired-unread"
    # With few images, p can by chance be smaller than for independent items; that is not allowed.
    return replace(test, p_value=max(test.p_value, independent.p_value)), kind


@dataclass(frozen=True)
class Resampled:
    """A run's score with its bootstrap replicates; equal seeds and names give all runs equal draws."""

    score: float
    replicates: FloatArray
    """Shape (resamples,); nan if undefined."""
    units: int
    """Number of resampled units."""


def bootstrap_test(first: Resampled, second: Resampled) -> PairedTest:
    """The paired bootstrap test of two runs; raises `ScoringError` if no replicate is defined."""
    replicates = first.replicates - second.replicates
    return paired_bootstrap(first.score - second.score, replicates, min(first.units, second.units))


def resampled(
    score: ScoreSpec, run: ItemScores, items: Sequence[ItemId], clusters: Clusters, seed: int, name: str
) -> Resampled:
    """A run's score of some items, other than a share; raises `ScoringError` if it is undefined."""
    if not items:
        raise InputError("no item has this score in both runs")
    if not score.of:
        return _of_ranking(score, run, items, seed, name)
    if score.correlation:
        return _of_correlation(score, run, items, seed, name)
    means = np.array(run.values_of(score, items), dtype=np.float64).T
    replicates, units = bootstrap_scores(means, RESAMPLES, part_generator(seed, name), clusters)
    scale = 1 / len(means) if score.is_averaged else 1.0
    return Resampled(scale * summed_score(means), scale * replicates.sum(axis=1), min(units))


def _of_correlation(
    score: ScoreSpec, run: ItemScores, items: Sequence[ItemId], seed: int, name: str, is_resampled: bool = True
) -> Resampled:
    values, human = run.values_of(score, items), [run.human[item] for item in items]
    replicates = np.full(RESAMPLES, math.nan)
    if is_resampled:
        [replicates] = bootstrap_correlations(values, human, part_generator(seed, name), kinds=[score.correlation])
    return Resampled(_CORRELATIONS[score.correlation](values, human), replicates, len(items))


def _of_ranking(score: ScoreSpec, run: ItemScores, items: Sequence[ItemId], seed: int, name: str) -> Resampled:
    """The mean over pools of a correlation of images; a pool without one counts as the run's setting says."""
    pools: dict[str, list[ItemId]] = {}
    for item in items:
        pools.setdefault(item[0], []).append(item)
    parts = []
    # Of smaller pools, `resampled_mean` reads no replicates.
    are_resampled = min(map(len, pools.values())) >= FEW_UNITS
    for pool, images in pools.items():
        try:
            parts.append(_of_correlation(score, run, images, seed, f"{name}/{pool}", are_resampled))
        except ScoringError:
            parts.append(Resampled(math.nan, np.full(RESAMPLES, math.nan), len(images)))
    scores, replicates, sizes = zip(*((part.score, part.replicates, part.units) for part in parts), strict=True)
    return Resampled(*resampled_mean(scores, replicates, sizes, replace(run.pooling, seed=seed)))


def signed(key: str, value: float) -> str:
    """A difference of two values of a score with its sign; a difference of percentages is in points.

    Examples:
        >>> signed("accuracy", 0.1333), signed("srcc", -0.012)
        ('+13.33 points', '-0.012')
    """
    shown = f"{'+' if value >= 0 else ''}{spec(key).shown(value)}"
    return f"{shown.removesuffix(' %')} points" if shown.endswith("%") else shown


def shown_p(value: float) -> str:
    """A p-value in a table; "" if missing."""
    return "" if math.isnan(value) else "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def p_words(value: float) -> str:
    """A p-value in a sentence, such as "p < 0.0001" or "p = 0.0480"."""
    shown = shown_p(value)
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"


def shown_difference(test: Difference) -> tuple[str, ...]:
    """Both scores, their difference, its interval, p, adjusted p, flips and n, as texts for tables."""
    declared = spec(test.key)
    low, high = (signed(test.key, end).removesuffix(" points") for end in test.difference_ci95)
    return (
        *(declared.shown(test.first), declared.shown(test.second), signed(test.key, test.difference)),
        f"{low} to {high}" if all(map(math.isfinite, test.difference_ci95)) else "",
        *(shown_p(test.p_value), shown_p(test.p_holm)),
        f"{len(test.only_first):,} / {len(test.only_second):,}" if declared.is_percentage else "",
        f"{test.n:,}",
    )
