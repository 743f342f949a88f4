"""Builds the folder of the Space: the page, the boards it shows, and the results that stand on them."""

import datetime
import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from dataclasses import dataclass
from dataclasses import field
from importlib import metadata
from importlib import resources
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.datasets_scripts.common.errors import MissingFileError
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.leaderboard.baselines import PaperTable
from eyechart.evaluators.leaderboard.baselines import paper_tables
from eyechart.evaluators.leaderboard.baselines import reference_rows
from eyechart.evaluators.leaderboard.boards import BOARDS
from eyechart.evaluators.leaderboard.boards import Board
from eyechart.evaluators.leaderboard.boards import find_board
from eyechart.evaluators.leaderboard.checks import judge_of
from eyechart.evaluators.leaderboard.checks import misfits
from eyechart.evaluators.leaderboard.checks import started_at
from eyechart.evaluators.leaderboard.columns import Column
from eyechart.evaluators.leaderboard.columns import look_up
from eyechart.evaluators.leaderboard.ranking import ranks
from eyechart.evaluators.leaderboard.submissions import Submission
from eyechart.evaluators.leaderboard.submissions import find_files
from eyechart.evaluators.leaderboard.submissions import read_submission
from eyechart.evaluators.results import TaskResult

INDEX = "results/index.json"
BOARD_FOLDER = "results/boards"
SCHEMA = 1
PAGE = (
    *("index.html", "icon.svg", "leaderboard.css"),
    *("leaderboard.js", "elements.js", "state.js", "table.js", "README.md"),
)
"""Files of the Space that are the same for all boards."""
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)


@dataclass(frozen=True)
class Entry:
    """One result on its board."""

    board: Board
    result: TaskResult
    submission: Submission
    started: datetime.datetime


@dataclass
class Outcome:
    """What became of the submissions."""

    accepted: list[Entry] = field(default_factory=list)
    """What stands on the boards."""
    replaced: list[dict[str, str]] = field(default_factory=list)
    """Results that a newer one of the same model replaced: `model`, `board`, `file`, `by`."""
    rejected: list[dict[str, Any]] = field(default_factory=list)
    """`file`, `task`, `subset` (both empty for a whole file) and `reasons`."""


def build(folder: Path, out: Path, now: datetime.datetime) -> Outcome:
    """Check submissions and write the folder of the Space.

    Args:
        folder: Results files or folders of runs.
        out: Must not exist, be empty, or hold an earlier build, which is replaced.
        now: With time zone; runs that began later are rejected.

    Returns:
        What was accepted, replaced and rejected.

    Raises:
        MissingFileError: There are no submissions.
        UsageError: `out` holds something else, or lies among the submissions.
    """
    files = list(find_files(folder))
    _check_out(folder, out)
    outcome = _sort_out(folder, files, now)
    pages = resources.files("eyechart.hub_cards") / "leaderboard"
    if (out / "results").exists():
        shutil.rmtree(out / "results")
    (out / BOARD_FOLDER).mkdir(parents=True)
    for name in PAGE:
        (out / name).write_bytes((pages / name).read_bytes())
    for digest, content in _runs(outcome.accepted).items():
        (out / "results" / f"{digest}.json").write_text(content, encoding="utf-8")
    _write_boards(outcome.accepted, out)
    return outcome


def check_built(folder: Path) -> None:
    """Refuse a folder that `build` did not make.

    Raises:
        MissingFileError: There is no page or no data in it.
    """
    for name in (*PAGE, INDEX):
        if not (folder / name).is_file():
            raise MissingFileError("not there; make the folder with `eyechart leaderboard build`", path=folder / name)


def _check_out(folder: Path, out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise UsageError(f"out='{out}' is a file; expected a folder to write")
    if out.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"out='{out}' lies among the submissions in '{folder}'; choose another folder")
    if out.is_dir() and any(out.iterdir()) and not (out / INDEX).is_file():
        raise UsageError(f"out='{out}' holds something else than a leaderboard; choose a new or an empty folder")


