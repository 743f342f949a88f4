"""Whether several runs differ: the tests of `eyechart compare` as the report shows them."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.comparison.compare import Comparison, compare_many
from eyechart.evaluators.comparison.difference import TESTS, Difference, p_words, shown_p
from eyechart.evaluators.comparison.verdicts import LEVEL, higher
from eyechart.evaluators.report.names import heading
from eyechart.evaluators.report.paper_tables.cells import ScoreOfRun
from eyechart.evaluators.results.finished_runs import Run, TaskKey, merged_keys
from eyechart.metrics.score_spec import Unit
from eyechart.metrics.scores import spec


@dataclass(frozen=True)
class Verdict:
    """A test result that one or more tasks share, on their headline scores."""

    text: str
    tasks: list[str]
    """The tasks with this result."""


@dataclass(frozen=True)
class DifferenceRow:
    """One test of one score."""

    title: str
    score: str
    pair: str
    cells: tuple[str, ...]
    """Both values, the difference, its interval, p, adjusted p, flips and n."""


@dataclass(frozen=True)
class AgainstBest:
    """The tests of each score against that of the best run; a score is a result and the key of the score in it."""

    tests: Mapping[tuple[int, str], str]
    """Descriptions of the tests."""
    lower: frozenset[tuple[int, str]]
    """The scores that are significantly lower."""

    def test(self, score: ScoreOfRun) -> str:
        """The test of a score; "" if it was not tested."""
        return self.tests.get((id(score.result), score.key), "")

    def is_lower(self, score: ScoreOfRun) -> bool:
        """Whether a score is significantly lower than that of the best run."""
        return (id(score.result), score.key) in self.lower


@dataclass(frozen=True)
class RunDifferences:
    """The results of all tests."""

    verdicts: list[Verdict]
    rows: list[DifferenceRow]
    pairs: int
    """Number of pairs of runs, over which p-values are Holm-adjusted."""
    against_best: AgainstBest


def compare_runs(runs: Sequence[Run]) -> RunDifferences:
    """Compare every pair of runs, item by item.

    Args:
        runs: The runs, with the labels that the report gives them.
    """
    try:
        pairs = compare_many([run.folder for run in runs]).pairs
    except UsageError:
        # Two of the runs have no task in common.
        return RunDifferences([], [], 0, AgainstBest({}, frozenset()))
    places = [(first, second) for first in range(len(runs)) for second in range(first + 1, len(runs))]
    named = [(runs[first].label, runs[second].label, pair) for (first, second), pair in zip(places, pairs, strict=True)]
    found = [(a, b, one) for a, b, pair in named for one in pair.differences]
    rows = [
        DifferenceRow(
            heading(TaskKey(one.task, one.dataset, one.split)), one.score, f"{a} \N{MINUS SIGN} {b}", _cells(one)
        )
        for a, b, one in found
    ]
    by_text: dict[str, list[str]] = {}
    for key in merged_keys(runs):
        text = _verdict(key, runs, named)
        if text:
            by_text.setdefault(text, []).append(heading(key))
    # Differences first.
    verdicts = sorted(
        (Verdict(*item) for item in by_text.items()), key=lambda one: " scored higher than " not in one.text
    )
    tests = [(*place, one) for place, pair in zip(places, pairs, strict=True) for one in pair.differences]
    return RunDifferences(verdicts, rows, len(pairs), _against_best(runs, tests))


def _against_best(runs: Sequence[Run], found: Sequence[tuple[int, int, Difference]]) -> AgainstBest:
    """Pick the tests against the best run, from all tests with the indices of their runs."""
    by_score: dict[tuple[str, str, str, str], list[tuple[int, int, Difference]]] = {}
    for first, second, one in found:
        if one.has_test:
            by_score.setdefault((one.task, one.dataset, one.split, one.key), []).append((first, second, one))
    tests, lower = {}, set()
    for (task, dataset, split, key), of_score in by_score.items():
        if max(Counter((first, second) for first, second, _ in of_score).values()) > 1:
            # Results that a run has several times cannot be told apart by the tests.
            continue
        values = {run: value for a, b, one in of_score for run, value in ((a, one.first), (b, one.second))}
        best = max(values, key=values.__getitem__)
        for first, second, one in of_score:
            if best in (first, second):
                place = id(runs[first + second - best].tasks[TaskKey(task, dataset, split)]), key
                tests[place] = TESTS[one.test]
                lower |= {place} if one.p_holm < LEVEL else set()
    return AgainstBest(tests, frozenset(lower))


def _verdict(key: TaskKey, runs: Sequence[Run], pairs: Sequence[tuple[str, str, Comparison]]) -> str:
    """The test result of a task's headline score; "" if missing."""
    headline = next((found for run in runs if key in run.tasks and (found := run.tasks[key].headline_spec())), None)
    if headline is None:
        return ""
    place = (key.task, key.dataset, key.split, headline.key)
    tests = [
        (first, second, one)
        for first, second, pair in pairs
        for one in pair.differences
        if (one.task, one.dataset, one.split, one.key) == place
    ]
    # Runs whose settings differ are not tested against each other.
    reasons = dict.fromkeys(
        f"{first} (A) and {second} (B): {', '.join(refused.reasons)}"
        for first, second, pair in pairs
        for refused in pair.refused
        if refused.title == key.title
    )
    apart = []
    for first, second, one in tests:
        if text := higher(one, first, second):
            apart.append(f"{text} ({p_words(one.p_holm)})")
    # If some runs were not compared, the text names those that were.
    between = f" between {' or '.join(f'{first} and {second}' for first, second, _ in tests)}" if reasons else ""
    parts = ["; ".join(apart) or f"No significant difference{between}"] if tests else []
    parts += [f"Not compared: {'; '.join(reasons)}"] if reasons else []
    return ". ".join(parts)


def _cells(one: Difference) -> tuple[str, ...]:
    score = spec(one.key)
    flips = f"{len(one.only_first):,} / {len(one.only_second):,}" if one.only_first or one.only_second else ""
    defined = all(map(math.isfinite, one.difference_ci95))
    between = " to ".join(_signed(one, end).removesuffix(" %") for end in one.difference_ci95) if defined else ""
    return (
        score.shown(one.first),
        score.shown(one.second),
        _signed(one, one.difference),
        f"{between}{' %' if between and score.unit in (Unit.FRACTION, Unit.PERCENT) else ''}",
        shown_p(one.p_value),
        shown_p(one.p_holm),
        flips,
        f"{one.n:,}",
    )


def _signed(one: Difference, value: float) -> str:
    return f"{'+' if value >= 0 else ''}{spec(one.key).shown(value)}"
