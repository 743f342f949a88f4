"""Paired tests of the item scores of two runs, Holm-adjusted over the pairs of runs for each score of each task."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.evaluators.comparison.item_scores import ItemScores, shared_clusters
from eyechart.evaluators.comparison.replicates import CORRELATIONS, judged_columns, ranking_correlation
from eyechart.evaluators.results.finished_runs import result_title
from eyechart.metrics.score_spec import ScoreSpec, Unit
from eyechart.metrics.scores import PAIRS, spec, specs_of
from eyechart.metrics.scoring.errors import ScoringError
from eyechart.metrics.scoring.judging.rounds import bootstrap_difference, summed_score
from eyechart.metrics.scoring.statistics.bootstrap import part_generator
from eyechart.metrics.scoring.statistics.dyadic import dyadic_mean_difference
from eyechart.metrics.scoring.statistics.intervals import FEW_UNITS
from eyechart.metrics.scoring.statistics.paired_shares import paired_share_interval
from eyechart.metrics.scoring.statistics.pearson import plcc_difference
from eyechart.metrics.scoring.statistics.shares import Clusters, clustered_mean_difference
from eyechart.metrics.scoring.statistics.significance import (
    PairedTest,
    bootstrap_srcc_difference,
    holm,
    mcnemar,
    paired_bootstrap,
)

_MCNEMAR = "McNemar, exact"
FEW_TO_RESAMPLE = f"no test, as there are fewer than {FEW_UNITS} units to resample"


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
        return result_title(self.task, self.dataset, self.split)


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

    def of(self, first: float, second: float, **fields: Any) -> "Difference":
        """This difference with the score of each run."""
        return replace(self, first=first, second=second, difference=first - second, **fields)

    def tested(self, test: PairedTest, kind: str, scale: float = 1.0) -> "Difference":
        """This difference with the result of a test, whose interval is of a kind; `scale` is the score's unit."""
        low, high = test.interval
        kind = "none" if math.isnan(test.p_value) else "constant" if math.isnan(low) else kind
        ends = (scale * low, scale * high)
        return replace(self, p_value=test.p_value, difference_ci95=ends, interval_kind=kind)


def differences(
    data: tuple[str, str, str], runs: Sequence[ItemScores], items: Sequence[str], seed: int
) -> list[Difference]:
    """Test every score of a task (`data`: task, dataset and split) in two runs, on items that both have."""
    keys = [key for key in runs[0].values if key in runs[1].values]
    tested = [_difference(data, spec(key), runs, items, seed) for key in keys]
    tested += _ranking_differences(data, runs, seed)
    return [
        each if each.has_test or math.isnan(each.difference) or each.note else replace(each, note=FEW_TO_RESAMPLE)
        for each in tested
    ]


def _difference(
    data: tuple[str, str, str], score: ScoreSpec, runs: Sequence[ItemScores], items: Sequence[str], seed: int
) -> Difference:
    values = [run.values[score.key] for run in runs]
    shared = [item for item in items if all(item in of_run for of_run in values)]
    a, b = ([of_run[item] for item in shared] for of_run in values)
    clusters, rng = shared_clusters(runs, shared), part_generator(seed, "/".join((*data, score.key)))
    aside = ", all images together" if any(run.is_averaged for run in runs) else ""
    result = Difference(*data, score.key, f"{score.label}{aside}", len(shared), units=clusters.n_clusters)
    try:
        if score.correlation:
            human = [runs[0].human[item] for item in shared]
            correlation = CORRELATIONS[score.correlation]
            result = result.of(correlation(a, human), correlation(b, human))
            if score.correlation == "pearson":
                return replace(result, test="swaps").tested(plcc_difference(a, b, human, rng), "swaps")
            test = bootstrap_srcc_difference(a, b, human, rng)
            return replace(result, test="paired bootstrap").tested(test, "bootstrap")
        if score.unit is Unit.POINTS:
            columns, also = judged_columns(a), judged_columns(b)
            divisor = len(columns) if score.is_averaged else 1
            result = result.of(summed_score(columns) / divisor, summed_score(also) / divisor)
            test = bootstrap_difference(columns, also, rng, clusters=clusters)
            return replace(result, test="paired bootstrap").tested(test, "bootstrap", 1 / divisor)
        right, also_right = (np.array(column, dtype=bool) for column in (a, b))
        images = [runs[0].images[item] for item in shared] if runs[0].images else []
        # McNemar's test refuses no items, which have no share.
        gap = score.high * mcnemar(right, also_right).difference
        units = len({image for pair in images for image in pair}) if images else clusters.n_clusters
        result = replace(
            result.of(score.high * float(right.mean()), score.high * float(also_right.mean())),
            difference=gap,
            units=units,
            test=_share_test(len(right), images, clusters),
            only_first=tuple(item for item, x, y in zip(shared, right, also_right, strict=True) if x and not y),
            only_second=tuple(item for item, x, y in zip(shared, right, also_right, strict=True) if y and not x),
        )
        name, test = share_test(right, also_right, images, clusters)
        kind = f"student-{name}"
        if name == _MCNEMAR:
            interval = paired_share_interval(right, also_right, clusters)
            kind, test = interval.kind, replace(test, interval=(interval.low, interval.high))
        return result.tested(test, kind, score.high)
    except ScoringError as error:
        return replace(result, note=str(error))