def _sort_out(folder: Path, files: Sequence[Path], now: datetime.datetime) -> Outcome:
    outcome = Outcome()
    found: list[Entry] = []
    for path in files:
        source = path.relative_to(folder).as_posix()
        try:
            submission = read_submission(path, folder)
        except (DataError, OSError) as error:
            reason = error.reason if isinstance(error, DataError) else str(error)
            outcome.rejected.append(_rejection(source, "", "", [reason]))
            continue
        started = started_at(submission.results.environment, now)
        if isinstance(started, str):
            outcome.rejected.append(_rejection(source, "", "", [started]))
            continue
        if not submission.results.tasks:
            outcome.rejected.append(_rejection(source, "", "", ["it holds no finished task"]))
        for result in submission.results.tasks:
            board = find_board(result.task, result.subset)
            reasons = [_no_board(result)] if board is None else misfits(board, result)
            if board is None or reasons:
                outcome.rejected.append(_rejection(source, result.task, result.subset, reasons))
            else:
                found.append(Entry(board, result, submission, started))
    _keep_newest(found, outcome)
    return outcome


def _rejection(file: str, task: str, subset: str, reasons: list[str]) -> dict[str, Any]:
    return {"file": file, "task": task, "subset": subset, "reasons": reasons}


def _no_board(result: TaskResult) -> str:
    subsets = [board.subset for board in BOARDS if board.task == result.task]
    if subsets:
        return f"no board takes the data set {result.subset!a:.80} of this task, but {', '.join(subsets)}"
    tasks = ", ".join(dict.fromkeys(board.task for board in BOARDS))
    return f"no board takes the task {result.task!a:.80}; there are boards of {tasks}"


def _keep_newest(found: Sequence[Entry], outcome: Outcome) -> None:
    """Of several results of a model on a board, by one judge where that matters, keep the one that began last.

    Of those that began together the one of the last file counts, in order of names.
    """
    kept: dict[tuple[str, str, str], Entry] = {}
    for entry in sorted(found, key=lambda entry: entry.started):
        key = (entry.board.name, entry.result.model, _track(entry))
        former = kept.pop(key, None)
        kept[key] = entry
        if former is not None:
            outcome.replaced.append(
                {
                    "model": former.result.model,
                    "board": former.board.name,
                    "file": former.submission.source,
                    "by": entry.submission.source,
                }
            )
    outcome.accepted = list(kept.values())


def _track(entry: Entry) -> str:
    return judge_of(entry.result) if entry.board.judged else ""


def _runs(accepted: Sequence[Entry]) -> dict[str, str]:
    """The accepted part of each submission, by the name under which it is published."""
    tasks: dict[str, list[TaskResult]] = {}
    submissions = {}
    for entry in accepted:
        submissions[entry.submission.digest] = entry.submission
        tasks.setdefault(entry.submission.digest, []).append(entry.result)
    return {
        _file_name(digest): submissions[digest]
        .results.model_copy(update={"tasks": own, "failed": []})
        .model_dump_json(by_alias=True, indent=1)
        for digest, own in tasks.items()
    }


def _file_name(digest: str) -> str:
    return digest[:20]


def _write_boards(accepted: Sequence[Entry], out: Path) -> None:
    """The list of boards, and a file for each, as a reader wants one at a time."""
    by_board: dict[str, list[Entry]] = {board.name: [] for board in BOARDS}
    for entry in accepted:
        by_board[entry.board.name].append(entry)
    listed = []
    for board in BOARDS:
        entries = by_board[board.name]
        file = f"{BOARD_FOLDER}/{board.name.replace('/', '-')}.json"
        (out / file).write_text(_json(_board(board, entries)), encoding="ascii")
        about = {name: getattr(board, name) for name in ("name", "benchmark", "title")}
        listed.append({**about, "models": len(entries), "file": file})
    index = {"schema": SCHEMA, "eyechart": metadata.version("eyechart"), "boards": listed}
    (out / INDEX).write_text(_json(index), encoding="ascii")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")) + "\n"


