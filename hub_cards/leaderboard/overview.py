"""The page's first view: all models on one board of each benchmark, or on another board of it where they have none."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from eyechart.hub_cards.leaderboard.boards.board import Board
from eyechart.hub_cards.leaderboard.entries import BoardRow
from eyechart.hub_cards.leaderboard.page_rows import chance_level, facets, score_of, without_blanks

_NAMES = ("q_bench/perception", "mmbench/en", "ql_bench/single", "aes_bench/perception", "two_afc/coarse")
"""The boards that represent the papers' benchmarks; for other benchmarks, it is the first board."""


def overview(boards: Sequence[Board], by_board: Mapping[str, Sequence[BoardRow]]) -> dict[str, Any]:
    """The contents of the first view.

    Args:
        boards: All boards.
        by_board: The accepted rows by the board's name.

    Returns:
        `columns`: the board that represents each benchmark, with its chance level; without benchmarks that no model has
        a result on, if there are models. `others`: the same for the other boards that `rows` name. `rows`: one for each
        model, with `[value, low, high]` in each column, followed by the name of the board if it is one of `others`;
        None if the model has no result.
    """
    benchmarks: dict[str, list[Board]] = {}
    # Only scores with a known best value can be put on one scale.
    for board in (one for one in boards if one.main.score.higher_is_better and math.isfinite(one.main.score.high)):
        place = 0 if board.name in _NAMES else len(benchmarks.get(board.benchmark, ()))
        benchmarks.setdefault(board.benchmark, []).insert(place, board)
    found: dict[str, dict[str, BoardRow]] = {}
    for name, own in benchmarks.items():
        for row in (row for board in own for row in by_board[board.name]):
            of_model = found.setdefault(row.result.model, {})
            if name not in of_model or of_model[name].board is row.board:
                of_model[name] = row
    shown = {name for of_model in found.values() for name in of_model}
    benchmarks = {name: own for name, own in benchmarks.items() if name in shown or not found}
    used = {row.board.name: row.board for of_model in found.values() for row in of_model.values()}
    first = [own[0] for own in benchmarks.values()]
    others = {name: _about(board, by_board[name]) for name, board in used.items() if board not in first}
    return {
        "columns": [_about(board, by_board[board.name]) for board in first],
        "others": others,
        "rows": [_row(model, benchmarks, found[model], others) for model in sorted(found)],
    }


def _about(board: Board, rows: Sequence[BoardRow]) -> dict[str, Any]:
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


def _row(
    model: str, benchmarks: Mapping[str, Sequence[Board]], rows: Mapping[str, BoardRow], others: Mapping[str, Any]
) -> dict[str, Any]:
    cells: list[list[Any] | None] = []
    for benchmark in benchmarks:
        row = rows.get(benchmark)
        other = [row.board.name] if row is not None and row.board.name in others else []
        cells.append(None if row is None else [*score_of(row.board.main, row), *other])
    # Entries may contradict each other about a model; for each fact, the newest entry that has it counts.
    newest = sorted(rows.values(), key=lambda row: row.started, reverse=True)
    about = facets(newest[0])
    for row in newest[1:]:
        about |= {name: value for name, value in facets(row).items() if about[name] is None}
    return without_blanks({"model": model, "cells": cells, **about})
