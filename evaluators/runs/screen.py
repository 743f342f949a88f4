"""What a run prints at its end: a line for each headline score, the most important notes and the verdict."""

import math
import textwrap
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from eyechart.evaluators.published import best_in_paper
from eyechart.evaluators.requests.values import printable
from eyechart.evaluators.results.finished_runs import MINI
from eyechart.evaluators.results.results_file import AVERAGE, FailedTask, TaskResult
from eyechart.evaluators.results.score_rows import chance_note, is_above_chance, unparsed_note
from eyechart.evaluators.runs.console import print_line, print_note
from eyechart.evaluators.runs.notes import asked_items, extent, notes_of
from eyechart.evaluators.runs.table import further_rows
from eyechart.metrics.scoring.judging.lexical import LEXICAL

_COLUMNS = ("task", "score", "value", "95 % CI", "chance", "paper\nbest", "n")
_MOST_PARTS = 15
"""Most lines below the score of a single task."""
_MOST_NOTES = 5
"""Most lines of notes."""
_MARKS = "¹²³⁴⁵"
_UNLIMITED = 10_000


def print_screen(output: Console, results: Sequence[TaskResult], failed: Sequence[FailedTask]) -> None:
    """Print the results of a run."""
    headlines = _headlines(results)
    for name, result in headlines:
        if note := unparsed_note(result.scores or {}, result.diagnostics):
            print_note(output, f"{name}: {note.text}", "red")
    lines, marks = _shown_notes(results, {result.task for _, result in headlines}, output.width)
    print_note(output, _title([result for _, result in headlines]), "bold")
    rows = [(name + marks.get(result.task, ""), *_cells(result)) for name, result in headlines]
    rows += [(failure.task, "failed, see above") for failure in failed]
    if len(headlines) == 1:
        rows += _parts(headlines[0][1], results)
    _print_table(output, rows)
    above = [(name, is_above) for name, result in headlines if (is_above := _is_above(result)) is not None]
    for line in ("", *lines, *([chance_note(above).text] if above else []), "", _answers(results)):
        print_note(output, line)


def _headlines(results: Sequence[TaskResult]) -> list[tuple[str, TaskResult]]:
    """The results with a line: one for each task, or for each dataset of a task without an average."""
    tasks = [result.task for result in results]
    averaged = {result.task for result in results if result.dataset == AVERAGE}
    shown = [result for result in results if result.dataset == AVERAGE or result.task not in averaged]
    several = {task for task in tasks if tasks.count(task) > 1} - averaged
    names = [f"{each.task} on {each.dataset}" if each.task in several else each.task for each in shown]
    return list(zip(names, shown, strict=True))


def _cells(result: TaskResult) -> tuple[str, ...]:
    """Label, value, interval, chance level, best value in the paper and n of the headline score."""
    scores, spec = result.scores or {}, result.headline_spec()
    if spec is None:
        return ("no score", "", "", "", "", f"{asked_items(result):,}")
    bounds, chance, n = spec.bounds(scores), spec.chance_level(scores), spec.n(scores)
    best = best_in_paper(result.task, result.dataset, result.split, spec)
    interval = ""
    if bounds and all(map(math.isfinite, bounds)):
        interval = _dashed(" to ".join(map(spec.number, bounds)))
    return (
        spec.label,
        spec.shown(spec.value(scores)),
        interval,
        "" if chance is None else spec.number(chance),
        # Word overlap is on another scale than a judge's scores.
        "" if best is None or scores.get("judge") == LEXICAL else spec.number(best.value),
        "" if n is None or math.isnan(n) else f"{n:,}",
    )


def _dashed(interval: str) -> str:
    """An interval with a dash, which could not be read beside a minus sign."""
    return interval if interval.startswith("-") else interval.replace(" to ", "\N{EN DASH}")


def _parts(result: TaskResult, results: Sequence[TaskResult]) -> list[tuple[str, ...]]:
    """What stands below the only headline: the datasets of an average, or the other scores and groups."""
    if result.dataset == AVERAGE:
        return [(f"  {part.dataset}", *_cells(part)) for part in results if part.dataset != AVERAGE]
    rows: list[tuple[str, ...]] = [
        (name, "", value, _dashed(interval), chance.removesuffix(" %"), "", n)
        for name, value, interval, chance, n in further_rows(result)
    ]
    if len(rows) <= _MOST_PARTS:
        return rows
    return [*rows[: _MOST_PARTS - 1], (f"  {len(rows) - _MOST_PARTS + 1} more in the report",)]


def _is_above(result: TaskResult) -> bool | None:
    spec = result.headline_spec()
    return None if spec is None else is_above_chance(spec, result.scores or {})


def _title(results: Sequence[TaskResult]) -> str:
    """The model, the data and how much of it was used."""
    data = f"{results[0].dataset} ({results[0].split})" if len(results) == 1 else f"{len(results)} tasks"
    is_mini = all(result.settings["data"]["is_mini"] for result in results)
    models = ", ".join(dict.fromkeys(result.model for result in results))
    return ", ".join(filter(None, (f"{models} on {data}", MINI if is_mini else "", extent(results))))


def _answers(results: Sequence[TaskResult]) -> str:
    """How many answers the scores are made of, and how long they took."""
    count = sum(len(result.items) for result in results)
    seconds = sum(result.timings.get("model_seconds", 0) for result in results)
    stored = sum(result.timings.get("answers_from_store", 0) for result in results)
    return f"Answers: {count:,} in {seconds:.1f} s{f', {stored:,.0f} of them from the store' if stored else ''}."


def _shown_notes(results: Sequence[TaskResult], tasks: set[str], width: int) -> tuple[list[str], dict[str, str]]:
    """The lines of the notes that fit on the screen, and the marks of those that are not about all tasks, by task."""
    lines: list[str] = []
    marks: dict[str, str] = {}
    unused = iter(_MARKS)
    notes = notes_of(results)
    for number, (text, about) in enumerate(notes):
        mark = next(unused) if tasks != about and len(tasks) > 1 else ""
        folded = textwrap.wrap(f"{mark} {text}".strip(), width, subsequent_indent="  ", break_long_words=False)
        if len(folded) > _MOST_NOTES - len(lines) - (number < len(notes) - 1):
            lines.append(f"{len(notes) - number} more notes are in the report; --verbose prints them.")
            break
        lines += folded
        marks |= {task: marks.get(task, "") + mark for task in about}
    return lines, marks


def _print_table(output: Console, rows: Sequence[tuple[str, ...]]) -> None:
    """Print the table; if the terminal is too narrow for it, each name stands above its numbers."""
    table = _table(_COLUMNS, rows)
    # A table is measured as wide as it may be, at most.
    if output.measure(table, options=output.options.update(max_width=_UNLIMITED)).maximum <= output.width:
        output.print(table)
        return
    with output.capture() as captured:
        output.print(_table(_COLUMNS[1:], [numbers for _, *numbers in rows]))
    lines = captured.get().splitlines()
    names = [*[""] * (len(lines) - len(rows)), *(name for name, *_ in rows)]
    for name, line in zip(names, lines, strict=True):
        print_line(output, f"{name}\n  {line}" if name else f"  {line}")


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for name in columns:
        table.add_column(name, justify="left" if name in _COLUMNS[:2] else "right", vertical="bottom", no_wrap=True)
    for cells in rows:
        table.add_row(*(Text(printable(text)) for text in cells))
    return table
