"""The table of `--verbose`: value, interval, chance level and n of every score, and how intervals were computed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from eyechart.evaluators.protocols.choice.circular_eval import GRADES, WITHOUT_BLIND
from eyechart.evaluators.results.finished_runs import result_title
from eyechart.evaluators.results.notes import note
from eyechart.evaluators.results.results_file import AVERAGE, TaskResult
from eyechart.evaluators.results.score_rows import COLUMNS, interval_notes, plain_interval_note, repeat_rows, score_rows
from eyechart.evaluators.runs.console import add_heading, add_scores, print_note, scores_table
from eyechart.evaluators.runs.notes import asked_items, extent, notes_of
from eyechart.metrics.scores import GAIN

_ASKED_FOR = (WITHOUT_BLIND, GRADES)
"""Variants that the user requests by a setting; the table shows them below the scores."""

_Cells = tuple[str, str, str, str, str]


def print_everything(output: Console, evaluations: Sequence[TaskResult]) -> None:
    """Print every score and every note of a run."""
    output.print(score_table(evaluations))
    for line in (*interval_lines(evaluations), *note_lines(evaluations)):
        print_note(output, line)


def score_table(evaluations: Sequence[TaskResult]) -> Table:
    """Lay out all scores: a heading with task and data, and below it a line for each score."""
    table = scores_table("", COLUMNS[0], [name.replace(" level", "") for name in COLUMNS[1:]])
    for evaluation in evaluations:
        is_mini = evaluation.settings["data"]["is_mini"]
        about = (evaluation.split, "synthetic" if is_mini else "", extent([evaluation]))
        add_heading(table, result_title(evaluation.task, evaluation.dataset, ", ".join(filter(None, about))))
        for cells in _rows(evaluation):
            add_scores(table, *cells)
    return table


def further_rows(evaluation: TaskResult) -> Iterator[tuple[str, ...]]:
    """What stands below the headline of a single task: its other scores, then the headline of each group.

    Yields:
        Name, value, interval, chance level, "" for the paper's best value, and n.
    """
    headline = evaluation.headline_spec()
    if headline is None:
        return
    own = [cells for cells in _whole_rows(evaluation) if cells[0].strip() != headline.label]
    parts = [*_parts(evaluation)] if evaluation.dataset != AVERAGE else []
    parts += [(_name_of(average), average) for average in _averages(evaluation)]
    groups = [
        (f"  {name}", *numbers)
        for name, part in parts
        for label, *numbers in score_rows(part)
        if label == headline.label
    ]
    for name, value, between, chance, n in (*((f"  {name}", *numbers) for name, *numbers in own), *groups):
        yield (
            name,
            value,
            between if between.startswith("-") else between.replace(" to ", "\N{EN DASH}"),
            chance.removesuffix(" %"),
            "",
            n,
        )


def note_lines(evaluations: Sequence[TaskResult]) -> list[str]:
    """All notes and warnings, each behind the tasks that it is about."""
    lines = [f"{', '.join(sorted(tasks))}: {text}" for text, tasks in notes_of(evaluations)]
    for evaluation in evaluations:
        lines += [f"{evaluation.task}: warning: {text}" for text in evaluation.warnings]
        ways = [name for name in evaluation.variants if name not in _ASKED_FOR]
        if ways:
            lines.append(f"{evaluation.task}: alternative scorings ({', '.join(ways)}): see results.json.")
    return list(dict.fromkeys(lines))


def interval_lines(evaluations: Sequence[TaskResult]) -> list[str]:
    """How the interval of each number in the table was computed, or why it has no interval."""
    whole = [(e.task, part) for e in evaluations for part in _shown_whole(e)]
    groups = [(e.task, {**dict(_asked_for(e)), **dict(_parts(e))}) for e in evaluations]
    notes = [*interval_notes(whole, groups), plain_interval_note(whole, groups)]
    if repeated := [e.task for e in evaluations if "repeats" in e.diagnostics]:
        notes.append(note("interval_of_spread", tasks=repeated))
    if averaged := [e.task for e in evaluations if _averages(e)]:
        notes.append(note("interval_of_averages", tasks=averaged))
    return [note.text for note in notes if note]


def _rows(evaluation: TaskResult) -> Iterator[_Cells]:
    if evaluation.scores is None:
        yield ("no score, see below", "", "", "", f"{asked_items(evaluation):,}")
        return
    yield from _whole_rows(evaluation)
    # The databases of an average have headings of their own.
    for name, part in _parts(evaluation) if evaluation.dataset != AVERAGE else ():
        yield from score_rows(part, name)
    for average in _averages(evaluation):
        yield from score_rows(average, _name_of(average))


def _whole_rows(evaluation: TaskResult) -> Iterator[_Cells]:
    """The lines about all items."""
    scores = evaluation.scores or {}
    yield from score_rows(scores)
    yield from repeat_rows(evaluation.diagnostics.get("repeats", {}), scores)
    yield from score_rows(evaluation.diagnostics.get(GAIN, {}))
    for name, part in _asked_for(evaluation):
        yield from score_rows(part, name)


def _shown_whole(evaluation: TaskResult) -> Iterator[Mapping[str, Any]]:
    """The scores over all items that the table shows."""
    if evaluation.scores is not None:
        yield evaluation.scores
        yield evaluation.diagnostics.get("repeats", {}).get("choices", {})
        yield evaluation.diagnostics.get(GAIN, {})


def _asked_for(evaluation: TaskResult) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The variants that the table shows."""
    if evaluation.scores is not None:
        yield from ((name, evaluation.variants[name]) for name in _ASKED_FOR if name in evaluation.variants)


def _parts(evaluation: TaskResult) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Parts of the data with their scores: those of the benchmark's own table, if it has one, or else all groups."""
    if "table" in evaluation.diagnostics:
        yield from evaluation.diagnostics["table"].items()
        return
    for key, values in (evaluation.scores or {}).items():
        if key.startswith("by_") and "_by_" not in key and isinstance(values, Mapping):
            yield from ((f"{value}", part) for value, part in values.items())


def _averages(evaluation: TaskResult) -> Sequence[Mapping[str, Any]]:
    """The averages of the paper's table, each over several parts."""
    found: Sequence[Mapping[str, Any]] = evaluation.diagnostics.get("averages", ())
    return found


def _name_of(average: Mapping[str, Any]) -> str:
    first, *_, last = average["over"]
    return f"average of {len(average['over'])}, {first} to {last}"
