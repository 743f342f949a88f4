"""The table of `--verbose`: value, interval, chance level and n of every score; and the notes about a run."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from eyechart.evaluators.protocols.choice.circular_eval import GRADES, WITHOUT_BLIND
from eyechart.evaluators.results.finished_runs import TaskKey, all_notes, asked_items, extent
from eyechart.evaluators.results.notes import grouped, note
from eyechart.evaluators.results.results_file import AVERAGE, TaskResult
from eyechart.evaluators.results.score_rows import COLUMNS, headline_row, interval_notes, repeat_rows, score_rows
from eyechart.evaluators.runs.console import add_heading, add_scores, print_notes, scores_table

_ASKED_FOR = (WITHOUT_BLIND, GRADES)
"""Variants that the user requests by a setting; the table shows them below the scores."""

_Parts = dict[str, Mapping[str, Any]]
_Rows = Iterator[tuple[str, ...]]


def print_everything(output: Console, results: Sequence[TaskResult]) -> None:
    """Print every score and every note of a run."""
    output.print(score_table(results))
    print_notes(output, *interval_lines(results), *note_lines(results))


def score_table(results: Sequence[TaskResult]) -> Table:
    """Lay out all scores: a heading with task and data, and below it a line for each score."""
    table = scores_table("", COLUMNS[0], [name.replace(" level", "") for name in COLUMNS[1:]])
    for result in results:
        is_mini = result.settings["data"]["is_mini"]
        about = (result.split, "synthetic" if is_mini else "", extent([result]))
        add_heading(table, TaskKey(result.task, result.dataset, ", ".join(filter(None, about))).title)
        if result.scores is None:
            add_scores(table, "no score, see below", "", "", "", f"{asked_items(result):,}")
        parts = [row for name, part in _parts(result).items() for row in score_rows(part, name)]
        for row in (*_rows(result), *parts):
            add_scores(table, *row)
    return table


def further_rows(result: TaskResult) -> _Rows:
    """What stands below the headline of a single task: its other scores, then the headline of each group."""
    headline = headline_row(result)
    if headline is not None:
        yield from ((f"  {name}", *texts) for name, *texts in _rows(result) if (name, *texts) != headline)
        for name, part in _parts(result).items():
            yield from ((f"  {name}", *texts) for label, *texts in score_rows(part) if label == headline[0])


def note_lines(results: Sequence[TaskResult]) -> list[str]:
    """All notes and warnings, each behind the tasks that it is about."""
    lines = [f"{', '.join(sorted(tasks))}: {text}" for text, tasks in notes_of(results).items()]
    for result in results:
        lines += [f"{result.task}: warning: {text}" for text in result.warnings]
        if others := [name for name in result.variants if name not in _ASKED_FOR]:
            lines.append(f"{result.task}: alternative scorings ({', '.join(others)}): see results.json.")
    return list(dict.fromkeys(lines))


def interval_lines(results: Sequence[TaskResult]) -> list[str]:
    """How the interval of each number in the table was computed, or why it has no interval."""
    scored = [result for result in results if result.scores is not None]
    overall = [(result.task, result.scores or {}) for result in scored]
    groups = [(result.task, {**_asked_for(result), **_groups(result)}) for result in scored]
    notes = interval_notes(overall, groups)
    if repeated := [result.task for result in results if "repeats" in result.diagnostics]:
        notes.append(note("interval_of_spread", tasks=repeated))
    if averaged := [result.task for result in results if result.diagnostics.get("averages")]:
        notes.append(note("interval_of_averages", tasks=averaged))
    return [each.text for each in notes]


def _rows(result: TaskResult) -> _Rows:
    """The lines about all items."""
    scores = result.scores or {}
    yield from score_rows(scores)
    yield from repeat_rows(result.diagnostics.get("repeats", {}), scores)
    for name, part in _asked_for(result).items():
        yield from score_rows(part, name)


def _asked_for(result: TaskResult) -> _Parts:
    """The variants that the table shows."""
    return {name: result.variants[name] for name in _ASKED_FOR if name in result.variants and result.scores is not None}


def _parts(result: TaskResult) -> _Parts:
    """The groups that have lines, and averages over several of them."""
    # The databases of an average have headings of their own.
    parts = {} if result.dataset == AVERAGE else _groups(result)
    for average in result.diagnostics.get("averages", ()):
        first, *_, last = average["over"]
        parts[f"average of {len(average['over'])}, {first} to {last}"] = average
    return parts


def _groups(result: TaskResult) -> _Parts:
    """Parts of the data with their scores: those of the benchmark's own table, if it has one, or else all groups."""
    if "table" in result.diagnostics:
        return dict(result.diagnostics["table"])
    return {
        str(value): part
        for key, values in (result.scores or {}).items()
        if key.startswith("by_") and "_by_" not in key and isinstance(values, Mapping)
        for value, part in values.items()
    }


def notes_of(results: Sequence[TaskResult]) -> dict[str, list[str]]:
    """The notes on finished tasks, the most important first, each with the names of its tasks."""
    notes = [(note, result.task) for result in results for note in all_notes(result)]
    notes.sort(key=lambda pair: (not pair[0].is_incomplete, pair[0].code != "synthetic"))
    return grouped((note.text, task) for note, task in notes)
