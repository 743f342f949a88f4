"""The options of a question: their number, their texts, and their letters in another order."""

from collections.abc import Sequence
from string import ascii_uppercase

from eyechart.metrics.scoring.errors import InputError


def check_options(options: Sequence[str], row: int | None = None) -> None:
    """Check that there are not more options than letters.

    Args:
        options: The option texts.
        row: Row number for the message, if there are many lists.

    Raises:
        InputError: There are more options than letters.
    """
    where = "options" if row is None else f"choices[{row}]"
    if len(options) > len(ascii_uppercase):
        raise InputError(f"{where} contains {len(options)} options; at most {len(ascii_uppercase)} are allowed")


def right_text(reference: str, options: Sequence[str]) -> str:
    """The text of the correct option; of several accepted options, their texts.

    Examples:
        >>> right_text("AC", ["red", "blue", "crimson"])
        'red or crimson'
    """
    return " or ".join(options[ascii_uppercase.index(letter)] for letter in reference)


def moved_letter(letter: str, options: Sequence[str], shown: Sequence[str]) -> str:
    """The letter of an option after the options were shown in another order.

    Repeated texts keep their order: the first one in `options` is the first one in `shown`.

    Args:
        letter: The option's letter in `options`.
        options: Option texts.
        shown: The same texts in any order.

    Examples:
        >>> moved_letter("C", ["athlete", "officer", "athlete"], ["officer", "athlete", "athlete"])
        'C'
    """
    if list(shown) == list(options):
        return letter
    place = ascii_uppercase.index(letter)
    text = options[place]
    places = [index for index, option in enumerate(shown) if option == text]
    return ascii_uppercase[places[list(options[:place]).count(text)]]
