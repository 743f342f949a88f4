"""The table of `--verbose`: value, interval, chance level and n of every score; and the notes about a run."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from eyechart.datasets_scripts.official import in_official_terms
from eyechart.evaluators.protocols.choice.circular_eval import GRADES, WITHOUT_BLIND
from eyechart.evaluators.results.finished_runs import MINI, official_items, result_title, scored_items
from eyechart.evaluators.results.notes import note
from eyechart.evaluators.results.results_file import AVERAGE, SAMPLE, TaskResult, task_folder
from eyechart.evaluators.results.score_rows import COLUMNS, interval_notes, plain_interval_note, repeat_rows, score_rows
from eyechart.evaluators.runs.console import add_heading, add_scores, print_notes, scores_table
from eyechart.metrics.scoring.judging.lexical import LEXICAL

_ASKED_FOR = (WITHOUT_BLIND, GRADES)
"""Variants that the user requests by a setting; the table shows them below the scores."""

_SYNTHETIC = f"{MINI.capitalize()}: not comparable with papers. Name a --model for real data."

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
        add_heading(table, result_title(result.task, result.dataset, ", ".join(filter(None, about))))
        if result.scores is None:
            add_scores(table, "no score, see below", "", "", "", f"{asked_items(result):,}")
        parts = [row for name, part in _parts(result).items() for row in score_rows(part, name)]
        for row in (*_rows(result), *parts):
            add_scores(table, *row)
    return table


def further_rows(result: TaskResult) -> _Rows:
    """What stands below the headline of a single task: its other scores, then the headline of each group."""
    spec = result.headline_spec()
    if spec is not None:
        yield from ((f"  {name}", *numbers) for name, *numbers in _rows(result) if name.strip() != spec.label)
        for name, part in _parts(result).items():
            yield from ((f"  {name}", *numbers) for label, *numbers in score_rows(part) if label == spec.label)


def note_lines(results: Sequence[TaskResult]) -> list[str]:
    """All notes and warnings, each behind the tasks that it is about."""
    lines = [f"{', '.join(sorted(tasks))}: {text}" for text, tasks in notes_of(results)]
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
    notes = [*interval_notes(overall, groups), plain_interval_note(overall, groups)]
    if repeated := [result.task for result in results if "repeats" in result.diagnostics]:
        notes.append(note("interval_of_spread", tasks=repeated))
    if averaged := [result.task for result in results if result.diagnostics.get("averages")]:
        notes.append(note("interval_of_averages", tasks=averaged))
    return [each.text for each in notes if each]


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


def notes_of(results: Sequence[TaskResult]) -> list[tuple[str, set[str]]]:
    """The notes on finished tasks, each with the names of its tasks."""
    tasks: dict[str, set[str]] = {}
    for result in results:
        for text in _texts(result):
            tasks.setdefault(text, set()).add(result.task)
    # Python's sort keeps the order of equals.
    return sorted(tasks.items(), key=lambda note: (not note[0].startswith("Incomplete"), note[0] != _SYNTHETIC))


def extent(results: Sequence[TaskResult]) -> str:
    """How many of the official items the results cover together, or which part of other data; "" if that is unknown."""
    settings = [result.settings for result in results]
    counts = [asked_items(result) if result.scores is None else scored_items(result.scores) for result in results]
    count = sum(filter(None, counts))
    official = [official_items(result) for result in results]
    sampled = " (random sample)" if any(SAMPLE in setting for setting in settings) else ""
    if all(official):
        totals = official[0] if len(official) == 1 else (sum(known[0] for known in official),)
        return in_official_terms(count, totals) + sampled
    rows = sum(setting["data"].get("rows") or 0 for setting in settings)
    is_part = sampled or any(setting.get("limit") is not None for setting in settings)
    return f"{count:,} of {rows:,} items{sampled}" if is_part and count < rows else ""


def asked_items(result: TaskResult) -> int:
    """Number of items that were asked."""
    return len({item.id for item in result.items})


def _texts(result: TaskResult) -> Iterator[str]:
    """The notes on one task."""
    if result.settings["data"]["is_mini"]:
        yield _SYNTHETIC
    yield from result.caveats
    for name in result.files:
        yield f"Answer file: {task_folder(result) / name}{_not_to_be_submitted(result)}."
    if any(scores.get("judge") == LEXICAL for scores in (result.scores or {}, *result.variants.values())):
        yield "Scored by word overlap, not by a --judge: not comparable with papers."
    if count := len(result.left_out):
        first = result.left_out[0]
        yield f"{count} item{'s' if count > 1 else ''} left out; the first: '{first.id}': {first.reason}."
    if agreement := result.diagnostics.get("extractor_agreement", {}).get("all"):
        share = f"{100 * agreement['agreement']:.2f} %"
        yield f"The parsed letter agrees with the human label in {share} of {agreement['n']} replies."


def _not_to_be_submitted(result: TaskResult) -> str:
    """Why an answer file should not be submitted; "" if it can be."""
    part = extent([result])
    if result.settings["data"]["is_mini"]:
        return "; do not submit it: the data are synthetic"
    if part and not part.startswith("all"):
        return f"; do not submit it: it covers {part}"
    return "; do not submit it: items were left out" if result.left_out and not part else ""
