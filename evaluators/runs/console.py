"""Printing on the command line."""

import textwrap
from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from eyechart.evaluators.requests.values import printable


def console(*, stderr: bool = False, quiet: bool = False) -> Console:
    """A console. If the output is not a terminal, it has 140 columns, not the default of 80."""
    terminal = Console(stderr=stderr, quiet=quiet)
    return terminal if terminal.is_terminal else Console(stderr=stderr, quiet=quiet, width=140)


def say(text: str) -> None:
    """Print a text that may contain untrusted parts, such as a path or a name, without control characters."""
    print(printable(text))


def cell(text: str) -> str:
    """An untrusted text for a table cell: without markup and control characters."""
    return escape(printable(text))


def print_line(console: Console, text: str, style: str | None = None) -> None:
    """Print an untrusted text as it is: no markup, highlighting or folding, and no control characters."""
    console.print(printable(text), style=style, markup=False, highlight=False, soft_wrap=True)


def print_notes(console: Console, *texts: str, style: str | None = None) -> None:
    """Print sentences, folded between words to the width of a terminal; lines but the first are indented more."""
    fold = textwrap.TextWrapper(console.width, break_long_words=False, break_on_hyphens=False)
    for text in texts:
        fold.subsequent_indent = " " * (2 + len(text) - len(text.lstrip()))
        print_line(console, fold.fill(text) if console.is_terminal else text, style)


def scores_table(title: str, names: str, numbers: Sequence[str]) -> Table:
    """An empty table of scores, for terminals of 80 columns or more: names are folded, numbers never are."""
    table = Table(title=cell(title), title_justify="left", box=box.HORIZONTALS, pad_edge=False)
    table.add_column(names, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table whose first column names its rows and is never folded."""
    table = Table()
    for index, column in enumerate(columns):
        table.add_column(column, no_wrap=index == 0)
    for row in rows:
        table.add_row(*map(cell, row))
    console().print(table)


def add_heading(table: Table, title: str) -> None:
    """Begin the scores of a result; its title begins with the task."""
    table.add_section()
    task, blank, data = title.partition(" ")
    table.add_row(f"[bold]{cell(task)}[/bold]{blank}{cell(data)}")


def add_scores(table: Table, name: str, *numbers: str) -> None:
    """A line with the numbers of a score, below the heading of its task."""
    table.add_row(*map(cell, (f"  {name}", *numbers)))
