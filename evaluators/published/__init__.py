"""The papers' tables, as data in `tables`: one JSON file for each table.

Reports print their rows next to a run's own; the leaderboard's boards show them as references.
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


class PublishedTable(_Strict):
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
def published_tables() -> dict[str, PublishedTable]:
    """All tables by the names of their files without ending, in their order."""
    files = sorted((file for file in FOLDER.iterdir() if file.name.endswith(".json")), key=lambda file: file.name)
    return {file.name.removesuffix(".json"): PublishedTable.model_validate_json(file.read_bytes()) for file in files}
