"""Power analysis: the items needed to detect a difference, from two runs, or from one run and an assumed difference."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.evaluators.comparison.compare import chosen_tasks
from eyechart.evaluators.comparison.compared_score import ComparedScore
from eyechart.evaluators.comparison.differences import differences
from eyechart.evaluators.comparison.item_scores import ItemScores, items_of, shared_clusters, shared_items
from eyechart.evaluators.comparison.ranking import score_replicates
from eyechart.evaluators.comparison.settings import allowed_names, breaking_differences
from eyechart.evaluators.results.finished_runs import Run, TaskKey, merged_keys, read_runs
from eyechart.evaluators.results.results_file import AVERAGE
from eyechart.metrics.scores import ScoreSpec, Unit
from eyechart.metrics.scoring.errors import UndefinedScoreError
from eyechart.metrics.scoring.statistics.bootstrap import part_generator
from eyechart.metrics.scoring.statistics.dyadic import dyadic_variance, images_for_test
from eyechart.metrics.scoring.statistics.intervals import FEW_UNITS
from eyechart.metrics.scoring.statistics.power import POWER, PairedDesign
from eyechart.metrics.scoring.statistics.shares import clustered_variance

# Equal replicates have at most this variance, from rounding.
_EQUAL = 1e-20
_ROUNDING = 1e-9
Ids = list[str]


@dataclass(frozen=True)
class Plan(ComparedScore):
    """The difference that a number of items can detect in the headline of one task, and the items that one needs."""

    n: int
    """Number of items that the runs have."""
    units: int
    """Number of independent units: items, images or clusters."""
    effective_units: float
    """Effective number of units, which the tests use: units of equal size with the same information."""
    at: int
    """The planned number of items."""
    detectable: float | None
    """The smallest true difference that `at` items detect with the power; None if they cannot detect any."""
    difference: float
    """The difference to detect: given, or observed."""
    needed: int | None
    """The number of items that detects it; None if more than ten million are needed."""
    needed_ci95: tuple[int | None, int | None] | None
    """The same for the ends of the 95 % interval of an observed difference, None if more than ten million are needed;
    None for a given difference, or without an interval."""
    power: float
    """The probability that `at` items detect it."""
    exceeds_discordance: bool
    """Whether the difference is larger than the share of items on which exactly one of the two runs is correct.

    The plan then assumes that the runs disagree on exactly this share of items, always in favour of the same model.
    """


@dataclass(frozen=True)
class PassedOver:
    """A task that is not planned."""

    title: str
    reason: str


@dataclass(frozen=True)
class Plans:
    """The plans for the tasks of one or two runs."""

    plans: tuple[Plan, ...]
    passed_over: tuple[PassedOver, ...]


def plan_runs(
    folders: Sequence[str | Path],
    tasks: Sequence[str] = (),
    *,
    difference: float | None = None,
    n: int | None = None,
    power: float = POWER,
    models: int = 2,
    allowed: Collection[str] = (),
    seed: int = 0,
) -> Plans:
    """Plan a comparison.

    Args:
        folders: Two finished runs, whose answers show how often models like these differ. Or one run: the second
            model's answers are then assumed to be independent of the first's. Models that are correct on the same items
            need fewer items than that.
        tasks: Names of tasks; if empty, all that the runs have.
        difference: Difference to detect, as a fraction of the scale for shares, else in the unit of the score. Default:
            that between the two runs.
        n: Number of items. Default: that of the runs.
        power: Probability of detecting the difference.
        models: Number of models that will be compared in pairs, with Holm-adjusted p-values.
        allowed: Names of settings that may differ between the runs.
        seed: Seed of the bootstrap.

    Returns:
        A plan for each task that has single items and that `compare` would compare, and why other tasks have none.

    Raises:
        UsageError: The number of runs is not 1 or 2, no run has a task or an allowed setting, or an argument is out of
            range.
        DataError: A run cannot be read, or no task can be planned; the message says why.
    """
    if len(folders) not in (1, 2):
        raise UsageError(f"{len(folders)} runs are given; name two finished runs, or one run with --difference")
    if len(folders) == 1 and difference is None:
        raise UsageError("only one run is given; name a second run, or set --difference")
    if difference is not None and not 0 < abs(difference) <= 2:
        raise UsageError(f"--difference {difference:g} is not allowed; it must be above 0 and at most 2 (0.02 for 2 %)")
    if not 0.05 < power < 1:
        raise UsageError(f"--power {power:g} is not allowed; it must be above 0.05 and below 1")
    if n is not None and n < 2:
        raise UsageError(f"--n {n} is not allowed; it must be at least 2")
    if models < 2:
        raise UsageError(f"--models {models} is not allowed; it must be at least 2")
    runs = read_runs(folders)
    allowed = allowed_names(allowed, [result for run in runs for result in run.results.tasks])
    goal, names = _Goal(difference, n, power, math.comb(models, 2), seed), chosen_tasks(runs, tasks)
    plans, passed_over = [], []
    for key in merged_keys(runs):
        if key.task not in names:
            continue
        try:
            plans.append(_plan(key, *_items(key, runs, allowed), goal))
        except DataError as error:
            passed_over.append(PassedOver(key.title, error.reason))
    if not plans:
        reasons = "".join(f"\n{one.title}: {one.reason}" for one in passed_over)
        raise DataError(f"no task of these runs can be planned:{reasons}")
    return Plans(tuple(plans), tuple(passed_over))


@dataclass(frozen=True)
class _Goal:
    """What every task is planned for."""

    difference: float | None
    n: int | None
    power: float
    pairs: int
    seed: int


def _items(key: TaskKey, runs: Sequence[Run], allowed: Collection[str]) -> tuple[ScoreSpec, list[ItemScores], Ids]:
    """The headline score of a task, the items of each run, and the ids of those that all runs have.

    Raises:
        DataError: The task cannot be planned.
    """
    if key.dataset == AVERAGE:
        raise DataError("it is an average over datasets, which are planned separately")
    for run in runs:
        if key not in run.tasks:
            raise DataError(f"missing in {run.label}")
        if run.tasks[key].scores is None:
            raise DataError(f"{run.label}: no score, as the answers are private")
    results = [run.tasks[key] for run in runs]
    if len(runs) == 2 and (differ := breaking_differences(results[0], results[1], allowed)):
        raise DataError(f"{'; '.join(differ)}; to plan anyway, use --allow SETTING")
    items = [items_of(run, key) for run in runs]
    headline = results[0].headline_spec()
    if changed := shared_items(items).changed:
        count = "1 item" if len(changed) == 1 else f"{len(changed)} items"
        raise DataError(f"the labels of {count} differ (first: '{changed[0]}'), so the data differ")
    if headline is None or any(headline.key not in one.values for one in items):
        raise DataError("its headline score cannot be computed from single items")
    shared = shared_items(items, headline.key).ids
    if len(shared) < 2:
        raise DataError(f"{len(shared)} of its items have a score; a plan needs at least 2")
    return headline, items, shared


def _plan(key: TaskKey, headline: ScoreSpec, items: Sequence[ItemScores], shared: Ids, goal: _Goal) -> Plan:
    place = (key.task, key.dataset, key.split)
    scale = headline.high if headline.unit is Unit.PERCENT else 1.0
    observed, ends = math.nan, (math.nan, math.nan)
    if len(items) == 2:
        tests = differences(place, items[0], items[1], shared, goal.seed)
        test = next(one for one in tests if one.key == headline.key)
        observed, ends = test.difference / scale, (test.difference_ci95[0] / scale, test.difference_ci95[1] / scale)
    difference = observed if goal.difference is None else goal.difference
    if not math.isfinite(difference):
        raise DataError(f"the runs' difference in {headline.label} is undefined; set --difference")
    if headline.unit in (Unit.CORRELATION, Unit.POINTS):
        units, design = _resampled(headline, items, shared, part_generator(goal.seed, "/".join(place)))
    else:
        units, design = _of_shares(headline, items, shared, difference)
    design, at = replace(design, pairs=goal.pairs), goal.n or len(shared)
    least = design.detectable(at, goal.power)

    def needed(true: float) -> int | None:
        return design.needed(true, goal.power) if true else None

    # An interval with 0 inside does not bound the number of items.
    farther, nearer = max(map(abs, ends)), 0.0 if ends[0] <= 0 <= ends[1] else min(map(abs, ends))
    is_observed = goal.difference is None and math.isfinite(farther)
    return Plan(
        *place,
        headline.key,
        headline.label,
        n=len(shared),
        units=units,
        effective_units=design.units,
        at=at,
        detectable=None if least is None else scale * least,
        difference=scale * difference,
        needed=needed(difference),
        needed_ci95=(needed(farther), needed(nearer)) if is_observed else None,
        power=design.power(difference, at),
        exceeds_discordance=len(items) == 2 and abs(difference) > design.discordant + _ROUNDING,
    )


def _resampled(
    score: ScoreSpec, items: Sequence[ItemScores], shared: Ids, rng: np.random.Generator
) -> tuple[int, PairedDesign]:
    """The number of units and the design of a correlation, or of a mean of points: its variance is the bootstrap's."""
    replicates = score_replicates(score, items, shared, rng)
    deviations = replicates[0] - replicates[1] if len(items) == 2 else replicates[0] * math.sqrt(2)
    variance = float(np.nanvar(deviations))
    if variance < _EQUAL:
        raise DataError("the difference is the same in all resamples, so its variance cannot be estimated")
    n = len(shared)
    units = shared_clusters(items, shared).n_clusters if score.unit is Unit.POINTS else n
    return units, PairedDesign(n, units, variance * n, least_units=FEW_UNITS)


