"""Builds the folder of the Space from entries: the results that its boards accept, and the reasons against others."""

import datetime
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.datasets_scripts.common.whole import workplace
from eyechart.evaluators.requests.values import brief, is_number
from eyechart.evaluators.results.finished_runs import OFFICIAL
from eyechart.evaluators.results.results_file import Results, TaskResult
from eyechart.hub_cards.leaderboard.boards import BOARDS, Board, find_board
from eyechart.hub_cards.leaderboard.entries import BoardRow, Entry, find_entries, read_entry
from eyechart.hub_cards.leaderboard.page_data import write_boards
from eyechart.hub_cards.recomputing import LOCAL_OPTIONS, Check, Recomputing, judge_of, refusals
from eyechart.metrics.score_check import contradictions
from eyechart.metrics.score_spec import value_at
from eyechart.metrics.scoring.judging.lexical import LEXICAL

_PAGE = resources.files("eyechart.hub_cards") / "leaderboard" / "page"
PAGE = tuple(sorted(file.name for file in _PAGE.iterdir() if file.is_file()))
"""Files of the Space that do not depend on the entries."""
LONGEST_NAME = 160
"""Characters in a model's name; names on the Hub have at most 96 on each side of the slash."""
MOST_MARKS = 3
"""Combining marks on one letter of a name; Thai and Vietnamese need several."""
_BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
"""Characters that show nothing, although Unicode classifies them as letters, marks or symbols."""
_OPTIONS = {"as_published": "as-published", "model.sampling": "temperature", "repeats": "repeats", "sample": "sample"}
"""Options that set a setting which must not be set."""


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


@dataclass(frozen=True)
class Outcome:
    """What was accepted, replaced and rejected, and each row's notes on how its items differ from those of others."""

    accepted: list[BoardRow]
    replaced: list[Replacement]
    rejected: list[Rejection]
    notes: list[str]


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
    paths, boards = find_entries(folder), (*BOARDS, *task_boards)
    checked: list[BoardRow | Rejection] = []
    _check_out(folder, out)
    for path in paths:
        try:
            checked += _checked_results(read_entry(path, folder), now, data_dirs or {}, boards)
        except UsageError:
            raise
        # Whatever goes wrong with one entry, the others must still be built.
        except Exception as error:
            reason = f"cannot be checked: {type(error).__name__}: {error!s:.200}"
            reason = error.reason if isinstance(error, DataError) else reason
            checked.append(Rejection(path.relative_to(folder).as_posix(), reasons=(reason,)))
    # Only the newest result of each model counts; of equal times, the one in the last folder in order of names.
    newest: dict[tuple[str, str, str], BoardRow] = {}
    replaced = []
    for row in sorted((row for row in checked if isinstance(row, BoardRow)), key=lambda row: row.started):
        model, board = row.result.model, row.board.name
        if (former := newest.pop((model, board, row.judge), None)) is not None:
            replaced.append(Replacement(model, board, former.entry.source, row.entry.source))
        newest[model, board, row.judge] = row
    accepted, rejected = list(newest.values()), [row for row in checked if isinstance(row, Rejection)]
    return Outcome(accepted, replaced, rejected, _write(accepted, out, boards))


def _check_out(folder: Path, out: Path) -> None:
    # A clone of the Space has hidden files.
    present = {path.name for path in out.iterdir() if not path.name.startswith(".")} if out.is_dir() else set()
    is_space = present >= set(PAGE) and present <= {*PAGE, "results"}
    if out.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"out='{out}' is inside the folder of entries '{folder}'; choose another folder")
    if (out.exists() and not out.is_dir()) or (present and not is_space):
        raise UsageError(f"out='{out}' is not a folder of a leaderboard; choose a new or empty folder")


def _checked_results(
    entry: Entry, now: datetime.datetime, data_dirs: Mapping[str, str], boards: Sequence[Board]
) -> list[BoardRow | Rejection]:
    """A row for each accepted result of an entry, and the reasons against each other one."""
    started, tasks = started_at(entry.run.results.environment, now), entry.run.tasks
    if not tasks:
        raise DataError("no finished task in it")
    recomputing = Recomputing(entry.run, data_dirs)
    checked: list[BoardRow | Rejection] = []
    for key, result in tasks.items():
        board = find_board(*key, boards)
        if board is None:
            known = ", ".join(f"{board.dataset} ({board.split})" for board in boards if board.task.name == result.task)
            reasons = [
                f"no board for the task {key.task!a:.80} on the dataset {key.dataset!a:.80} ({key.split!a:.80}); "
                + (f"it has boards for {known}" if known else "a task file with it is named with --tasks FILE")
            ]
        else:
            refused = [reason for source in entry.sources_of(result) for reason in refusals(source)]
            reasons = [*dict.fromkeys(refused), *misfits(board, result)]
            # Recomputing takes a while, so it comes last.
            check = Check() if reasons else recomputing.check(key, board.task)
            reasons += check.discrepancies
            if not reasons:
                checked.append(BoardRow(board, result, entry, started, check))
        if reasons:
            checked.append(Rejection(entry.source, result.task, result.dataset, tuple(reasons)))
    return checked