def _share_test(n: int, images: Sequence[tuple[str, ...]], clusters: Clusters) -> str:
    """The name of the test of shares, which depends on what the items share."""
    return "dyadic" if images else "clustered" if clusters.n_clusters < n else _MCNEMAR


def share_test(
    a: NDArray[np.bool_], b: NDArray[np.bool_], images: Sequence[tuple[str, ...]], clusters: Clusters
) -> tuple[str, PairedTest]:
    """The name and the result of the test of two shares of correct items; McNemar's test gives no interval.

    `images` has the two images of each pair, if items are pairs. Raises `ScoringError` for too few units.
    """
    name, independent = _share_test(len(a), images, clusters), mcnemar(a, b)
    if name == _MCNEMAR:
        return name, independent
    if images:
        test = dyadic_mean_difference(a, b, *zip(*images, strict=True))
    else:
        test = clustered_mean_difference(a, b, clusters)
    # With few images, p can by chance be smaller than for independent items; that is not allowed.
    return name, replace(test, p_value=max(test.p_value, independent.p_value))


def _ranking_differences(data: tuple[str, str, str], runs: Sequence[ItemScores], seed: int) -> Iterator[Difference]:
    """Differences in correlations of images ranked from pairs."""
    for score in (score for score in specs_of(PAIRS) if score.correlation):
        correlation = ranking_correlation(score.correlation, runs, "/".join(data), seed)
        if correlation is None:
            return
        result = Difference(*data, score.key, score.label, correlation.n, units=correlation.units)
        result = result.of(*correlation.values)
        first, second = correlation.replicates
        try:
            test = paired_bootstrap(result.difference, first - second, correlation.units)
        except ScoringError as error:
            yield replace(result, note=str(error))
        else:
            yield replace(result, test=f"paired bootstrap over {correlation.of}").tested(test, "bootstrap")


def corrected(tests: Sequence[Difference]) -> list[Difference]:
    """Add Holm-adjusted p-values: the tests of one score of one task, one for each pair of runs, are a family."""
    families: dict[tuple[str, str], list[int]] = {}
    for index, test in enumerate(tests):
        if test.has_test:
            families.setdefault((test.title, test.key), []).append(index)
    adjusted = list(tests)
    for family in families.values():
        for index, p_holm in zip(family, holm([tests[index].p_value for index in family]), strict=True):
            adjusted[index] = replace(tests[index], p_holm=p_holm)
    return adjusted


def signed(key: str, value: float) -> str:
    """A difference of two values of a score with its sign; a difference of percentages is in points.

    Examples:
        >>> signed("accuracy", 0.1333), signed("srcc", -0.012)
        ('+13.33 points', '-0.012')
    """
    shown = f"{'+' if value >= 0 else ''}{spec(key).shown(value)}"
    is_percentage = spec(key).unit in (Unit.FRACTION, Unit.PERCENT)
    return f"{shown.removesuffix(' %')} points" if is_percentage and math.isfinite(value) else shown


def shown_p(value: float) -> str:
    """A p-value in a table; "" if missing."""
    return "" if math.isnan(value) else "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def p_words(value: float) -> str:
    """A p-value in a sentence, such as "p < 0.0001" or "p = 0.0480"."""
    shown = shown_p(value)
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"
