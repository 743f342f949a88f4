"""What the report says in tables: scores side by side, settings, versions, and what was left out."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eyechart.evaluators.report.names import data_title, heading
from eyechart.evaluators.report.scores import is_mini
from eyechart.evaluators.results.finished_runs import Run, TaskKey, merged_keys
from eyechart.evaluators.results.results_file import TaskResult, with_nan
from eyechart.evaluators.results.score_rows import SPREAD_NOTE, interval_notes, repeat_rows, score_rows
from eyechart.metrics.scoring.judging.lexical import LEXICAL

_LEFT_OUT = 50
"""Items left out that are listed, by task and run."""
_WARNINGS = 20
"""Warnings of one result that are shown."""
_NO_TASK = "\N{EN DASH}"
"""Stands for the settings of a task that a run does not have."""

SettingRow = tuple[str, list[str], bool]
"""A setting's name, its value in each run, and whether these differ among the runs that have the task."""


@dataclass(frozen=True)
class ScoreRow:
    """One score of all runs."""

    label: str
    chance_level: str
    cells: list[tuple[str, str, str]]
    """For each run its value, 95 % interval and n; empty texts where it has none."""


@dataclass(frozen=True)
class TaskSummary:
    """The scores of one task, and what is to be known of them."""

    key: TaskKey
    is_mini: bool
    rows: list[ScoreRow]
    caveats: list[str]
    """What changes how the scores are to be read."""
    notes: list[str]
    """What the intervals rest on, and warnings."""

    @property
    def data(self) -> str:
        """What the scores are of."""
        return data_title(self.key)


@dataclass(frozen=True)
class LeftOutItems:
    """What has no part in the scores of one task of one run."""

    title: str
    count: int
    items: list[tuple[str, str]]
    """Id and reason; at most the first fifty."""


def summarise(runs: Sequence[Run]) -> list[TaskSummary]:
    """The summary table."""
    return [_task_summary(key, runs) for key in merged_keys(runs)]


def settings_of(runs: Sequence[Run]) -> list[tuple[str, list[SettingRow]]]:
    """The settings of each task, by its title, side by side."""
    return [
        (heading(key), _side_by_side([run.tasks[key].settings if key in run.tasks else None for run in runs]))
        for key in merged_keys(runs)
    ]


def versions_of(runs: Sequence[Run]) -> list[SettingRow]:
    """What each run was made with, side by side."""
    return _side_by_side([run.results.environment for run in runs])


def left_out_of(runs: Sequence[Run]) -> list[LeftOutItems]:
    """What was left out, by task and run."""
    found = []
    for key in merged_keys(runs):
        for run in runs:
            items = run.tasks[key].left_out if key in run.tasks else []
            if items:
                label = f", {run.label}" if len(runs) > 1 else ""
                shown = [(item.id, item.reason) for item in items[:_LEFT_OUT]]
                found.append(LeftOutItems(heading(key) + label, len(items), shown))
    return found


def failures_of(runs: Sequence[Run]) -> list[str]:
    """Tasks that did not finish."""
    several = len(runs) > 1
    return [
        f"{f'{run.label}: ' if several else ''}{failed.task} on {failed.dataset}: {failed.error}"
        for run in runs
        for failed in run.results.failed
    ]


def _side_by_side(by_run: Sequence[Mapping[str, Any] | None]) -> list[SettingRow]:
    """One row for each name; "" where a run lacks it."""
    flat = [None if settings is None else dict(_flat(settings)) for settings in by_run]
    rows = []
    for name in dict.fromkeys(name for settings in flat for name in settings or ()):
        values = [_NO_TASK if settings is None else settings.get(name, "") for settings in flat]
        rows.append((name, values, len({settings.get(name, "") for settings in flat if settings is not None}) > 1))
    return rows


def _task_summary(key: TaskKey, runs: Sequence[Run]) -> TaskSummary:
    results = [run.tasks.get(key) for run in runs]
    by_run = [{cells[0]: cells for cells in _cells(result)} for result in results]
    rows = []
    for label in dict.fromkeys(label for cells in by_run for label in cells):
        found = [cells.get(label, (label, "", "", "", "")) for cells in by_run]
        levels = list(dict.fromkeys(cells[3] for cells in found if cells[3]))
        values = [(value, between, n) for _, value, between, _, n in found]
        rows.append(ScoreRow(label, " / ".join(levels), values))
    caveats, notes = (_lines(make, runs, results) for make in (_caveats, _notes))
    of_mini = any(result is not None and is_mini(result) for result in results)
    return TaskSummary(key, of_mini, rows, caveats, notes)


def _lines(
    make: Callable[[TaskResult], Iterator[str]], runs: Sequence[Run], results: Sequence[TaskResult | None]
) -> list[str]:
    """What is to be said of the results, each line once, with its runs where it is not of all."""
    found = [(run.label, result) for run, result in zip(runs, results, strict=True) if result is not None]
    lines: dict[str, list[str]] = {}
    for label, result in found:
        for line in dict.fromkeys(make(result)):
            lines.setdefault(line, []).append(label)
    return [line if len(of) == len(found) == len(runs) else f"{', '.join(of)}: {line}" for line, of in lines.items()]


def _cells(result: TaskResult | None) -> Iterator[tuple[str, str, str, str, str]]:
    if result is not None and result.scores is not None:
        # Scores by image and by group have no row here, and there may be very many of them.
        many = ("scores", "image_scores")
        own = {key: value for key, value in result.scores.items() if key not in many and not key.startswith("by_")}
        yield from score_rows(with_nan(own))
        yield from repeat_rows(with_nan(result.diagnostics.get("repeats", {})), with_nan(own))


def _caveats(result: TaskResult) -> Iterator[str]:
    yield from result.caveats
    if result.scores is None and not result.caveats:
        yield "There is no score."
    if not result.complete:
        yield "The scores are incomplete: not all items were asked."
    if not result.settings:
        yield "The results hold no settings, so it is unknown how these scores were made."
    if (result.scores or {}).get("judge") == LEXICAL:
        yield f"Judged by `{LEXICAL}`, which compares words; not comparable with published scores."
    if result.left_out:
        count = len(result.left_out)
        yield f"{count:,} items were left out, see below." if count > 1 else "1 item was left out, see below."


def _notes(result: TaskResult) -> Iterator[str]:
    repeats = with_nan(result.diagnostics.get("repeats", {}))
    yield from interval_notes([("", with_nan(result.scores or {})), ("", repeats.get("choices", {}))])
    if repeats:
        yield f"{SPREAD_NOTE}."
    yield from (f"Warning: {text}" for text in result.warnings[:_WARNINGS])
    if len(result.warnings) > _WARNINGS:
        yield f"{len(result.warnings) - _WARNINGS:,} more warnings are in the results."


def _flat(settings: Mapping[str, Any], lead: str = "") -> Iterator[tuple[str, str]]:
    """Settings as names with points and texts."""
    for name, value in settings.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{lead}{name}.")
        else:
            yield f"{lead}{name}", value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
