"""Compare two or more runs, task by task."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from pathlib import Path

import numpy as np

from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.evaluators.comparison.difference import Difference
from eyechart.evaluators.comparison.differences import FEW_TO_RESAMPLE, corrected, differences
from eyechart.evaluators.comparison.item_scores import items_of, shared_items
from eyechart.evaluators.comparison.ranking import Ranking, Unranked, rank_runs
from eyechart.evaluators.comparison.settings import allowed_names, also_differ, breaking_differences
from eyechart.evaluators.results.finished_runs import Run, TaskKey, merged_keys, read_runs
from eyechart.evaluators.results.results_file import AVERAGE
from eyechart.evaluators.results.sources import is_mini_data
from eyechart.evaluators.tasks import match_tasks


@dataclass(frozen=True)
class Refused:
    """A task that both runs have but that cannot be compared."""

    title: str
    reasons: tuple[str, ...]
    can_be_allowed: bool
    """Whether `common` or `allowed` would allow the comparison."""


@dataclass(frozen=True)
class Comparison:
    """The comparison of two runs."""

    first: str
    """Label of the first run."""
    second: str
    differences: tuple[Difference, ...]
    refused: tuple[Refused, ...]
    only_in_one: tuple[str, ...]
    """Tasks that only one of the runs has."""
    also_differ: tuple[str, ...]
    """What differs besides the model, each once, such as "the prompt and the backend"."""
    headlines: Mapping[str, str]
    """Key of each compared task's headline score, by the title of the task."""
    synthetic: tuple[str, ...]
    """Titles of the compared tasks on synthetic demo data."""


@dataclass(frozen=True)
class ManyRuns:
    """The comparison of several runs."""

    runs: tuple[str, ...]
    """Their labels."""
    pairs: tuple[Comparison, ...]
    """The comparison of each pair; `p_holm` is adjusted over the pairs, for each score of each task by itself."""
    rankings: tuple[Ranking, ...]
    """Places by these adjusted p-values, as on the leaderboard."""
    unranked: tuple[Unranked, ...]
    """Tasks without a ranking, and why."""


def compare(
    first: str | Path,
    second: str | Path,
    tasks: Sequence[str] = (),
    *,
    common: bool = False,
    allowed: Collection[str] = (),
    seed: int = 0,
) -> Comparison:
    """Compare two runs, item by item.

    Args:
        first: Folder of a finished run.
        second: Another one.
        tasks: Names of tasks; if empty, all that both runs have.
        common: If the runs have different items, compare only those that both have.
        allowed: Names of settings that may differ.
        seed: Seed of the bootstrap intervals, at least 0.

    Returns:
        The differences of all tasks that can be compared, and why other tasks cannot. With one pair of runs, `p_holm`
        is the p-value.

    Raises:
        UsageError: No run has a task, the runs have no task in common, or an allowed setting does not exist.
        DataError: A run cannot be read.
    """
    one, other = read_runs([first, second])
    found = _compare_runs(one, other, chosen_tasks((one, other), tasks), common, allowed, seed)
    return replace(found, differences=tuple(corrected(found.differences)))


def _compare_runs(
    one: Run, other: Run, tasks: Sequence[str], common: bool, allowed: Collection[str], seed: int
) -> Comparison:
    """Compare two runs, without adjustment for the number of tests."""
    keys = [key for key in one.tasks if key in other.tasks and key.dataset != AVERAGE]
    allowed = allowed_names(allowed, [*one.results.tasks, *other.results.tasks])
    wanted = [key for key in keys if key.task in tasks]
    if not wanted:
        raise UsageError(f"{one.folder} and {other.folder} have no task on the same data in common; nothing to compare")
    found: list[Difference] = []
    refused: list[Refused] = []
    for key in wanted:
        made = _compare_task(key, one, other, common, allowed, seed)
        if isinstance(made, Refused):
            refused.append(made)
        else:
            found += made
    only_in_one = [
        key.title
        for run, rest in ((one, other), (other, one))
        for key in run.tasks
        if key not in rest.tasks and key.task in tasks
    ]
    compared = [key for key in wanted if key.title not in {each.title for each in refused}]
    return Comparison(
        one.label,
        other.label,
        tuple(found),
        tuple(refused),
        tuple(only_in_one),
        tuple(dict.fromkeys(filter(None, (also_differ(one.tasks[key], other.tasks[key]) for key in compared)))),
        {key.title: score.key for key in compared if (score := one.tasks[key].headline_spec()) is not None},
        tuple(key.title for key in compared if any(is_mini_data(run.tasks[key].settings) for run in (one, other))),
    )


