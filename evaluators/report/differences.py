"""Whether several runs differ: the tests of `eyechart compare` as the report shows them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.comparison.compare import Comparison, compare_many
from eyechart.evaluators.comparison.difference import Difference, p_words, shown_p
from eyechart.evaluators.comparison.verdicts import higher
from eyechart.evaluators.report.names import heading
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
class RunDifferences:
    """The results of all tests."""

    verdicts: list[Verdict]
    rows: list[DifferenceRow]
    count: int
    """Number of tests in the Holm adjustment."""


def compare_runs(runs: Sequence[Run]) -> RunDifferences:
    """Compare every pair of runs, item by item.

    Args:
        runs: The runs, with the labels that the report gives them.
    """
    try:
        pairs = compare_many([run.folder for run in runs]).pairs
    except UsageError:
        # Two of the runs have no task in common.
        return RunDifferences([], [], 0)
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
    return RunDifferences(verdicts, rows, sum(not math.isnan(one.p_value) for _, _, one in found))


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
    defined = all(map(math.isfinite, one.interval))
    between = " to ".join(_signed(one, end).removesuffix(" %") for end in one.interval) if defined else ""
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
