"""The option that a reply names, by exact matching or as a declared answer.

Protocol: MMBench, Sec. 3.2, step 1 (https://arxiv.org/abs/2307.06281): a choice is extracted if one and only one option
matches the reply, by its letter or by its text. The paper leaves the matching open. Here a reply is read as claims (see
`claims`):

- Exact matching ("strict"): all mentions, or all containers, name the same option. Texts without a letter do not count
  in a reply that refuses to answer, and in a longer reply the declared answer must be that option too.
- A declared answer: the claims of the highest rank, of which the last one counts. Two different ones count as none,
  unless there is a turn ("Wait", "However") between them.

Departures: the paper skips every "A", because it may be an article (footnote 1), and has no rule for negations. A judge
reads verbose replies there; "declared" reads them without one. A letter names only its own option; a text names all
options with this text. Parsing never guesses.
"""

import functools
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from string import ascii_uppercase
from typing import Literal

from eyechart.metrics.scoring.choices.claims import Claim, Claims, Rank
from eyechart.metrics.scoring.choices.options import MOST_OPTIONS, moved_letter
from eyechart.metrics.scoring.choices.text import ends, normalise, strip_markdown
from eyechart.metrics.scoring.choices.values import Values
from eyechart.metrics.scoring.errors import InputError
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

_WRAPPING = " \t\n*_`\"'()[]{}.,:;!"
# Characters of replies that are read once for all models, as short ones are often the same.
_SHORT = 200
_FINAL = (".", "!", "?", "\u3002", ":", "}", "]")
# "Wait", "不对,".
_TURN = re.compile(r"c|[.?\n]X[,;]")
# In a longer text, options are mentioned on the way.
_LONG, _VERBATIM = 120, 1024


def extract_choice(text: str, options: Sequence[str]) -> str | None:
    r"""Letter of the one option that a reply names; None if it names no option or more than one.

    Args:
        text: The model's reply, any string.
        options: The option texts in the order shown; the first is A. At most 26; of a repeated text, the first counts.

    Raises:
        InputError: `options` contains more than 26 texts.

    Examples:
        >>> extract_choice("The answer is dark.", ["Bright", "Dark", "Medium", "Dull"])
        'B'
        >>> extract_choice("**C**", ["Bright", "Dark", "Medium"])
        'C'
        >>> extract_choice("It is not blurry", ["Sharp", "Blurry"]) is None
        True
        >>> extract_choice("A. Blurry", ["Sharp", "Blurry"]) is None
        True
    """
    if len(options) > MOST_OPTIONS:
        raise InputError(f"options contains {len(options)} texts; at most {MOST_OPTIONS} are allowed")
    return read_reply(text, options, "strict")[0][:1] or None


