"""Two runs or more, task by task."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from pathlib import Path

import numpy as np

from eyechart.datasets_scripts.common.errors import DataError, UsageError, unknown_name
from eyechart.evaluators.comparison.causes import Causes, find_causes
from eyechart.evaluators.comparison.difference import Difference
from eyechart.evaluators.comparison.differences import FEW_TO_RESAMPLE, corrected, differences
from eyechart.evaluators.comparison.items import ItemScores, item_scores, of_items
from eyechart.evaluators.comparison.ranking import Ranking, Unranked, rank_runs
from eyechart.evaluators.comparison.settings import breaking_differences, setting_names
from eyechart.evaluators.results.evaluation import AVERAGE
from eyechart.evaluators.results.finished_runs import Run, TaskKey, merged_keys, read_runs


@dataclass(frozen=True)
class Refused:
    """A task of both runs that cannot be compared."""

    title: str
    reasons: tuple[str, ...]
    can_be_allowed: bool
    """Whether `common` or `allowed` lets it be compared all the same."""


@dataclass(frozen=True)
class Comparison:
    """What two runs differ in."""

    first: str
    """What the first run is called."""
    second: str
    differences: tuple[Difference, ...]
    refused: tuple[Refused, ...]
    only_in_one: tuple[str, ...]
    """Tasks that the other run does not have."""
    causes: Mapping[str, Causes]
    """By the title of a task, what a difference goes with, where more than the model differs."""


@dataclass(frozen=True)
class ManyRuns:
    """What several runs differ in."""

    runs: tuple[str, ...]
    """What they are called."""
    pairs: tuple[Comparison, ...]
    """Each two of them; `p_holm` is corrected over all scores, tasks and pairs."""
    rankings: tuple[Ranking, ...]
    """Places by p-values that are corrected over the pairs of the ranking, as on the leaderboard."""
    unranked: tuple[Unranked, ...]
    """Tasks without one, and why."""


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
        tasks: Names of tasks; all that both have if empty.
        common: Compare the items that both have, where they do not have the same.
        allowed: Names of settings that may differ.
        seed: Seed of the bootstrap intervals, at least 0.

    Returns:
        Differences of all tasks that can be compared, corrected over all of them, and why others cannot.

    Raises:
        UsageError: A task is in none of them, they have no task in common, or an allowed setting is none.
        DataError: A run cannot be read.
    """
    one, other = read_runs([first, second])
    found = _compare_runs(one, other, tasks, common, allowed, seed)
    return replace(found, differences=tuple(corrected(found.differences)))


def _compare_runs(
    one: Run, other: Run, tasks: Sequence[str], common: bool, allowed: Collection[str], seed: int
) -> Comparison:
    """What two runs differ in, without a correction for the number of tests."""
    keys = [key for key in one.tasks if key in other.tasks and key.dataset != AVERAGE]
    check_tasks((one, other), tasks)
    settings = setting_names([*one.results.tasks, *other.results.tasks])
    for name in allowed:
        if name not in settings:
            raise unknown_name("setting in --allow", name, sorted(settings))
    wanted = [key for key in keys if not tasks or key.task in tasks]
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
    alone = [
        key.title
        for run, rest in ((one, other), (other, one))
        for key in run.tasks
        if key not in rest.tasks and (not tasks or key.task in tasks)
    ]
    compared = [key for key in wanted if key.title not in {each.title for each in refused}]
    causes = {key.title: find_causes(one.tasks[key], other.tasks[key], one.answers(key)) for key in compared}
    return Comparison(
        one.label,
        other.label,
        tuple(found),
        tuple(refused),
        tuple(alone),
        {title: cause for title, cause in causes.items() if cause is not None},
    )


def compare_many(
    folders: Sequence[str | Path],
    tasks: Sequence[str] = (),
    *,
    common: bool = False,
    allowed: Collection[str] = (),
    seed: int = 0,
) -> ManyRuns:
    """Compare each two of several runs, and rank all.

    Args:
        folders: Folders of finished runs, two or more.
        tasks: As for `compare`, as are the rest.
        common: Compare the items that both have, where they do not have the same.
        allowed: Names of settings that may differ.
        seed: Seed of the bootstrap.

    Returns:
        The comparison of each two, corrected over all of them, and a ranking by the headline of each task that all runs
        have and that can be compared, or why a task has no ranking.

    Raises:
        UsageError: As for `compare`; or there are fewer than two runs.
        DataError: A run cannot be read.
    """
    if len(folders) < 2:
        raise UsageError("one run is given; name two or more to compare")
    runs = read_runs(folders)
    pairs = [_compare_runs(one, other, tasks, common, allowed, seed) for one, other in combinations(runs, 2)]
    adjusted = iter(corrected([one for pair in pairs for one in pair.differences]))
    pairs = [replace(pair, differences=tuple(islice(adjusted, len(pair.differences)))) for pair in pairs]
    ranked = [_rank(key, runs, pairs, seed) for key in merged_keys(runs) if not tasks or key.task in tasks]
    return ManyRuns(
        tuple(run.label for run in runs),
        tuple(pairs),
        tuple(one for one in ranked if isinstance(one, Ranking)),
        tuple(one for one in ranked if isinstance(one, Unranked)),
    )


