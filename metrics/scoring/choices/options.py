"""The options of a question: their texts, and their letters in another order."""

from collections.abc import Sequence
from string import ascii_uppercase

MOST_OPTIONS = len(ascii_uppercase)


def right_text(reference: str, options: Sequence[str]) -> str:
    """The text of the correct option; of several accepted options, their texts with "or"."""
    return " or ".join(options[ascii_uppercase.index(letter)] for letter in reference)


def moved_letter(letter: str, options: Sequence[str], shown: Sequence[str]) -> str:
    """The letter of an option after the same options were shown in another order.

    Repeated texts keep their order: the first one in `options` is the first one in `shown`.

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
