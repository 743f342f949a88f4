"""The command line, called in this process, and the table that a run prints."""

from collections.abc import Iterator
from typing import Any

from rich.table import Table
from rich.text import Text
from typer.testing import CliRunner

from eyechart.evaluators.cli import app


def invoke(*arguments: Any, code: int | None = None, columns: int | None = None) -> Any:
    """Run a command.

    Args:
        arguments: The words of the command.
        code: The exit code that it must have; None allows any.
        columns: Width of the terminal.
    """
    env = None if columns is None else {"COLUMNS": str(columns)}
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], env=env)
    assert code is None or done.exit_code == code, done.output
    return done


def table_rows(table: Table) -> Iterator[dict[str, str]]:
    """Each line with a number as column name to text; the task and the data of its heading are in it too."""
    names = [str(column.header) for column in table.columns]
    task = data = ""
    for cells in zip(*(column.cells for column in table.columns), strict=True):
        first, *numbers = (Text.from_markup(str(one)).plain for one in cells)
        if first.startswith("  "):
            yield {"task": task, "data": data, **dict(zip(names, (first[2:], *numbers), strict=True))}
        else:
            task, _, data = first.partition(" on ")
