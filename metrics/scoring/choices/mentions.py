"""Which options a reply names, by letter and by text.

These are the rules of exact matching in MMBench, Sec. 3.2, step 1, made precise. A letter needs a word boundary; if it
may be a word ("A", a lower-case letter), it also needs a cue. An option's text matches only as a complete phrase. A
negated mention does not count.
"""

from collections.abc import Iterator, Sequence
from string import ascii_uppercase
from typing import NamedTuple

from eyechart.metrics.scoring.choices.cues import BEFORE_LETTER, CUE_COPULAS, CUE_NOUNS, LABEL_NOUNS, Cues
from eyechart.metrics.scoring.choices.negation import JOINERS, Denials, find_denials
from eyechart.metrics.scoring.choices.text import Words, ends_sentence, is_cjk, option_breaks, option_phrase

_YES_NO = frozenset(map(option_phrase, ("Yes", "No", "是", "否", "是的", "不是", "はい", "いいえ", "예", "아니요")))

# The letters of n options, in upper case and in both cases.
_LETTERS_OF = [
    (frozenset(ascii_uppercase[:n]), frozenset(ascii_uppercase[:n] + ascii_uppercase[:n].lower()))
    for n in range(len(ascii_uppercase) + 1)
]
# A bare capital after one of these names something else: "image B", "vitamin C".
_OTHER_NAMES = frozenset(
    {"image", "picture", "photo", "figure", "fig", "panel", "plan", "vitamin", "grade", "type", "class", "hepatitis"}
    | {"angle", "triangle", "vertex", "line", "segment", "node", "side"}
    | {"letter", "letters", "point", "appendix", "part", "section", "channel", "number", "group", "team", "exhibit"}
)
# A letter that one of these joins to the word before or after it is part of a word, angle or unit: "USB-C", "C++".
_JOINING_BEFORE = ("-", "/", "\u00b0", "'", "+", "&", "@", "#", "\u2220", "\u25b3", "{~")
_JOINING_BEHIND = ("+", "#", "/", "'", "&")
_ARTICLES = frozenset("AI")
# In a longer text (in words), a bare letter is more often a variable, a point or a unit than a choice.
_LONG = 40
_BEHIND_VARIABLE = ("=", "_", "^", "+", "\\", "}", "->", "\u2192", "\u2248")
# What may follow the letter A but not the article.
_AFTER_LETTER = frozenset(
    {"is", "was", "are", "were", "because", "since", "and", "or", "nor", "as", "but", "due", "has", "it"}
    | {"seems", "appears", "looks", "fits", "matches", "would", "should", "could", "can"}
    | {"to", "through", "vs", "versus", "instead", "with", "for", "if", "when"}
)


class Mentions(NamedTuple):
    """The options that a reply names.

    Attributes:
        letters: Letters named as letters; at most two of them.
        texts: Letters of the options named by their text.
    """

    letters: frozenset[str]
    texts: frozenset[str]


_NOTHING = Mentions(frozenset(), frozenset())


def find_mentions(reply: Words, options: Sequence[str]) -> Mentions:
    """Options that a reply names, by letter and by text.

    Args:
        reply: The reply's words.
        options: At most 26 option texts.

    Returns:
        The named letters.

    Examples:
        >>> from eyechart.metrics.scoring.choices.text import split_words
        >>> find_mentions(split_words("B. It is dark, not bright"), ["Bright", "Dark"])
        Mentions(letters=frozenset({'B'}), texts=frozenset({'B'}))
    """
    if not reply.words:
        return _NOTHING
    phrases = zip(ascii_uppercase, map(option_phrase, options), strict=False)
    found = [letter for letter, phrase in phrases if phrase in reply.joined]
    positions = _single_letters(reply, len(options))
    if not found and not positions:
        return _NOTHING
    reading = _Reading(reply, options, find_denials(reply), Cues(reply))
    present = {letter: options[ascii_uppercase.index(letter)] for letter in found}
    letters, opening = _letters(reading, positions, list(present.values())) if positions else ((), 0)
    texts = {letter: option_phrase(option) for letter, option in present.items() if _named(reading, option, opening)}
    return Mentions(frozenset(letters), frozenset(_longest(texts) if len(texts) > 1 else texts))


