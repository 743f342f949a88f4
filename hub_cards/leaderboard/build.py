"""Builds the folder of the Space: the page, the boards it shows, and the results that stand on them."""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.datasets_scripts.common.whole import workplace
from eyechart.evaluators.requests.values import brief
from eyechart.evaluators.results.results_file import Results, TaskResult
from eyechart.evaluators.results.served import unconfirmed_names
from eyechart.hub_cards.leaderboard.boards import BOARDS, find_board
from eyechart.hub_cards.leaderboard.checks import misfits, started_at
from eyechart.hub_cards.leaderboard.entries import BoardRow, Entry, find_entries, made_of, read_entry
from eyechart.hub_cards.leaderboard.page_data import BOARD_FOLDER, run_file, write_boards
from eyechart.hub_cards.recomputing import Recomputing
from eyechart.metrics.score_spec import value_at

_PAGE = resources.files("eyechart.hub_cards") / "leaderboard" / "page"
PAGE = tuple(sorted(file.name for file in _PAGE.iterdir() if file.is_file()))
"""Files of the Space that are the same for all boards."""


@dataclass(frozen=True)
class Rejection:
    """A result that stands on no board, or a whole entry."""

    entry: str
    """Its folder."""
    task: str = ""
    """"" for the whole entry, as is `dataset`."""
    dataset: str = ""
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Replacement:
    """A result in whose place a newer one of the same model stands."""

    model: str
    board: str
    entry: str
    by: str
    """The entry of the newer one."""


@dataclass
class Outcome:
    """What became of the entries."""

    accepted: list[BoardRow] = field(default_factory=list)
    """What stands on the boards."""
    replaced: list[Replacement] = field(default_factory=list)
    rejected: list[Rejection] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What rows say of items that are not those of other entries, with board and model."""


def build(folder: Path, out: Path, now: datetime.datetime, data_dirs: Mapping[str, str] | None = None) -> Outcome:
    """Check entries and write the folder of the Space.

    Args:
        folder: Folders of runs, or one run; if it is empty, the boards have the papers' rows only.
        out: Must not exist, be empty, or hold an earlier build, which is replaced; hidden files in it are left alone.
        now: With time zone; runs that began later are rejected.
        data_dirs: Folders of releases by data set, with which predictions are compared; under "" that of all others.
            Without a folder, they are compared with what was downloaded before, where it was.

    Returns:
        What was accepted, replaced and rejected.

    Raises:
        MissingFileError: `folder` does not exist, or it has contents but no entry.
        UsageError: `out` holds something else, or lies among the entries.
    """
    folders = find_entries(folder)
    _check_out(folder, out)
    outcome = Outcome()
    found: list[BoardRow] = []
    for path in folders:
        try:
            entry = read_entry(path, folder)
            started = started_at(entry.run.results.environment, now)
            if not entry.run.results.tasks:
                raise DataError("it holds no finished task")
            rows, rejected = _sort_out(entry, started, data_dirs or {})
        except UsageError:
            raise
        # Others wrote the entry: whatever it leads to, the other ones are to stand.
        except Exception as error:
            rows, rejected = [], [Rejection(path.relative_to(folder).as_posix(), reasons=(_reason(error),))]
        found += rows
        outcome.rejected += rejected
    _keep_newest(found, outcome)
    outcome.notes = _write(outcome.accepted, out)
    return outcome


def _check_out(folder: Path, out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise UsageError(f"out='{out}' is a file; expected a folder to write")
    if out.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"out='{out}' lies among the entries in '{folder}'; choose another folder")
    # Hidden files are those of a clone of the Space.
    there = {path.name for path in out.iterdir() if not path.name.startswith(".")} if out.is_dir() else set()
    if there - {*PAGE, "results"} or (there and not set(PAGE) <= there):
        raise UsageError(f"out='{out}' holds something else than a leaderboard; choose a new or an empty folder")


def _reason(error: Exception) -> str:
    if isinstance(error, DataError):
        return error.reason
    return str(error) if isinstance(error, OSError) else f"it cannot be checked: {type(error).__name__}: {error!s:.200}"


def _sort_out(
    entry: Entry, started: datetime.datetime, data_dirs: Mapping[str, str]
) -> tuple[list[BoardRow], list[Rejection]]:
    """Each result of an entry, as what can stand on a board or what is rejected."""
    found, rejected = [], []
    recomputing = Recomputing(entry.run, data_dirs)
    for key, result in entry.run.tasks.items():
        board = find_board(result.task, result.dataset, result.split)
        reasons = [_no_board(result)] if board is None else misfits(board, result)
        reasons += _served_misfits(made_of(entry.run.results.tasks, result))
        # Scores are computed again only where nothing else is wrong, as that takes a while.
        check = None if reasons else recomputing.check(key)
        reasons += check.discrepancies if check else ()
        if board is None or check is None or reasons:
            rejected.append(Rejection(entry.source, result.task, result.dataset, tuple(reasons)))
        else:
            found.append(BoardRow(board, result, entry, started, check))
    return found, rejected


def _served_misfits(results: Sequence[TaskResult]) -> Iterator[str]:
    """Names of servers' models that are not the one asked for, and were not confirmed."""
    for result in results:
        for name in unconfirmed_names(result.settings):
            asked = brief(value_at(result.settings, "model.name"))
            yield f"the server answered as {brief(name)}, and {asked} was asked for; --served-name did not confirm it"


def _no_board(result: TaskResult) -> str:
    datasets = [board.dataset for board in BOARDS if board.task.name == result.task]
    if datasets:
        return f"no board takes the data set {result.dataset!a:.80} of this task, but {', '.join(datasets)}"
    tasks = ", ".join(dict.fromkeys(board.task.name for board in BOARDS))
    return f"no board takes the task {result.task!a:.80}; there are boards of {tasks}"


def _keep_newest(found: Sequence[BoardRow], outcome: Outcome) -> None:
    """Of several results of a model on a board, by one judge where that matters, keep the one that began last.

    Of those that began together the one of the last folder counts, in order of names.
    """
    kept: dict[tuple[str, str, str], BoardRow] = {}
    for row in sorted(found, key=lambda row: row.started):
        key = (row.board.name, row.result.model, row.judge)
        former = kept.pop(key, None)
        kept[key] = row
        if former is not None:
            outcome.replaced.append(
                Replacement(former.result.model, former.board.name, former.entry.source, row.entry.source)
            )
    outcome.accepted = list(kept.values())


def _write(accepted: Sequence[BoardRow], out: Path) -> list[str]:
    """Write everything aside, and move it to its place when it is whole; gives the notes of the boards."""
    out.mkdir(parents=True, exist_ok=True)
    with workplace(out) as place:
        (place / BOARD_FOLDER).mkdir(parents=True)
        for name in PAGE:
            (place / name).write_bytes((_PAGE / name).read_bytes())
        for file, results in _runs(accepted).items():
            (place / file).write_text(results.model_dump_json(by_alias=True, indent=1), encoding="utf-8")
        notes = write_boards(accepted, place)
        if (out / "results").exists():
            (out / "results").rename(place / "former")
        for name in ("results", *PAGE):
            (place / name).replace(out / name)
    return notes


def _runs(accepted: Sequence[BoardRow]) -> dict[str, Results]:
    """The accepted part of each entry, by the file in which it is published."""
    found: dict[str, Results] = {}
    for row in accepted:
        empty = row.entry.run.results.model_copy(update={"tasks": [], "failed": []})
        found.setdefault(run_file(row.entry), empty).tasks.append(row.result)
    return found
