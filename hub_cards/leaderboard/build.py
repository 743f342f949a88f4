"""Builds the folder of the Space from entries: the results that its boards accept, and the reasons against others."""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError, EyechartError, UsageError
from eyechart.datasets_scripts.common.whole import workplace
from eyechart.evaluators.evaluation.scoring import with_averages
from eyechart.evaluators.requests.values import brief, is_number
from eyechart.evaluators.results.finished_runs import OFFICIAL, Answers, TaskKey
from eyechart.evaluators.results.results_file import AVERAGE, Results, TaskResult
from eyechart.hub_cards.leaderboard.boards import BOARDS, Board, find_board
from eyechart.hub_cards.leaderboard.entries import BoardRow, Entry, find_entries
from eyechart.hub_cards.leaderboard.names import (
    Owner,
    name_key,
    name_misfits,
    owner_of,
    read_owners,
    refused_claim,
    shown_name,
    write_owners,
)
from eyechart.hub_cards.leaderboard.page_data import write_boards
from eyechart.hub_cards.leaderboard.reading import read_bounded, unexpected
from eyechart.hub_cards.leaderboard.scoring import ReleaseError, Releases, score_on
from eyechart.hub_cards.recomputing import LOCAL_OPTIONS, judge_of, refusals
from eyechart.metrics.score_check import contradictions
from eyechart.metrics.score_spec import value_at
from eyechart.metrics.scoring.judging.lexical import LEXICAL

_PAGE = resources.files("eyechart.hub_cards") / "leaderboard" / "page"
PAGE = tuple(sorted(file.name for file in _PAGE.iterdir() if file.is_file()))
"""Files of the Space that do not depend on the entries."""
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
    """What was accepted, replaced and rejected."""

    accepted: list[BoardRow]
    replaced: list[Replacement]
    rejected: list[Rejection]


def build(
    folder: Path,
    out: Path,
    now: datetime.datetime,
    data_dirs: Mapping[str, str] | None = None,
    task_boards: Sequence[Board] = (),
) -> Outcome:
    """Check entries and write the Space to `out`: a new or empty folder, or an earlier build, which is replaced.

    Hidden files in it are kept, and names keep their owners. Runs that began after `now`, which has a time zone, are
    rejected. Replies are scored on the releases in `data_dirs`, else on downloaded ones.
    """
    paths, boards, releases = find_entries(folder), (*BOARDS, *task_boards), Releases(data_dirs or {})
    rows: list[BoardRow] = []
    rejected: list[Rejection] = []
    _check_out(folder, out)
    owners = read_owners(out)
    for path in paths:
        try:
            of_entry, refused = _checked_results(read_bounded(path, folder), now, releases, boards)
            rows += of_entry
            rejected += refused
        except ReleaseError:
            raise
        # Whatever goes wrong with one entry, the others must still be built.
        except Exception as error:
            reason = error.reason if isinstance(error, DataError) else unexpected(error)
            rejected.append(Rejection(path.relative_to(folder).as_posix(), reasons=(reason,)))
    accepted, replaced, taken = _newest(rows, owners)
    write_space(accepted, out, boards, owners)
    return Outcome(accepted, replaced, [*rejected, *taken])


def _newest(
    rows: Sequence[BoardRow], owners: dict[str, Owner]
) -> tuple[list[BoardRow], list[Replacement], list[Rejection]]:
    """The newest row of each model on each board, and the rows of others than the owner of its name.

    Ranked rows come before those stated; of equal times, the row in the last folder in order of names counts.
    """
    newest: dict[tuple[str, str], BoardRow] = {}
    replaced, taken = [], []
    by_name: dict[str, list[BoardRow]] = {}
    for row in sorted(rows, key=lambda row: (not row.stated, row.started)):
        by_name.setdefault(name_key(row.result.model), []).append(row)
    for key, of_name in by_name.items():
        claims = [(Owner(row.entry.about.owner, row.entry.source, not row.stated), row) for row in of_name]
        holder = owner_of(owners.get(key), [claim for claim, _ in claims])
        for claim, row in claims:
            model, board, source = row.result.model, row.board.name, row.entry.source
            if holder is None or not holder.is_same(claim):
                reason = f"the name {brief(model)} {refused_claim(holder)}"
                taken.append(Rejection(source, row.result.task, row.result.dataset, (reason,)))
                continue
            owners[key] = holder
            if (former := newest.pop((key, board), None)) is not None:
                replaced.append(Replacement(model, board, former.entry.source, source))
            newest[key, board] = row
    return list(newest.values()), replaced, taken


def _check_out(folder: Path, out: Path) -> None:
    # A clone of the Space has hidden files.
    present = {path.name for path in out.iterdir() if not path.name.startswith(".")} if out.is_dir() else set()
    others = sorted(present - {*PAGE, "results"})
    if out.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"out='{out}' is inside the folder of entries '{folder}'; choose another folder")
    if (out.exists() and not out.is_dir()) or others or (present and not present >= set(PAGE)):
        has = f" (it contains {brief(others[0])})" if others else ""
        raise UsageError(f"out='{out}' is not a folder of a leaderboard{has}; choose a new or empty folder")


