"""What the page shows of one result, on its board and in the overview."""

import datetime
import re
from collections.abc import Mapping, Sequence
from statistics import mode
from typing import Any

from eyechart.evaluators.published import published_tables
from eyechart.hub_cards.leaderboard.boards.board import Board, Column
from eyechart.hub_cards.leaderboard.entries import BoardRow, sources_of
from eyechart.hub_cards.leaderboard.published_tables import reference_rows
from eyechart.metrics.score_spec import value_at

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)


def without_blanks(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row without unknown, empty and false values, which are the page's defaults, so that it loads less."""
    return {name: value for name, value in row.items() if value is not None and value is not False and value != ""}


def score_of(column: Column, row: BoardRow) -> list[float | None]:
    """The score with its interval, `[value, low, high]`, undefined parts as None.

    Rounded to the shown digits, so that the page loads less.
    """
    digits = column.digits + (2 if column.scale == 100 else 0)
    return [None if value is None else round(value, digits) for value in column.of(row.result.scores or {})]


def chance_level(board: Board, rows: Sequence[BoardRow]) -> float | None:
    """The chance level of the board's headline score; None if unknown.

    It comes from the entries, which answer the same questions; on a board without entries, from the paper.
    """
    found = [board.main.score.chance_level(row.result.scores or {}) for row in rows]
    known = [value for value in found if value is not None]
    if known:
        # Recomputed entries agree; one that was not recomputed may contain any value.
        return round(mode(known), 6)
    if isinstance(board.main.score.chance, float):
        return board.main.score.chance
    tables = [
        table
        for table in published_tables().values()
        if not table.set_apart and board.name in (table.board, *table.parts)
    ]
    published = [row for table in tables for row in reference_rows(table, board.name, board.columns)]
    guesses = [row["values"][0] for row in published if row["model"].lower() == "random guess"]
    return next((value for value in guesses if value is not None), None)


def facets(row: BoardRow) -> dict[str, Any]:
    """The model's page, size and licence, None if unknown, and the date of the run.

    `is_on_hub` replaces an address that the page can build from the name, so that it loads less.
    """
    links = row.entry.links
    return {
        "model_url": str(links.model_url) if links.model_url else None,
        "is_on_hub": not links.model_url and _is_hub_name(row.result.model),
        "parameters": _parameters(row) or links.parameters,
        "license": links.license,
        "started": row.started.astimezone(datetime.UTC).date().isoformat(),
    }


def _parameters(row: BoardRow) -> int | None:
    """The number counted when the model was loaded; None for servers and precomputed predictions."""
    parts = sources_of(row.entry.run.results.tasks, row.result)
    found = [value_at(one.settings, "model.parameters") for one in parts]
    return next((value for value in found if type(value) is int and value > 0), None)


def _is_hub_name(model: str) -> bool:
    """Whether a model's name can be a repository on the Hub, unlike folders and names without an owner."""
    return _HUB_NAME.fullmatch(model) is not None and ".." not in model
