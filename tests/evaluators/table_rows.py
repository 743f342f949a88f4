"""The rows of the table that a run prints, for tests that read it."""

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text


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
