"""What the page reads: the list of boards, the overview, and for each board a file and one with its breakdowns."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from eyechart.evaluators.published import BY_DATABASE, PublishedTable, published_tables
from eyechart.evaluators.published.rendering import render
from eyechart.evaluators.requests.types import FROM_FILE, PROVIDER
from eyechart.evaluators.requests.values import is_number
from eyechart.evaluators.results.notes import note
from eyechart.evaluators.results.results_file import AVERAGE
from eyechart.evaluators.results.score_rows import headline_intervals, unparsed_note
from eyechart.hub_cards.leaderboard.boards import BOARDS, Board, Column, find_board
from eyechart.hub_cards.leaderboard.entries import BoardRow
from eyechart.hub_cards.leaderboard.paired import p_values
from eyechart.hub_cards.recomputing import judge_of
from eyechart.metrics.score_spec import ScoreSpec
from eyechart.metrics.scoring.inputs import FloatArray
from eyechart.metrics.scoring.statistics.paired import places

BOARD_FOLDER = "results/boards"
_TAGS = ("stated", "precomputed", "mostly_unparsed", "provider_decoding")
"""Notes that are tags of rows."""
_GENERAL = {"unparsed": "More than a fifth", "of": "the", "n": "some", "models": "other entries", "are_texts": False}
"""The values of a note that explains a tag of several rows."""
_HUB_NAME = re.compile(r"(?!.*\.\.)[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)


def write_boards(accepted: Sequence[BoardRow], out: Path, boards: Sequence[Board] = BOARDS) -> None:
    """Write the list of boards, the overview and each board's files."""
    (out / BOARD_FOLDER).mkdir(parents=True)
    by_board: dict[str, list[BoardRow]] = {board.name: [] for board in boards}
    for row in accepted:
        by_board[row.board.name].append(row)
    listed = []
    for board in boards:
        rows, stem = by_board[board.name], f"{BOARD_FOLDER}/{board.name.replace('/', '-')}"
        shown = _board(board, rows)
        if board.parts:
            shown["breakdowns"] = f"{stem}-breakdowns.json"
            _write(out / shown["breakdowns"], _breakdowns(board, shown))
        _write(out / f"{stem}.json", shown)
        about = {name: shown[name] for name in ("name", "benchmark", "title")}
        listed.append({**about, "models": len(rows), "file": f"{stem}.json"})
    _write(out / "results/overview.json", _overview(boards, by_board))
    index = {"schema": 1, "eyechart": metadata.version("eyechart"), "boards": listed}
    _write(out / "results/index.json", index)


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, allow_nan=False, separators=(",", ":")) + "\n", encoding="ascii")


def _board(board: Board, rows: Sequence[BoardRow]) -> dict[str, Any]:
    names = ("name", "benchmark", "title", "about", "split", "note", "judged", "run", "file", "settings", "items")
    tables, shown = tables_of(board), _rows(board, rows)
    tags = {code for row in shown for code in row.get("tags", ())}
    comparable = [table for table in tables if not table.set_apart]
    return {
        **{name: getattr(board, name) for name in names},
        "task": board.task.name,
        "chance": _chance_level(board, rows),
        "release": next((row.release for row in rows if not row.stated), ""),
        "columns": [_column(column) for column in board.columns],
        "rows": shown,
        "tags": {code: note(code, **_GENERAL).text for code in _TAGS if code in tags},
        "references": [row for table in comparable for row in reference_rows(table, board)],
        "sources": [_source(table) for table in comparable],
        "set_apart": [_set_apart(table) for table in tables if table.set_apart],
        "breakdowns": None,
    }