class _Reading(NamedTuple):
    """A reply, its options, what it denies and where it announces an answer."""

    reply: Words
    options: Sequence[str]
    denials: Denials | None
    cues: Cues


def _named(reading: _Reading, option: str, opening: int) -> bool:
    """Whether an option is named by its text."""
    if option_phrase(option) in _YES_NO:
        return any(_asserts(reading, first, opening) for first in _affirmed(reading, option))
    return next(_affirmed(reading, option), None) is not None


def _affirmed(reading: _Reading, option: str) -> Iterator[int]:
    """Positions of the first words of an option's complete text, where it is not denied."""
    reply, denials, phrase = reading.reply, reading.denials, option_phrase(option)
    length = phrase.count("\n") - 1
    position, index, counted = reply.joined.find(phrase), 0, 0
    while position >= 0:
        # Counting from the last match keeps the search linear.
        index += reply.joined.count("\n", counted, position)
        counted = position
        denied = denials and denials.text(index, index + length)
        if not denied and not _crosses_sentence(reply.gaps[index + 1 : index + length], option):
            yield index
        position = reply.joined.find(phrase, position + len(phrase) - 1)


def _crosses_sentence(gaps: Sequence[str], option: str) -> bool:
    """Whether a sentence ends between an option's words, where no sentence ends in the option itself."""
    if gaps.count(" ") == len(gaps):
        return False
    return any(ends_sentence(gap) and not allowed for gap, allowed in zip(gaps, option_breaks(option), strict=True))


def _asserts(reading: _Reading, position: int, opening: int) -> bool:
    """Whether a yes or no at this word is the answer: it begins the reply or directly follows "answer is"."""
    if position <= opening:
        return True
    folded, gaps = reading.reply.folded, reading.reply.gaps
    # A copula that continues the word is not the answer yes: "答案是否" says no.
    if folded[position] in CUE_COPULAS and position + 1 < len(folded) and not gaps[position + 1]:
        return False
    if reading.cues.announce(position, nouns_only=True):
        return True
    # "yes or no" and "yes/no" name both.
    joined = folded[opening + 1] in JOINERS
    return position == opening + 1 + joined and (joined or "/" in gaps[position])


def _longest(texts: dict[str, str]) -> list[str]:
    """Letters of the phrases that are not part of another one."""
    return [
        letter
        for letter, phrase in texts.items()
        if not any(phrase in other and phrase != other for other in texts.values())
    ]


def _single_letters(reply: Words, n_options: int) -> list[int]:
    """Positions of the options' letters.

    A lower-case letter inside a reply is usually an article or another word, unless a cue is directly before it.
    """
    upper, letters = _LETTERS_OF[n_options]
    if letters.isdisjoint(reply.words):
        return []
    folded = reply.folded
    return [
        index
        for index, word in enumerate(reply.words)
        if word in letters and (word in upper or index == 0 or folded[index - 1] in BEFORE_LETTER)
    ]


def _letters(reading: _Reading, positions: Sequence[int], present: Sequence[str]) -> tuple[set[str], int]:
    """Letters named as letters, at most two, and the first word after an opening label such as "B." or "Option B"."""
    words, folded, gaps = reading.reply.words, reading.reply.folded, reading.reply.gaps
    upper, _ = _LETTERS_OF[len(reading.options)]
    denials, last = reading.denials, len(words) - 1
    # Long texts repeat themselves, so each combination of neighbours is judged only once.
    judged: dict[tuple[str, ...], bool | None] = {}
    named: set[str] = set()
    opening = 0
    covered: set[int] | None = None
    for position in positions:
        word = words[position]
        letter = word.upper()
        if (letter in named and position > 1) or (covered and position in covered):
            continue
        if denials and denials.negated[position]:
            continue
        previous, following = folded[position - 1] if position else "", words[position + 1] if position < last else ""
        near = (previous, gaps[position], word, gaps[position + 1], following)
        if near not in judged:
            judged[near] = _by_neighbours(*near, upper)
        names = judged[near] and (last < _LONG or _is_set_off(reading.reply, position))
        if names is False or (names is None and not _announced(reading, position)):
            continue
        if denials and denials.letter(position):
            continue
        if covered is None:
            covered = _covered(reading, present)
            if position in covered:
                continue
        named.add(letter)
        if position == 0 or (position == 1 and folded[0] in CUE_NOUNS):
            opening = position + 1
        if len(named) == 2:
            break
    return named, opening


