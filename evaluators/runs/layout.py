"""Layout of printed score tables, for terminals of 80 columns or more.

Each task has a heading with its name and data, and below it one line for each score. If space is short, names are
folded; numbers never are.
"""

from collections.abc import Sequence

from rich import box
from rich.table import Table

from eyechart.evaluators.runs.console import cell


def scores_table(title: str, names: str, numbers: Sequence[str]) -> Table:
    """An empty table.

    Args:
        title: Printed above the table.
        names: Head of the column of names.
        numbers: Heads of the columns of numbers.
    """
    table = Table(title=cell(title), title_justify="left", box=box.HORIZONTALS, pad_edge=False)
    table.add_column(names, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def add_heading(table: Table, title: str) -> None:
    """Begin the scores of a result; its title begins with the task."""
    table.add_section()
    task, blank, data = title.partition(" ")
    table.add_row(f"[bold]{cell(task)}[/bold]{blank}{cell(data)}")


def add_scores(table: Table, name: str, *numbers: str) -> None:
    """A line with the numbers of a score, below the heading of its task."""
    table.add_row(*map(cell, (f"  {name}", *numbers)))
