"""What two runs on more or fewer items would show: from their answers, or from one run's and a supposed difference."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.evaluators.comparison.compare import check_tasks, items_of
from eyechart.evaluators.comparison.compared_score import ComparedScore
from eyechart.evaluators.comparison.differences import differences
from eyechart.evaluators.comparison.items import ItemScores, shared_clusters
from eyechart.evaluators.comparison.ranking import score_replicates
from eyechart.evaluators.results.evaluation import AVERAGE
from eyechart.evaluators.results.finished_runs import Run, TaskKey, read_runs
from eyechart.metrics.scores import ScoreSpec, Unit
from eyechart.metrics.scoring.statistics.bootstrap import part_generator
from eyechart.metrics.scoring.statistics.dyadic import dyadic_variance
from eyechart.metrics.scoring.statistics.power import POWER, PairedDesign
from eyechart.metrics.scoring.statistics.shares import clustered_variance


@dataclass(frozen=True)
class Plan(ComparedScore):
    """What a number of items shows in the headline of one task, and how many a difference needs."""

    n: int
    """Items that the runs have."""
    units: int
    """Independent units among them: items, images, or clusters."""
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


def plan_runs(
    folders: Sequence[str | Path],
    tasks: Sequence[str] = (),
    *,
    difference: float | None = None,
    n: int | None = None,
    power: float = POWER,
    seed: int = 0,
) -> list[Plan]:
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
        seed: Seed of the bootstrap.

    Raises:
        UsageError: There are neither one nor two runs, a task is in none of them, or an argument is out of range.
        DataError: A run cannot be read, or no task can be planned.
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
    keys = [key for key in runs[0].tasks if all(key in run.tasks for run in runs) and key.dataset != AVERAGE]
    found = [
        plan for key in keys if not tasks or key.task in tasks for plan in _plans(key, runs, difference, n, power, seed)
    ]
    if not found:
        raise DataError("no task of these runs has a headline score and single items to plan with")
    return found


def _plans(
    key: TaskKey, runs: Sequence[Run], difference: float | None, n: int | None, power: float, seed: int
) -> Iterator[Plan]:
    headline = runs[0].tasks[key].headline_spec()
    try:
        items = [items_of(run, key) for run in runs]
    except DataError:
        return
    if headline is None or any(headline.key not in one.values for one in items):
        return
    place = (key.task, key.dataset, key.split)
    shared = sorted(set.intersection(*(set(one.values[headline.key]) for one in items)))
    if len(shared) < 2:
        return
    scale = headline.high if headline.unit is Unit.PERCENT else 1.0
    observed = math.nan
    if len(items) == 2:
        tests = differences(place, items[0], items[1], shared, seed)
        observed = next(one.difference for one in tests if one.key == headline.key) / scale
    wanted = observed if difference is None else difference
    if not math.isfinite(wanted):
        return
    design = _design(headline, items, shared, wanted, part_generator(seed, "/".join(place)))
    at = len(shared) if n is None else n
    least = design.detectable(at, power)
    yield Plan(
        *place,
        headline.key,
        headline.label,
        len(shared),
        design.units,
        scale * observed,
        at,
        None if least is None else scale * least,
        scale * wanted,
        design.needed(wanted, power) if wanted else None,
        design.power(wanted, at),
    )


def _design(
    score: ScoreSpec, items: Sequence[ItemScores], shared: Sequence[str], difference: float, rng: np.random.Generator
) -> PairedDesign:
    """How the difference of two runs varies; of one run, as if another one answered independently of it."""
    n, first = len(shared), items[0]
    if score.unit in (Unit.CORRELATION, Unit.POINTS):
        replicates = score_replicates(score.key, items, shared, rng)
        deviations = replicates[0] - replicates[1] if len(items) == 2 else replicates[0] * math.sqrt(2)
        units = shared_clusters(items, shared).n_clusters if score.unit is Unit.POINTS else n
        return PairedDesign(n, units, float(np.nanvar(deviations)) * n)
    right = [np.array([one.values[score.key][item] for item in shared], dtype=np.float64) for one in items]
    if len(right) == 2:
        values, discordant = right[0] - right[1], float(np.mean(right[0] != right[1]))
    else:
        values, share = right[0], float(right[0].mean())
        # The other model may be better or worse; where one cannot be, it is the other.
        other = share + difference if 0 <= share + difference <= 1 else share - difference
        if not 0 <= other <= 1:
            raise DataError(f"no model differs by {abs(difference):g} from one with a score of {share:g}")
        discordant = share * (1 - other) + other * (1 - share)
    clusters = shared_clusters(items, shared)
    independent = float(np.var(values)) / n
    variance, units = independent, clusters.n_clusters
    if first.images:
        number: dict[str, int] = {}
        one, other_image = np.array(
            [[number.setdefault(image, len(number)) for image in first.images[item]] for item in shared]
        ).T
        variance, units = dyadic_variance(values, one, other_image), len(number)
    elif 1 < units < n:
        variance = clustered_variance(values, clusters.numbers)
    effect = max(1.0, variance / independent) if independent else 1.0
    return PairedDesign(n, units, independent * n, discordant, effect)