def _write(accepted: Sequence[BoardRow], out: Path, boards: Sequence[Board]) -> list[str]:
    """Write everything to a temporary folder, move it into place when complete, and return the boards' notes."""
    runs: dict[str, Results] = {}
    for row in accepted:
        empty = row.entry.run.results.model_copy(update={"tasks": [], "failed": []})
        runs.setdefault(row.entry.file, empty).tasks.append(row.result)
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


def misfits(board: Board, result: TaskResult) -> list[str]:
    """Every reason besides `refusals` why the board of a result does not accept it; empty if it does."""
    reasons = [*_name_misfits("model", result.model), *_setting_misfits(board, result)]
    judge = judge_of(result)
    if board.judged and judge in ("", LEXICAL):
        reasons.append(f"the judge is {brief(judge or None)}; this board requires a judge model on a server")
    if judge:
        reasons += _name_misfits("judge", judge)
    if result.scores is not None:
        if not is_number(board.main.of(result.scores)[0]):
            reasons.append(f"scores.{board.main.name}, the ranking score, is missing or undefined")
        reasons += [*contradictions(result.scores), *_count_misfits(board, result)]
    return reasons


def started_at(environment: Mapping[str, Any], now: datetime.datetime) -> datetime.datetime:
    """When a run began; raises DataError if its start is missing, unreadable or in the future."""
    given = environment.get("started")
    try:
        started = datetime.datetime.fromisoformat(str(given))
        if started.tzinfo is None:
            raise ValueError("no time zone")
        # The first and last hours of the calendar cannot be converted to every time zone.
        started = started.astimezone(datetime.UTC)
    except (ValueError, OverflowError) as error:
        raise DataError(
            f"environment.started is {brief(given)}; expected a time with time zone, such as 2026-01-31T12:00:00+00:00"
        ) from error
    # The clock of the submitter's machine may be ahead.
    if started > now + datetime.timedelta(days=1):
        raise DataError(f"environment.started is {brief(given)}, which is in the future")
    return started


def _name_misfits(kind: str, name: str) -> Iterator[str]:
    if not name.strip() or name != name.strip():
        yield f"{kind} is {brief(name)}; expected a name without leading or trailing spaces"
    if len(name) > LONGEST_NAME:
        yield f"{kind} has a name of {len(name):,} characters; at most {LONGEST_NAME} are allowed"
    # Such characters make one name look like another, or reverse the text around it.
    marks = 0
    for character in name:
        marks = marks + 1 if unicodedata.category(character) in ("Mn", "Me") else 0
        if not character.isprintable() or character in _BLANK or marks > MOST_MARKS:
            yield (
                f"{kind} contains an invisible character, or more than {MOST_MARKS} combining marks on one letter "
                f"(U+{ord(character):04X}): {name!a:.80}"
            )
            return


def _setting_misfits(board: Board, result: TaskResult) -> Iterator[str]:
    for name, allowed in board.settings.items():
        value = value_at(result.settings, name)
        # In Python True == 1; in a result they differ.
        fits = any(value == choice and isinstance(value, bool) == isinstance(choice, bool) for choice in allowed)
        if not fits:
            required = " or ".join(map(repr, allowed))
            advice = f"without --{_OPTIONS[name]}" if name in _OPTIONS else "with the default settings"
            yield f"settings.{name} is {brief(value)}; this board requires {required}: repeat the run {advice}"
    given = value_at(result.settings, "data.options") or {}
    known = {*board.settings, *(f"data.options.{name}" for name in LOCAL_OPTIONS)}
    if not isinstance(given, Mapping) or not {f"data.options.{name}" for name in given} <= known:
        yield f"settings.data.options is {brief(given)}; the dataset does not have these options"


def _count_misfits(board: Board, result: TaskResult) -> Iterator[str]:
    key = board.main.score.counts[0]
    n, count = board.items, (result.scores or {}).get(key)
    if not is_number(count) or count < 1 or count != (n or count):
        required = "at least 1 item" if n is None else f"all {n:,} items of the current release"
        yield f"scored on {brief(count)} items (scores.{key}); this board requires {required}"
    if n is not None:
        return
    source = value_at(result.settings, "data.source")
    if source != OFFICIAL and not board.file:
        yield (
            f"settings.data.source is {brief(source)}; this board requires {OFFICIAL!r} (a download with verified "
            "checksum), because the number of items of this split is unknown"
        )
    if result.left_out:
        first = result.left_out[0]
        yield f"{len(result.left_out)} items were left out; first: {brief(first.id)}: {brief(first.reason)}"