def read_reply(
    text: str, options: Sequence[str], extraction: Extraction = "declared", finish_reason: str | None = None
) -> tuple[str, str]:
    """Letters of the one option that a reply names, and the step that found it.

    In a reply that was cut off, or stopped by a filter, an option counts only if the reply begins with it or declares
    it.

    Args:
        text: The model's reply, any string.
        options: Option texts, at most 26.
        extraction: "declared" also reads declared answers; "strict" uses exact matching only, as in the papers.
        finish_reason: How the reply ended, one of `reasoning.FINISH_REASONS`; None if that is not known.

    Returns:
        The letters and the step, "exact" or "declared"; several letters, in order, if the reply gives an option text
        that is repeated. If it names no option or more than one: "" and the reason, one of `UNREAD`.

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
    read = _read_short if len(text) <= _SHORT else _read
    return read(text, tuple(options), extraction, finish_reason)


def _read(text: str, options: tuple[str, ...], extraction: Extraction, finish_reason: str | None) -> tuple[str, str]:
    answer = split_reasoning(text).answer
    if letters := _verbatim(answer, options):
        return letters, "exact"
    claims, is_cut = Claims(ends(answer), options), finish_reason in STOPPED_EARLY
    named = _exact(claims)
    declared = _declared(claims, is_cut) if not named or is_cut else ""
    # It begins with an option's text.
    begins = claims.code(0) == "O" and claims.letters[0] == named
    if named and (not is_cut or named == declared or begins):
        return named, "exact"
    if declared and extraction == "declared":
        return declared, "declared"
    return "", why_unread(text, finish_reason)


# A board has hundreds of models.
_read_short = functools.lru_cache(2**16)(_read)


def why_unread(text: str, finish_reason: str | None) -> str:
    """Why a reply without a usable answer cannot be read: one of `UNREAD`."""
    found, reason = split_reasoning(text), ENDS.get(finish_reason or "", UNPARSEABLE)
    is_unfinished = not (found.is_finished or found.answer.strip())
    return UNFINISHED_REASONING if is_unfinished and reason != REFUSED else reason


def unread_shares(reasons: Sequence[str | None]) -> dict[str, float]:
    """Shares of unreadable replies, in [0, 1], by reason; other values of `reasons` are replies that were read.

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
    """Translate a reply on options as `shown` into the letters of `options`, the same texts in another order.

    A reply that does not name exactly one option is returned unchanged.

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


def _verbatim(answer: str, options: Sequence[str]) -> str:
    """Letters of an answer that is a letter or the text of an option, and nothing else."""
    if len(answer) > _VERBATIM:
        return ""
    text, values = strip_markdown(normalise(answer)), Values.of(tuple(options))
    lone = text.strip(_WRAPPING).upper() if len(text) < 16 else ""
    return lone if len(lone) == 1 and values.has(lone) else values.same(text)


def _exact(claims: Claims) -> str:
    """Letters of the one option that all containers name or, without any, all mentions."""
    if claims.containers:
        return _declared(claims) if len({claim.letters for claim in claims.containers}) == 1 else ""
    if claims.breaks_off and not _declared(claims):
        return ""
    if "L" in claims.codes:
        return claims.unanimous
    # In a longer text, options are mentioned on the way.
    is_long = len(claims.stripped) > _LONG
    is_none = _declared(claims) != claims.unanimous if is_long else claims.refuses(0, claims.end)
    return "" if is_none else claims.unanimous


def _declared(claims: Claims, is_cut: bool = False) -> str:
    """Letters of the option of the highest claims, the last one after a turn."""
    firm, is_cut = claims.firm, is_cut or claims.breaks_off
    if not firm:
        is_cut = is_cut or (len(claims.starts) > 1 and not claims.stripped.rstrip("*_\"')$ <>").endswith(_FINAL))
        named = {claim.letters for claim in ([] if is_cut else claims.verdicts)}
        return named.pop() if len(named) == 1 else ""
    last = firm[-1]
    if is_cut and _is_turned(claims, last, claims.end, "[.?\n]B"):
        return ""
    # "Option B fits best. Without more information, it is not possible to tell."
    if not is_cut and last.rank < Rank.LABEL and claims.refuses(claims.last, claims.end):
        return ""
    # "The answer is A. Wait, it is B."
    turn = _TURN.search(claims.codes, 2 * last.end, 2 * claims.end)
    behind = {claim.letters for claim in claims.verdicts if 2 * claim.end > turn.start()} if turn else set()
    if behind := behind - {last.letters}:
        return behind.pop() if len(behind) == 1 and last.rank is not Rank.CONTAINER else ""
    # "B. Dark\nTherefore, it is bright."
    if not last.start and {claim.letters for claim in claims.verdicts if claim.rank is Rank.VERDICT} - {last.letters}:
        return ""
    # "Answer: A\nC"
    if last.rank is Rank.LABEL and any(claim.rank is Rank.ANSWER and not claim.letters for claim in firm):
        return ""
    top = next((claim.start for claim in firm if claim.rank is Rank.CONTAINER), 0)
    lettered = [claim for claim in firm if claim.letters and claim.start >= top]
    return "" if any(_contradicts(claims, *pair) for pair in pairwise(lettered)) else last.letters


def _contradicts(claims: Claims, before: Claim, after: Claim) -> bool:
    """Whether two successive claims differ, without a turn between them."""
    if before.letters == after.letters or after.rank >= Rank.LABEL > before.rank:
        return False
    return not _is_turned(claims, before, after.start, "[.?\n;,]B")


def _is_turned(claims: Claims, claim: Claim, end: int, contrast: str) -> bool:
    """Whether words behind a claim withdraw it."""
    between = claims.codes[2 * claim.end : 2 * end]
    # A label at the very beginning is no result of reasoning, so no "however" concerns it.
    is_first = claim.rank is Rank.LABEL and not claim.start
    return _TURN.search(between) is not None or (not is_first and re.search(contrast, between) is not None)
