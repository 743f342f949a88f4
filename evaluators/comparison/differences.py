"""Paired tests of the item scores of two runs.

| score | test |
|---|---|
| share | McNemar's exact test, with Bonett and Price's interval of the difference |
| share of questions that share images | cluster-robust test |
| share of image pairs | dyadic-robust test |
| a judge's scores, SRCC | paired bootstrap |
| PLCC | permutation test that swaps the models |

Holm's adjustment is over the pairs of runs, for each score of each task by itself.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from eyechart.evaluators.comparison.difference import Difference
from eyechart.evaluators.comparison.image_rankings import pool_correlations, shared_pools
from eyechart.evaluators.comparison.item_scores import ItemScores, n_unread, shared_clusters
from eyechart.metrics.score_spec import Unit
from eyechart.metrics.scores import PAIRS, spec, specs_of
from eyechart.metrics.scoring.errors import ScoringError, UndefinedScoreError
from eyechart.metrics.scoring.judging.rounds import bootstrap_difference, summed_score
from eyechart.metrics.scoring.quality.correlation import plcc, srcc
from eyechart.metrics.scoring.statistics.bootstrap import part_generator
from eyechart.metrics.scoring.statistics.dyadic import dyadic_mean_difference
from eyechart.metrics.scoring.statistics.intervals import FEW_UNITS, Interval
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

_Values = NDArray[np.float64]
_Means = tuple[float | None, ...]
"""The mean of one item in each column; None if it has no score there."""
_MCNEMAR = "McNemar, exact"
FEW_TO_RESAMPLE = f"no test, as there are fewer than {FEW_UNITS} units to resample"


def differences(
    place: tuple[str, str, str], first: ItemScores, second: ItemScores, items: Sequence[str], seed: int
) -> list[Difference]:
    """Test every score of a task.

    Args:
        place: Task, dataset and split.
        first: The item scores of the first run.
        second: The item scores of the second run.
        items: Ids of the items to compare, which both runs have.
        seed: Seed of the bootstrap.
    """
    found = []
    aside = ", all images together" if first.is_averaged or second.is_averaged else ""
    for key in [key for key in first.values if key in second.values]:
        score, one, other = spec(key), first.values[key], second.values[key]
        shared = [item for item in items if item in one and item in other]
        a, b = ([values[item] for item in shared] for values in (one, other))
        clusters = shared_clusters((first, second), shared)
        empty = Difference(
            *place,
            key,
            f"{score.label}{aside}",
            len(shared),
            units=clusters.n_clusters,
            n_unread=n_unread((first, second), shared),
        )
        rng = part_generator(seed, "/".join((*place, key)))
        try:
            if score.correlation:
                human = [first.human[item] for item in shared]
                values = np.array(a, dtype=float), np.array(b, dtype=float)
                found.append(_TESTS[score.correlation](empty, *values, human, rng))
            elif score.unit is Unit.POINTS:
                found.append(_points_difference(empty, a, b, clusters, rng))
            else:
                right, also = (np.array(values, dtype=bool) for values in (a, b))
                images = [first.images[item] for item in shared] if first.images else []
                found.append(_share_difference(empty, right, also, shared, images, clusters))
        except ScoringError as error:
            found.append(replace(empty, note=str(error)))
    found += _ranking_differences(place, first, second, seed)
    return [replace(one, note=FEW_TO_RESAMPLE) if _lacks_test(one) else one for one in found]


def _lacks_test(one: Difference) -> bool:
    return not (one.has_test or math.isnan(one.difference) or one.note)


def corrected(found: Sequence[Difference]) -> list[Difference]:
    """Add Holm-adjusted p-values: the tests of one score of one task, one for each pair of runs, are a family."""
    families: dict[tuple[str, str], list[int]] = {}
    for place, one in enumerate(found):
        if one.has_test:
            families.setdefault((one.title, one.key), []).append(place)
    adjusted = list(found)
    for places in families.values():
        for place, p_holm in zip(places, holm([found[place].p_value for place in places]), strict=True):
            adjusted[place] = replace(found[place], p_holm=p_holm)
    return adjusted


def share_test(
    a: NDArray[np.bool_], b: NDArray[np.bool_], images: Sequence[tuple[str, ...]], clusters: Clusters
) -> tuple[str, PairedTest]:
    """Test the difference of two shares of correct items, depending on what the items share.

    Args:
        a: Whether each item is correct in the first run, shape (n,).
        b: Whether each item is correct in the second run, shape (n,).
        images: The two images of each pair; empty if items are not pairs.
        clusters: Which items belong together.

    Returns:
        The name of the test and its result; McNemar's test gives no interval.

    Raises:
        ScoringError: There are too few items, images or clusters.
    """
    test = mcnemar(a, b)
    if images:
        first, second = zip(*images, strict=True)
        name, found = "dyadic", dyadic_mean_difference(a, b, first, second)
    elif clusters.n_clusters < len(a):
        name, found = "clustered", clustered_mean_difference(a, b, clusters)
    else:
        return _MCNEMAR, test
    # With few images, p can by chance be smaller than for independent items; that is not allowed.
    return name, replace(found, p_value=max(found.p_value, test.p_value))


def _share_difference(
    empty: Difference,
    a: NDArray[np.bool_],
    b: NDArray[np.bool_],
    items: Sequence[str],
    images: Sequence[tuple[str, ...]],
    clusters: Clusters,
) -> Difference:
    scale, known = spec(empty.key).high, mcnemar(a, b)
    found = replace(
        empty,
        first=scale * float(a.mean()),
        second=scale * float(b.mean()),
        difference=scale * known.difference,
        test="dyadic" if images else "clustered",
        units=len({image for pair in images for image in pair}) if images else clusters.n_clusters,
        only_first=tuple(item for item, x, y in zip(items, a, b, strict=True) if x and not y),
        only_second=tuple(item for item, x, y in zip(items, a, b, strict=True) if y and not x),
    )
    try:
        name, test = share_test(a, b, images, clusters)
    except UndefinedScoreError as error:
        return replace(found, note=str(error))
    if name == _MCNEMAR:
        interval = paired_share_interval(a, b, clusters)
    else:
        kind = "constant" if math.isnan(test.interval[0]) else f"student-{name}"
        interval = Interval(*test.interval, kind, found.units)
    return replace(found, p_value=test.p_value, test=name).with_interval(interval.scaled(scale))


def _bootstrapped(one: Difference, test: PairedTest, name: str, scale: float = 1.0) -> Difference:
    """Add the result of a paired bootstrap; no interval if there are few units or all resamples agree."""
    kind = "none" if math.isnan(test.p_value) else "constant" if math.isnan(test.interval[0]) else "bootstrap"
    interval = Interval(*test.interval, kind, one.units).scaled(scale)
    return replace(one, p_value=test.p_value, test=name).with_interval(interval)


def _ranking_differences(
    place: tuple[str, str, str], first: ItemScores, second: ItemScores, seed: int
) -> Iterator[Difference]:
    """Differences in correlations of images ranked from pairs; resamples the images of a pool, or small pools."""
    pools = shared_pools((first, second))
    for score in (score for score in specs_of(PAIRS) if pools and score.correlation):
        one, other = pool_correlations(score.correlation, pools, (first, second), "/".join(place), seed)
        n = sum(len(first.ranked[pool]) for pool in pools)
        empty = Difference(*place, score.key, score.label, n, one.value, other.value, one.value - other.value)
        empty = replace(empty, units=one.units)
        try:
            test = paired_bootstrap(empty.difference, one.replicates - other.replicates, one.units)
            yield _bootstrapped(empty, test, f"paired bootstrap over {one.of}")
        except ScoringError as error:
            yield replace(empty, note=str(error))


def _points_difference(
    empty: Difference, a: Sequence[_Means], b: Sequence[_Means], clusters: Clusters, rng: np.random.Generator
) -> Difference:
    """The difference in the sum or mean of the means of several columns, such as a judge's dimensions."""
    one, other = (judged_columns(values) for values in (a, b))
    divisor = len(one) if spec(empty.key).is_averaged else 1
    score, also = (summed_score(columns) / divisor for columns in (one, other))
    found = replace(empty, first=score, second=also, difference=score - also)
    try:
        test = bootstrap_difference(one, other, rng, clusters=clusters)
    except UndefinedScoreError as error:
        return replace(found, note=str(error))
    return _bootstrapped(found, test, "paired bootstrap", 1 / divisor)


def judged_columns(values: Sequence[_Means]) -> list[list[list[float | None]]]:
    """Means of items as one round of a judge for each column."""
    return [[[value] for value in column] for column in zip(*values, strict=True)]


def _srcc_difference(
    empty: Difference, a: _Values, b: _Values, human: Sequence[float], rng: np.random.Generator
) -> Difference:
    test = bootstrap_srcc_difference(a, b, human, rng)
    first, second = srcc(a, human), srcc(b, human)
    found = replace(empty, first=first, second=second, difference=first - second)
    return _bootstrapped(found, test, "paired bootstrap")


def _plcc_difference(
    empty: Difference, a: _Values, b: _Values, human: Sequence[float], rng: np.random.Generator
) -> Difference:
    test = plcc_difference(a, b, human, rng)
    found = replace(empty, first=plcc(a, human), second=plcc(b, human), difference=test.difference)
    kind = "none" if math.isnan(test.p_value) else "constant" if math.isnan(test.interval[0]) else "swaps"
    interval = Interval(*test.interval, kind, len(a))
    return replace(found, p_value=test.p_value, test="swaps").with_interval(interval)


_TESTS = {"spearman": _srcc_difference, "pearson": _plcc_difference}
