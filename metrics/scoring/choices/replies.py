"""The option that a reply names, by exact matching or as a declared answer."""

from collections import Counter
from collections.abc import Sequence
from string import ascii_uppercase
from typing import Literal

from eyechart.metrics.scoring.choices.declarations import declared_letters
from eyechart.metrics.scoring.choices.extraction import moved_letter, named_letters
from eyechart.metrics.scoring.choices.text import comparison_key
from eyechart.metrics.scoring.reasoning import (
    CONTENT_FILTER,
    LENGTH,
    REASONING,
    REFUSAL,
    STOPPED_EARLY,
    split_reasoning,
)

Extraction = Literal["declared", "strict"]
EXTRACTIONS: tuple[Extraction, ...] = ("declared", "strict")
CUT_OFF, UNFINISHED_REASONING, REFUSED, UNPARSEABLE = "cut_off", "unfinished_reasoning", "refused", "unparseable"
UNREAD = (CUT_OFF, UNFINISHED_REASONING, REFUSED, UNPARSEABLE)
"""Why a reply names no option."""
ENDS = {REFUSAL: REFUSED, CONTENT_FILTER: REFUSED, LENGTH: CUT_OFF, REASONING: UNFINISHED_REASONING}
"""The reason in `UNREAD` that follows from a finish reason."""


def read_reply(
    text: str, options: Sequence[str], extraction: Extraction = "declared", finish_reason: str | None = None
) -> tuple[str, str]:
    """Letters of the one option that a reply names, and the step that found it.

    A reply that was cut off, or stopped by a filter, might have continued with another option. In such a reply, an
    option counts only if the reply begins with it or declares it.

    Args:
        text: The model's reply, any string.
        options: Option texts, checked by `check_options`.
        extraction: "declared" also reads a declared answer if exact matching finds none; "strict" uses exact matching
            only, as the papers describe it.
        finish_reason: How the reply ended, one of `reasoning.FINISH_REASONS`; None if that is not known.

    Returns:
        The letters, as from `named_letters`, and the step, "exact" or "declared". If there are no letters: "" and the
        reason, one of `UNREAD`.

    Examples:
        >>> read_reply("C", ["Bright", "Dark", "Medium"])
        ('C', 'exact')
        >>> reply = "(A) is too much, (C) too little. The answer is (B)."
        >>> read_reply(reply, ["Bright", "Dark", "Medium"])
        ('B', 'declared')
        >>> read_reply(reply, ["Bright", "Dark", "Medium"], "strict")
        ('', 'unparseable')
        >>> read_reply("Let me see whether it is dark", ["Bright", "Dark", "Medium"], finish_reason="length")
        ('', 'cut_off')
    """
    is_cut = finish_reason in STOPPED_EARLY
    named, declared = named_letters(text, options), ""
    if not named or is_cut:
        declared = declared_letters(text, options, is_cut=is_cut)
    if named and (not is_cut or named == declared or _begins(text, named, options)):
        return named, "exact"
    if declared and extraction == "declared":
        return declared, "declared"
    return "", why_unread(text, finish_reason)


def _begins(text: str, letters: str, options: Sequence[str]) -> bool:
    """Whether a reply begins with an option's text, or is its letter."""
    key, option = comparison_key(text), comparison_key(options[ascii_uppercase.index(letters[0])])
    return len(key) == 1 or (key.startswith(option) and not key[len(option) : len(option) + 1].isalnum())


def why_unread(text: str, finish_reason: str | None) -> str:
    """Why a reply cannot be read: one of `UNREAD`.

    Args:
        text: A reply without a usable answer.
        finish_reason: As for `read_reply`.
    """
    reason = ENDS.get(finish_reason or "", UNPARSEABLE)
    found = split_reasoning(text)
    is_unfinished = not (found.is_finished or found.answer.strip())
    return UNFINISHED_REASONING if is_unfinished and reason != REFUSED else reason


def unread_shares(reasons: Sequence[str | None]) -> dict[str, float]:
    """Shares of unreadable replies, in [0, 1], by reason.

    Args:
        reasons: For each reply, one of `UNREAD`, or None or a step if it could be read. At least one reply.

    Examples:
        >>> unread_shares(["cut_off", None])
        {'cut_off': 0.5, 'unfinished_reasoning': 0.0, 'refused': 0.0, 'unparseable': 0.0}
    """
    counts = Counter(reasons)
    return {reason: counts[reason] / len(reasons) for reason in UNREAD}


def moved_reply(
    text: str,
    shown: Sequence[str],
    options: Sequence[str],
    extraction: Extraction = "declared",
    finish_reason: str | None = None,
) -> str:
    """Translate a reply into the letters of another order of the same options.

    A reply that does not name exactly one option is returned unchanged.

    Args:
        text: The reply.
        shown: The options in the order in which the model saw them.
        options: The options in the order of the letters to return.
        extraction: As for `read_reply`.
        finish_reason: As for `read_reply`.

    Examples:
        >>> moved_reply("A", ["Yes", "No"], ["No", "Yes"]), moved_reply("perhaps", ["Yes", "No"], ["No", "Yes"])
        ('B. Yes', 'perhaps')
    """
    letters = "" if list(shown) == list(options) else read_reply(text, shown, extraction, finish_reason)[0]
    if not letters:
        return text
    option = shown[ascii_uppercase.index(letters[0])]
    # Several letters mean that the reply gave a repeated text, without a letter.
    return option if len(letters) > 1 else f"{moved_letter(letters, shown, options)}. {option}"


def unplaced_reply(
    text: str,
    shown: Sequence[str],
    options: Sequence[str],
    extraction: Extraction = "declared",
    finish_reason: str | None = None,
) -> str:
    """Replace the letter of a repeated option text by the text, if the options were shown in another order.

    It is not known which of two equal texts is at which place, so the letter of either one stands for the text.

    Args:
        text: The reply.
        shown: The options in the order in which the model saw them.
        options: The options in their own order.
        extraction: As for `read_reply`.
        finish_reason: As for `read_reply`.

    Examples:
        >>> unplaced_reply("A", ["x", "x", "y"], ["x", "y", "x"]), unplaced_reply("C", ["x", "x", "y"], ["x", "y", "x"])
        ('x', 'C')
    """
    if list(shown) == list(options) or len(set(shown)) == len(shown):
        return text
    letters = read_reply(text, shown, extraction, finish_reason)[0]
    option = shown[ascii_uppercase.index(letters[0])] if letters else ""
    return option if letters and list(shown).count(option) > 1 else text
