"""Asking a judge and reading its replies.

A reply that is not in the expected form is a failed round, never a score. A closed block of reasoning before the reply
is ignored. If the block is never closed, for example because the maximum length was reached, there is no reply.
"""

import re
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from string import ascii_uppercase

from eyechart.metrics.scoring.errors import InputError, LostRoundsWarning
from eyechart.metrics.scoring.judging.prompts import Messages
from eyechart.metrics.scoring.reasoning import split_reasoning

Judge = Callable[[Messages, int], Sequence[str | None]]
"""`judge(messages, n)`, which returns n replies, None for a lost reply.

A judge may also have a method `ask_all(conversations, n)`, which returns one such list for each conversation. It is
then asked about all conversations at once.
"""

NO_OPTION = "X"
"""The judge's answer if a reply matches no option (MMBench, Appendix D)."""

_DECORATION = re.compile(r"[*_`]+")
_SCORE = re.compile(r"(?:(?:score|result)\s{0,8}[:=]?\s{0,8})?(\d)\s{0,8}\.?", re.IGNORECASE)
_LETTER = re.compile(r"(?i:(?:your output|output|answer)\s{0,8}:\s{0,8})?[(\[\"']?([A-Z])[)\]\"']?[.:)]?")


_LONGEST = 64
"""Maximum length of a reply in one of the expected forms, without reasoning."""
_LONGEST_ERROR = 200
"""Maximum number of characters of an error message that a warning repeats."""


def check_judge(judge: object) -> None:
    """Check that a judge can be called.

    Raises:
        InputError: It is not callable.
    """
    if not callable(judge):
        raise InputError(f"judge is {judge!r}; it must be a callable judge(messages, n) or None")


def judge_name(judge: Judge) -> str:
    """The judge's name in results: its attribute `name`, or else the name of its function or class.

    Examples:
        >>> def strict(messages, n):
        ...     return ["0"] * n
        >>> judge_name(strict)
        'strict'
    """
    name = getattr(judge, "name", None) or getattr(judge, "__name__", None)
    return name if isinstance(name, str) else type(judge).__name__


def name_or_none(judge: Judge | None) -> str | None:
    """`judge_name`, or None without a judge."""
    return None if judge is None else judge_name(judge)


def ask_all(judge: Judge, conversations: Sequence[Messages], rounds: int) -> list[list[str | None]]:
    """Replies of a judge to several conversations.

    A judge without a method `ask_all` is called once for each conversation, in order. If it raises an error, the rounds
    of this conversation are lost, and a warning reports the first error. A judge with `ask_all` must handle lost rounds
    itself, so its errors are fatal.

    Args:
        judge: `judge(messages, n)`, which returns n replies, with or without `ask_all(conversations, n)`.
        conversations: The conversations; if there are none, the judge is not asked.
        rounds: Number of replies to each conversation.

    Returns:
        `rounds` replies to each conversation: all are None if the judge raised an error or returned a wrong number of
        replies; a reply that is not a string is None.

    Raises:
        InputError: The judge's `ask_all` returned replies to a wrong number of conversations.
        Exception: Any error of the judge's `ask_all`.

    Warns:
        LostRoundsWarning: A judge without `ask_all` raised an error.

    Examples:
        >>> class Patient:
        ...     def __call__(self, messages, n):
        ...         return self.ask_all([messages], n)[0]
        ...     def ask_all(self, conversations, n):
        ...         return [["1"] * n for _ in conversations]
        >>> ask_all(Patient(), [[], []], 2)
        [['1', '1'], ['1', '1']]
    """
    together = getattr(judge, "ask_all", None)
    if together is None:
        return _ask_one_by_one(judge, conversations, rounds)
    given = together(conversations, rounds) if conversations else []
    if len(given) != len(conversations):
        raise InputError(
            f"judge {judge_name(judge)!r} was asked about {len(conversations)} conversations and returned replies to "
            f"{len(given)}; its method ask_all must return one list of replies per conversation"
        )
    return [_checked(replies, rounds) for replies in given]


def _ask_one_by_one(judge: Judge, conversations: Sequence[Messages], rounds: int) -> list[list[str | None]]:
    replies: list[list[str | None]] = []
    first: Exception | None = None
    for messages in conversations:
        try:
            replies.append(_checked(judge(messages, rounds), rounds))
        except Exception as error:
            # A judge can be any function. Whatever its error, the rounds are lost and counted, and never become a
            # score.
            replies.append([None] * rounds)
            first = first or error
    if first is not None:
        # Without a count, so that a judge that always fails in the same way warns once, not with each wave of
        # questions.
        lost = f"the judge {judge_name(judge)!r} raised an error; the affected rounds are lost"
        warnings.warn(f"{lost}; first error: {_error_text(first)}", LostRoundsWarning, stacklevel=3)
    return replies


def _error_text(error: Exception) -> str:
    """An error's class and message, shortened, on one line and without control characters."""
    words = repr(str(error)[:_LONGEST_ERROR])
    return f"{type(error).__name__}: {words}" if str(error) else type(error).__name__


def _checked(replies: Sequence[str | None], rounds: int) -> list[str | None]:
    """The replies, None for each that is invalid."""
    if isinstance(replies, str) or len(replies) != rounds:
        return [None] * rounds
    return [reply if isinstance(reply, str) else None for reply in replies]


def parse_score(reply: str | None, allowed: Sequence[int] = (0, 1)) -> int | None:
    """The score in a reply such as `Score: 1`, `Result:1`, `1` or `**Score:** 2`.

    Args:
        reply: A reply, or None for a failed round.
        allowed: The scores of the scale.

    Returns:
        The score, or None for any other reply.

    Examples:
        >>> parse_score("**Score:** 2", allowed=(0, 1, 2)), parse_score("<think>A blur, so 0.</think>Score: 0")
        (2, 0)
        >>> parse_score("Score: 1 because the answer is close") is None
        True
    """
    match = _SCORE.fullmatch(_bare(reply))
    score = int(match[1]) if match else None
    return score if score in allowed else None


def parse_letter(reply: str | None, n_options: int) -> str | None:
    """The letter in a reply such as `B`, `(B)` or `Your output: B`; "X" for no option.

    Args:
        reply: A reply, or None for a failed round.
        n_options: Number of options.

    Returns:
        A letter of an option, "X", or None for any other reply.

    Examples:
        >>> parse_letter(" B.", 4), parse_letter("X", 4), parse_letter("E", 4), parse_letter("It is B", 4)
        ('B', 'X', None, None)
    """
    match = _LETTER.fullmatch(_bare(reply))
    letter = match[1] if match else None
    return letter if letter is not None and (letter == NO_OPTION or letter in ascii_uppercase[:n_options]) else None


def majority(votes: Sequence[str | int | None]) -> str | int | None:
    """The most frequent vote; None without a vote, or with a tie.

    Args:
        votes: Parsed replies; None, a failed round, is not a vote.

    Examples:
        >>> majority([1, 0, 1, None])
        1
        >>> majority(["A", "B"]) is None
        True
    """
    counts = Counter(vote for vote in votes if vote is not None).most_common(2)
    if not counts or (len(counts) == 2 and counts[0][1] == counts[1][1]):
        return None
    return counts[0][0]


def _bare(reply: str | None) -> str:
    """The reply without reasoning, decoration and surrounding blanks; "" if it is lost, unfinished or too long."""
    if reply is None:
        return ""
    found = split_reasoning(reply)
    if not found.is_finished or not reply.endswith(found.answer) or len(found.answer) > _LONGEST:
        return ""
    return _DECORATION.sub("", found.answer).strip()
