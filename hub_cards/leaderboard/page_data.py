"""What the page reads: the list of boards, the overview, and each board's columns, ranks, rows and papers' tables.

A board with breakdowns has a second file with their values, which the page reads when a reader opens them.
"""

import json
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from eyechart.evaluators.published import PublishedTable, published_tables
from eyechart.evaluators.results.results_file import with_nan
from eyechart.evaluators.results.score_rows import interval_notes, unparsed_line
from eyechart.hub_cards.leaderboard.boards import BOARDS
from eyechart.hub_cards.leaderboard.boards.board import Board, Column
from eyechart.hub_cards.leaderboard.boards.ranking import Rank, ranks
from eyechart.hub_cards.leaderboard.entries import BoardRow, Entry
from eyechart.hub_cards.leaderboard.overview import overview
from eyechart.hub_cards.leaderboard.page_rows import chance_level, facets, score_of, without_blanks
from eyechart.hub_cards.leaderboard.paired import paired_tests
from eyechart.hub_cards.leaderboard.published_tables import reference_rows
from eyechart.hub_cards.recomputing import judge_of
from eyechart.metrics.scores import INTERVALS

INDEX = "results/index.json"
OVERVIEW = "results/overview.json"
BOARD_FOLDER = "results/boards"
SCHEMA = 1


def run_file(entry: Entry) -> str:
    """The file that publishes the results of an entry."""
    return f"results/{entry.digest[:20]}.json"


def write_boards(accepted: Sequence[BoardRow], out: Path, boards: Sequence[Board] = BOARDS) -> list[str]:
    """Write the list of boards, the overview, and the files of each board, as a reader wants one at a time.

    Args:
        accepted: The rows of the boards.
        out: A folder that contains `BOARD_FOLDER`.
        boards: All boards, in the order of the page.

    Returns:
        Each row's notes on how its items differ from those of other entries, with board and model.
    """
    by_board: dict[str, list[BoardRow]] = {board.name: [] for board in boards}
    for row in accepted:
        by_board[row.board.name].append(row)
    listed, notes = [], []
    for board in boards:
        rows = by_board[board.name]
        stem = f"{BOARD_FOLDER}/{board.name.replace('/', '-')}"
        file = f"{stem}.json"
        shown = _board(board, rows)
        shown["breakdowns"] = f"{stem}-breakdowns.json" if board.breakdowns else None
        if board.breakdowns:
            (out / shown["breakdowns"]).write_text(_json(_breakdowns(board, shown)), encoding="ascii")
        (out / file).write_text(_json(shown), encoding="ascii")
        notes += [
            f"{board.name}, {row['model']}: {note}" for row in shown["rows"] for _, note in row.get("test_notes", ())
        ]
        about = {name: getattr(board, name) for name in ("name", "benchmark", "title")}
        listed.append({**about, "models": len(rows), "file": file})
    (out / OVERVIEW).write_text(_json(overview(boards, by_board)), encoding="ascii")
    index = {"schema": SCHEMA, "eyechart": metadata.version("eyechart"), "boards": listed}
    (out / INDEX).write_text(_json(index), encoding="ascii")
    return notes


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")) + "\n"


def _board(board: Board, rows: Sequence[BoardRow]) -> dict[str, Any]:
    tables = [table for table in published_tables().values() if board.name in (table.board, *table.parts)]
    comparable = [table for table in tables if not table.set_apart]
    return {
        **{name: getattr(board, name) for name in ("name", "benchmark", "title", "about", "split", "note", "judged")},
        "task": board.task.name,
        "run": board.run,
        "file": board.file,
        "settings": board.settings,
        "items": board.items,
        "chance": chance_level(board, rows),
        "columns": [_column(column) for column in board.columns],
        "rows": _rows(board, rows),
        "references": [row for table in comparable for row in reference_rows(table, board.name, board.columns)],
        "sources": [_source(table) for table in comparable],
        "set_apart": [_set_apart(table) for table in tables if table.set_apart],
    }


def _breakdowns(board: Board, shown: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Move the breakdowns' values, which are last, out of the rows into lists in the same order."""
    first = len(board.columns) - sum(bool(column.part) for column in board.columns)
    found = {}
    for name in ("rows", "references"):
        found[name] = [row["values"][first:] for row in shown[name]]
        for row in shown[name]:
            del row["values"][first:]
    return found


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
    """The rows of a board, best first; on judged boards, each judge has its own ranks."""
    by_judge: dict[str, list[BoardRow]] = {}
    for row in rows:
        by_judge.setdefault(row.judge, []).append(row)
    ranked: list[tuple[BoardRow, Rank, dict[str, Any]]] = []
    for same in by_judge.values():
        scores, tests = [_main(row) for row in same], paired_tests(same)
        test_info = [{"tests": tests.n, **({"test_notes": notes} if notes else {})} for notes in tests.notes]
        ranked += zip(same, ranks(scores, board.main, tests.p_values), test_info, strict=True)
    ranked.sort(key=lambda one: (one[1].place, -(_main(one[0])[0] or 0), one[0].result.model))
    return [_row(row, rank) | test_info for row, rank, test_info in ranked]


def _main(row: BoardRow) -> tuple[float | None, ...]:
    return row.board.main.of(row.result.scores or {})


def _row(row: BoardRow, rank: Rank) -> dict[str, Any]:
    links = row.entry.links
    found = {
        "model": row.result.model,
        **facets(row),
        "run": run_file(row.entry),
        "run_url": str(links.run_url) if links.run_url else None,
        "rank": rank.place,
        "shared": rank.shared,
        "values": [score_of(column, row) for column in row.board.columns],
        "interval": _interval_note(row),
        "judge": judge_of(row.result),
        "precomputed": row.is_precomputed,
        "unparsed": bool(unparsed_line(with_nan(row.result.scores or {}), row.result.diagnostics)),
        "decoded_by_provider": row.is_decoded_by_provider,
        "unchecked": row.check.unchecked,
        "release": row.check.release,
    }
    return without_blanks(found)


def _interval_note(row: BoardRow) -> str | None:
    """How the interval of the main score was computed; None if it simply treats items as independent."""
    key = row.board.main.score.key
    scores = with_nan(row.result.scores or {})
    about = {name: found for name, found in scores.get(INTERVALS, {}).items() if name == key}
    return next(iter(interval_notes([("", {**scores, INTERVALS: about})])), None)


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
