"""Whether several runs differ: the tests of `eyechart compare` as the report shows them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.comparison.compare import compare_many
from eyechart.evaluators.comparison.differences import Difference, p_words, shown_p, signed
from eyechart.evaluators.report.reported_task import ReportedTask
from eyechart.evaluators.report.tables import ScoreId
from eyechart.evaluators.results.finished_runs import Run, TaskKey
from eyechart.evaluators.results.notes import TESTS
from eyechart.metrics.scores import spec
from eyechart.metrics.scoring.statistics.ranking import SIGNIFICANCE


class _Test(NamedTuple):
    first: str
    """The label of a run."""
    second: str
    key: TaskKey
    difference: Difference


@dataclass(frozen=True)
class RunDifferences:
    """The results of all tests."""

    verdicts: Mapping[str, Sequence[str]]
    """Each result of the tests of headline scores, with the tasks that share it; differences first."""
    rows: Sequence[Sequence[str]]
    """For each test: task, score, runs, both values, the difference, its interval, p, adjusted p, flips and n."""
    pairs: int
    """Number of pairs of runs, over which p-values are Holm-adjusted."""
    against_best: Mapping[ScoreId, str]
    """Descriptions of the tests of scores against that of the best run."""
    lower: frozenset[ScoreId]
    """The scores that are significantly lower than that of the best run."""


def compare_runs(runs: Sequence[Run], tasks: Sequence[ReportedTask]) -> RunDifferences:
    """Compare every pair of runs, item by item."""
    try:
        comparisons = compare_many([run.folder for run in runs]).pairs
    except UsageError:
        # No two runs have a task in common.
        return RunDifferences({}, [], 0, {}, frozenset())
    tests: list[_Test] = []
    refused: dict[str, dict[str, None]] = {}
    for (first, second), pair in zip(combinations([run.label for run in runs], 2), comparisons, strict=True):
        tests += [_Test(first, second, TaskKey(d.task, d.dataset, d.split), d) for d in pair.differences]
        # Runs whose settings differ are not tested against each other.
        for refusal in pair.refused:
            reason = f"{first} (A) and {second} (B): {', '.join(refusal.reasons)}"
            refused.setdefault(refusal.title, {})[reason] = None
    verdicts: dict[str, list[str]] = {}
    for task in tasks:
        if task.headline is not None:
            of_headline = [test for test in tests if (test.key, test.difference.key) == (task.key, task.headline.key)]
            if text := _verdict(of_headline, list(refused.get(task.key.title, ()))):
                verdicts.setdefault(text, []).append(task.heading)
    differences_first = sorted(verdicts, key=lambda text: " scored higher than " not in text)
    headings = {task.key: task.heading for task in tasks}
    rows = [(headings[test.key], *_row(test)) for test in tests]
    return RunDifferences(
        {text: verdicts[text] for text in differences_first}, rows, len(comparisons), *_against_best(tests)
    )


def _verdict(tests: Sequence[_Test], reasons: Sequence[str]) -> str:
    """The result of the tests of a task's headline score, and why runs were not compared; "" if there is neither."""
    apart = [
        f"{text} ({p_words(difference.p_holm)})"
        for first, second, _, difference in tests
        if (text := difference.higher(first, second))
    ]
    # If some runs were not compared, the text names those that were.
    between = f" between {' or '.join(f'{test.first} and {test.second}' for test in tests)}" if reasons else ""
    parts = ["; ".join(apart) or f"No significant difference{between}"] if tests else []
    return ". ".join([*parts, *([f"Not compared: {'; '.join(reasons)}"] if reasons else [])])


def _against_best(tests: Sequence[_Test]) -> tuple[dict[ScoreId, str], frozenset[ScoreId]]:
    """The tests against the best run of each score, and the scores that are lower by them."""
    by_score: dict[tuple[TaskKey, str], list[_Test]] = {}
    for test in tests:
        if test.difference.has_test:
            by_score.setdefault((test.key, test.difference.key), []).append(test)
    described, lower = {}, set()
    for (key, score), same in by_score.items():
        values = {test.first: test.difference.first for test in same}
        values |= {test.second: test.difference.second for test in same}
        best = max(values, key=values.__getitem__)
        for first, second, _, difference in same:
            if best in (first, second):
                other = ScoreId(second if best == first else first, key, score)
                described[other] = TESTS[difference.test]
                lower |= {other} if difference.p_holm < SIGNIFICANCE else set()
    return described, frozenset(lower)


def _row(test: _Test) -> tuple[str, ...]:
    difference, score = test.difference, spec(test.difference.key)
    low, high = (signed(score.key, end).removesuffix(" points") for end in difference.difference_ci95)
    flips = (len(difference.only_first), len(difference.only_second))
    return (
        difference.score,
        f"{test.first} \N{MINUS SIGN} {test.second}",
        score.shown(difference.first),
        score.shown(difference.second),
        signed(score.key, difference.difference),
        f"{low} to {high}" if all(map(math.isfinite, difference.difference_ci95)) else "",
        shown_p(difference.p_value),
        shown_p(difference.p_holm),
        f"{flips[0]:,} / {flips[1]:,}" if any(flips) else "",
        f"{difference.n:,}",
    )