def _checked_results(
    entry: Entry, now: datetime.datetime, releases: Releases, boards: Sequence[Board]
) -> tuple[list[BoardRow], list[Rejection]]:
    """A row for each accepted result of an entry, and the reasons against each other one."""
    started, results = started_at(entry.run.results.environment, now), entry.run.tasks
    if not results:
        raise DataError("no finished task in it")
    rows: dict[TaskKey, BoardRow] = {}
    rejected = []
    # The predictions of all entries would fill the memory.
    bare = replace(entry, run=replace(entry.run, predictions=None))
    # Averages last, as they are computed from the rows of their databases.
    for key, result in sorted(results.items(), key=lambda keyed: keyed[0].dataset == AVERAGE):
        board = find_board(*key, boards)
        if board is None:
            reasons = [_no_board(key, boards)]
        else:
            refused = (reason for source in entry.sources_of(result) for reason in refusals(source))
            reasons = [*dict.fromkeys(refused), *misfits(board, result)]
        if board is not None and not reasons:
            row = BoardRow(board, result.model_copy(update={"model": shown_name(result.model)}), bare, started)
            try:
                answers = entry.run.answers(key)
                rows[key] = _averaged(row, rows) if key.dataset == AVERAGE else _scored(row, answers, releases)
                reasons = [*score_misfits(rows[key])]
            except ReleaseError:
                raise
            except EyechartError as error:
                reasons = [error.reason if isinstance(error, DataError) else str(error)]
        if reasons:
            rows.pop(key, None)
            rejected.append(Rejection(entry.source, result.task, result.dataset, tuple(reasons)))
    return list(rows.values()), rejected


def _no_board(key: TaskKey, boards: Sequence[Board]) -> str:
    known = ", ".join(f"{board.dataset} ({board.split})" for board in boards if board.task.name == key.task)
    advice = f"it has boards for {known}" if known else "a task file with it is named with --tasks FILE"
    return f"no board for the task {key.task!a:.80} on the dataset {key.dataset!a:.80} ({key.split!a:.80}); {advice}"


def _scored(row: BoardRow, answers: Answers | None, releases: Releases) -> BoardRow:
    """The row with the scores of its replies, or with the reason why its scores are only stated."""
    if row.board.judged or judge_of(row.result):
        return replace(row, stated="a judge gave the scores")
    if answers is None:
        return replace(row, stated="there are no predictions")
    if (release := releases.of(row.board)) is None:
        return replace(row, stated="the release is not at hand")
    result = score_on(release, row.board, row.result, answers)
    return replace(row, result=result, release=release.digest, parts=(result,))


def _averaged(row: BoardRow, others: Mapping[TaskKey, BoardRow]) -> BoardRow:
    result = row.result
    keys = [TaskKey(result.task, name, result.split) for name in row.board.task.data.run_on]
    rows = [
        others[key] for key in keys if key in others and name_key(others[key].result.model) == name_key(result.model)
    ]
    if len(rows) < len(keys):
        missing = ", ".join(key.dataset for key in keys if key not in others) or "some under another name"
        raise DataError(f"the average needs accepted results of one model on all its databases; missing: {missing}")
    if stated := next((part.stated for part in rows if part.stated), ""):
        return replace(row, stated=stated)
    results = tuple(part.result.model_copy(update={"model": result.model}) for part in rows)
    average = next((each for each in with_averages(results) if each.dataset == AVERAGE), None)
    if average is None or average.scores is None:
        raise DataError("the results on its databases have no average")
    return replace(row, result=average, release=" ".join(part.release for part in rows), parts=results)


def write_space(
    accepted: Sequence[BoardRow], out: Path, boards: Sequence[Board] = BOARDS, owners: Mapping[str, Owner] | None = None
) -> None:
    """Write everything to a temporary folder, and move it into place when complete."""
    runs: dict[str, Results] = {}
    for row in accepted:
        empty = row.entry.run.results.model_copy(
            update={"tasks": [], "failed": [], "predictions_sha256": "", "sha256": ""}
        )
        runs.setdefault(row.entry.file, empty).tasks.append(row.result)
    out.mkdir(parents=True, exist_ok=True)
    with workplace(out) as unfinished:
        for name in PAGE:
            (unfinished / name).write_bytes((_PAGE / name).read_bytes())
        write_boards(accepted, unfinished, boards)
        write_owners(owners or {}, unfinished)
        for file, results in runs.items():
            (unfinished / file).write_text(results.model_dump_json(by_alias=True, indent=1), encoding="utf-8")
        if (out / "results").exists():
            (out / "results").rename(unfinished / "former")
        for name in ("results", *PAGE):
            (unfinished / name).replace(out / name)


def misfits(board: Board, result: TaskResult) -> list[str]:
    """Why a board does not accept what a result declares, besides `refusals`; empty if it does."""
    reasons = [*name_misfits("model", result.model), *_setting_misfits(board, result)]
    judge = judge_of(result)
    if board.judged and judge in ("", LEXICAL):
        reasons.append(f"the judge is {brief(judge or None)}; this board requires a judge model on a server")
    return [*reasons, *(name_misfits("judge", judge) if judge else ())]


def score_misfits(row: BoardRow) -> Iterator[str]:
    """Why a row's scores cannot be shown."""
    scores, main = row.result.scores or {}, row.board.main
    if not is_number(main.of(scores)[0]):
        yield f"scores.{main.name}, the ranking score, is missing or undefined"
    if row.stated:
        yield from contradictions(scores)
        yield from _count_misfits(row.board, row.result)


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


def _setting_misfits(board: Board, result: TaskResult) -> Iterator[str]:
    for name, allowed in board.settings.items():
        value = value_at(result.settings, name)
        # In Python True == 1 == 1.0; in a result they differ.
        fits = any(value == choice and type(value) is type(choice) for choice in allowed)
        if not fits:
            required = " or ".join(map(repr, allowed))
            advice = f"without --{_OPTIONS[name]}" if name in _OPTIONS else "with the default settings"
            yield f"settings.{name} is {brief(value)}; this board requires {required}: repeat the run {advice}"
    given = value_at(result.settings, "data.options") or {}
    known = {*board.settings, *(f"data.options.{name}" for name in LOCAL_OPTIONS)}
    if not {f"data.options.{name}" for name in given} <= known:
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
