"""Tables of the report: scores side by side, settings, versions and items left out."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from eyechart.evaluators.published.rendering import UNDEFINED
from eyechart.evaluators.report.reported_task import BY_WORDS, ReportedTask
from eyechart.evaluators.results.notes import note
from eyechart.evaluators.results.results_file import LeftOut, TaskResult
from eyechart.evaluators.results.score_rows import interval_notes, repeat_rows, score_rows
from eyechart.metrics.scoring.judging.lexical import LEXICAL

_WARNINGS = 20
"""Maximum number of warnings shown per result."""

SettingRow = tuple[str, list[str], bool]
"""A setting's name, its value in each run, and whether the values differ among runs that have the task."""


class ScoreRow(NamedTuple):
    """One score of all runs."""

    label: str
    chance_level: str
    cells: list[tuple[str, str, str]]
    """Value, 95 % interval and n of each run; "" where missing."""


class TaskSummary(NamedTuple):
    """The scores of one task with their caveats and notes."""

    task: ReportedTask
    rows: list[ScoreRow]
    caveats: list[str]
    """What limits the meaning of the scores."""
    notes: list[str]
    """How the intervals were computed, and warnings."""


def summarise(task: ReportedTask, runs: Sequence[str]) -> TaskSummary:
    """The summary table of a task, with a column for each of the labels of all runs."""
    rows = list(_score_rows([task.results.get(run) for run in runs]))
    return TaskSummary(task, rows, *(_lines(make, task.results, len(runs)) for make in (_caveats, _notes)))


def side_by_side(by_run: Sequence[Mapping[str, Any] | None]) -> list[SettingRow]:
    """Settings with one row per name; "" where a run lacks it, a dash where a run has None in place of settings."""
    flat = [None if settings is None else dict(_flat(settings)) for settings in by_run]
    rows = []
    for name in dict.fromkeys(name for settings in flat for name in settings or ()):
        values = [UNDEFINED if settings is None else settings.get(name, "") for settings in flat]
        rows.append((name, values, len({*values} - {UNDEFINED}) > 1))
    return rows


def left_out_of(tasks: Sequence[ReportedTask], *, several: bool) -> list[tuple[str, list[LeftOut]]]:
    """Items left out, by task and run."""
    return [
        (f"{task.heading}, {run}" if several else task.heading, result.left_out)
        for task in tasks
        for run, result in task.results.items()
        if result.left_out
    ]


def _flat(settings: Mapping[str, Any], lead: str = "") -> Iterator[tuple[str, str]]:
    """Settings flattened to dotted names with text values."""
    for name, value in settings.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{lead}{name}.")
        else:
            yield f"{lead}{name}", value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _score_rows(results: Sequence[TaskResult | None]) -> Iterator[ScoreRow]:
    by_run = [{label: cells for label, *cells in _cells(result)} for result in results]
    for label in dict.fromkeys(label for rows in by_run for label in rows):
        cells = [rows.get(label, [""] * 4) for rows in by_run]
        levels = " / ".join(dict.fromkeys(level for _, _, level, _ in cells if level))
        yield ScoreRow(label, levels, [(value, between, n) for value, between, _, n in cells])


def _cells(result: TaskResult | None) -> Iterator[tuple[str, str, str, str, str]]:
    if result is not None and result.scores is not None:
        # Scores by image or by group have no row here: there may be very many.
        many = ("scores", "image_scores")
        scores = {key: value for key, value in result.scores.items() if key not in many and not key.startswith("by_")}
        yield from score_rows(scores)
        yield from repeat_rows(result.diagnostics.get("repeats", {}), scores)


def _lines(make: Callable[[TaskResult], Iterator[str]], results: Mapping[str, TaskResult], count: int) -> list[str]:
    """Lines about the results, each once; a line that does not hold for all runs begins with its runs."""
    lines: dict[str, list[str]] = {}
    for run, result in results.items():
        for line in dict.fromkeys(make(result)):
            lines.setdefault(line, []).append(run)
    return [line if len(runs) == count else f"{', '.join(runs)}: {line}" for line, runs in lines.items()]


def _caveats(result: TaskResult) -> Iterator[str]:
    yield from result.caveats
    if result.scores is None and not result.caveats:
        yield "This task has no score."
    if not result.complete:
        yield "The scores are incomplete: some items were not asked."
    if not result.settings:
        yield "The results contain no settings, so it is unknown how these scores were obtained."
    if (result.scores or {}).get("judge") == LEXICAL:
        yield f"{BY_WORDS} Not comparable with published scores."
    if result.left_out:
        yield f'Items left out: {len(result.left_out):,}; see "Items left out" below.'


def _notes(result: TaskResult) -> Iterator[str]:
    notes = interval_notes([("", result.scores or {})])
    if "repeats" in result.diagnostics:
        notes.append(note("interval_of_spread", tasks=[]))
    yield from (note.text for note in notes)
    yield from (f"Warning: {text}" for text in result.warnings[:_WARNINGS])
    if len(result.warnings) > _WARNINGS:
        yield f"{len(result.warnings) - _WARNINGS:,} more warnings are in results.json."
