"""Builds the folder of the Space: the page, its boards, and the results on them."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.datasets_scripts.common.whole import workplace
from eyechart.evaluators.results.results_file import Results
from eyechart.hub_cards.leaderboard.boards import BOARDS, Board, find_board
from eyechart.hub_cards.leaderboard.checks import misfits, started_at
from eyechart.hub_cards.leaderboard.entries import BoardRow, Entry, find_entries, read_entry
from eyechart.hub_cards.leaderboard.page_data import run_file, write_boards
from eyechart.hub_cards.recomputing import Check, Recomputing, refusals

_PAGE = resources.files("eyechart.hub_cards") / "leaderboard" / "page"
PAGE = tuple(sorted(file.name for file in _PAGE.iterdir() if file.is_file()))
"""Files of the Space that do not depend on the entries."""


@dataclass(frozen=True)
class Rejection:
    """A rejected result; `task` and `dataset` are "" if the entire entry, a folder, is rejected."""

    entry: str
    task: str = ""
    dataset: str = ""
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Replacement:
    """A result that a newer one of the same model, in the entry `by`, replaced."""

    model: str
    board: str
    entry: str
    by: str


@dataclass
class Outcome:
    """What was accepted, replaced and rejected, and each row's notes on how its items differ from those of others."""

    accepted: list[BoardRow] = field(default_factory=list)
    replaced: list[Replacement] = field(default_factory=list)
    rejected: list[Rejection] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def build(
    folder: Path,
    out: Path,
    now: datetime.datetime,
    data_dirs: Mapping[str, str] | None = None,
    task_boards: Sequence[Board] = (),
) -> Outcome:
    """Check entries and write the Space to `out`: a new or empty folder, or an earlier build, which is replaced.

    Hidden files in it are kept. Runs that began after `now`, which has a time zone, are rejected. Predictions are
    compared with the releases in `data_dirs`, else with downloaded ones.
    """
    paths, outcome, boards = find_entries(folder), Outcome(), (*BOARDS, *task_boards)
    rows: list[BoardRow] = []
    _check_out(folder, out)
    for path in paths:
        try:
            entry = read_entry(path, folder)
            accepted, rejected = _split_results(entry, now, data_dirs or {}, boards)
        except UsageError:
            raise
        # Whatever goes wrong with one entry, the others must still be built.
        except Exception as error:
            reason = f"cannot be checked: {type(error).__name__}: {error!s:.200}"
            reason = error.reason if isinstance(error, DataError) else reason
            accepted, rejected = [], [Rejection(path.relative_to(folder).as_posix(), reasons=(reason,))]
        rows += accepted
        outcome.rejected += rejected
    # Only the newest result of each model counts; of equal times, the one in the last folder in order of names.
    newest: dict[tuple[str, str, str], BoardRow] = {}
    for row in sorted(rows, key=lambda row: row.started):
        model, board = row.result.model, row.board.name
        if (former := newest.pop((model, board, row.judge), None)) is not None:
            outcome.replaced.append(Replacement(model, board, former.entry.source, row.entry.source))
        newest[model, board, row.judge] = row
    outcome.accepted = list(newest.values())
    outcome.notes = _write(outcome.accepted, out, boards)
    return outcome


def _check_out(folder: Path, out: Path) -> None:
    # A clone of the Space has hidden files.
    present = {path.name for path in out.iterdir() if not path.name.startswith(".")} if out.is_dir() else set()
    is_space = present >= set(PAGE) and present <= {*PAGE, "results"}
    if out.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"out='{out}' is inside the folder of entries '{folder}'; choose another folder")
    if (out.exists() and not out.is_dir()) or (present and not is_space):
        raise UsageError(f"out='{out}' is not a folder of a leaderboard; choose a new or empty folder")


def _split_results(
    entry: Entry, now: datetime.datetime, data_dirs: Mapping[str, str], boards: Sequence[Board]
) -> tuple[list[BoardRow], list[Rejection]]:
    """Split the results of an entry into accepted and rejected ones."""
    started, tasks = started_at(entry.run.results.environment, now), entry.run.tasks
    if not tasks:
        raise DataError("no finished task in it")
    recomputing = Recomputing(entry.run, data_dirs, {board.task.name: board.task for board in boards if board.file})
    accepted, rejected = [], []
    for key, result in tasks.items():
        board = find_board(result.task, result.dataset, result.split, boards)
        if board is None:
            known = ", ".join(board.dataset for board in boards if board.task.name == result.task)
            reasons = [
                f"no board for the task {result.task!a:.80} on the dataset {result.dataset!a:.80}; "
                + (f"it has boards for {known}" if known else "a task file with it is named with --tasks FILE")
            ]
        else:
            refused = [reason for source in entry.sources_of(result) for reason in refusals(source)]
            reasons = list(dict.fromkeys([*misfits(board, result), *refused]))
            # Recomputing takes a while, so it comes last.
            check = Check() if reasons else recomputing.check(key)
            reasons += check.discrepancies
            if not reasons:
                accepted.append(BoardRow(board, result, entry, started, check))
        if reasons:
            rejected.append(Rejection(entry.source, result.task, result.dataset, tuple(reasons)))
    return accepted, rejected


def _write(accepted: Sequence[BoardRow], out: Path, boards: Sequence[Board]) -> list[str]:
    """Write everything to a temporary folder, move it into place when complete, and return the boards' notes."""
    runs: dict[str, Results] = {}
    for row in accepted:
        empty = row.entry.run.results.model_copy(update={"tasks": [], "failed": []})
        runs.setdefault(run_file(row.entry), empty).tasks.append(row.result)
    out.mkdir(parents=True, exist_ok=True)
    with workplace(out) as unfinished:
        for name in PAGE:
            (unfinished / name).write_bytes((_PAGE / name).read_bytes())
        notes = write_boards(accepted, unfinished, boards)
        for file, results in runs.items():
            (unfinished / file).write_text(results.model_dump_json(by_alias=True, indent=1), encoding="utf-8")
        if (out / "results").exists():
            (out / "results").rename(unfinished / "former")
        for name in ("results", *PAGE):
            (unfinished / name).replace(out / name)
    return notes
