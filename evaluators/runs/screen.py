"""What a run prints: its progress; at its end a line for each headline score, important notes and the verdict."""

import textwrap
import time
from collections.abc import Callable, Sequence
from typing import Literal

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from eyechart.evaluators.published import best_in_paper
from eyechart.evaluators.requests.values import printable
from eyechart.evaluators.results.finished_runs import asked_items, data_words
from eyechart.evaluators.results.notes import grouped, note
from eyechart.evaluators.results.results_file import AVERAGE, FailedTask, TaskResult
from eyechart.evaluators.results.score_rows import headline_row, headlines, is_above_chance, unparsed_note
from eyechart.evaluators.runs.console import print_line, print_notes
from eyechart.evaluators.runs.table import further_rows, notes_of
from eyechart.metrics.score_spec import value_at
from eyechart.metrics.scoring.judging.lexical import LEXICAL

_COLUMNS = ("task", "score", "value", "95 % CI", "chance", "paper\nbest", "n")
_MOST_PARTS = 15
"""Most lines below the score of a single task."""
_MOST_NOTES = 5


class RunProgress(Progress):
    """One live line over all tasks in a terminal, otherwise a line a minute.

    `expected` has the number of answers of each task, None where it is not known yet.
    """

    def __init__(
        self, messages: Console, expected: Sequence[int | None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Show nothing yet."""
        super().__init__(
            *(BarColumn(20), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.fields[left]}")),
            TextColumn("{task.description}", markup=False),
            console=messages,
            transient=True,
            disable=not messages.is_terminal,
            get_time=clock,
        )
        self._expected, self._done = list(expected), [0] * len(expected)
        self._index, self._name = 0, ""
        self._started = self._printed = clock()
        self._line = self.add_task("", total=None, left="")

    @property
    def total(self) -> int:
        """Expected number of answers of all tasks; unknown ones count as the mean of the others."""
        known = [count for count in self._expected if count is not None]
        return round(sum(known) * len(self._expected) / len(known)) if known else 0

    @property
    def counts(self) -> tuple[int, int]:
        """How many answers of all tasks arrived, and how many are expected."""
        return sum(self._done), self.total

    def begin(self, index: int, name: str) -> None:
        """A task begins; nothing more is expected of those before it, with or without a result."""
        self._expected[:index] = self._done[:index]
        self._index, self._name = index, name

    def describe(self, text: str) -> None:
        """Say what the task does now."""
        self.update(self._line, description=f"{self._name}: {text}")

    def answered(self, done: int, total: int) -> None:
        """Show that `done` of `total` answers of the task have arrived."""
        self._done[self._index] = done
        self._expected[self._index] = max(total, self._expected[self._index] or 0)
        arrived, expected, now = sum(self._done), self.total, self.get_time()
        self.update(self._line, description=self._name, completed=arrived, total=expected, left="left")
        if self.disable and now - self._printed >= 60:
            self._printed = now
            minutes = round((now - self._started) * (expected - arrived) / arrived / 60)
            left = f"about {minutes:,} min left" if minutes else "less than a minute left"
            print_line(self.console, f"{self._name}: {arrived:,} of {expected:,} answers of all tasks, {left}")


def print_screen(output: Console, results: Sequence[TaskResult], failed: Sequence[FailedTask]) -> None:
    """Print the results of a run."""
    shown = headlines(results)
    tasks = [result.task for result in shown]
    # Without an average, a task can have several results.
    names = [f"{each.task} on {each.dataset}" if tasks.count(each.task) > 1 else each.task for each in shown]
    named = list(zip(names, shown, strict=True))
    unused = [(name, each.text) for name, result in named for each in result.notes if each.code == "unused_rows"]
    unparsed = [(name, few.text) for name, result in named if (few := unparsed_note(result))]
    for name, text in (*unused, *unparsed):
        print_notes(output, f"{name}: {text}", style="red")
    lines, marks = _shown_notes(results, {text for _, text in unused}, output.width)
    print_notes(output, _title(shown), style="bold")
    rows = [(name + marks.get(result.task, ""), *_cells(result)) for name, result in named]
    rows += [(failure.task, "failed, see above") for failure in failed]
    if len(shown) == 1:
        rows += _parts(shown[0], results)
    output.print(_table(rows))
    by_chance = grouped((is_above_chance(result), name) for name, result in named)
    if by_chance.keys() & {True, False}:
        lines.append(note("chance", above=by_chance.get(True, []), below=by_chance.get(False, [])).text)
    print_notes(output, "", *lines, "", _answers(results))


def _cells(result: TaskResult) -> tuple[str, ...]:
    """Label, value, interval, chance level, best value in the paper and n of the headline score."""
    row, spec = headline_row(result), result.headline_spec()
    if row is None or spec is None:
        return ("no score", "", "", "", "", f"{asked_items(result):,}")
    best = best_in_paper(result.task, result.dataset, result.split, spec)
    # Word overlap is on another scale than a judge's scores.
    shown_best = "" if best is None or (result.scores or {}).get("judge") == LEXICAL else spec.number(best.value)
    return (row[0], *_numbers(row, shown_best))


def _numbers(row: Sequence[str], best: str = "") -> tuple[str, ...]:
    """The cells behind the label of a line of `score_rows`."""
    _, value, interval, chance, n = row
    # A dash could not be read beside a minus sign.
    dashed = interval if interval.startswith("-") else interval.replace(" to ", "\N{EN DASH}")
    return value, dashed, chance.removesuffix(" %"), best, n


def _parts(result: TaskResult, results: Sequence[TaskResult]) -> list[tuple[str, ...]]:
    """What stands below the only headline: the datasets of an average, or the other scores and groups."""
    if result.dataset == AVERAGE:
        return [(f"  {part.dataset}", *_cells(part)) for part in results if part.dataset != AVERAGE]
    rows: list[tuple[str, ...]] = [(row[0], "", *_numbers(row)) for row in further_rows(result)]
    if len(rows) <= _MOST_PARTS:
        return rows
    return [*rows[: _MOST_PARTS - 1], (f"  {len(rows) - _MOST_PARTS + 1} more in the report",)]


def _title(results: Sequence[TaskResult]) -> str:
    """The model, the data and how much of it was used."""
    data = f"{results[0].dataset} ({results[0].split})" if len(results) == 1 else f"{len(results)} tasks"
    models = ", ".join(dict.fromkeys(result.model for result in results))
    return ", ".join(filter(None, (f"{models} on {data}", data_words(results))))


def _answers(results: Sequence[TaskResult]) -> str:
    """How many answers the scores are made of, and how long they took and, at known prices, what they cost."""
    count = sum(len(result.items) for result in results)
    seconds = sum(result.timings.get("model_seconds", 0) for result in results)
    stored = sum(result.timings.get("answers_from_store", 0) for result in results)
    reused = f", {stored:,.0f} of them reused" if stored else ""
    return f"Answers: {count:,} in {seconds:.1f} s{reused}{_cost(results)}."


def _cost(results: Sequence[TaskResult]) -> str:
    """What the requests cost, as far as the server counted tokens; "" without a price."""
    asked = [value_at(result.settings, "model.asked") or {} for result in results if result.dataset != AVERAGE]
    costs = [counts["cost"] for counts in asked if "cost" in counts]
    if not costs:
        return ""
    cost = sum(filter(None, costs))
    is_least = any(counts.get("requests_without_usage") for counts in asked)
    if is_least and not cost:
        return "; the server did not count tokens, so the cost is unknown"
    return f", for {'at least ' if is_least else ''}{cost:,.{2 if cost >= 1 else 4}f} US dollars"


def _shown_notes(results: Sequence[TaskResult], above: set[str], width: int) -> tuple[list[str], dict[str, str]]:
    """The lines of further notes that fit on the screen, and marks, by task, of those that are not about all tasks."""
    lines: list[str] = []
    marks: dict[str, str] = {}
    unused = iter("¹²³⁴⁵")
    tasks = {result.task for result in results}
    notes = {text: about for text, about in notes_of(results).items() if text not in above}
    for number, (text, about) in enumerate(notes.items()):
        mark = next(unused) if tasks != set(about) and len(tasks) > 1 else ""
        folded = textwrap.wrap(f"{mark} {text}".strip(), width, subsequent_indent="  ", break_long_words=False)
        if len(folded) > _MOST_NOTES - len(lines) - (number < len(notes) - 1):
            lines.append(f"{len(notes) - number} more notes are in the report; --verbose prints them.")
            break
        lines += folded
        marks |= {task: marks.get(task, "") + mark for task in about}
    return lines, marks


def _table(rows: Sequence[Sequence[str]]) -> Table:
    """A table in which names are folded if the terminal is narrow, and numbers never are."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for name in _COLUMNS:
        is_name = name == _COLUMNS[0]
        justify: Literal["left", "right"] = "left" if name in _COLUMNS[:2] else "right"
        table.add_column(name, justify=justify, vertical="bottom", overflow="fold", no_wrap=not is_name)
    for cells in rows:
        table.add_row(*(Text(printable(text)) for text in cells))
    return table
