"""Whether several runs differ: the tests of `eyechart compare` as the report shows them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.comparison.compare import compare_many
from eyechart.evaluators.comparison.differences import p_words, shown_difference
from eyechart.evaluators.report.reported_task import ReportedTask
from eyechart.evaluators.results.finished_runs import Run
from eyechart.evaluators.results.notes import Note, grouped, note


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
    verdicts: list[tuple[Note, str]] = []
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
        ordered = [(names, p_words(test.p_holm)) for a, b, test in of_headline if (names := test.ordered(a, b))]
        compared = [f"{first} and {second}" for first, second, _ in of_headline]
        verdict = note("verdict_of_runs", ordered=ordered, compared=compared, refused=refusals)
        if compared or refusals:
            verdicts.append((verdict, task.heading))
    verdicts.sort(key=lambda verdict: not verdict[0].values["ordered"])
    headings = {task.key.title: task.heading for task in tasks}
    rows = [
        (headings[test.title], test.score, f"{first} \N{MINUS SIGN} {second}", *shown_difference(test))
        for first, second, test in tests
    ]
    return RunDifferences(grouped((verdict.text, heading) for verdict, heading in verdicts), rows, len(pairs))
