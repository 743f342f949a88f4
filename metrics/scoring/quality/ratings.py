"""Ratings from 1 to 5 in replies: Q-Bench, Sec. 2.4.1 (https://arxiv.org/abs/2309.14181)."""

import re
from collections.abc import Sequence

from eyechart.metrics.scoring.choices.lexer import GAP, Reply
from eyechart.metrics.scoring.choices.replies import why_unread
from eyechart.metrics.scoring.choices.text import ends, normalise
from eyechart.metrics.scoring.inputs import Items
from eyechart.metrics.scoring.reasoning import split_reasoning

_NUMBER = re.compile(r"(?:minus)?\d+(?:[.,]\d+)?")
# ".5" is a half.
_FRACTION = re.compile(r"[\s:=*(]\.\Z")
_BEFORE_RATING = re.compile(rf"(?:{GAP}[v=Dt])*{GAP}")
_ANSWER = re.compile("<answer>(.*?)</answer>", re.DOTALL | re.IGNORECASE)
# A numbered list: its first number is not a rating.
_LIST = re.compile(r"\s*1[.)]\s.*\n\s*2[.)]\s", re.DOTALL)


def read_rating(text: str) -> float | None:
    """The rating from 1 to 5 that a reply gives: the number at its beginning, otherwise the only number in it, or None.

    Reasoning and the scale itself ("out of 5") are ignored, and what is around the last `<answer>...</answer>`, if any,
    as in VisualQuality-R1. A numbered list gives no rating.

    Examples:
        >>> read_rating("4"), read_rating("I would give it a 3 out of 5."), read_rating("Good.")
        (4.0, 3.0, None)
    """
    text = ends(split_reasoning(text).answer)
    text = [text, *_ANSWER.findall(text)][-1]
    if _LIST.match(text):
        return None
    reply = Reply(normalise(text), ())
    numbers = [i for i, word in enumerate(reply.words) if _NUMBER.fullmatch(word) and not _is_other(reply, i)]
    if numbers and _BEFORE_RATING.fullmatch(reply.codes, 0, 2 * numbers[0] + 1):
        numbers = numbers[:1]
    ratings = {_value(reply.words[i]) for i in numbers}
    return ratings.pop() if len(ratings) == 1 and 1 <= min(ratings) <= 5 else None


def _value(word: str) -> float:
    return float(word.replace(",", ".").replace("minus", "-"))


def _is_other(reply: Reply, i: int) -> bool:
    """Whether a number is part of something longer ("80%", 4分) or of the scale: "from 1 to 5", "out of 5", "/5"."""
    gap, is_last = reply.gaps[i + 1], i + 1 == reply.n_words
    if gap.startswith("%") or (not gap and not is_last) or "/" in reply.gaps[i] or reply.words[i - 1 : i] == ["of"]:
        return True
    if _FRACTION.search(reply.gaps[i] if i else f" {reply.gaps[i]}") or _is_of_another_scale(reply, i):
        return True
    ends = ((i - 2, i), (i - 1, i), (i, i + 1), (i, i + 2))
    return any(first >= 0 and last < reply.n_words and _is_range(reply, first, last) for first, last in ends)


def _is_of_another_scale(reply: Reply, i: int) -> bool:
    """Whether a number is out of another one than 5: "8/10", "8 out of 100"."""
    words = reply.words[i + 1 : i + 4]
    if reply.gaps[i + 1].strip() != "/":
        words = words[2:] if words[:2] == ["out", "of"] else []
    return bool(words and _NUMBER.fullmatch(words[0]) and _value(words[0]) != 5)


def _is_range(reply: Reply, first: int, last: int) -> bool:
    """Whether two words are the numbers of a range: "1-5", "1 to 5"."""
    gap = reply.gaps[last].strip()
    is_joined = reply.code(first + 1) == "&" if last - first == 2 else gap in ("-", "\u2013", "\u2014")
    return is_joined and all(_NUMBER.fullmatch(reply.words[i]) for i in (first, last))


def read_ratings(texts: Sequence[str], finish_reasons: Sequence[str | None]) -> Items:
    """The rating in each reply as `quality_score`, and as `step` the reason why a reply gives none."""
    ratings = [read_rating(text) for text in texts]
    steps = [
        why_unread(text, reason) if rating is None else None
        for text, reason, rating in zip(texts, finish_reasons, ratings, strict=True)
    ]
    return {"quality_score": ratings, "step": steps}
