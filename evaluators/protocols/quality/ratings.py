"""Reads the rating from a reply to the numerical instruction: Q-Bench, Sec. 2.4.1."""

import re

from eyechart.metrics.scoring.reasoning import split_reasoning

_NUMBER = r"\d+(?:[.,]\d+)?"
# The scale itself, which replies often repeat: "from 1 to 5", "1-5", "out of 5", "/5".
_RANGE = rf"\b{_NUMBER}\s*(?:-|\u2013|\u2014|to)\s*{_NUMBER}\b"
_SCALE = re.compile(rf"{_RANGE}|(?:/|\bof)\s*(?:{_RANGE}|{_NUMBER}\b)", re.IGNORECASE)
# Ends a number: "4th", "80%" and a version such as 4.2.1 are not ratings.
_END = r"(?![\w%]|[.,]\d)"
# Allowed between the beginning of a reply and its number; a minus sign belongs to the number.
_BETWEEN = r"(?:[^\w\u2212-]|-(?!\d))*"
_FIRST = re.compile(rf"{_BETWEEN}(?:(?:quality|score|rating|is)\b{_BETWEEN})*({_NUMBER}){_END}", re.IGNORECASE)
_ANY = re.compile(rf"(?<![\w.,])([-\u2212]?{_NUMBER}){_END}")
# A numbered list: its first number is not a rating.
_LIST = re.compile(r"\s*1[.)]\s.*\n\s*2[.)]\s", re.DOTALL)


def read_rating(text: str) -> float | None:
    """The rating from 1 to 5 that a reply gives.

    Args:
        text: The reply; reasoning before it is ignored.

    Returns:
        The number at the beginning of the reply, otherwise the only number in it, not counting the scale itself. None
        if there is no such number, if the reply is a numbered list, or if the number is out of range.

    Examples:
        >>> read_rating("4"), read_rating("I would give it a 3 out of 5."), read_rating("Good.")
        (4.0, 3.0, None)
    """
    text = split_reasoning(text).answer
    if _LIST.match(text):
        return None
    left = _SCALE.sub(" ", text)
    first = _FIRST.match(left)
    found = {_value(first[1])} if first else {_value(number) for number in _ANY.findall(left)}
    if len(found) != 1:
        return None
    (rating,) = found
    return rating if 1 <= rating <= 5 else None


def _value(number: str) -> float:
    return float(number.replace(",", ".").replace("\u2212", "-"))