def _covered(reading: _Reading, present: Sequence[str]) -> set[int]:
    """Positions of words inside the options' own texts: the D of "Vitamin D" is not a letter."""
    covered: set[int] = set()
    for option in present:
        words = option_phrase(option)[1:-1].split("\n")
        if len(words) > 1 and 1 in map(len, words):
            for first in _affirmed(reading, option):
                covered.update(range(first, first + len(words)))
    return covered


def _by_neighbours(
    previous: str, before: str, word: str, after: str, following: str, letters: frozenset[str]
) -> bool | None:
    """Whether a single letter is a choice and not a word, initial or unit, as far as its neighbours show it.

    Args:
        previous: The folded word before the letter; "" if missing.
        before: The gap before the letter.
        word: The letter.
        after: The gap after the letter.
        following: The word after the letter; "" if missing.
        letters: The options' letters.

    Returns:
        None if it depends on words further away.
    """
    # An article, as in almost every long reply.
    if word in ("a", "i") and after == " " and previous and following:
        return False
    # After a point, a hyphen or an angle sign; or at an end of a range, "A through E".
    if "through" in (previous, following) or (previous and (before == "." or _joins(before))):
        return False
    quoted = before.endswith("'") and after.startswith("'")
    if (after.startswith(_JOINING_BEHIND) and not quoted) or (after == "-" and following):
        return False
    # "A.M.", "U.S.": single letters joined by points.
    if after == "." and len(following) == 1 and not is_cjk(following):
        return False
    closed = not following or _closes(after, following)
    if word.islower():
        if not previous and (not following or after.startswith((".", ")", ":", "]"))):
            return True
        return False if not previous or (word in "ai" and not closed) else None
    if (previous in _OTHER_NAMES or previous.isdecimal()) and not before.strip():
        return False
    if word not in _ARTICLES or closed or previous in LABEL_NOUNS or following in letters:
        return True
    if (word == "A" and following.casefold() in _AFTER_LETTER) or (previous and is_cjk(previous) and not before):
        return True
    return None if not previous or previous in BEFORE_LETTER else False


def _is_set_off(reply: Words, position: int) -> bool:
    """Whether brackets, a line break, a cue or other letters of a list set off a letter that is not a variable."""
    before, after = reply.gaps[position : position + 2]
    if after.strip().startswith(_BEHIND_VARIABLE):
        return False
    previous = reply.folded[position - 1] if position else ""
    if not previous or previous in BEFORE_LETTER or any(mark in before for mark in "([*\"'`:\n"):
        return True
    return _is_listed(reply, position, -1, before) or _is_listed(reply, position, 1, after)


def _is_listed(reply: Words, position: int, step: int, gap: str) -> bool:
    """Whether a comma, "and" or "or" joins a letter to the letter before it (`step` -1) or after it (1)."""
    other = position + step
    if 0 <= other < len(reply.words) and reply.folded[other] in JOINERS:
        other += step
    elif "," not in gap:
        return False
    return 0 <= other < len(reply.words) and len(reply.words[other]) == 1 and reply.words[other].isupper()


def _announced(reading: _Reading, position: int) -> bool:
    """Whether a letter that may be a word is the choice: an a or i, or an A or I that is followed by a word."""
    reply, word = reading.reply, reading.reply.words[position]
    behind_cue = reading.cues.announce(position)
    if word.islower() or not (behind_cue or position == 0):
        return behind_cue
    if position and reply.words[position - 1].islower():
        return ":" not in reply.gaps[position]
    own = option_phrase(reading.options[ascii_uppercase.index(word)])[1:-1].split("\n")
    return reply.folded[position + 1 : position + 1 + len(own)] == own


def _joins(gap: str) -> bool:
    """Whether a gap joins the letter after it to the word before it; a quotation mark after a blank does not."""
    return gap.endswith(_JOINING_BEFORE) and not (gap.endswith("'") and len(gap) > 1)


def _closes(gap: str, following: str) -> bool:
    """Whether the gap after a letter sets it off from the next word."""
    return (not gap and is_cjk(following)) or (
        bool(gap) and (not gap[0].isspace() or "\n" in gap or any(mark in gap for mark in "-\u2013\u2014:=>"))
    )
