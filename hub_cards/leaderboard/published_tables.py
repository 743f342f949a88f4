"""The rows of the papers' tables in the columns of boards."""

from collections.abc import Mapping
from typing import Any

from eyechart.evaluators.published import PublishedTable
from eyechart.hub_cards.leaderboard.boards.board import Column


def reference_rows(table: PublishedTable, board: str, columns: tuple[Column, ...]) -> list[Mapping[str, Any]]:
    """The rows of a table in a board's columns.

    Args:
        table: One that is not set apart, of the board or with a part of it.
        board: The board's name.
        columns: The board's.

    Returns:
        For each row its model, table, values in the scores' own units (None where the table has none), and notes.
    """
    before = f"{table.parts[board]}." if board in table.parts else ""
    places = {
        column.column.removeprefix(before): place
        for place, column in enumerate(table.columns)
        if column.column and column.column.startswith(before)
    }
    rows: list[Mapping[str, Any]] = []
    for row in table.rows:
        values = [_score(row.values[places[c.name]], table, c) if c.name in places else None for c in columns]
        notes = [f"{c.column}: printed {c.printed}. {c.reason}" for c in table.corrections if c.model == row.model]
        rows.append({"model": row.model, "table": table.table, "values": values, "notes": notes})
    return rows


def _score(value: float | None, table: PublishedTable, column: Column) -> float | None:
    if value is None or table.unit != "percent":
        return value
    # Scores in percent of their own are shown as they are.
    return round(value / column.scale, 6)
