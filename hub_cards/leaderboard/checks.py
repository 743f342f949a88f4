"""Whether a board accepts a result, and if not, every reason."""

import datetime
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.requests.values import brief, is_number
from eyechart.evaluators.results.finished_runs import OFFICIAL
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.hub_cards.leaderboard.boards import Board
from eyechart.hub_cards.recomputing import LOCAL_OPTIONS, judge_of, refusals
from eyechart.metrics.score_check import contradictions
from eyechart.metrics.score_spec import value_at
from eyechart.metrics.scoring.judging.lexical import LEXICAL

LONGEST_NAME = 160
"""Characters in a model's name; names on the Hub have at most 96 on each side of the slash."""
MOST_MARKS = 3
"""Combining marks on one letter of a name; Thai and Vietnamese need several."""
_CLOCKS = datetime.timedelta(days=1)
"""How far the clock of the submitter's machine may be ahead."""
_BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
"""Characters that show nothing, although Unicode classifies them as letters, marks or symbols."""
_OPTIONS = {"sample": "without --sample", "as_published": "without --as-published"}
_REFUSED = ("data.is_mini", "limit", "blind")
"""Settings that `refusals` checks."""


def misfits(board: Board, result: TaskResult) -> list[str]:
    """Every reason why the board of a result's task and dataset does not accept it; empty if it does."""
    reasons = [*_name_misfits("model", result.model), *refusals(result), *_setting_misfits(board, result)]
    if result.split != board.split:
        reasons.append(f"split is {brief(result.split)}; this board requires '{board.split}'")
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
    if started > now + _CLOCKS:
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
        if name not in _REFUSED and not fits:
            required = " or ".join(map(repr, allowed))
            advice = _OPTIONS.get(name, "with the default settings")
            yield f"settings.{name} is {brief(value)}; this board requires {required}: repeat the run {advice}"
    sampling = value_at(result.settings, "model.sampling")
    if sampling is not None or result.settings.get("repeats") is not None:
        yield (
            f"settings.model.sampling is {brief(sampling)}; this board requires greedy decoding without repeats: "
            "repeat the run without --temperature and --repeats"
        )
    given = value_at(result.settings, "data.options") or {}
    known = {*board.settings, *(f"data.options.{name}" for name in LOCAL_OPTIONS)}
    if not isinstance(given, Mapping) or not {f"data.options.{name}" for name in given} <= known:
        yield f"settings.data.options is {brief(given)}; the dataset does not have these options"


def _count_misfits(board: Board, result: TaskResult) -> Iterator[str]:
    n, count = board.items, (result.scores or {}).get(board.count)
    if not is_number(count) or count < 1 or count != (n or count):
        required = "at least 1 item" if n is None else f"all {n:,} items of the current release"
        yield f"scored on {brief(count)} items (scores.{board.count}); this board requires {required}"
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