def compare_many(
    folders: Sequence[str | Path],
    tasks: Sequence[str] = (),
    *,
    common: bool = False,
    allowed: Collection[str] = (),
    seed: int = 0,
) -> ManyRuns:
    """Compare several runs in pairs, and rank them.

    Args:
        folders: Folders of finished runs, two or more.
        tasks: As for `compare`, like the remaining arguments.
        common: If two runs have different items, compare only those that both have.
        allowed: Names of settings that may differ.
        seed: Seed of the bootstrap.

    Returns:
        The comparison of each pair, Holm-adjusted over the pairs, and a ranking by the headline of each task that all
        runs have and that can be compared, or why a task has no ranking.

    Raises:
        UsageError: As for `compare`, or there are fewer than two runs.
        DataError: A run cannot be read.
    """
    if len(folders) < 2:
        raise UsageError("only one run is given; name two or more to compare")
    runs = read_runs(folders)
    tasks = chosen_tasks(runs, tasks)
    pairs = [_compare_runs(one, other, tasks, common, allowed, seed) for one, other in combinations(runs, 2)]
    adjusted = iter(corrected([one for pair in pairs for one in pair.differences]))
    pairs = [replace(pair, differences=tuple(islice(adjusted, len(pair.differences)))) for pair in pairs]
    ranked = [_rank(key, runs, pairs) for key in merged_keys(runs) if key.task in tasks]
    return ManyRuns(
        tuple(run.label for run in runs),
        tuple(pairs),
        tuple(one for one in ranked if isinstance(one, Ranking)),
        tuple(one for one in ranked if isinstance(one, Unranked)),
    )


def _rank(key: TaskKey, runs: Sequence[Run], pairs: Sequence[Comparison]) -> Ranking | Unranked:
    """Rank runs by the headline of a task, if all pairs of runs were compared by it."""
    labels = [run.label for run in runs]
    missing = [run.label for run in runs if key not in run.tasks]
    if missing:
        return Unranked(key.title, f"missing in {' and '.join(missing)}")
    if key.dataset == AVERAGE:
        return Unranked(key.title, "it is an average over datasets, which are ranked separately")
    headline = runs[0].tasks[key].headline_spec()
    if headline is None:
        return Unranked(key.title, "the task has no headline score")
    refused = [pair for pair in pairs if any(one.title == key.title for one in pair.refused)]
    if refused:
        names = ", ".join(f"{pair.first} with {pair.second}" for pair in refused)
        return Unranked(key.title, f"not all runs can be compared: {names}")
    place = (key.task, key.dataset, key.split)
    tests = [
        one
        for pair in pairs
        for one in pair.differences
        if (one.task, one.dataset, one.split, one.key) == (*place, headline.key)
    ]
    if len(tests) < len(pairs):
        return Unranked(
            key.title, f"its headline, {headline.label}, cannot be computed from the scores of single items"
        )
    undefined = [one.note for one in tests if math.isnan(one.difference)]
    if undefined:
        return Unranked(key.title, f"a difference is undefined: {undefined[0]}")
    untested = [one.note for one in tests if one.note not in ("", FEW_TO_RESAMPLE)]
    if untested:
        return Unranked(key.title, f"two runs cannot be tested: {untested[0]}")
    items = [items_of(run, key) for run in runs]
    n_common = len(shared_items(items, headline.key).ids)
    if any(one.n != n_common for one in tests):
        return Unranked(key.title, "the runs have different items, so their scores cannot be ranked")
    p_values = np.full((len(runs), len(runs)), np.nan)
    scores: dict[int, float] = {}
    for (i, j), one in zip(combinations(range(len(runs)), 2), tests, strict=True):
        p_values[i, j] = p_values[j, i] = one.p_holm
        scores |= {i: one.first, j: one.second}
    return rank_runs(place, labels, headline.key, [scores[i] for i in range(len(runs))], p_values, n_common)


def chosen_tasks(runs: Sequence[Run], tasks: Sequence[str]) -> list[str]:
    """The tasks of some runs that a user names; all if none is named.

    Raises:
        UsageError: No run has one of the tasks.
    """
    return match_tasks(tasks, [key.task for run in runs for key in run.tasks], "in these runs")


def _compare_task(
    key: TaskKey, one: Run, other: Run, common: bool, allowed: Collection[str], seed: int
) -> list[Difference] | Refused:
    unscored = [run.label for run in (one, other) if run.tasks[key].scores is None]
    if unscored:
        reason = f"{' and '.join(unscored)}: no score, as the answers are private, so items cannot be compared"
        return Refused(key.title, (reason,), False)
    reasons = breaking_differences(one.tasks[key], other.tasks[key], allowed)
    if reasons:
        return Refused(key.title, tuple(reasons), True)
    try:
        first, second = items_of(one, key), items_of(other, key)
    except DataError as error:
        return Refused(key.title, (error.reason,), False)
    shared = shared_items([first, second])
    if not common and shared.share < 1:
        counts = f"A has {len(first.labels)} items and B {len(second.labels)}, {len(shared.ids)} of them in common"
        return Refused(key.title, (f"different items: {counts}; --common compares only these",), True)
    if not shared.ids:
        return Refused(key.title, ("the runs have no items in common",), False)
    if shared.changed:
        reason = f"the labels of {len(shared.changed)} items differ (first: '{shared.changed[0]}'), so the data differ"
        return Refused(key.title, (reason,), False)
    if shared.share < 1:
        try:
            first, second = (items_of(run, key, set(shared.ids)) for run in (one, other))
        except DataError as error:
            return Refused(key.title, (error.reason,), False)
    return differences((key.task, key.dataset, key.split), first, second, shared.ids, seed)
