"""What a run prints at its end: a line for each headline score, the most important notes and the verdict."""

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from eyechart.evaluators.published import best_in_paper
from eyechart.evaluators.requests.values import printable
from eyechart.evaluators.results.results_file import AVERAGE, FailedTask, TaskResult
from eyechart.evaluators.results.score_rows import chance_note, is_above_chance, unparsed_note
from eyechart.evaluators.results.sources import MINI
from eyechart.evaluators.runs.console import print_line, print_note
from eyechart.evaluators.runs.notes import Note, asked_items, extent, notes_of
from eyechart.evaluators.runs.table import further_rows
from eyechart.metrics.score_spec import ScoreSpec
from eyechart.metrics.scoring.judging.lexical import LEXICAL

_COLUMNS = ("task", "score", "value", "95 % CI", "chance", "paper\nbest", "n")
_MOST_PARTS = 15
"""Most lines below the score of a single task."""
_MOST_NOTES = 5
"""Most lines of notes."""
_MARKS = "¹²³⁴⁵"
_TO = "\N{EN DASH}"
_UNLIMITED = 10_000


@dataclass(frozen=True)
class Headline:
    """One line of the table."""

    evaluation: TaskResult
    name: str
    """The task, and its dataset if the task ran on several."""

    def cells(self) -> tuple[str, ...]:
        """Label, value, interval, chance level, best value in the paper and n."""
        evaluation = self.evaluation
        scores = evaluation.scores or {}
        spec = evaluation.headline_spec()
        if spec is None:
            return ("no score", "", "", "", "", f"{asked_items(evaluation):,}")
        bounds, chance, n = spec.bounds(scores), spec.chance_level(scores), spec.n(scores)
        best = best_in_paper(evaluation.task, evaluation.dataset, evaluation.split, spec)
        return (
            spec.label,
            spec.shown(spec.value(scores)),
            _interval(spec, bounds) if bounds and all(map(math.isfinite, bounds)) else "",
            "" if chance is None else spec.number(chance),
            # Word overlap is on another scale than a judge's scores.
            "" if best is None or scores.get("judge") == LEXICAL else spec.number(best.value),
            "" if n is None or math.isnan(n) else f"{n:,}",
        )

    def is_above_chance(self) -> bool | None:
        """Whether the score is better than chance; None if that cannot be said."""
        scores = self.evaluation.scores or {}
        spec = self.evaluation.headline_spec()
        return None if spec is None else is_above_chance(spec, scores)


def print_screen(output: Console, evaluations: Sequence[TaskResult], failed: Sequence[FailedTask]) -> None:
    """Print the results of a run."""
    rows = list(headlines(evaluations))
    for row in rows:
        if note := unparsed_note(row.evaluation.scores or {}, row.evaluation.diagnostics):
            print_note(output, f"{row.name}: {note.text}", "red")
    lines, marked = _shown_notes(notes_of(evaluations), rows, output.width)
    print_note(output, _title(rows), "bold")
    is_average = len(rows) == 1 and rows[0].evaluation.dataset == AVERAGE
    parts = [Headline(one, f"  {one.dataset}") for one in evaluations if one.dataset != AVERAGE] if is_average else []
    _print_table(output, [*rows, *parts], failed, marked)
    for line in ("", *lines, *verdict_lines(rows), "", _answers(evaluations)):
        print_note(output, line)


def headlines(evaluations: Sequence[TaskResult]) -> Iterator[Headline]:
    """The lines of the table: one for each task, or for each dataset of a task without an average."""
    tasks = [evaluation.task for evaluation in evaluations]
    averaged = {evaluation.task for evaluation in evaluations if evaluation.dataset == AVERAGE}
    for evaluation in evaluations:
        if tasks.count(evaluation.task) == 1 or evaluation.dataset == AVERAGE:
            yield Headline(evaluation, evaluation.task)
        elif evaluation.task not in averaged:
            yield Headline(evaluation, f"{evaluation.task} on {evaluation.dataset}")


