"""Compare two or more runs, task by task; more than two are ranked too."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pydantic_core

from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.datasets_scripts.common.files.csv_text import csv_text
from eyechart.datasets_scripts.common.whole import write_whole, writing
from eyechart.evaluators.comparison.differences import FEW_TO_RESAMPLE, ComparedScore, Difference, differences
from eyechart.evaluators.comparison.item_scores import IncomparableError, ItemScores, items_of, shared_items
from eyechart.evaluators.comparison.settings import allowed_names, also_differ, breaking_differences
from eyechart.evaluators.results.finished_runs import Run, TaskKey, extent, is_mini_data, merged_keys, read_runs
from eyechart.evaluators.results.results_file import AVERAGE
from eyechart.evaluators.tasks import match_tasks
from eyechart.metrics.score_spec import ScoreSpec
from eyechart.metrics.scoring.statistics.paired import holm


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
    """The settings besides the model that differ in some task, such as "prompt_id, model.sampling"."""
    headlines: Mapping[str, str]
    """Key of each compared task's headline score, by the title of the task."""
    synthetic: tuple[str, ...]
    """Titles of the compared tasks on synthetic demo data."""
    partial: Mapping[str, tuple[str, ...]]
    """By run, the compared tasks that it has on a part of the data only."""


@dataclass(frozen=True)
class RankedRun:
    """The place of one run."""

    run: str
    score: float
    place: int
    """One more than the number of significantly better runs; several runs can share a place."""


@dataclass(frozen=True)
class Ranking(ComparedScore):
    """Runs ranked by the headline of one task, best first."""

    n: int
    """Number of items that all runs have."""
    runs: tuple[RankedRun, ...]
    tests: int
    """Number of paired tests that determine the places; their p-values are Holm-adjusted."""


@dataclass(frozen=True)
class PassedOver:
    """A task that is not ranked or not planned."""

    title: str
    reason: str


@dataclass(frozen=True)
class ManyRuns:
    """The comparison of several runs."""

    runs: tuple[str, ...]
    """Their labels."""
    pairs: tuple[Comparison, ...]
    """The comparison of each pair; `p_holm` is adjusted over the pairs, for each score of each task by itself."""
    rankings: tuple[Ranking, ...]
    """Places by these adjusted p-values, as on the leaderboard."""
    unranked: tuple[PassedOver, ...]
    """Tasks without a ranking, and why."""


def compare(first: str | Path, second: str | Path, tasks: Sequence[str] = (), **how: Any) -> Comparison:
    """Compare two runs, item by item; the arguments are those of `compare_many`."""
    (pair,) = compare_many(read_runs([first, second]), tasks, **how).pairs
    return pair


def compare_many(
    runs: Sequence[Run],
    tasks: Sequence[str] = (),
    *,
    common: bool = False,
    allowed: Collection[str] = (),
    seed: int = 0,
) -> ManyRuns:
    """Compare several runs in pairs, item by item, and rank them by the headline of each task that all have.

    With `common`, runs with different items are compared on those that both have; the settings in `allowed` may differ.
    Raises `UsageError` for fewer than two runs, an unknown task or setting, or if no two runs have a common task.
    """
    if len(runs) < 2:
        raise UsageError("only one run is given; name two or more to compare")
    keys = chosen_keys(runs, tasks)
    allowed = allowed_names(allowed, runs)
    pairs = [_compare_pair(pair, keys, common, allowed, seed) for pair in combinations(runs, 2)]
    if not any(pair.differences or pair.refused for pair in pairs):
        listed = " and ".join(str(run.folder) for run in runs)
        raise UsageError(f"{listed} have no task on the same data in common; nothing to compare")
    pairs = _adjusted(pairs)
    rankings, unranked = [], []
    for key in keys:
        try:
            rankings.append(_rank(key, runs, pairs))
        except DataError as error:
            unranked.append(PassedOver(key.title, error.reason))
    return ManyRuns(tuple(run.label for run in runs), tuple(pairs), tuple(rankings), tuple(unranked))


def chosen_keys(runs: Sequence[Run], tasks: Sequence[str]) -> list[TaskKey]:
    """The results of some runs for the tasks that a user names, or for all; `UsageError` for a task that no run has."""
    keys = merged_keys(runs)
    names = match_tasks(tasks, [key.task for key in keys], "in these runs")
    return [key for key in keys if key.task in names]


def headline_of_all(key: TaskKey, runs: Sequence[Run]) -> ScoreSpec:
    """The headline of a task that all of some runs have; a `DataError` says why there is none to rank or plan for."""
    if missing := [run.label for run in runs if key not in run.tasks]:
        raise DataError(f"missing in {' and '.join(missing)}")
    if key.dataset == AVERAGE:
        raise DataError("it is an average over datasets, which are compared separately")
    headline = runs[0].tasks[key].headline_spec()
    if headline is None:
        raise DataError("it has no headline score, for example because the answers are private")
    return headline


