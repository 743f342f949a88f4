"""What the page reads: the list of boards, and for each its columns, ranks, rows and the papers' tables."""

import datetime
import json
import re
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from eyechart.evaluators.published import PublishedTable, published_tables
from eyechart.evaluators.results.results_file import TaskResult, with_nan
from eyechart.evaluators.results.score_rows import interval_notes
from eyechart.hub_cards.leaderboard.boards import BOARDS
from eyechart.hub_cards.leaderboard.boards.board import Board, Column
from eyechart.hub_cards.leaderboard.boards.ranking import Rank, ranks
from eyechart.hub_cards.leaderboard.entries import BoardRow, Entry
from eyechart.hub_cards.leaderboard.paired import paired_p_values
from eyechart.hub_cards.leaderboard.published_tables import reference_rows
from eyechart.hub_cards.recomputing import judge_of
from eyechart.metrics.scores import INTERVALS

INDEX = "results/index.json"
BOARD_FOLDER = "results/boards"
SCHEMA = 1
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)


def run_file(entry: Entry) -> str:
    """Where the results of an entry are published."""
    return f"results/{entry.digest[:20]}.json"


def write_boards(accepted: Sequence[BoardRow], out: Path) -> None:
    """The list of boards, and a file for each, as a reader wants one at a time."""
    by_board: dict[str, list[BoardRow]] = {board.name: [] for board in BOARDS}
    for row in accepted:
        by_board[row.board.name].append(row)
    listed = []
    for board in BOARDS:
        rows = by_board[board.name]
        file = f"{BOARD_FOLDER}/{board.name.replace('/', '-')}.json"
        (out / file).write_text(_json(_board(board, rows)), encoding="ascii")
        about = {name: getattr(board, name) for name in ("name", "benchmark", "title")}
        listed.append({**about, "models": len(rows), "file": file})
    index = {"schema": SCHEMA, "eyechart": metadata.version("eyechart"), "boards": listed}
    (out / INDEX).write_text(_json(index), encoding="ascii")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")) + "\n"


def _board(board: Board, rows: Sequence[BoardRow]) -> dict[str, Any]:
    tables = [table for table in published_tables().values() if board.name in (table.board, *table.parts)]
    comparable = [table for table in tables if not table.set_apart]
    return {
        **{name: getattr(board, name) for name in ("name", "benchmark", "title", "about", "split", "note", "judged")},
        "task": board.task.name,
        "settings": board.settings,
        "items": board.items,
        "columns": [_column(column) for column in board.columns],
        "rows": _rows(board, rows),
        "references": [row for table in comparable for row in reference_rows(table, board.name, board.columns)],
        "sources": [_source(table) for table in comparable],
        "set_apart": [_set_apart(table) for table in tables if table.set_apart],
    }


def _column(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "label": column.label,
        "scale": column.scale,
        "digits": column.digits,
        "unit": "%" if column.is_percentage else "",
        "part": column.kind,
        "about": column.about,
    }


def _rows(board: Board, rows: Sequence[BoardRow]) -> list[dict[str, Any]]:
    """The rows of a board, best first, ranked among those of the same judge where all scores are a judge's."""
    by_judge: dict[str, list[BoardRow]] = {}
    for row in rows:
        by_judge.setdefault(row.judge, []).append(row)
    ranked: list[tuple[BoardRow, Rank]] = []
    for same in by_judge.values():
        scores = [_value(board.main, row) for row in same]
        ranked += zip(same, ranks(scores, board.main, paired_p_values(same)), strict=True)
    ranked.sort(key=lambda one: (one[1].place, -(_value(board.main, one[0])[0] or 0), one[0].result.model))
    return [_row(row, rank) for row, rank in ranked]


def _row(row: BoardRow, rank: Rank) -> dict[str, Any]:
    result, links = row.result, row.entry.links
    return {
        "model": result.model,
        "model_url": str(links.model_url) if links.model_url else _hub_url(result),
        "run": run_file(row.entry),
        "run_url": str(links.run_url) if links.run_url else None,
        "rank": rank.place,
        "shared": rank.shared,
        "values": [_value(column, row) for column in row.board.columns],
        "interval": _interval_note(row),
        "n": (result.scores or {})[row.board.count],
        "judge": judge_of(result),
        "precomputed": row.is_precomputed,
        "unchecked": row.check.unchecked,
        "release": row.check.release,
        "started": row.started.astimezone(datetime.UTC).isoformat(),
    }


def _value(column: Column, row: BoardRow) -> list[float | None]:
    """The score with its interval, `[value, low, high]`, undefined parts as None."""
    return [_short(value) for value in column.of(row.result.scores or {})]


def _interval_note(row: BoardRow) -> str | None:
    """What the interval of the main score rests on; None where that is nothing but the items."""
    key = row.board.main.score.key
    scores = with_nan(row.result.scores or {})
    about = {name: found for name, found in scores.get(INTERVALS, {}).items() if name == key}
    return next(iter(interval_notes([("", {**scores, INTERVALS: about})])), None)


def _short(value: float | None) -> float | None:
    """A number with two digits more than any column shows, as a page of many is read over a network."""
    return None if value is None else round(value, 6)


def _hub_url(result: TaskResult) -> str | None:
    """The page of a model that was loaded under a name of the Hub; None for folders and for bare names."""
    if not _HUB_NAME.fullmatch(result.model) or ".." in result.model:
        return None
    return f"https://huggingface.co/{result.model}"


def _source(table: PublishedTable) -> dict[str, Any]:
    return {"table": table.table, "title": table.title, "paper": table.paper, "url": table.url, "notes": table.notes}


def _set_apart(table: PublishedTable) -> dict[str, Any]:
    return {
        **_source(table),
        "why": table.set_apart,
        "unit": table.unit,
        "columns": [column.label for column in table.columns],
        "rows": [[row.model, *row.values] for row in table.rows],
        "corrections": [correction.model_dump() for correction in table.corrections],
    }
