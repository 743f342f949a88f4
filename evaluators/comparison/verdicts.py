"""The results of paired tests as notes, for `eyechart compare` and the report."""

from collections.abc import Iterator, Sequence

from eyechart.evaluators.comparison.compare import Comparison
from eyechart.evaluators.comparison.differences import Difference, p_words, signed
from eyechart.evaluators.results.notes import Note, note

LEVEL = 0.05
"""Two runs differ significantly if the Holm-adjusted p-value is below this."""


def higher(test: Difference, first: str = "A", second: str = "B") -> str:
    """Which run scored significantly higher, such as "A scored higher than B"; "" if neither did."""
    if not test.p_holm < LEVEL:
        return ""
    above, below = (first, second) if test.difference > 0 else (second, first)
    return f"{above} scored higher than {below}"


def verdicts(comparison: Comparison) -> Iterator[Note]:
    """The test result of each task's headline score."""
    titles = {test.title: test.task for test in comparison.differences}
    for test in comparison.differences:
        if test.has_test and test.key == comparison.headlines.get(test.title):
            # The data set is needed only if the task ran on several.
            name = test.task if list(titles.values()).count(test.task) == 1 else test.title
            amount = signed(test.key, test.difference)
            yield note("verdict", task=name, higher=higher(test), by=amount, p=p_words(test.p_holm))


def method_notes(differences: Sequence[Difference]) -> Iterator[Note]:
    """The test of each p-value, and the kind of each interval or why it is missing, for all that the tables show."""
    tests: dict[str, dict[str, dict[str, None]]] = {}
    intervals: dict[str, dict[str, dict[str, None]]] = {}
    for test in differences:
        if test.has_test:
            tests.setdefault(test.test, {}).setdefault(test.title, {})[test.score] = None
        if not test.note:
            scores = intervals.setdefault(test.interval_kind, {}).setdefault(test.title, {})
            scores[f"{test.score} ({test.unit_words})"] = None
    for code, by_kind in (("test", tests), ("difference_interval", intervals)):
        for kind, of_kind in by_kind.items():
            yield note(code, kind=kind, scores={title: list(scores) for title, scores in of_kind.items()})
    if any(test.has_test and test.interval_kind.startswith("student") for test in differences):
        yield note("student_interval")
    if intervals:
        yield note("overlap")


def synthetic_note(pairs: Sequence[Comparison]) -> Note | None:
    """Which compared tasks are on synthetic demo data; None if no task is."""
    synthetic = dict.fromkeys(title for pair in pairs for title in pair.synthetic)
    compared = {test.title for pair in pairs for test in pair.differences}
    named = [] if compared <= synthetic.keys() else list(synthetic)
    return note("synthetic", tasks=named) if synthetic else None
