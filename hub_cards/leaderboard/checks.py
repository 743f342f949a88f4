"""Whether a board accepts a result, and if not, every reason."""

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
"""Characters in a model's name; names on the Hub have at most 96 on each side of the slash."""
MOST_MARKS = 3
"""Combining marks on one letter of a name; Thai and Vietnamese need several."""
_CLOCKS = datetime.timedelta(days=1)
"""How far the clock of the submitter's machine may be ahead."""
_INVISIBLE = {"Cc": "a control character", "Cf": "an invisible formatting mark", "Zl": "a line break"}
_BLANK = "\u00a0\u034f\u115f\u1160\u17b4\u17b5\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f"
_BLANK += "\u205f\u2800\u3000\u3164\uffa0"
"""Characters that show nothing, although Unicode classifies some of them as letters or symbols."""
_INVISIBLE |= {
    "Zp": "a line break",
    "Cs": "a lone surrogate",
    "Co": "a private-use character",
    "Cn": "an unassigned character",
}


def misfits(board: Board, result: TaskResult) -> list[str]:
    """Every reason why a board does not accept a result.

    Args:
        board: The board of the result's task and dataset.
        result: From `read_results`, so its scores have the form that metrics return.

    Returns:
        The reasons; empty if the board accepts it.
    """
    reasons = [*_name_misfits(result.model), *_setting_misfits(board, result)]
    if result.split != board.split:
        reasons.append(f"split is {brief(result.split)}; this board requires '{board.split}'")
    if result.scores is None:
        return [*reasons, "no scores: the answers of this split are private"]
    if not result.complete:
        reasons.append("incomplete: the scores are based on fewer requests than planned; run the same command again")
    if not is_number(board.main.of(result.scores)[0]):
        reasons.append(f"scores.{board.main.name}, the ranking score, is missing or undefined")
    reasons += contradictions(result.scores)
    return [*reasons, *_count_misfits(board, result, result.scores), *_judge_misfits(board, result)]


def started_at(environment: Mapping[str, Any], now: datetime.datetime) -> datetime.datetime:
    """When a run began.

    Args:
        environment: The environment in the results.
        now: The present, with time zone; a start after it is an error.

    Raises:
        DataError: The start is missing, unreadable or in the future.
    """
    given = environment.get("started")
    try:
        started = datetime.datetime.fromisoformat(given) if isinstance(given, str) else None
        # The first and last hours of the calendar cannot be converted to every time zone.
        started = started.astimezone(datetime.UTC) if started is not None and started.tzinfo is not None else None
    except (ValueError, OverflowError):
        started = None
    if started is None:
        raise DataError(
            f"environment.started is {brief(given)}; expected a time with time zone, such as 2026-01-31T12:00:00+00:00"
        )
    if started > now + _CLOCKS:
        raise DataError(f"environment.started is {brief(given)}, which is in the future")
    return started


def _name_misfits(name: str) -> Iterator[str]:
    if not name.strip() or name != name.strip():
        yield f"model is {brief(name)}; expected a name without leading or trailing spaces"
    if len(name) > LONGEST_NAME:
        yield f"model has a name of {len(name):,} characters; at most {LONGEST_NAME} are allowed"
    # Such characters make one name look like another, or reverse the text around it.
    marks = 0
    for character in name:
        category = unicodedata.category(character)
        kind = "a blank other than the space" if character in _BLANK else _INVISIBLE.get(category)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if marks > MOST_MARKS:
            kind = f"more than {MOST_MARKS} combining marks on one letter"
        if kind:
            yield f"model contains {kind} (U+{ord(character):04X}): {name!a:.80}"
            return


def _in_words(name: str, value: Any) -> str:
    """What a run did that a board does not accept, and what to do; "" for settings without an option of their own."""
    if name == "data.is_mini" and value is True:
        return "run on synthetic demo data; repeat the run with --model and without --mini"
    if name == "limit" and is_number(value):
        return f"run used --limit {brief(value)}; repeat the run without --limit"
    if name == "sample" and isinstance(value, Mapping):
        return f"run used --sample {brief(value.get('n'))}; repeat the run without --sample"
    if name == "as_published" and value is not None:
        return "run used --as-published; repeat the run without --as-published"
    if name == "blind" and value is True:
        return "the questions were asked without the images; repeat the run without --blind"
    return ""


def _setting_misfits(board: Board, result: TaskResult) -> Iterator[str]:
    own = board.task.protocol.settings()
    for name, allowed in board.settings.items():
        value = value_at(result.settings, name)
        is_changed = value is not None and name in own
        advice = "; repeat the run with the default settings" if is_changed else ""
        # In Python True == 1; in a result they differ.
        if not any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in allowed):
            yield _in_words(name, value) or (
                f"settings.{name} is {brief(value)}; this board requires {' or '.join(map(repr, allowed))}{advice}"
            )
    sampling = value_at(result.settings, "model.sampling")
    if sampling is not None or value_at(result.settings, "repeats") is not None:
        yield (
            f"settings.model.sampling is {brief(sampling)}; this board requires greedy decoding without repeats: "
            "repeat the run without --temperature and --repeats"
        )
    given = value_at(result.settings, "data.options") or {}
    known = {*board.settings, *(f"data.options.{name}" for name in LOCAL_OPTIONS)}
    if not isinstance(given, Mapping) or not {f"data.options.{name}" for name in given} <= known:
        yield f"settings.data.options is {brief(given)}; the dataset does not have these options"


def _count_misfits(board: Board, result: TaskResult, scores: Mapping[str, Any]) -> Iterator[str]:
    count = scores.get(board.count)
    if count is None or not is_number(count):
        yield f"scores.{board.count} is {brief(count)}; expected the number of items"
    elif board.items is None:
        if count < 1:
            yield f"scores.{board.count} is {brief(count)}; expected at least 1"
        source = value_at(result.settings, "data.source")
        if source != OFFICIAL and not board.file:
            yield (
                f"settings.data.source is {brief(source)}; this board requires {OFFICIAL!r} (a download with "
                "verified checksum), because the number of items of this split is unknown"
            )
        if result.left_out:
            first = result.left_out[0]
            yield f"{len(result.left_out)} items were left out; first: {brief(first.id)}: {brief(first.reason)}"
    elif count != board.items:
        expected = f"all {board.items:,} items of the current release"
        yield f"scored on {brief(count)} items (scores.{board.count}); this board requires {expected}"


def _judge_misfits(board: Board, result: TaskResult) -> Iterator[str]:
    judge = judge_of(result)
    if board.judged and judge in ("", LEXICAL):
        yield f"the judge is {brief(judge or None)}; this board requires a judge model on a server"
    if judge:
        yield from (f"judge: {reason}" for reason in _name_misfits(judge))
