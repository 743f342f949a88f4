"""Tables of the report: scores side by side, settings, versions and items left out."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from eyechart.evaluators.report.scores import BY_WORDS, heading, is_mini, title_of_data
from eyechart.evaluators.results.finished_runs import Run, TaskKey, merged_keys
from eyechart.evaluators.results.notes import note
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.results.score_rows import interval_notes, repeat_rows, score_rows
from eyechart.metrics.scoring.judging.lexical import LEXICAL

_LEFT_OUT = 50
"""Maximum number of left-out items listed per task and run."""
_WARNINGS = 20
"""Maximum number of warnings shown per result."""
_NO_TASK = "\N{EN DASH}"
"""Shown for a setting if a run does not have the task."""

SettingRow = tuple[str, list[str], bool]
"""A setting's name, its value in each run, and whether the values differ among runs that have the task."""


class ScoreRow(NamedTuple):
    """One score of all runs."""

    label: str
    chance_level: str
    cells: list[tuple[str, str, str]]
    """Value, 95 % interval and n of each run; "" where missing."""


@dataclass(frozen=True)
class TaskSummary:
    """The scores of one task with their caveats and notes."""

    key: TaskKey
    is_mini: bool
    rows: list[ScoreRow]
    caveats: list[str]
    """What limits the meaning of the scores."""
    notes: list[str]
    """How the intervals were computed, and warnings."""

    @property
    def data(self) -> str:
        """The dataset and split of the scores."""
        return title_of_data(self.key)


@dataclass(frozen=True)
class LeftOutItems:
    """Items that are not in the scores of one task of one run."""

    title: str
    count: int
    items: list[tuple[str, str]]
    """Id and reason of the first ones."""


def summarise(runs: Sequence[Run]) -> list[TaskSummary]:
    """The summary table."""
    summaries = []
    for key in merged_keys(runs):
        results = [(run.label, run.tasks.get(key)) for run in runs]
        has_mini = any(result is not None and is_mini(result) for _, result in results)
        lines = (_lines(make, results) for make in (_caveats, _notes))
        summaries.append(TaskSummary(key, has_mini, _score_rows([result for _, result in results]), *lines))
    return summaries


def settings_of(runs: Sequence[Run]) -> list[tuple[str, list[SettingRow]]]:
    """The settings of each task, by its title, side by side."""
    return [
        (heading(key), _side_by_side([run.tasks[key].settings if key in run.tasks else None for run in runs]))
        for key in merged_keys(runs)
    ]


def versions_of(runs: Sequence[Run]) -> list[SettingRow]:
    """Package versions and machine of each run, side by side."""
    return _side_by_side([run.results.environment for run in runs])


def left_out_of(runs: Sequence[Run]) -> list[LeftOutItems]:
    """Items left out, by task and run."""
    return [
        LeftOutItems(
            heading(key) + (f", {run.label}" if len(runs) > 1 else ""),
            len(run.tasks[key].left_out),
            [(item.id, item.reason) for item in run.tasks[key].left_out[:_LEFT_OUT]],
        )
        for key in merged_keys(runs)
        for run in runs
        if key in run.tasks and run.tasks[key].left_out
    ]


def failures_of(runs: Sequence[Run]) -> list[str]:
    """Tasks that did not finish."""
    return [
        f"{f'{run.label}: ' if len(runs) > 1 else ''}{failed.task} on {failed.dataset}: {failed.error}"
        for run in runs
        for failed in run.results.failed
    ]


def _side_by_side(by_run: Sequence[Mapping[str, Any] | None]) -> list[SettingRow]:
    """One row per name; "" where a run lacks it."""
    flat = [None if settings is None else dict(_flat(settings)) for settings in by_run]
    rows = []
    for name in dict.fromkeys(name for settings in flat for name in settings or ()):
        values = [_NO_TASK if settings is None else settings.get(name, "") for settings in flat]
        rows.append((name, values, len({settings.get(name, "") for settings in flat if settings is not None}) > 1))
    return rows


def _flat(settings: Mapping[str, Any], lead: str = "") -> Iterator[tuple[str, str]]:
    """Settings flattened to dotted names with text values."""
    for name, value in settings.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{lead}{name}.")
        else:
            yield f"{lead}{name}", value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _score_rows(results: Sequence[TaskResult | None]) -> list[ScoreRow]:
    by_run = [{cells[0]: cells for cells in _cells(result)} for result in results]
    rows = []
    for label in dict.fromkeys(label for cells in by_run for label in cells):
        same = [cells.get(label, (label, "", "", "", "")) for cells in by_run]
        levels = " / ".join(dict.fromkeys(cells[3] for cells in same if cells[3]))
        rows.append(ScoreRow(label, levels, [(value, between, n) for _, value, between, _, n in same]))
    return rows


def _cells(result: TaskResult | None) -> Iterator[tuple[str, str, str, str, str]]:
    if result is not None and result.scores is not None:
        # Scores by image or by group have no row here: there may be very many.
        many = ("scores", "image_scores")
        own = {key: value for key, value in result.scores.items() if key not in many and not key.startswith("by_")}
        yield from score_rows(own)
        yield from repeat_rows(result.diagnostics.get("repeats", {}), own)


def _lines(make: Callable[[TaskResult], Iterator[str]], results: Sequence[tuple[str, TaskResult | None]]) -> list[str]:
    """Lines about the results, each once; a line that does not hold for all runs begins with its runs."""
    lines: dict[str, list[str]] = {}
    for label, result in results:
        for line in dict.fromkeys(make(result) if result is not None else ()):
            lines.setdefault(line, []).append(label)
    return [line if len(of) == len(results) else f"{', '.join(of)}: {line}" for line, of in lines.items()]


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
        count = len(result.left_out)
        yield f'{count:,} item{"s were" if count > 1 else " was"} left out; see "Items left out" below.'


def _notes(result: TaskResult) -> Iterator[str]:
    repeats = result.diagnostics.get("repeats", {})
    notes = interval_notes([("", result.scores or {}), ("", repeats.get("choices", {}))])
    if repeats:
        notes.append(note("interval_of_spread", tasks=[]))
    yield from (note.text for note in notes)
    yield from (f"Warning: {text}" for text in result.warnings[:_WARNINGS])
    if len(result.warnings) > _WARNINGS:
        yield f"{len(result.warnings) - _WARNINGS:,} more warnings are in results.json."
