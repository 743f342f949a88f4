"""What a reader of a comparison must know: which runs differ, what its tables show, and what is not compared."""

from collections.abc import Iterator, Sequence

from eyechart.evaluators.comparison.compare import Comparison, ManyRuns
from eyechart.evaluators.comparison.differences import Difference, p_words, signed
from eyechart.evaluators.results.notes import Note, grouped, note


def outcome_notes(comparison: ManyRuns) -> Iterator[Note]:
    """Which of two runs is better at each task, or the places of several; what else differs, or is not compared."""
    if len(comparison.pairs) == 1:
        yield from _verdicts(comparison.pairs[0])
        yield from _refusals(comparison.pairs)
    else:
        if comparison.rankings:
            yield note("places", pairs=sorted({ranking.tests for ranking in comparison.rankings}))
        for task in comparison.unranked:
            yield note("passed_over", what="ranked", title=task.title, reason=task.reason)
    for pair in comparison.pairs:
        for settings in pair.also_differ:
            yield note("also_differ", first=pair.first, second=pair.second, settings=settings)


def table_notes(comparison: ManyRuns) -> Iterator[Note]:
    """All that belongs to the tables of a comparison."""
    pairs, tests = comparison.pairs, [test for pair in comparison.pairs for test in pair.differences]
    yield from outcome_notes(comparison)
    if synthetic := list(dict.fromkeys(title for pair in pairs for title in pair.synthetic)):
        is_all = {test.title for test in tests} <= set(synthetic)
        yield note("synthetic", tasks=[] if is_all else synthetic)
    for run, parts in {run: parts for pair in pairs for run, parts in pair.partial.items()}.items():
        yield note("partial", run=run, parts=list(parts))
    if sum(test.has_test for test in tests) > 1:
        yield note("p_values") if len(pairs) == 1 else note("adjusted_p_values", pairs=len(pairs))
    if tests:
        yield note("flips")
    yield from _method_notes(tests)
    for pair in pairs:
        scores = grouped(((test.title, test.note), test.score) for test in pair.differences)
        for (title, reason), names in scores.items():
            if reason:
                yield note("undefined_difference", title=title, scores=" and ".join(names), reason=reason)
        if pair.only_in_one:
            yield note("only_in_one", first=pair.first, second=pair.second, tasks=list(pair.only_in_one))
    if len(pairs) > 1:
        yield from _refusals(pairs)
    if any(task.can_be_allowed for pair in pairs for task in pair.refused):
        yield note("allow")


def _verdicts(pair: Comparison) -> Iterator[Note]:
    """The test result of each task's headline score."""
    titles = {test.title: test.task for test in pair.differences}
    for test in pair.differences:
        if test.has_test and test.key == pair.headlines.get(test.title):
            # The data set is needed only if the task ran on several.
            name = test.task if list(titles.values()).count(test.task) == 1 else test.title
            amount = signed(test.key, test.difference)
            yield note("verdict", task=name, ordered=test.ordered(), by=amount, p=p_words(test.p_holm))


def _refusals(pairs: Sequence[Comparison]) -> Iterator[Note]:
    """Which tasks of two runs cannot be compared."""
    for pair in pairs:
        for task in pair.refused:
            title = f"{pair.first} with {pair.second}: {task.title}"
            yield note("passed_over", what="compared", title=title, reason="; ".join(task.reasons))


def _method_notes(differences: Sequence[Difference]) -> Iterator[Note]:
    """The test of each p-value, and the kind of each interval or why it is missing, for all that the tables show."""
    tests = [(test.test, test.title, test.score) for test in differences if test.has_test]
    intervals = [(t.interval_kind, t.title, f"{t.score} ({t.unit_words})") for t in differences if not t.note]
    for code, shown in (("test", tests), ("difference_interval", intervals)):
        for kind in dict.fromkeys(kind for kind, _, _ in shown):
            yield note(code, kind=kind, scores=grouped((title, score) for of, title, score in shown if of == kind))
    if any(test.has_test and test.interval_kind == "student" for test in differences):
        yield note("student_interval")
    if intervals:
        yield note("overlap")
