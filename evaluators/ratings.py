"""Reading the number with which a reply rates an image: Q-Bench, Sec. 2.4.1, the numerical instruction."""

import re

_NUMBER = r"\d+(?:[.,]\d+)?"
# The scale itself, which replies often repeat: "from 1 to 5", "1-5", "out of 5", "/5".
_SCALE = re.compile(
    rf"(?:from\s+)?\b{_NUMBER}\s*(?:-|\u2013|\u2014|to)\s*{_NUMBER}\b|(?:/|\bout\s+of|\bon\s+a\s+scale\s+of)\s*{_NUMBER}\b",
    re.IGNORECASE,
)
_FIRST = re.compile(rf"\W*(?:(?:quality|score|rating)\W+(?:is\W+)?)*({_NUMBER})(?![\w%])", re.IGNORECASE)
_ANY = re.compile(rf"(?<![\w.,])([-\u2212]?{_NUMBER})(?![\w%])")


def read_rating(text: str, lowest: float = 1.0, highest: float = 5.0) -> float | None:
    """The number that a reply gives.

    Args:
        text: The reply.
        lowest: The lowest number that was asked for.
        highest: The highest.

    Returns:
        The number with which the reply begins, or else the only one in it, the scale aside; None where there is none,
        where there are several, or where it is out of range.

    Examples:
        >>> read_rating("4"), read_rating("I would give it a 3 out of 5."), read_rating("Good.")
        (4.0, 3.0, None)
    """
    left = _SCALE.sub(" ", text)
    first = _FIRST.match(left)
    found = {_value(first[1])} if first else {_value(number) for number in _ANY.findall(left)}
    if len(found) != 1:
        return None
    (rating,) = found
    return rating if lowest <= rating <= highest else None


def _value(number: str) -> float:
    return float(number.replace(",", ".").replace("\u2212", "-"))
