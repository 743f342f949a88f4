"""Paired tests of what the items gave in two runs.

Shares by McNemar's exact test, with a bootstrap interval of the difference; shares of pairs that have images in common
by a dyadic test; a judge's marks and SRCC by a paired bootstrap; PLCC by Williams' test, with a bootstrap interval.
Holm's correction is over all tests of a comparison.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from eyechart.evaluators.comparison.items import ItemScores, JudgeScores, Qualities, Share
from eyechart.metrics.scoring.errors import ScoringError
from eyechart.metrics.scoring.quality.correlation import plcc, srcc
from eyechart.metrics.scoring.statistics.dyadic import dyadic_mean_difference
from eyechart.metrics.scoring.statistics.intervals import (
    bootstrap_mean,
    bootstrap_plcc_pairs,
    part_generator,
    percentile_interval,
)
from eyechart.metrics.scoring.statistics.significance import (
    bootstrap_mean_difference,
    bootstrap_srcc_difference,
    holm,
    mcnemar,
    williams,
)

_NOT_RANKINGS = "the rankings and their correlations are not compared"


@dataclass(frozen=True)
class Difference:
    """One score of one task in two runs."""

    task: str
    dataset: str
    split: str
    score: str
    """What it is, for people."""
    first: float
    second: float
    difference: float
    """The first run's score less the second's."""
    interval: tuple[float, float]
    """95 % interval of the difference."""
    p_value: float
    """Two-sided."""
    test: str
    n: int
    """Items in both runs."""
    only_first: tuple[str, ...] = ()
    """Items that only the first run has right."""
    only_second: tuple[str, ...] = ()
    p_holm: float = math.nan
    """Corrected for all tests of the comparison."""
    note: str = ""
    """What the reader has to know; why there is no test, where the difference is undefined."""


def differences(
    place: tuple[str, str, str], first: ItemScores, second: ItemScores, items: Sequence[str], seed: int
) -> list[Difference]:
    """Test every score of a task.

    Args:
        place: Task, data set and split.
        first: What the items gave in the first run.
        second: The same of the second.
        items: The items to compare, which both have.
        seed: Seed of the bootstrap.
    """
    found = [
        _share_difference(place, one, other, items, seed)
        for one, other in zip(first.shares, second.shares, strict=True)
    ]
    found += [
        _judged_difference(place, one, other, items, seed)
        for one in first.judged
        for other in second.judged
        if one.key == other.key
    ]
    if first.qualities is not None and second.qualities is not None:
        found += _quality_differences(place, first.qualities, second.qualities, items, seed)
    return found


def corrected(found: Sequence[Difference]) -> list[Difference]:
    """The same with p-values of Holm's correction over those that have one."""
    tested = [one for one in found if not math.isnan(one.p_value)]
    values = dict(zip(map(id, tested), holm([one.p_value for one in tested]) if tested else (), strict=True))
    return [replace(one, p_holm=values.get(id(one), math.nan)) for one in found]


def _share_difference(
    place: tuple[str, str, str], one: Share, other: Share, items: Sequence[str], seed: int
) -> Difference:
    counted = [item for item in items if item in one.right and item in other.right]
    a, b = (np.array([share.right[item] for item in counted], dtype=bool) for share in (one, other))
    try:
        test = mcnemar(a, b)
        if one.images is None:
            rng = part_generator(seed, "/".join((*place, one.key)))
            interval = percentile_interval(bootstrap_mean(a.astype(float) - b.astype(float), rng))
            name, p_value, note = "McNemar, exact", test.p_value, ""
        else:
            dyadic = dyadic_mean_difference(a, b, *zip(*(one.images[item] for item in counted), strict=True))
            # Never smaller than if the pairs were independent; few images can make it so by chance.
            name, p_value, note = "dyadic", max(dyadic.p_value, test.p_value), _NOT_RANKINGS
            interval = dyadic.interval
    except ScoringError as error:
        return _undefined(place, one.label, len(counted), error)
    return Difference(
        *place,
        score=one.label,
        first=float(a.mean()),
        second=float(b.mean()),
        difference=test.difference,
        interval=interval,
        p_value=p_value,
        test=name,
        n=test.n,
        only_first=tuple(item for item, x, y in zip(counted, a, b, strict=True) if x and not y),
        only_second=tuple(item for item, x, y in zip(counted, a, b, strict=True) if y and not x),
        note=note,
    )


def _judged_difference(
    place: tuple[str, str, str], one: JudgeScores, other: JudgeScores, items: Sequence[str], seed: int
) -> Difference:
    marked = [item for item in items if item in one.values and item in other.values]
    first, second = _column(one.values, marked), _column(other.values, marked)
    try:
        test = bootstrap_mean_difference(first, second, part_generator(seed, "/".join((*place, one.key))))
    except ScoringError as error:
        return _undefined(place, one.label, len(marked), error)
    return Difference(
        *place,
        score=one.label,
        first=math.fsum(first) / len(first),
        second=math.fsum(second) / len(second),
        difference=test.difference,
        interval=test.interval,
        p_value=test.p_value,
        test="paired bootstrap",
        n=test.n,
    )


def _quality_differences(
    place: tuple[str, str, str], one: Qualities, other: Qualities, items: Sequence[str], seed: int
) -> list[Difference]:
    human = _column(one.human, items)
    aside = ", all images together" if one.averaged or other.averaged else ""

    def made(
        score: str, scores: Sequence[float], interval: tuple[float, float], p_value: float, test: str
    ) -> Difference:
        gap = scores[0] - scores[1]
        name = f"{score}{aside}"
        return Difference(*place, name, scores[0], scores[1], gap, interval, p_value, test, len(items))

    found = []
    first, second = _column(one.ranking, items), _column(other.ranking, items)
    try:
        rng = part_generator(seed, "/".join((*place, "srcc")))
        by_rank = bootstrap_srcc_difference(first, second, human, rng)
        scores = (srcc(first, human), srcc(second, human))
        found.append(made("SRCC", scores, by_rank.interval, by_rank.p_value, "paired bootstrap"))
    except ScoringError as error:
        found.append(_undefined(place, "SRCC", len(items), error))
    first, second = _column(one.values, items), _column(other.values, items)
    try:
        linear = williams(first, second, human)
        rng = part_generator(seed, "/".join((*place, "plcc")))
        replicates = bootstrap_plcc_pairs(first, second, human, rng)
        scores = (plcc(first, human), plcc(second, human))
        interval = percentile_interval(replicates[0] - replicates[1])
        found.append(made("PLCC", scores, interval, linear.p_value, "Williams"))
    except ScoringError as error:
        found.append(_undefined(place, "PLCC", len(items), error))
    return found


def _column(values: Mapping[str, float], items: Sequence[str]) -> list[float]:
    return [values[item] for item in items]


def _undefined(place: tuple[str, str, str], score: str, n: int, error: ScoringError) -> Difference:
    nan = math.nan
    return Difference(*place, score, nan, nan, nan, (nan, nan), nan, "none", n, note=str(error))
