"""Whether several runs differ: the tests of `eyechart compare` as the report shows them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.comparison.compare import compare_many
from eyechart.evaluators.comparison.differences import Difference, p_words, shown_p, signed
from eyechart.evaluators.report.reported_task import ReportedTask
from eyechart.evaluators.results.finished_runs import Run
from eyechart.metrics.scores import spec


@dataclass(frozen=True)
class RunDifferences:
    """The results of all tests."""

    verdicts: Mapping[str, Sequence[str]]
    """Each result of the tests of headline scores, with the tasks that share it; differences first."""
    rows: Sequence[Sequence[str]]
    """For each test: task, score, runs, both values, the difference, its interval, p, adjusted p, flips and n."""
    pairs: int
    """Number of pairs of runs, over which p-values are Holm-adjusted."""


def compare_runs(runs: Sequence[Run], tasks: Sequence[ReportedTask]) -> RunDifferences | None:
    """Compare every pair of runs, item by item; None without two runs that have a task in common."""
    try:
        comparisons = compare_many([run.folder for run in runs]).pairs
    except UsageError:
        return None
    pairs = list(zip(combinations([run.label for run in runs], 2), comparisons, strict=True))
    tests = [(first, second, test) for (first, second), pair in pairs for test in pair.differences]
    verdicts: dict[str, list[str]] = {}
    for task in tasks:
        headline = task.headline and task.headline.key
        of_headline = [test for test in tests if (test[2].title, test[2].key) == (task.key.title, headline)]
        # Runs whose settings differ are not tested against each other.
        refusals = [
            f"{first} (A) and {second} (B): {', '.join(refused.reasons)}"
            for (first, second), pair in pairs
            for refused in pair.refused
            if refused.title == task.key.title and headline
        ]
        if text := _verdict(of_headline, refusals):
            verdicts.setdefault(text, []).append(task.heading)
    differences_first = sorted(verdicts, key=lambda text: " scored higher than " not in text)
    headings = {task.key.title: task.heading for task in tasks}
    rows = [_row(headings[test.title], f"{first} \N{MINUS SIGN} {second}", test) for first, second, test in tests]
    return RunDifferences({text: verdicts[text] for text in differences_first}, rows, len(pairs))


def _verdict(tests: Sequence[tuple[str, str, Difference]], refusals: Sequence[str]) -> str:
    """The result of the tests of a task's headline score, and why runs were not compared; "" if there is neither."""
    texts = ((test.higher(first, second), test.p_holm) for first, second, test in tests)
    apart = [f"{text} ({p_words(p_holm)})" for text, p_holm in texts if text]
    # If some runs were not compared, the text names those that were.
    between = f" between {' or '.join(f'{first} and {second}' for first, second, _ in tests)}" if refusals else ""
    parts = ["; ".join(apart) or f"No significant difference{between}"] if tests else []
    return ". ".join([*parts, *([f"Not compared: {'; '.join(refusals)}"] if refusals else [])])


def _row(heading: str, runs: str, test: Difference) -> tuple[str, ...]:
    shown, flips = spec(test.key).shown, (len(test.only_first), len(test.only_second))
    low, high = (signed(test.key, end).removesuffix(" points") for end in test.difference_ci95)
    return (
        *(heading, test.score, runs, shown(test.first), shown(test.second), signed(test.key, test.difference)),
        f"{low} to {high}" if all(map(math.isfinite, test.difference_ci95)) else "",
        *(shown_p(test.p_value), shown_p(test.p_holm)),
        f"{flips[0]:,} / {flips[1]:,}" if any(flips) else "",
        f"{test.n:,}",
    )
