"""What two runs on more or fewer items would show: from their answers, or from one run's and a supposed difference."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from eyechart.datasets_scripts.common.errors import DataError, UsageError, unknown_name
from eyechart.evaluators.comparison.compare import check_tasks, items_of
from eyechart.evaluators.comparison.compared_score import ComparedScore
from eyechart.evaluators.comparison.differences import differences
from eyechart.evaluators.comparison.items import ItemScores, shared_clusters
from eyechart.evaluators.comparison.ranking import score_replicates
from eyechart.evaluators.comparison.settings import breaking_differences, setting_names
from eyechart.evaluators.results.evaluation import AVERAGE
from eyechart.evaluators.results.finished_runs import Run, TaskKey, merged_keys, read_runs
from eyechart.metrics.scores import ScoreSpec, Unit
from eyechart.metrics.scoring.errors import UndefinedScoreError
from eyechart.metrics.scoring.statistics.bootstrap import part_generator
from eyechart.metrics.scoring.statistics.dyadic import dyadic_variance, images_for_test
from eyechart.metrics.scoring.statistics.intervals import FEW_UNITS
from eyechart.metrics.scoring.statistics.power import POWER, PairedDesign
from eyechart.metrics.scoring.statistics.shares import clustered_variance

# Rounding leaves less than this as the variance of equal replicates.
_EQUAL = 1e-20
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Plan(ComparedScore):
    """What a number of items shows in the headline of one task, and how many a difference needs."""

    n: int
    """Items that the runs have."""
    units: int
    """Independent units among them: items, images, or clusters."""
    effective_units: float
    """Units of equal size that say as much, which the tests count."""
    observed: float
    """The first run's score less the second's; nan where there is one run."""
    at: int
    """The number of items that is asked about."""
    detectable: float | None
    """The smallest true difference that this number of items shows with the power; None if not even the largest."""
    difference: float
    """The difference that is asked about: given, or observed."""
    needed: int | None
    """The number of items that shows it; None where more than ten million would be needed."""
    power: float
    """The chance that `at` items show it."""
    exceeds_discordance: bool
    """Whether the difference is larger than the share of items on which exactly one of the two runs is right.

    It is then supposed that as many items tell the models apart, all in favour of the same one.
    """


@dataclass(frozen=True)
class PassedOver:
    """A task that is not planned."""

    title: str
    reason: str


@dataclass(frozen=True)
class Plans:
    """What the tasks of one or two runs show."""

    plans: tuple[Plan, ...]
    passed_over: tuple[PassedOver, ...]


def plan_runs(
    folders: Sequence[str | Path],
    tasks: Sequence[str] = (),
    *,
    difference: float | None = None,
    n: int | None = None,
    power: float = POWER,
    allowed: Collection[str] = (),
    seed: int = 0,
) -> Plans:
    """Plan a comparison.

    Args:
        folders: Two finished runs, whose answers tell how often models like these differ; or one, in whose place a
            second is supposed whose answers do not depend on its own, which needs more items than models that are
            right on the same ones.
        tasks: Names of tasks; all that the runs have if empty.
        difference: To be shown, as a fraction of the scale for shares, else in the unit of the score; by default the
            one between the two runs.
        n: Number of items; by default those of the runs.
        power: The chance to find the difference.
        allowed: Names of settings that may differ between the runs.
        seed: Seed of the bootstrap.

    Returns:
        A plan for each task that has single items and that `compare` would compare, and why others have none.

    Raises:
        UsageError: There are neither one nor two runs, a task or an allowed setting is in none of them, or an argument
            is out of range.
        DataError: A run cannot be read, or no task can be planned; the message says why.
    """
    if len(folders) not in (1, 2):
        raise UsageError(f"{len(folders)} runs are given; name two finished runs, or one with --difference")
    if len(folders) == 1 and difference is None:
        raise UsageError("one run is given; name a second one, or the --difference that is to be shown")
    if difference is not None and not 0 < abs(difference) <= 2:
        raise UsageError(f"--difference {difference:g} is not allowed; it is above 0 and at most 2, as 0.02 for 2 %")
    if not 0.05 < power < 1:
        raise UsageError(f"--power {power:g} is not allowed; it is above 0.05 and below 1")
    if n is not None and n < 2:
        raise UsageError(f"--n {n} is not allowed; it is at least 2")
    runs = read_runs(folders)
    check_tasks(runs, tasks)
    settings = setting_names(result for run in runs for result in run.results.tasks)
    for name in allowed:
        if name not in settings:
            raise unknown_name("setting in --allow", name, sorted(settings))
    plans, passed_over = [], []
    for key in merged_keys(runs):
        if tasks and key.task not in tasks:
            continue
        try:
            plans.append(_plan(key, runs, difference, n, power, allowed, seed))
        except DataError as error:
            passed_over.append(PassedOver(key.title, error.reason))
    if not plans:
        reasons = "".join(f"\n{one.title}: {one.reason}" for one in passed_over)
        raise DataError(f"no task of these runs can be planned:{reasons}")
    return Plans(tuple(plans), tuple(passed_over))


def _plan(
    key: TaskKey,
    runs: Sequence[Run],
    difference: float | None,
    n: int | None,
    power: float,
    allowed: Collection[str],
    seed: int,
) -> Plan:
    """Plan one task.

    Raises:
        DataError: It cannot be planned.
    """
    if key.dataset == AVERAGE:
        raise DataError("an average over data sets, which are planned one by one")
    for run in runs:
        if key not in run.tasks:
            raise DataError(f"{run.label} does not have it")
    results = [run.tasks[key] for run in runs]
    for run, result in zip(runs, results, strict=True):
        if result.scores is None:
            raise DataError(f"{run.label}: there is no score, as of a private split, so nothing says what is right")
    if len(runs) == 2 and (differ := breaking_differences(results[0], results[1], allowed)):
        raise DataError(f"{'; '.join(differ)}; --allow SETTING plans although a setting differs")
    items = [items_of(run, key) for run in runs]
    headline, shared = results[0].headline_spec(), _shared_items(items)
    if headline is None or any(headline.key not in one.values for one in items):
        raise DataError("it has no headline score of single items")
    shared = [item for item in shared if all(item in one.values[headline.key] for one in items)]
    if len(shared) < 2:
        count = "1 item has" if len(shared) == 1 else f"{len(shared)} items have"
        raise DataError(f"{count} a score; a plan needs at least 2")
    return _planned(key, headline, items, shared, difference, n, power, seed)


def _shared_items(items: Sequence[ItemScores]) -> list[str]:
    """The items that all runs have.

    Raises:
        DataError: Their right answers differ.
    """
    shared = sorted(set.intersection(*(set(one.references) for one in items)))
    changed = [item for item in shared if any(one.references[item] != items[0].references[item] for one in items)]
    if changed:
        count = "1 item" if len(changed) == 1 else f"{len(changed)} items"
        raise DataError(f"the right answers of {count} differ, '{changed[0]}' first: the data are not the same")
    return shared


def _planned(
    key: TaskKey,
    headline: ScoreSpec,
    items: Sequence[ItemScores],
    shared: Sequence[str],
    difference: float | None,
    n: int | None,
    power: float,
    seed: int,
) -> Plan:
    place = (key.task, key.dataset, key.split)
    scale = headline.high if headline.unit is Unit.PERCENT else 1.0
    observed = math.nan
    if len(items) == 2:
        tests = differences(place, items[0], items[1], shared, seed)
        observed = next(one.difference for one in tests if one.key == headline.key) / scale
    wanted = observed if difference is None else difference
    if not math.isfinite(wanted):
        raise DataError(f"the runs' difference in {headline.label} is undefined; --difference gives one")
    n_units, design = _design(headline, items, shared, wanted, part_generator(seed, "/".join(place)))
    at = len(shared) if n is None else n
    least = design.detectable(at, power)
    return Plan(
        *place,
        headline.key,
        headline.label,
        len(shared),
        n_units,
        design.units,
        scale * observed,
        at,
        None if least is None else scale * least,
        scale * wanted,
        design.needed(wanted, power) if wanted else None,
        design.power(wanted, at),
        len(items) == 2 and abs(wanted) > design.discordant + _ROUNDING,
    )


def _design(
    score: ScoreSpec, items: Sequence[ItemScores], shared: Sequence[str], difference: float, rng: np.random.Generator
) -> tuple[int, PairedDesign]:
    """How many units there are, and how the difference of two runs varies.

    Of one run, as if another one answered independently of it.

    Raises:
        DataError: The difference cannot be, or there are too few units for the tests of `compare`.
    """
    n, first = len(shared), items[0]
    if score.unit in (Unit.CORRELATION, Unit.POINTS):
        replicates = score_replicates(score.key, items, shared, rng)
        deviations = replicates[0] - replicates[1] if len(items) == 2 else replicates[0] * math.sqrt(2)
        units = shared_clusters(items, shared).n_clusters if score.unit is Unit.POINTS else n
        variance = float(np.nanvar(deviations))
        if variance < _EQUAL:
            raise DataError("the score differs by the same in all resamples, which says nothing of how it varies")
        return units, PairedDesign(n, units, variance * n, least_units=FEW_UNITS)
    right = [np.array([one.values[score.key][item] for item in shared], dtype=np.float64) for one in items]
    if len(right) == 2:
        if abs(difference) > 1:
            raise DataError(f"no two shares differ by {abs(difference):g}; the largest --difference is 1")
        values, discordant = right[0] - right[1], float(np.mean(right[0] != right[1]))
    else:
        values, share = right[0], float(right[0].mean())
        # The other model may be better or worse; where one cannot be, it is the other.
        other = share + difference if 0 <= share + difference <= 1 else share - difference
        if not 0 <= other <= 1:
            raise DataError(f"no model differs by {abs(difference):g} from one with a score of {share:g}")
        discordant = share * (1 - other) + other * (1 - share)
    independent = float(np.var(values)) / n
    alone = PairedDesign(n, n, independent * n, discordant)
    clusters = shared_clusters(items, shared)
    try:
        if first.images:
            images = images_for_test(*zip(*(first.images[item] for item in shared), strict=True))
            variance, cautious = dyadic_variance(values, images.first, images.second), 2 * n / images.effective
            n_units, design = images.n_images, replace(alone, units=images.effective)
        elif clusters.n_clusters < n:
            clusters.check_for_test()
            variance, cautious = clustered_variance(values, clusters.numbers), n / clusters.effective
            n_units, design = clusters.n_clusters, replace(alone, units=clusters.effective, least_units=3)
        else:
            return n, alone
    except UndefinedScoreError as error:
        raise DataError(str(error)) from None
    # Where all items differ alike, nothing says how those of a unit go together.
    effect = max(1.0, variance / independent) if independent else cautious
    return n_units, replace(design, design_effect=effect, cautious_effect=cautious)
