"""The rows of the papers' tables in the columns of boards."""

from collections.abc import Mapping
from typing import Any

from eyechart.evaluators.evaluation.averages import AVERAGE
from eyechart.evaluators.published import BY_DATABASE, PublishedTable, published_tables
from eyechart.hub_cards.leaderboard.boards.board import Board, Column


def tables_of(board: Board) -> list[PublishedTable]:
    """The papers' tables with rows for a board; for a board of one database, those with columns for it."""
    tables = [table for table in published_tables().values() if table.rows and table.tasks[0] == board.task.name]
    if board.name == board.task.name:
        return tables
    return [table for table in tables if not table.set_apart and _places(table, board).get(board.main.name) is not None]


def reference_rows(table: PublishedTable, board: Board) -> list[Mapping[str, Any]]:
    """The rows of a table in a board's columns.

    Args:
        table: A table of the board that is not set apart.
        board: The board.

    Returns:
        For each row: model, table, values in the scores' own units (None if the table lacks the column), and notes.
    """
    places = _places(table, board)
    rows: list[Mapping[str, Any]] = []
    for row in table.rows:
        values = [_score(row.values[places[c.name]], table, c) if c.name in places else None for c in board.columns]
        notes = [f"{c.column}: printed {c.printed}. {c.reason}" for c in table.corrections if c.model == row.model]
        rows.append({"model": row.model, "table": table.table, "values": values, "notes": notes})
    return rows


def _places(table: PublishedTable, board: Board) -> dict[str, int]:
    """The index of the table's column with the score of each of the board's columns."""
    before = (BY_DATABASE, board.dataset) if table.dataset == AVERAGE != board.dataset else ()
    paths = {column.path[0]: place for place, column in enumerate(table.columns) if len(column.path) == 1}
    found = {column.name: paths.get((*before, *column.part, *column.score.key.split("."))) for column in board.columns}
    return {name: place for name, place in found.items() if place is not None}


def _score(value: float | None, table: PublishedTable, column: Column) -> float | None:
    if value is None or table.unit != "percent":
        return value
    # Scores whose own unit is percent have scale 1 and stay as they are.
    return round(value / column.scale, 6)