def _rank(key: TaskKey, runs: Sequence[Run], pairs: Sequence[Comparison], seed: int) -> Ranking | Unranked:
    """By the headline of a task, where every two runs were compared by it."""
    labels = [run.label for run in runs]
    lacking = [run.label for run in runs if key not in run.tasks]
    if lacking:
        return Unranked(key.title, f"it is not in {' and '.join(lacking)}")
    if key.dataset == AVERAGE:
        return Unranked(key.title, "it is an average of data sets, which are ranked one by one")
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
        return Unranked(key.title, f"the items' scores do not give its headline, {headline.label}")
    undefined = [one.note for one in tests if math.isnan(one.difference)]
    if undefined:
        return Unranked(key.title, f"a difference is undefined: {undefined[0]}")
    untested = [one.note for one in tests if one.note not in ("", FEW_TO_RESAMPLE)]
    if untested:
        return Unranked(key.title, f"two runs cannot be tested: {untested[0]}")
    items = [items_of(run, key) for run in runs]
    n_common = len(set.intersection(*(set(one.values[headline.key]) for one in items)))
    if any(one.n != n_common for one in tests):
        return Unranked(key.title, "not all runs have the same items, and scores of different items give no order")
    p_values = np.full((len(runs), len(runs)), np.nan)
    scores: dict[int, float] = {}
    for (i, j), one in zip(combinations(range(len(runs)), 2), tests, strict=True):
        p_values[i, j] = one.p_value
        scores |= {i: one.first, j: one.second}
    return rank_runs(place, labels, headline.key, [scores[i] for i in range(len(runs))], p_values, items, seed)


def check_tasks(runs: Sequence[Run], tasks: Sequence[str]) -> None:
    """Refuse names of tasks that no run has.

    Raises:
        UsageError: There is such a name.
    """
    known = dict.fromkeys(key.task for run in runs for key in run.tasks)
    for name in tasks:
        if name not in known:
            raise unknown_name("task in these runs", name, known)


def _compare_task(
    key: TaskKey, one: Run, other: Run, common: bool, allowed: Collection[str], seed: int
) -> list[Difference] | Refused:
    unscored = [run.label for run in (one, other) if run.tasks[key].scores is None]
    if unscored:
        reason = f"{' and '.join(unscored)}: there is no score, as of a private split, so nothing says what is right"
        return Refused(key.title, (reason,), False)
    reasons = breaking_differences(one.tasks[key], other.tasks[key], allowed)
    if reasons:
        return Refused(key.title, tuple(reasons), True)
    try:
        first, second = items_of(one, key), items_of(other, key)
    except DataError as error:
        return Refused(key.title, (error.reason,), False)
    shared = sorted(first.references.keys() & second.references.keys())
    if not common and not len(first.references) == len(second.references) == len(shared):
        counts = f"A has {len(first.references)} items and B {len(second.references)}, {len(shared)} of them in common"
        return Refused(key.title, (f"other items: {counts}; --common compares these",), True)
    if not shared:
        return Refused(key.title, ("they have no item in common",), False)
    changed = [item for item in shared if first.references[item] != second.references[item]]
    if changed:
        reason = f"{len(changed)} items, '{changed[0]}' first, have another right answer: the data are not the same"
        return Refused(key.title, (reason,), False)
    if not len(first.references) == len(second.references) == len(shared):
        first, second = (
            of_items(found, run.tasks[key], answers, set(shared))
            for run, found in ((one, first), (other, second))
            if (answers := run.answers(key)) is not None
        )
    return differences((key.task, key.dataset, key.split), first, second, shared, seed)


def items_of(run: Run, key: TaskKey) -> ItemScores:
    """What the items of a task gave in a run.

    Raises:
        DataError: It has no predictions, or several results share them.
    """
    answers = run.answers(key)
    if answers is None:
        several = "the run has it several times" if key._replace(repeat=1) in run.tasks else "there are no predictions"
        raise DataError(f"{run.label}: {several}, so single items cannot be compared")
    try:
        return item_scores(run.tasks[key], answers)
    except DataError as error:
        raise DataError(f"{run.label}: {error.reason}") from error