def _of_shares(
    score: ScoreSpec, items: Sequence[ItemScores], shared: Ids, difference: float
) -> tuple[int, PairedDesign]:
    """The number of units and the design of two shares, of items that may share images."""
    n, right = len(shared), [np.array([one.values[score.key][id] for id in shared], float) for one in items]
    if len(right) == 2:
        if abs(difference) > 1:
            raise DataError(f"two shares cannot differ by {abs(difference):g}; the largest --difference is 1")
        values, discordant = right[0] - right[1], float(np.mean(right[0] != right[1]))
    else:
        values, share = right[0], float(right[0].mean())
        # The other score is this one plus the difference, or minus it if the sum is off the scale.
        other = share + difference if 0 <= share + difference <= 1 else share - difference
        if not 0 <= other <= 1:
            raise DataError(
                f"--difference {abs(difference):g} is too large: the run scores {share:g}, and scores end at 0 and 1"
            )
        discordant = share * (1 - other) + other * (1 - share)
    independent = float(np.var(values)) / n
    alone, clusters = PairedDesign(n, n, independent * n, discordant), shared_clusters(items, shared)
    try:
        if items[0].images:
            images = images_for_test(*zip(*(items[0].images[id] for id in shared), strict=True))
            variance, effective = dyadic_variance(values, images.first, images.second), images.effective
            units, alike = images.n_images, 2 * n / images.effective
        elif clusters.n_clusters < n:
            clusters.check_for_test()
            variance, freedom = clustered_variance(values, clusters.numbers)
            units, effective, alike = clusters.n_clusters, freedom + 1, n / clusters.effective
        else:
            return n, alone
    except UndefinedScoreError as error:
        raise DataError(str(error)) from None
    # If all items differ alike, the correlation within units is unknown.
    effect = max(1.0, variance / independent) if independent else alike
    return units, replace(alone, units=effective, design_effect=effect, least_units=3, is_clustered=True)
