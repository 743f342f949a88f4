"""The papers' tables: one JSON file in `tables` for each.

Reports show their rows next to the run's own scores; the leaderboard shows them for reference.
"""

from functools import cache
from importlib import resources

from pydantic import BaseModel, ConfigDict

FOLDER = resources.files("eyechart.evaluators.published") / "tables"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class TableColumn(_Strict):
    """One column of a paper's table."""

    label: str
    """Its heading in the paper."""
    column: str | None = None
    """The board's column with the same score; None if the board has none."""


class TableRow(_Strict):
    """One row of a paper's table."""

    model: str
    values: list[float | None]
    """As printed, except for corrections; None if the paper has no value."""


class Correction(_Strict):
    """A misprint in the paper."""

    model: str
    column: str
    printed: str
    reason: str


class PublishedTable(_Strict):
    """One table of a paper."""

    board: str
    """Name of the board that the table belongs to."""
    paper: str
    url: str
    table: str
    """The table's number in the paper."""
    title: str
    split: str
    """The split of the data that the numbers are for."""
    unit: str
    """"percent" or "score"."""
    parts: dict[str, str] = {}
    """Boards for parts of the table, each with the text before the dot in the names of the part's columns."""
    set_apart: str = ""
    """Why the rows must not be compared with those of the board; empty if they can be."""
    columns: list[TableColumn]
    rows: list[TableRow]
    corrections: list[Correction] = []
    notes: list[str] = []


@cache
def published_tables() -> dict[str, PublishedTable]:
    """All tables by file name without extension, sorted."""
    files = sorted((file for file in FOLDER.iterdir() if file.name.endswith(".json")), key=lambda file: file.name)
    return {file.name.removesuffix(".json"): PublishedTable.model_validate_json(file.read_bytes()) for file in files}