def comparable_items(
    key: TaskKey, runs: Sequence[Run], allowed: Collection[str], *, common: bool | None
) -> list[ItemScores]:
    """The scores of the items that one or two runs of a task share; raises `IncomparableError` with reasons.

    Runs with different items are compared only if `common`; with None, an error does not offer that.
    """
    results = [run.tasks[key] for run in runs]
    unscored = [run.label for run, result in zip(runs, results, strict=True) if result.scores is None]
    if unscored:
        raise IncomparableError(f"{' and '.join(unscored)}: no score, for example because the answers are private")
    if reasons := breaking_differences(results[0], results[-1], allowed):
        raise IncomparableError(*reasons, can_be_allowed=True)
    items = [items_of(run, key) for run in runs]
    shared = shared_items(items)
    if shared.share < 1 and not common:
        counts = f"A has {len(items[0].labels)} items and B {len(items[1].labels)}, {len(shared.ids)} of them in common"
        offer = "" if common is None else "; --common compares only these"
        raise IncomparableError(f"different items: {counts}{offer}")
    if not shared.ids:
        raise IncomparableError("the runs have no items in common")
    if changed := shared.changed:
        raise IncomparableError(f"labels of {len(changed)} items differ (first: '{changed[0]}'), so the data differ")
    if shared.share < 1:
        return [items_of(run, key, set(shared.ids)) for run in runs]
    return items


def _compare_pair(
    runs: tuple[Run, Run], keys: Sequence[TaskKey], common: bool, allowed: Collection[str], seed: int
) -> Comparison:
    first, second = runs
    tests: list[Difference] = []
    compared, refused = [], []
    for key in (key for key in keys if all(key in run.tasks for run in runs) and key.dataset != AVERAGE):
        try:
            tests += differences(key, comparable_items(key, runs, allowed, common=common), seed)
            compared.append(key)
        except IncomparableError as error:
            refused.append(Refused(key.title, error.reasons, error.can_be_allowed))
    return Comparison(
        first.label,
        second.label,
        tuple(tests),
        tuple(refused),
        tuple(key.title for key in keys if (key in first.tasks) != (key in second.tasks)),
        tuple(dict.fromkeys(filter(None, (also_differ(first.tasks[key], second.tasks[key]) for key in compared)))),
        {key.title: score.key for key in compared if (score := first.tasks[key].headline_spec()) is not None},
        tuple(key.title for key in compared if any(is_mini_data(run.tasks[key].settings) for run in runs)),
        {run.label: parts for run in runs if (parts := tuple(_parts(run, compared)))},
    )


def _parts(run: Run, keys: Sequence[TaskKey]) -> Iterator[str]:
    for key in keys:
        if (part := extent([run.tasks[key]])) and not part.startswith("all"):
            yield f"{key.title}: {part}"


def _adjusted(pairs: Sequence[Comparison]) -> list[Comparison]:
    """Add Holm-adjusted p-values: the tests of one score of one task, one for each pair of runs, are a family."""
    families: dict[tuple[str, str], list[float]] = {}
    for test in (test for pair in pairs for test in pair.differences if test.has_test):
        families.setdefault((test.title, test.key), []).append(test.p_value)
    adjusted = {family: iter(holm(p_values)) for family, p_values in families.items()}

    def with_p(test: Difference) -> Difference:
        return replace(test, p_holm=next(adjusted[test.title, test.key])) if test.has_test else test

    return [replace(pair, differences=tuple(map(with_p, pair.differences))) for pair in pairs]


def _rank(key: TaskKey, runs: Sequence[Run], pairs: Sequence[Comparison]) -> Ranking:
    """Rank runs by the headline of a task, or raise the reason why not all pairs of runs were tested on it."""
    headline = headline_of_all(key, runs)
    refused = [pair for pair in pairs if any(task.title == key.title for task in pair.refused)]
    if refused:
        names = ", ".join(f"{pair.first} with {pair.second}" for pair in refused)
        raise DataError(f"not all runs can be compared: {names}")
    title_and_key = key.title, headline.key
    tests = [(pair, test) for pair in pairs for test in pair.differences if (test.title, test.key) == title_and_key]
    if len(tests) < len(pairs):
        raise DataError(f"its headline, {headline.label}, cannot be computed from the scores of single items")
    n = len(shared_items([items_of(run, key) for run in runs], headline).ids)
    scores: dict[str, float] = {}
    better: Counter[str] = Counter()
    for pair, test in tests:
        if test.note not in ("", FEW_TO_RESAMPLE):
            raise DataError(f"two runs cannot be tested: {test.note}")
        if test.n != n:
            raise DataError("the runs have different items, so their scores cannot be ranked")
        scores |= {pair.first: test.first, pair.second: test.second}
        better.update(test.ordered(pair.first, pair.second)[1:])
    ranked = [RankedRun(run, score, 1 + better[run]) for run, score in scores.items()]
    best_first = tuple(sorted(ranked, key=lambda run: (run.place, -run.score)))
    return Ranking(*key, headline.key, headline.label, n, best_first, sum(test.has_test for _, test in tests))


def write_comparison(comparison: Comparison | ManyRuns, path: Path) -> None:
    """Write a comparison: .json with everything, or .csv with the items that only one of two runs has right."""
    if path.suffix not in (".json", ".csv"):
        raise UsageError(f"--out {path}: the extension must be one of .json, .csv")
    if path.suffix == ".json":
        text = pydantic_core.to_json(comparison, indent=1, inf_nan_mode="null").decode() + "\n"
    elif isinstance(comparison, ManyRuns):
        raise UsageError(f"--out {path}: .csv lists the items that flipped between two runs; use .json for more runs")
    else:
        flips = [
            (test.task, test.dataset, test.split, test.score, item, side)
            for test in comparison.differences
            for side, items in (("A", test.only_first), ("B", test.only_second))
            for item in items
        ]
        columns = ("task", "dataset", "split", "score", "id", "correct_in")
        text = csv_text(columns, flips)
    with writing(f"--out {path}"):
        write_whole(path, text)
