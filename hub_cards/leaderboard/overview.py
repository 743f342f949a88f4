"""The page's first view: all models on the five benchmarks, with one board for each benchmark."""

from collections.abc import Mapping, Sequence
from typing import Any

from eyechart.hub_cards.leaderboard.boards import BOARDS
from eyechart.hub_cards.leaderboard.boards.board import Board
from eyechart.hub_cards.leaderboard.entries import BoardRow
from eyechart.hub_cards.leaderboard.page_rows import chance_level, facets, score_of, without_blanks

_NAMES = ("q_bench/perception", "mmbench/en", "ql_bench/single", "aes_bench/perception", "two_afc/coarse")
HEADLINE_BOARDS: tuple[Board, ...] = tuple(board for board in BOARDS if board.name in _NAMES)
"""The board that represents each benchmark."""


def overview(by_board: Mapping[str, Sequence[BoardRow]]) -> dict[str, Any]:
    """The contents of the first view.

    Args:
        by_board: The accepted rows by the board's name.

    Returns:
        `columns`: one for each headline board, with its chance level. `rows`: one for each model, with
        `[value, low, high]` in each column, None if it has no result. `elsewhere`: the number of models with results
        only on other boards.
    """
    found: dict[str, dict[str, BoardRow]] = {}
    for place in HEADLINE_BOARDS:
        for row in by_board[place.name]:
            found.setdefault(row.result.model, {})[place.name] = row
    models = {row.result.model for rows in by_board.values() for row in rows}
    return {
        "columns": [_column(board, by_board[board.name]) for board in HEADLINE_BOARDS],
        "rows": [_row(model, found[model]) for model in sorted(found)],
        "elsewhere": len(models - found.keys()),
    }


def _column(board: Board, rows: Sequence[BoardRow]) -> dict[str, Any]:
    main = board.main
    return {
        "board": board.name,
        "benchmark": board.benchmark,
        "title": board.title,
        "label": main.label,
        "scale": main.scale,
        "high": main.score.high,
        "chance": chance_level(board, rows),
    }


def _row(model: str, rows: Mapping[str, BoardRow]) -> dict[str, Any]:
    cells = [score_of(board.main, rows[board.name]) if board.name in rows else None for board in HEADLINE_BOARDS]
    # Entries may contradict each other about a model; for each fact, the newest entry that has it counts.
    newest = sorted(rows.values(), key=lambda row: row.started, reverse=True)
    about = facets(newest[0])
    for row in newest[1:]:
        about |= {name: value for name, value in facets(row).items() if about[name] is None}
    return without_blanks({"model": model, "cells": cells, **about})
