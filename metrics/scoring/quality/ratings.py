"""Ratings from 1 to 5 in replies: Q-Bench, Sec. 2.4.1 (https://arxiv.org/abs/2309.14181)."""

import re
from collections.abc import Sequence

from eyechart.metrics.scoring.choices.replies import why_unread
from eyechart.metrics.scoring.items import Items
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
    """The rating from 1 to 5 that a reply gives: the number at its beginning, otherwise the only number in it.

    Reasoning and the scale itself ("out of 5") are ignored. None if there is no such number, if it is
    out of range, or if the reply is a numbered list.

    Examples:
        >>> read_rating("4"), read_rating("I would give it a 3 out of 5."), read_rating("Good.")
        (4.0, 3.0, None)
    """
    text = split_reasoning(text).answer
    if _LIST.match(text):
        return None
    left = _SCALE.sub(" ", text)
    first = _FIRST.match(left)
    numbers = [first[1]] if first else _ANY.findall(left)
    ratings = {float(number.replace(",", ".").replace("\u2212", "-")) for number in numbers}
    return ratings.pop() if len(ratings) == 1 and 1 <= min(ratings) <= 5 else None


def read_ratings(texts: Sequence[str], finish_reasons: Sequence[str | None]) -> Items:
    """The rating in each reply as `quality_score`, and as `step` the reason why a reply gives none."""
    ratings = [read_rating(text) for text in texts]
    steps = [
        why_unread(text, reason) if rating is None else None
        for text, reason, rating in zip(texts, finish_reasons, ratings, strict=True)
    ]
    return {"quality_score": ratings, "step": steps}