def verdict_lines(rows: Sequence[Headline]) -> list[str]:
    """Which tasks are better than chance, as the report says it."""
    found = [(row.name, is_above) for row in rows if (is_above := row.is_above_chance()) is not None]
    return [chance_note(found).text] if found else []


def _interval(spec: ScoreSpec, bounds: Sequence[float]) -> str:
    """An interval; beside a minus sign, a dash could not be read."""
    return (_TO if bounds[0] >= 0 else " to ").join(map(spec.number, bounds))


def _title(rows: Sequence[Headline]) -> str:
    """The model, the data and how much of it was used."""
    shown = [row.evaluation for row in rows]
    data = f"{shown[0].dataset} ({shown[0].split})" if len(shown) == 1 else f"{len(shown)} tasks"
    is_mini = all(evaluation.settings["data"]["is_mini"] for evaluation in shown)
    models = ", ".join(dict.fromkeys(evaluation.model for evaluation in shown))
    return ", ".join(filter(None, (f"{models} on {data}", MINI if is_mini else "", extent(shown))))


def _answers(evaluations: Sequence[TaskResult]) -> str:
    """How many answers the scores are made of, and how long they took."""
    count = sum(len(evaluation.items) for evaluation in evaluations)
    seconds, stored = (
        sum(evaluation.timings.get(name, 0) for evaluation in evaluations)
        for name in ("model_seconds", "answers_from_store")
    )
    return f"Answers: {count:,} in {seconds:.1f} s{f', {stored:,.0f} of them from the store' if stored else ''}."


def _shown_notes(notes: Sequence[Note], rows: Sequence[Headline], width: int) -> tuple[list[str], list[Note]]:
    """The lines of the notes that fit on the screen, and those notes that have a mark."""
    tasks = {row.evaluation.task for row in rows}
    lines: list[str] = []
    marked: list[Note] = []
    for number, note in enumerate(notes):
        has_mark = tasks != note.tasks and len(tasks) > 1
        lead = f"{_MARKS[len(marked)]} " if has_mark else ""
        folded = textwrap.wrap(lead + note.text, width, subsequent_indent="  ", break_long_words=False)
        left = _MOST_NOTES - len(lines) - (number < len(notes) - 1)
        if len(folded) > left:
            lines.append(f"{len(notes) - number} more notes are in the report; --verbose prints them.")
            break
        lines += folded
        marked += [note] if has_mark else []
    return lines, marked


def _print_table(
    output: Console, rows: Sequence[Headline], failed: Sequence[FailedTask], marked: Sequence[Note]
) -> None:
    """Print the table; if the terminal is too narrow for it, each name stands above its numbers."""
    lines: list[tuple[str, ...]] = []
    for row in rows:
        marks = "".join(mark for mark, note in zip(_MARKS, marked, strict=False) if row.evaluation.task in note.tasks)
        lines.append((row.name + marks, *row.cells()))
    lines += [(failure.task, "failed, see above") for failure in failed]
    if len(rows) == 1:
        parts = [(name, "", *numbers) for name, *numbers in further_rows(rows[0].evaluation)]
        lines += parts if len(parts) <= _MOST_PARTS else parts[: _MOST_PARTS - 1]
        if len(parts) > _MOST_PARTS:
            lines.append((f"  {len(parts) - _MOST_PARTS + 1} more in the report",))
    table = _filled(_COLUMNS, lines)
    # A table is measured as wide as it may be, at most.
    if output.measure(table, options=output.options.update(max_width=_UNLIMITED)).maximum <= output.width:
        output.print(table)
        return
    with output.capture() as captured:
        output.print(_filled(_COLUMNS[1:], [numbers for _, *numbers in lines]))
    numbered = captured.get().splitlines()
    names = [*[""] * (len(numbered) - len(lines)), *(name for name, *_ in lines)]
    for name, line in zip(names, numbered, strict=True):
        print_line(output, f"{name}\n  {line}" if name else f"  {line}")


def _filled(columns: Sequence[str], lines: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for name in columns:
        table.add_column(name, justify="left" if name in _COLUMNS[:2] else "right", vertical="bottom", no_wrap=True)
    for cells in lines:
        table.add_row(*(Text(printable(text)) for text in cells))
    return table
