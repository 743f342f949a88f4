"""The papers' tables, as data in `hub_cards/leaderboard/baselines`: one JSON file for each table."""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from pydantic import BaseModel, ConfigDict

from eyechart.hub_cards.leaderboard.boards.board import Column

FOLDER = resources.files("eyechart.hub_cards") / "leaderboard" / "baselines"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class TableColumn(_Strict):
    """One column of a paper's table."""

    label: str
    """Its heading in the paper."""
    column: str | None = None
    """The board's column that shows the same; None if the board has none."""


class TableRow(_Strict):
    """One row of a paper's table."""

    model: str
    values: list[float | None]
    """As printed, but for corrections; None where the paper has none."""


class Correction(_Strict):
    """A printed value that is not the right one."""

    model: str
    column: str
    printed: str
    reason: str


class PaperTable(_Strict):
    """One table of a paper."""

    board: str
    """Name of the board it belongs to."""
    paper: str
    url: str
    table: str
    """As the paper numbers it."""
    title: str
    split: str
    """The split its numbers are of."""
    unit: str
    """"percent" or "score"."""
    parts: dict[str, str] = {}
    """Boards of parts of it, each with what stands before the dot in the names of the part's columns."""
    set_apart: str = ""
    """Why its rows must not be compared with those of the board; empty if they can be."""
    columns: list[TableColumn]
    rows: list[TableRow]
    corrections: list[Correction] = []
    notes: list[str] = []


@cache
def paper_tables() -> tuple[PaperTable, ...]:
    """All tables, in order of their files' names."""
    files = sorted((file for file in FOLDER.iterdir() if file.name.endswith(".json")), key=lambda file: file.name)
    return tuple(PaperTable.model_validate_json(file.read_bytes()) for file in files)


def reference_rows(table: PaperTable, board: str, columns: tuple[Column, ...]) -> list[Mapping[str, Any]]:
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


def _score(value: float | None, table: PaperTable, column: Column) -> float | None:
    if value is None or table.unit != "percent":
        return value
    # Scores in percent of their own are shown as they are.
    return round(value / column.scale, 6)
