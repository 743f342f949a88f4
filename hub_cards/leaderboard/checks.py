"""Whether a result can stand on its board, and if not, every reason why."""

import datetime
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.requests.values import brief, is_number
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.results.sources import OFFICIAL
from eyechart.hub_cards.leaderboard.boards.board import Board
from eyechart.hub_cards.recomputing import LOCAL_OPTIONS, judge_of
from eyechart.metrics.score_check import contradictions
from eyechart.metrics.score_spec import value_at
from eyechart.metrics.scoring.judging.lexical import LEXICAL

LONGEST_NAME = 160
"""In characters; the Hub's own names have at most 96 on each side of the slash."""
MOST_MARKS = 3
"""Marks that one letter can carry in a name, as some do in Thai and Vietnamese."""
_CLOCKS = datetime.timedelta(days=1)
"""How far the clock of an entry's machine may be ahead."""
_INVISIBLE = {"Cc": "a control character", "Cf": "an invisible formatting mark", "Zl": "a line break"}
_BLANK = "\u00a0\u034f\u115f\u1160\u17b4\u17b5\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f"
_BLANK += "\u205f\u2800\u3000\u3164\uffa0"
"""Characters that show nothing, though Unicode counts some of them as letters and signs."""
_INVISIBLE |= {"Zp": "a line break", "Cs": "half a character", "Co": "a private character", "Cn": "no character"}


def misfits(board: Board, result: TaskResult) -> list[str]:
    """Every reason why a result cannot stand on its board.

    Args:
        board: The board of the result's task and data set.
        result: From `read_results`, so that its scores are such as metrics return.

    Returns:
        Empty if it can.
    """
    reasons = [*_name_misfits(result.model), *_setting_misfits(board, result)]
    if result.split != board.split:
        reasons.append(f"split is {brief(result.split)}; the board takes '{board.split}'")
    if result.scores is None:
        return [*reasons, "it has no scores, as of a private split"]
    if not result.complete:
        reasons.append("its scores were made of less than was to be asked (complete is false)")
    if not is_number(board.main.of(result.scores)[0]):
        reasons.append(f"scores.{board.main.name}, which ranks, is undefined or not there")
    reasons += contradictions(result.scores)
    return [*reasons, *_count_misfits(board, result, result.scores), *_judge_misfits(board, result)]


def started_at(environment: Mapping[str, Any], now: datetime.datetime) -> datetime.datetime:
    """When a run began.

    Args:
        environment: That of the results.
        now: With time zone; later runs are not believed.

    Raises:
        DataError: It does not say, or says a time to come.
    """
    given = environment.get("started")
    try:
        started = datetime.datetime.fromisoformat(given) if isinstance(given, str) else None
        # The first and the last hours of the calendar have no time in other zones.
        started = started.astimezone(datetime.UTC) if started is not None and started.tzinfo is not None else None
    except (ValueError, OverflowError):
        started = None
    if started is None:
        raise DataError(
            f"environment.started is {brief(given)}; expected a time with its zone, as 2026-01-31T12:00:00+00:00"
        )
    if started > now + _CLOCKS:
        raise DataError(f"environment.started is {brief(given)}, which is yet to come")
    return started


def _name_misfits(name: str) -> Iterator[str]:
    if not name.strip() or name != name.strip():
        yield f"model is {brief(name)}; expected a name without blanks around it"
    if len(name) > LONGEST_NAME:
        yield f"model is a name of {len(name):,} characters; at most {LONGEST_NAME} are allowed"
    # Such marks make one name look like another, or turn the line around in which it stands.
    marks = 0
    for character in name:
        category = unicodedata.category(character)
        kind = "a blank that is no space" if character in _BLANK else _INVISIBLE.get(category)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if marks > MOST_MARKS:
            kind = f"more than {MOST_MARKS} marks on one letter"
        if kind:
            yield f"model holds {kind} (U+{ord(character):04X}): {name!a:.80}"
            return


def _setting_misfits(board: Board, result: TaskResult) -> Iterator[str]:
    for name, allowed in board.settings.items():
        value = value_at(result.settings, name)
        # A bool is an int in Python, not in a result.
        if not any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in allowed):
            yield f"settings.{name} is {brief(value)}; the board takes {' or '.join(map(repr, allowed))}"
    sampling = value_at(result.settings, "model.sampling")
    if sampling is not None or value_at(result.settings, "repeats") is not None:
        yield f"settings.model.sampling is {brief(sampling)}; the board takes greedy replies, asked for once"
    given = value_at(result.settings, "data.options") or {}
    known = {*board.settings, *(f"data.options.{name}" for name in LOCAL_OPTIONS)}
    if not isinstance(given, Mapping) or not {f"data.options.{name}" for name in given} <= known:
        yield f"settings.data.options is {brief(given)}; the data set has no such options"


def _count_misfits(board: Board, result: TaskResult, scores: Mapping[str, Any]) -> Iterator[str]:
    count = scores.get(board.count)
    if count is None or not is_number(count):
        yield f"scores.{board.count} is {brief(count)}; expected the number of items"
    elif board.items is None:
        if count < 1:
            yield f"scores.{board.count} is {brief(count)}; expected at least 1"
        source = value_at(result.settings, "data.source")
        if source != OFFICIAL:
            yield (
                f"settings.data.source is {brief(source)}; the board takes {OFFICIAL!r}, a download whose checksum was "
                "compared, as the number of items of this split is not known"
            )
        if result.left_out:
            first = result.left_out[0]
            yield f"{len(result.left_out)} items were left out; the first: {brief(first.id)}: {brief(first.reason)}"
    elif count != board.items:
        expected = f"all {board.items:,} items of the present release"
        yield f"scores.{board.count} is {brief(count)}; the board takes results on {expected}"


def _judge_misfits(board: Board, result: TaskResult) -> Iterator[str]:
    judge = judge_of(result)
    if board.judged and judge in ("", LEXICAL):
        yield f"its judge is {brief(judge or None)}; the board takes scores of a judge on a server"
    if judge:
        yield from (f"judge: {reason}" for reason in _name_misfits(judge))