def _board(board: Board, entries: Sequence[Entry]) -> dict[str, Any]:
    tables = [table for table in paper_tables() if board.name in (table.board, *table.parts)]
    comparable = [table for table in tables if not table.set_apart]
    return {
        **{name: getattr(board, name) for name in ("name", "benchmark", "title", "about", "split", "note", "judged")},
        "task": board.task,
        "settings": {**board.settings, **{f"scores.{name}": value for name, value in board.score_settings.items()}},
        "items": board.items,
        "columns": [_column(column) for column in board.columns],
        "rows": _rows(board, entries),
        "references": [row for table in comparable for row in reference_rows(table, board.name, board.columns)],
        "sources": [_source(table) for table in comparable],
        "set_apart": [_set_apart(table) for table in tables if table.set_apart],
    }


def _column(column: Column) -> dict[str, Any]:
    return {name: value for name, value in asdict(column).items() if name not in ("path", "interval")}


def _rows(board: Board, entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """The rows of a board, best first, ranked among those of the same judge where all scores are a judge's."""
    tracks: dict[str, list[Entry]] = {}
    for entry in entries:
        tracks.setdefault(_track(entry), []).append(entry)
    rows = []
    for same in tracks.values():
        scores = [(_values(board.main, entry)[0], _interval(board.main, entry)) for entry in same]
        for entry, rank in zip(same, ranks(scores, board.main), strict=True):
            rows.append((rank.place, entry, rank.shared))
    rows.sort(key=lambda row: (row[0], -_values(board.main, row[1])[0], row[1].result.model))
    return [_row(entry, place, shared) for place, entry, shared in rows]


def _row(entry: Entry, place: int, shared: bool) -> dict[str, Any]:
    result, links = entry.result, entry.submission.links
    scores = result.scores or {}
    environment = entry.submission.results.environment
    return {
        "model": result.model,
        "model_url": links.model_url or _hub_url(result),
        "run": f"results/{_file_name(entry.submission.digest)}.json",
        "run_url": links.run_url,
        "rank": place,
        "shared": shared,
        "values": [_values(column, entry) for column in entry.board.columns],
        "n": scores[entry.board.count],
        "judge": judge_of(result),
        "started": entry.started.astimezone(datetime.UTC).isoformat(),
        "version": str(look_up(environment, ("packages", "eyechart")) or "")[:40],
    }


def _values(column: Column, entry: Entry) -> list[Any]:
    """The score with its interval, `[value, low, high]`, undefined parts as None."""
    scores = entry.result.scores or {}
    interval = look_up(scores, column.interval) if column.interval else None
    value, low, high = look_up(scores, column.path), *(interval or (None, None))
    return [_short(value), _short(low), _short(high)]


def _short(value: float | None) -> float | None:
    """A number with two digits more than any column shows, as a page of many is read over a network."""
    return None if value is None else round(value, 6)


def _interval(column: Column, entry: Entry) -> tuple[float, float] | None:
    _, low, high = _values(column, entry)
    return None if low is None or high is None else (low, high)


def _hub_url(result: TaskResult) -> str | None:
    """The page of a model that was loaded under a name of the Hub; None for folders and for bare names."""
    if not _HUB_NAME.fullmatch(result.model) or ".." in result.model:
        return None
    return f"https://huggingface.co/{result.model}"


def _source(table: PaperTable) -> dict[str, Any]:
    return {"table": table.table, "title": table.title, "paper": table.paper, "url": table.url, "notes": table.notes}


def _set_apart(table: PaperTable) -> dict[str, Any]:
    return {
        **_source(table),
        "why": table.set_apart,
        "unit": table.unit,
        "columns": [column.label for column in table.columns],
        "rows": [[row.model, *row.values] for row in table.rows],
        "corrections": [correction.model_dump() for correction in table.corrections],
    }
