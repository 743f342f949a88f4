"""Whether several runs differ: the tests of `eyechart compare` as the report shows them."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.comparison.compare import Comparison, compare_many
from eyechart.evaluators.comparison.differences import Difference, p_words, shown_p
from eyechart.evaluators.comparison.verdicts import LEVEL, higher
from eyechart.evaluators.report.scores import heading
from eyechart.evaluators.report.tables import ScoreId
from eyechart.evaluators.results.finished_runs import Run, TaskKey, merged_keys
from eyechart.evaluators.results.notes import TESTS
from eyechart.metrics.score_spec import Unit
from eyechart.metrics.scores import spec

_Pair = tuple[str, str, Comparison]
"""The labels of two runs and their comparison."""


@dataclass(frozen=True)
class DifferenceRow:
    """One test of one score."""

    title: str
    score: str
    pair: str
    cells: tuple[str, ...]
    """Both values, the difference, its interval, p, adjusted p, flips and n."""


@dataclass(frozen=True)
class RunDifferences:
    """The results of all tests."""

    verdicts: Mapping[str, Sequence[str]]
    """Each result of the tests of headline scores, with the tasks that share it; differences first."""
    rows: Sequence[DifferenceRow]
    pairs: int
    """Number of pairs of runs, over which p-values are Holm-adjusted."""
    against_best: Mapping[ScoreId, str]
    """Descriptions of the tests of scores against that of the best run."""
    lower: frozenset[ScoreId]
    """The scores that are significantly lower than that of the best run."""


def compare_runs(runs: Sequence[Run]) -> RunDifferences:
    """Compare every pair of runs, item by item.

    Args:
        runs: The runs, with the labels that the report gives them.
    """
    try:
        comparisons = compare_many([run.folder for run in runs]).pairs
    except UsageError:
        # Two of the runs have no task in common.
        return RunDifferences({}, [], 0, {}, frozenset())
    labels = combinations((run.label for run in runs), 2)
    pairs = [(first, second, pair) for (first, second), pair in zip(labels, comparisons, strict=True)]
    tests = [(first, second, test) for first, second, pair in pairs for test in pair.differences]
    rows = [
        DifferenceRow(heading(_key(test)), test.score, f"{first} \N{MINUS SIGN} {second}", _cells(test))
        for first, second, test in tests
    ]
    verdicts: dict[str, list[str]] = {}
    for key in merged_keys(runs):
        if text := _verdict(key, runs, pairs):
            verdicts.setdefault(text, []).append(heading(key))
    differences_first = sorted(verdicts, key=lambda text: " scored higher than " not in text)
    return RunDifferences({text: verdicts[text] for text in differences_first}, rows, len(pairs), *_against_best(tests))


def _key(test: Difference) -> TaskKey:
    return TaskKey(test.task, test.dataset, test.split)


def _against_best(tests: Sequence[tuple[str, str, Difference]]) -> tuple[dict[ScoreId, str], frozenset[ScoreId]]:
    """The tests against the best run of each score, and the scores that are lower by them."""
    by_score: dict[tuple[TaskKey, str], list[tuple[str, str, Difference]]] = {}
    for first, second, test in tests:
        if test.has_test:
            by_score.setdefault((_key(test), test.key), []).append((first, second, test))
    described, lower = {}, set()
    for (task, score), same in by_score.items():
        if max(Counter((first, second) for first, second, _ in same).values()) > 1:
            # Results that a run has several times cannot be told apart by the tests.
            continue
        values = {run: value for a, b, test in same for run, value in ((a, test.first), (b, test.second))}
        best = max(values, key=values.__getitem__)
        for first, second, test in same:
            if best in (first, second):
                other = ScoreId(second if best == first else first, task, score)
                described[other] = TESTS[test.test]
                lower |= {other} if test.p_holm < LEVEL else set()
    return described, frozenset(lower)


def _verdict(key: TaskKey, runs: Sequence[Run], pairs: Sequence[_Pair]) -> str:
    """The test result of a task's headline score; "" if missing."""
    results = (run.tasks[key] for run in runs if key in run.tasks)
    headline = next((spec for result in results if (spec := result.headline_spec())), None)
    if headline is None:
        return ""
    tests = [
        (first, second, test)
        for first, second, pair in pairs
        for test in pair.differences
        if (_key(test), test.key) == (key, headline.key)
    ]
    # Runs whose settings differ are not tested against each other.
    reasons = dict.fromkeys(
        f"{first} (A) and {second} (B): {', '.join(refused.reasons)}"
        for first, second, pair in pairs
        for refused in pair.refused
        if refused.title == key.title
    )
    apart = [f"{text} ({p_words(t.p_holm)})" for first, second, t in tests if (text := higher(t, first, second))]
    # If some runs were not compared, the text names those that were.
    between = f" between {' or '.join(f'{first} and {second}' for first, second, _ in tests)}" if reasons else ""
    parts = ["; ".join(apart) or f"No significant difference{between}"] if tests else []
    parts += [f"Not compared: {'; '.join(reasons)}"] if reasons else []
    return ". ".join(parts)


def _cells(test: Difference) -> tuple[str, ...]:
    score = spec(test.key)
    flips = f"{len(test.only_first):,} / {len(test.only_second):,}" if test.only_first or test.only_second else ""
    defined = all(map(math.isfinite, test.difference_ci95))
    between = " to ".join(_signed(test, end).removesuffix(" %") for end in test.difference_ci95) if defined else ""
    return (
        score.shown(test.first),
        score.shown(test.second),
        _signed(test, test.difference),
        f"{between}{' %' if between and score.unit in (Unit.FRACTION, Unit.PERCENT) else ''}",
        shown_p(test.p_value),
        shown_p(test.p_holm),
        flips,
        f"{test.n:,}",
    )


def _signed(test: Difference, value: float) -> str:
    return f"{'+' if value >= 0 else ''}{spec(test.key).shown(value)}"
