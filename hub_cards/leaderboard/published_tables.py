"""The rows of the papers' tables in the columns of boards."""

from collections.abc import Mapping
from typing import Any

from eyechart.evaluators.published import PublishedTable
from eyechart.hub_cards.leaderboard.boards.board import Column


def reference_rows(table: PublishedTable, board: str, columns: tuple[Column, ...]) -> list[Mapping[str, Any]]:
    """The rows of a table in a board's columns.

    Args:
        table: A table of the board, or one with a part for it, that is not set apart.
        board: The board's name.
        columns: The board's columns.

    Returns:
        For each row: model, table, values in the scores' own units (None if the table lacks the column), and notes.
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
    # Scores whose own unit is percent have scale 1 and stay as they are.
    return round(value / column.scale, 6)
