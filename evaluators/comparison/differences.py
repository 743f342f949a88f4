"""Paired tests of the item scores of two runs, Holm-adjusted over the pairs of runs for each score of each task."""

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.evaluators.comparison.item_scores import ItemScores, shared_clusters
from eyechart.evaluators.results.finished_runs import TaskKey
from eyechart.evaluators.results.notes import Note, grouped, note
from eyechart.metrics.score_spec import ScoreSpec, Unit
from eyechart.metrics.scores import PAIRS, spec, specs_of
from eyechart.metrics.scoring.errors import ScoringError
from eyechart.metrics.scoring.inputs import FloatArray
from eyechart.metrics.scoring.judging.rounds import bootstrap_difference, bootstrap_scores, summed_score
from eyechart.metrics.scoring.pairs.scores import average_over_pools
from eyechart.metrics.scoring.quality.correlation import plcc, srcc
from eyechart.metrics.scoring.quality.scores import Correlations
from eyechart.metrics.scoring.statistics.bootstrap import (
    RESAMPLES,
    bootstrap_plcc_columns,
    bootstrap_srcc_columns,
    part_generator,
)
from eyechart.metrics.scoring.statistics.dyadic import dyadic_mean_difference
from eyechart.metrics.scoring.statistics.intervals import FEW_UNITS
from eyechart.metrics.scoring.statistics.paired_shares import paired_share_interval
from eyechart.metrics.scoring.statistics.pearson import plcc_difference
from eyechart.metrics.scoring.statistics.ranking import SIGNIFICANCE
from eyechart.metrics.scoring.statistics.shares import Clusters, clustered_mean_difference
from eyechart.metrics.scoring.statistics.significance import (
    PairedTest,
    bootstrap_srcc_difference,
    mcnemar,
    paired_bootstrap,
)

FEW_TO_RESAMPLE = f"no test, as there are fewer than {FEW_UNITS} units to resample"
_MCNEMAR = "McNemar, exact"
_CORRELATIONS = {"spearman": srcc, "pearson": plcc}
_RESAMPLED = {"spearman": bootstrap_srcc_columns, "pearson": bootstrap_plcc_columns}
_RANKING_SCORES = tuple(score for score in specs_of(PAIRS) if score.correlation)


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

    def of(self, first: float, second: float, **fields: Any) -> "Difference":
        """This difference with the score of each run."""
        return replace(self, first=first, second=second, difference=first - second, **fields)

    def tested(self, name: str, test: PairedTest, kind: str = "bootstrap", scale: float = 1.0) -> "Difference":
        """This difference with the result of a test, whose interval is of a kind; `scale` is the score's unit."""
        low, high = test.interval
        kind = "none" if math.isnan(test.p_value) else "constant" if math.isnan(low) else kind
        ends, reason = (scale * low, scale * high), FEW_TO_RESAMPLE if math.isnan(test.p_value) else ""
        return replace(self, test=name, p_value=test.p_value, difference_ci95=ends, interval_kind=kind, note=reason)


def differences(key: TaskKey, runs: Sequence[ItemScores], items: Sequence[str], seed: int) -> list[Difference]:
    """Test every score of a task in two runs, on items that both have."""
    scores = [score for score in runs[0].values if score in runs[1].values]
    tested = [_difference(key, spec(score), runs, items, seed) for score in scores]
    return [*tested, *_ranking_differences(key, runs, seed)]


def _difference(
    key: TaskKey, score: ScoreSpec, runs: Sequence[ItemScores], items: Sequence[str], seed: int
) -> Difference:
    values = [run.values[score.key] for run in runs]
    shared = [item for item in items if all(item in of_run for of_run in values)]
    a, b = ([of_run[item] for item in shared] for of_run in values)
    clusters, rng = shared_clusters(runs, shared), part_generator(seed, "/".join((*key, score.key)))
    aside = ", all images together" if any(run.is_averaged for run in runs) else ""
    result = Difference(*key, score.key, f"{score.label}{aside}", len(shared), units=clusters.n_clusters)
    try:
        if score.correlation:
            human = [runs[0].human[item] for item in shared]
            correlation = _CORRELATIONS[score.correlation]
            result = result.of(correlation(a, human), correlation(b, human))
            if score.correlation == "pearson":
                return result.tested("swaps", plcc_difference(a, b, human, rng), "swaps")
            return result.tested("paired bootstrap", bootstrap_srcc_difference(a, b, human, rng))
        if score.unit is Unit.POINTS:
            columns, others = _judged_columns(a), _judged_columns(b)
            scale = 1 / len(columns) if score.is_averaged else 1.0
            result = result.of(scale * summed_score(columns), scale * summed_score(others))
            test = bootstrap_difference(columns, others, rng, clusters=clusters)
            return result.tested("paired bootstrap", test, scale=scale)
        right, also_right = (np.array(column, dtype=bool) for column in (a, b))
        images = [runs[0].images[item] for item in shared] if runs[0].images else []
        # McNemar's test refuses no items, which have no share.
        gap = score.high * mcnemar(right, also_right).difference
        units = len({image for pair in images for image in pair}) if images else clusters.n_clusters
        name = "dyadic" if images else "clustered" if units < len(shared) else _MCNEMAR
        result = replace(
            result.of(score.high * float(right.mean()), score.high * float(also_right.mean())),
            difference=gap,
            units=units,
            test=name,
            only_first=tuple(item for item, x, y in zip(shared, right, also_right, strict=True) if x and not y),
            only_second=tuple(item for item, x, y in zip(shared, right, also_right, strict=True) if y and not x),
        )
        test, kind = share_test(right, also_right, images, clusters), f"student-{name}"
        if name == _MCNEMAR:
            interval = paired_share_interval(right, also_right, clusters)
            kind, test = interval.kind, replace(test, interval=(interval.low, interval.high))
        return result.tested(name, test, kind, score.high)
    except ScoringError as error:
        return replace(result, note=str(error))


