"""How far a run is: one live line over all tasks in a terminal, otherwise a line a minute."""

import time
from collections.abc import Callable, Sequence
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from eyechart.evaluators.runs.console import print_line

_SECONDS = 60
"""Seconds between two lines where there is no terminal."""


class RunProgress:
    """Counts the answers of all tasks in turn; `expected` has those of each task, None where not known yet."""

    def __init__(
        self, messages: Console, expected: Sequence[int | None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Show nothing yet."""
        self._messages, self._clock = messages, clock
        self._expected, self._done = list(expected), [0] * len(expected)
        self._index, self._name = 0, ""
        self._started = self._printed = clock()
        self._bar = Progress(
            *(BarColumn(20), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.fields[left]}")),
            TextColumn("{task.description}", markup=False),
            console=messages,
            transient=True,
            disable=not messages.is_terminal,
        )
        self._line = self._bar.add_task("", total=None, left="")

    def __enter__(self) -> Self:
        """Show the line."""
        self._bar.start()
        return self

    def __exit__(self, *error: Any) -> None:
        """Remove the line."""
        self._bar.stop()

    @property
    def total(self) -> int:
        """Expected number of answers of all tasks; unknown ones count as the mean of the others."""
        known = [count for count in self._expected if count is not None]
        return round(sum(known) * len(self._expected) / len(known)) if known else 0

    def begin(self, index: int, name: str) -> None:
        """A task begins."""
        self._index, self._name = index, name

    def describe(self, text: str) -> None:
        """Say what the task does now."""
        self._bar.update(self._line, description=f"{self._name}: {text}")

    def judged(self, done: int, total: int) -> None:
        """Show how many replies were judged."""
        self.describe(f"{done:,} of {total:,} replies judged")

    def update(self, done: int, total: int) -> None:
        """Show that `done` of `total` answers of the task have arrived."""
        self._done[self._index] = done
        self._expected[self._index] = max(total, self._expected[self._index] or 0)
        arrived, expected, now = sum(self._done), self.total, self._clock()
        self._bar.update(self._line, description=self._name, completed=arrived, total=expected, left="left")
        if not self._messages.is_terminal and now - self._printed >= _SECONDS:
            self._printed = now
            minutes = round((now - self._started) * (expected - arrived) / arrived / 60)
            left = f"about {minutes:,} min left" if minutes else "less than a minute left"
            print_line(self._messages, f"{self._name}: {arrived:,} of {expected:,} answers of all tasks, {left}")

    def finish(self) -> None:
        """The task has ended, with or without a result: nothing more is expected of it."""
        self._expected[self._index] = self._done[self._index]
