"""Power analysis: the items needed to detect a difference, from two runs, or from one run and an assumed difference."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.evaluators.comparison.compare import PassedOver, chosen_keys, comparable_items, headline_of_all
from eyechart.evaluators.comparison.differences import ComparedScore, difference_in, resampled
from eyechart.evaluators.comparison.item_scores import IncomparableError, ItemScores, shared_clusters, shared_items
from eyechart.evaluators.comparison.settings import allowed_names
from eyechart.evaluators.evaluation.options import Goal
from eyechart.evaluators.results.finished_runs import Run, TaskKey, read_runs
from eyechart.metrics.scores import ScoreSpec, Unit
from eyechart.metrics.scoring.errors import ScoringError
from eyechart.metrics.scoring.statistics.dyadic import PairedImages
from eyechart.metrics.scoring.statistics.intervals import FEW_UNITS
from eyechart.metrics.scoring.statistics.power import PairedDesign
from eyechart.metrics.scoring.statistics.shares import clustered_variance

_DEFAULT = Goal()


@dataclass(frozen=True)
class Plan(ComparedScore):
    """The difference that a number of items can detect in the headline of one task, and the items that one needs."""

    n: int
    """Number of items that the runs have."""
    units: float
    """Effective number of units, which the tests use: images or clusters of equal size with the same information."""
    at: int
    """The planned number of items."""
    detectable: float | None
    """The smallest true difference that `at` items detect with the power; None if they cannot detect any."""
    difference: float
    """The difference to detect: given, or observed."""
    needed: int | None
    """The number of items that detects it; None if above ten million."""
    power: float
    """The probability that `at` items detect it."""


def plan_runs(
    folders: Sequence[str | Path], tasks: Sequence[str] = (), goal: Goal = _DEFAULT, allowed: Collection[str] = ()
) -> tuple[list[Plan], list[PassedOver]]:
    """Plan a comparison: a plan for each task that `compare` would compare, and why the others have none.

    Two runs show how often models like these differ. With one run, another model is assumed to be correct independently
    of it; models that agree more often need fewer items. Raises `UsageError`, or `DataError` if no task can be planned.
    """
    if len(folders) not in (1, 2):
        raise UsageError(f"{len(folders)} runs are given; name two finished runs, or one run with --difference")
    if len(folders) == 1 and goal.difference is None:
        raise UsageError("only one run is given; name a second run, or set --difference")
    runs = read_runs(folders)
    allowed = allowed_names(allowed, runs)
    plans, passed_over = [], []
    for key in chosen_keys(runs, tasks):
        try:
            plans.append(_plan(key, runs, goal, allowed))
        except DataError as error:
            passed_over.append(PassedOver(key.title, error.reason))
    if not plans:
        reasons = "".join(f"\n{task.title}: {task.reason}" for task in passed_over)
        raise DataError(f"no task of these runs can be planned:{reasons}")
    return plans, passed_over


def _plan(key: TaskKey, runs: Sequence[Run], goal: Goal, allowed: Collection[str]) -> Plan:
    """The plan for a task; a DataError says why it cannot be planned."""
    headline = headline_of_all(key, runs)
    try:
        items = comparable_items(key, runs, allowed, common=True)
    except IncomparableError as error:
        advice = "; to plan anyway, use --allow SETTING" if error.can_be_allowed else ""
        raise DataError(f"{error.reason}{advice}") from error
    if any(headline not in run.values for run in items):
        raise DataError("its headline score cannot be computed from single items")
    ids = shared_items(items, headline).ids
    if len(ids) < 2:
        raise DataError(f"{len(ids)} of its items have a score; a plan needs at least 2")
    # Scores in percent are planned as fractions, as --difference is given.
    scale = headline.high if headline.unit is Unit.PERCENT else 1.0
    difference = goal.difference
    if difference is None:
        difference = difference_in(headline, key, items, goal.seed).difference / scale
    if not math.isfinite(difference):
        raise DataError(f"the runs' difference in {headline.label} is undefined; set --difference")
    try:
        if headline.is_percentage:
            design = _share_design(headline, items, ids, difference)
        else:
            design = _resampled_design(headline, items, ids, goal.seed, "/".join(key))
    except ScoringError as error:
        raise DataError(str(error)) from error
    design, at = replace(design, pairs=math.comb(goal.models, 2)), goal.n or len(ids)
    least = design.detectable(at, goal.power)
    return Plan(
        *key,
        headline.key,
        headline.label,
        n=len(ids),
        units=design.units,
        at=at,
        detectable=None if least is None else scale * least,
        difference=scale * difference,
        needed=design.needed(difference, goal.power) if difference else None,
        power=design.power(difference, at),
    )


def _resampled_design(
    score: ScoreSpec, runs: Sequence[ItemScores], ids: Sequence[str], seed: int, name: str
) -> PairedDesign:
    """The design of a correlation, or of a mean of points: its variance is the bootstrap's."""
    clusters = shared_clusters(runs, ids)
    first, *second = (resampled(score, run, ids, clusters, seed, name).replicates for run in runs)
    variance = float(np.nanvar(first - second[0] if second else first * math.sqrt(2)))
    # Equal replicates have at most this variance, from rounding.
    if variance < 1e-20:
        raise DataError("the difference is the same in all resamples, so its variance cannot be estimated")
    return PairedDesign(len(ids), clusters.n_clusters, variance * len(ids), least_units=FEW_UNITS)


def _share_design(score: ScoreSpec, runs: Sequence[ItemScores], ids: Sequence[str], difference: float) -> PairedDesign:
    """The design of the difference of two shares, of items that may share images."""
    n, correct = len(ids), [np.array(run.values_of(score, ids), float) for run in runs]
    # The spread of these values over images or clusters shows how alike the items of one are.
    values = correct[0] - correct[1] if len(runs) == 2 else correct[0]
    variance, clusters = float(np.var(values)), shared_clusters(runs, ids)
    independent = PairedDesign(n, n, variance, _discordant(correct, difference))
    if images := runs[0].images_of(ids):
        pairs = PairedImages.of(*zip(*images, strict=True))
        pairs.check_for_test()
        units, most_alike = pairs.effective, 2 * n / pairs.effective
        variance_of_mean = pairs.variance(values)
    elif clusters.n_clusters < n:
        clusters.check_for_test()
        variance_of_mean, freedom = clustered_variance(values, clusters.numbers)
        units, most_alike = freedom + 1, n / clusters.effective
    else:
        return independent
    # If the values of all items are equal, they do not show how alike the items of one image are: at most entirely.
    effect = max(1.0, variance_of_mean / (variance / n)) if variance else most_alike
    return replace(independent, units=units, design_effect=effect, least_units=3, is_clustered=True)


def _discordant(correct: Sequence[np.ndarray], difference: float) -> float:
    """The share of items on which exactly one of two models is correct: observed, or if they are independent."""
    if len(correct) == 2:
        if abs(difference) > 1:
            raise DataError(f"two shares cannot differ by {abs(difference):g}; the largest --difference is 1")
        return float(np.mean(correct[0] != correct[1]))
    share = float(correct[0].mean())
    # The other score is this one plus the difference, or minus it if the sum is off the scale.
    other = share + difference if 0 <= share + difference <= 1 else share - difference
    if not 0 <= other <= 1:
        raise DataError(
            f"--difference {abs(difference):g} is too large: the run scores {share:g}, and scores end at 0 and 1"
        )
    return share * (1 - other) + other * (1 - share)
