"""Builds the folder of the Space: the page, the boards it shows, and the results that stand on them."""

import datetime
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError, MissingFileError, UsageError
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.hub_cards.leaderboard.boards import BOARDS, find_board
from eyechart.hub_cards.leaderboard.checks import misfits, started_at
from eyechart.hub_cards.leaderboard.entries import Entry, find_files, read_submission
from eyechart.hub_cards.leaderboard.page_data import BOARD_FOLDER, INDEX, file_name, write_boards

PAGE = (
    *("index.html", "icon.svg", "leaderboard.css"),
    *("leaderboard.js", "elements.js", "state.js", "table.js", "README.md"),
)
"""Files of the Space that are the same for all boards."""


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
        out: Must not exist, be empty, or hold an earlier build, which is replaced; hidden files in it are left alone.
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
    pages = resources.files("eyechart.hub_cards") / "leaderboard" / "page"
    if (out / "results").exists():
        shutil.rmtree(out / "results")
    (out / BOARD_FOLDER).mkdir(parents=True)
    for name in PAGE:
        (out / name).write_bytes((pages / name).read_bytes())
    for digest, content in _runs(outcome.accepted).items():
        (out / "results" / f"{digest}.json").write_text(content, encoding="utf-8")
    write_boards(outcome.accepted, out)
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
    # Hidden files are those of a clone of the Space.
    there = {path.name for path in out.iterdir() if not path.name.startswith(".")} if out.is_dir() else set()
    if there - {*PAGE, "results"} or (there and not set(PAGE) <= there):
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
            board = find_board(result.task, result.subset, result.split)
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
        key = (entry.board.name, entry.result.model, entry.judge)
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


def _runs(accepted: Sequence[Entry]) -> dict[str, str]:
    """The accepted part of each submission, by the name under which it is published."""
    tasks: dict[str, list[TaskResult]] = {}
    submissions = {}
    for entry in accepted:
        submissions[entry.submission.digest] = entry.submission
        tasks.setdefault(entry.submission.digest, []).append(entry.result)
    return {
        file_name(digest): submissions[digest]
        .results.model_copy(update={"tasks": own, "failed": []})
        .model_dump_json(by_alias=True, indent=1)
        for digest, own in tasks.items()
    }
