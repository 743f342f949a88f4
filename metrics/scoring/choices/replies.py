"""The option that a reply names: by exact matching, else by declaring it."""

from collections.abc import Sequence
from string import ascii_uppercase
from typing import Literal

from eyechart.metrics.scoring.choices.declarations import declared_letters
from eyechart.metrics.scoring.choices.extraction import moved_letter, named_letters

Extraction = Literal["declared", "strict"]
EXTRACTIONS: tuple[Extraction, ...] = ("declared", "strict")


def read_reply(text: str, options: Sequence[str], extraction: Extraction = "declared") -> tuple[str, str]:
    """Letters of all places of the option that a reply names, and the step that found it.

    Args:
        text: The model's reply, any string.
        options: Option texts that `check_options` has passed.
        extraction: "declared" reads an answer that is declared where exact matching finds none; "strict" is exact
            matching alone, as the papers describe it.

    Returns:
        The letters, as `named_letters` gives them, and "exact", "declared" or "unmatched".

    Examples:
        >>> read_reply("C", ["Bright", "Dark", "Medium"])
        ('C', 'exact')
        >>> reply = "(A) is too much, (C) too little. The answer is (B)."
        >>> read_reply(reply, ["Bright", "Dark", "Medium"])
        ('B', 'declared')
        >>> read_reply(reply, ["Bright", "Dark", "Medium"], "strict")
        ('', 'unmatched')
    """
    if letters := named_letters(text, options):
        return letters, "exact"
    if extraction == "declared" and (letters := declared_letters(text, options)):
        return letters, "declared"
    return "", "unmatched"


def moved_reply(text: str, shown: Sequence[str], options: Sequence[str], extraction: Extraction = "declared") -> str:
    """A reply in the letters of another order of the same options.

    A reply that names no single option is returned unchanged.

    Args:
        text: The reply.
        shown: The options as the reply saw them.
        options: The order whose letters are wanted.
        extraction: As for `read_reply`.

    Examples:
        >>> moved_reply("A", ["Yes", "No"], ["No", "Yes"]), moved_reply("perhaps", ["Yes", "No"], ["No", "Yes"])
        ('B. Yes', 'perhaps')
    """
    letters = "" if list(shown) == list(options) else read_reply(text, shown, extraction)[0]
    if not letters:
        return text
    option = shown[ascii_uppercase.index(letters[0])]
    # A text that stands several times was named without a letter.
    return option if len(letters) > 1 else f"{moved_letter(letters, shown, options)}. {option}"


def unplaced_reply(text: str, shown: Sequence[str], options: Sequence[str], extraction: Extraction = "declared") -> str:
    """A reply to options in another order than `options`, in which a letter of a repeated text names no one place.

    Nothing tells which of two equal texts stands where, so the letter of either is the text.

    Args:
        text: The reply.
        shown: The options as the reply saw them.
        options: The order in which they have letters.
        extraction: As for `read_reply`.

    Examples:
        >>> unplaced_reply("A", ["x", "x", "y"], ["x", "y", "x"]), unplaced_reply("C", ["x", "x", "y"], ["x", "y", "x"])
        ('x', 'C')
    """
    if list(shown) == list(options) or len(set(shown)) == len(shown):
        return text
    letters = read_reply(text, shown, extraction)[0]
    option = shown[ascii_uppercase.index(letters[0])] if letters else ""
    return option if letters and list(shown).count(option) > 1 else text