def _breakdowns(board: Board, shown: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Move the breakdowns' values, which are last, out of the rows into lists in the same order."""
    first = sum(not column.part for column in board.columns)
    values = {name: [row["values"][first:] for row in shown[name]] for name in ("rows", "references")}
    for row in (*shown["rows"], *shown["references"]):
        del row["values"][first:]
    return values


def _column(column: Column) -> dict[str, Any]:
    about = {name: getattr(column, name) for name in ("name", "label", "about")}
    numbers = {"scale": column.score.scale, "digits": column.score.digits}
    return {**about, **numbers, "unit": "%" if column.score.is_percentage else "", "part": column.kind}


def _rows(board: Board, rows: Sequence[BoardRow]) -> list[dict[str, Any]]:
    """The rows of a board, best first; then those whose scores are only stated, which have no rank."""
    ranked = [row for row in rows if not row.stated]
    ranks = ranks_of([board.main.of(row.result.scores or {})[0] for row in ranked], board.main.score, p_values(ranked))
    shown = [
        {**_row(row), "rank": rank, "shared": ranks.count(rank) > 1} for row, rank in zip(ranked, ranks, strict=True)
    ]
    shown += [{**_row(row), "stated": row.stated} for row in rows if row.stated]
    ordered = sorted(shown, key=lambda row: (row.get("rank", len(rows)), -(row["values"][0][0] or 0), row["model"]))
    return [_without_blanks(row) for row in ordered]


def ranks_of(scores: Sequence[float | None], score: ScoreSpec, of_pairs: FloatArray) -> list[int]:
    """The rank of each model: one more than the number of significantly better models, as in `eyechart compare`.

    `of_pairs` are Holm-adjusted p-values, shape (k, k). Where one is nan, models differ if their printed scores do.
    """
    texts = np.array([score.shown(value) for value in scores])
    return places(np.array(scores, dtype=np.float64), np.where(np.isnan(of_pairs), texts[:, None] == texts, of_pairs))


def _row(row: BoardRow) -> dict[str, Any]:
    links, intervals = row.entry.about, headline_intervals([("", row.result)])
    return {
        "model": row.result.model,
        **_facets(row),
        "run": row.entry.file,
        "run_url": str(links.run_url) if links.run_url else None,
        "values": [_score(column, row) for column in row.board.columns],
        "interval": intervals[0].text if intervals else None,
        "judge": judge_of(row.result),
        "tags": _tags(row),
    }


def _tags(row: BoardRow) -> list[str]:
    holds = {
        "stated": row.stated,
        "precomputed": FROM_FILE in row.settings("model.backend"),
        "mostly_unparsed": unparsed_note(row.result),
        "provider_decoding": PROVIDER in (*row.settings("model.decoding"), *row.settings("judge.decoding")),
    }
    return [code for code in _TAGS if holds.get(code)]


def _without_blanks(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row without unknown, empty and false values, which are the page's defaults, so that it loads less."""
    return {name: value for name, value in row.items() if value not in (None, "", []) and value is not False}


def _score(column: Column, row: BoardRow) -> list[float | None]:
    """The score with its interval, `[value, low, high]`, undefined parts as None; rounded to the shown digits."""
    digits = column.score.digits + (2 if column.score.scale == 100 else 0)
    return [round(value, digits) if is_number(value) else None for value in column.of(row.result.scores or {})]


def _facets(row: BoardRow) -> dict[str, Any]:
    """The model's page, size and licence, None if unknown, and the date of the run."""
    links, model = row.entry.about, row.result.model
    # Counted when the model was loaded; unknown for servers and precomputed predictions.
    counted = (size for size in row.settings("model.parameters") if type(size) is int and 0 < size < 10**15)
    return {
        "model_url": str(links.model_url) if links.model_url else None,
        # The page builds the address from the name, so that it loads less.
        "is_on_hub": not links.model_url and _HUB_NAME.fullmatch(model) is not None,
        "parameters": next(counted, links.parameters),
        "license": links.license,
        "started": row.started.date().isoformat(),
    }


def tables_of(board: Board) -> list[PublishedTable]:
    """The papers' tables with rows for a board; for a board of one database, those with columns for it."""
    tables = [table for table in published_tables().values() if table.rows and table.tasks[0] == board.task.name]
    return [table for table in tables if _belongs(table, board)]


def _belongs(table: PublishedTable, board: Board) -> bool:
    is_first = board.name == board.task.name
    if table.is_stated:
        of_split = find_board(board.task.name, board.dataset, table.split)
        return table.dataset in ("", board.dataset) and (of_split is board or (of_split is None and is_first))
    return is_first or (not table.set_apart and _published(table, board, board.main) is not None)


def reference_rows(table: PublishedTable, board: Board) -> list[dict[str, Any]]:
    """The rows of a table in a board's columns: model, table, notes, and values in the scores' own units."""
    columns = [_published(table, board, column) for column in board.columns]
    return [
        {
            "model": row.model,
            "table": table.table,
            "values": [None if values is None else values[index] for values in columns],
            "notes": [misprint.text for misprint in table.corrections if misprint.model == row.model],
        }
        for index, row in enumerate(table.rows)
    ]


def _published(table: PublishedTable, board: Board, column: Column) -> list[float] | None:
    """The values of a board's column in a table; None if it has none."""
    database = (BY_DATABASE, board.dataset) if table.dataset == AVERAGE != board.dataset else ()
    return table.scores((*database, *column.part, *column.score.key.split(".")))


def _source(table: PublishedTable) -> dict[str, Any]:
    return {"table": table.table, "title": table.title, "paper": table.paper, "url": table.url, "notes": table.notes}


def _set_apart(table: PublishedTable) -> dict[str, Any]:
    shown = render(table)
    corrections = [f"{misprint.model}, {misprint.text}" for misprint in table.corrections]
    about = {"why": table.set_apart, "corrections": corrections}
    return {**_source(table), **about, "columns": shown.columns, "labels": len(shown.corner), "rows": shown.texts}


def _chance_level(board: Board, rows: Sequence[BoardRow]) -> float | None:
    """The chance level of the headline score: that of the release, else that of the paper."""
    score = board.main.score
    levels = (score.chance_level(row.result.scores or {}) for row in rows if not row.stated)
    if (level := next(filter(is_number, levels), None)) is not None:
        return round(level, 6)
    if isinstance(score.chance, float):
        return score.chance
    values = [(table.rows, _published(table, board, board.main)) for table in tables_of(board) if not table.set_apart]
    pairs = (pair for rows_of, numbers in values if numbers for pair in zip(rows_of, numbers, strict=True))
    return next((number for row, number in pairs if row.is_chance), None)


def _overview(boards: Sequence[Board], by_board: Mapping[str, Sequence[BoardRow]]) -> dict[str, Any]:
    """The page's first view: all models on the first board of each benchmark, or on another board of it."""
    first: dict[str, Board] = {}
    models: dict[str, dict[str, BoardRow]] = {}
    for board in boards:
        # Only scores with a known best value can be put on one scale.
        if board.main.score.higher_is_better and math.isfinite(board.main.score.high):
            first.setdefault(board.benchmark, board)
            # The newest row counts, which is the last one.
            for row in reversed([row for row in by_board[board.name] if not row.stated]):
                models.setdefault(row.result.model, {}).setdefault(board.benchmark, row)
    shown = {benchmark for rows in models.values() for benchmark in rows} or first.keys()
    first = {benchmark: board for benchmark, board in first.items() if benchmark in shown}
    used = {row.board.name: row.board for rows in models.values() for row in rows.values()}
    others = [board for board in used.values() if board is not first[board.benchmark]]
    return {
        "columns": [_overview_column(board, by_board[board.name]) for board in first.values()],
        "others": {board.name: _overview_column(board, by_board[board.name]) for board in others},
        "rows": [_overview_row(model, first, rows) for model, rows in sorted(models.items())],
    }


def _overview_column(board: Board, rows: Sequence[BoardRow]) -> dict[str, Any]:
    main = board.main
    about = {"board": board.name, "benchmark": board.benchmark, "title": board.title, "label": main.label}
    return about | {"scale": main.score.scale, "high": main.score.high, "chance": _chance_level(board, rows)}


def _overview_row(model: str, first: Mapping[str, Board], rows: Mapping[str, BoardRow]) -> dict[str, Any]:
    cells: dict[str, list[Any] | None] = dict.fromkeys(first)
    # Entries may contradict each other about a model; for each fact, the newest entry that has it counts.
    facts: dict[str, Any] = {}
    for row in sorted(rows.values(), key=lambda row: row.started):
        board = row.board
        # A cell names its board if that is not the column's.
        cells[board.benchmark] = _score(board.main, row) + ([] if board is first[board.benchmark] else [board.name])
        facts |= {name: value for name, value in _facets(row).items() if value is not None}
    return _without_blanks({"model": model, "cells": list(cells.values()), **facts})