def share_test(
    a: NDArray[np.bool_], b: NDArray[np.bool_], images: Sequence[tuple[str, ...]], clusters: Clusters
) -> PairedTest:
    """The test of two shares of correct items; McNemar's, of items that share nothing, gives no interval.

    `images` has the two images of each pair, if items are pairs. Raises `ScoringError` for too few units.
    """
    independent = mcnemar(a, b)
    if images:
        test = dyadic_mean_difference(a, b, *zip(*images, strict=True))
    elif clusters.n_clusters < len(a):
        test = clustered_mean_difference(a, b, clusters)
    else:
        return independent
    # With few images, p can by chance be smaller than for independent items; that is not allowed.
    return replace(test, p_value=max(test.p_value, independent.p_value))


def score_replicates(
    score: ScoreSpec, run: ItemScores, items: Sequence[str], clusters: Clusters, rng: np.random.Generator
) -> FloatArray:
    """Bootstrap replicates of a run's score on some items, in clusters; equal generators give all runs equal draws."""
    values = [run.values[score.key][item] for item in items]
    if score.correlation:
        replicates: FloatArray = _RESAMPLED[score.correlation]([values], [run.human[item] for item in items], rng)[0]
        return replicates
    columns = _judged_columns(values)
    total = bootstrap_scores(columns, RESAMPLES, rng, clusters)[0].sum(axis=1)
    return total / (len(columns) if score.is_averaged else 1)


def _judged_columns(values: Sequence[tuple[float | None, ...]]) -> list[list[list[float | None]]]:
    """Means of items as one round of a judge for each column."""
    return [[[value] for value in column] for column in zip(*values, strict=True)]


def _ranking_differences(key: TaskKey, runs: Sequence[ItemScores], seed: int) -> Iterator[Difference]:
    """Differences in correlations of images ranked from pairs, on the pools that both runs have."""
    # A pool without a ranking counts as each run's setting says.
    pools = [
        pool
        for pool, images in runs[0].ranked.items()
        if all(images.keys() == run.ranked.get(pool, {}).keys() for run in runs)
        and not any(
            run.pooling.undefined_pools == "leave_out" and math.isnan(score)
            for run in runs
            for score, _ in run.ranked[pool].values()
        )
    ]
    if not pools:
        return
    first, second = (_ranking_correlations(run, pools, "/".join(key), seed) for run in runs)
    units, of = (first.n, "images") if first.units is None else (first.units, "pools")
    for score, a, b in zip(_RANKING_SCORES, first.replicates, second.replicates, strict=True):
        result = Difference(*key, score.key, score.label, first.n, units=units)
        result = result.of(first.scores[score.key], second.scores[score.key])
        try:
            yield result.tested(f"paired bootstrap over {of}", paired_bootstrap(result.difference, a - b, units))
        except ScoringError as error:
            yield replace(result, note=str(error))


def _ranking_correlations(run: ItemScores, pools: Sequence[str], name: str, seed: int) -> Correlations:
    """The means over pools, with replicates on resamples that are the same for all runs."""
    parts = []
    for pool in pools:
        scores, quality = zip(*(run.ranked[pool][image] for image in sorted(run.ranked[pool])), strict=True)
        values, replicates = {}, np.full((2, RESAMPLES), np.nan)
        for side, score in enumerate(_RANKING_SCORES):
            values[score.key], rng = math.nan, part_generator(seed, f"{name}/{pool}")
            with suppress(ScoringError):
                replicates[side] = _RESAMPLED[score.correlation]([scores], quality, rng)[0]
                values[score.key] = _CORRELATIONS[score.correlation](scores, quality)
        parts.append(Correlations(values, (replicates[0], replicates[1]), len(scores), {}))
    return average_over_pools(parts, replace(run.pooling, seed=seed))


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


def method_notes(differences: Sequence[Difference]) -> Iterator[Note]:
    """The test of each p-value, and the kind of each interval or why it is missing, for all that the tables show."""
    tests = [(test.test, test.title, test.score) for test in differences if test.has_test]
    intervals = [(t.interval_kind, t.title, f"{t.score} ({t.unit_words})") for t in differences if not t.note]
    for code, shown in (("test", tests), ("difference_interval", intervals)):
        for kind in dict.fromkeys(kind for kind, _, _ in shown):
            yield note(code, kind=kind, scores=grouped((title, score) for of, title, score in shown if of == kind))
    if any(test.has_test and test.interval_kind.startswith("student") for test in differences):
        yield note("student_interval")
    if intervals:
        yield note("overlap")
