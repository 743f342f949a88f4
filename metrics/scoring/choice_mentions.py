"""Which options a reply names, by letter and by text.

The rules are those of exact matching in MMBench, Sec. 3.2, step 1, made precise: a letter needs a boundary and, where
it may be a word of its own ("A", a lower-case letter), a cue; an option's text matches as a whole phrase; a negated
mention does not count. Each function takes the words of `choice_text.split_words` and returns letters.
"""

from collections.abc import Iterator
from collections.abc import Sequence
from functools import lru_cache
from string import ascii_uppercase
from typing import NamedTuple

from eyechart.metrics.scoring.choice_negation import CLAUSE_MARKS
from eyechart.metrics.scoring.choice_negation import JOINERS
from eyechart.metrics.scoring.choice_negation import Denials
from eyechart.metrics.scoring.choice_negation import find_denials
from eyechart.metrics.scoring.choice_text import Phrase
from eyechart.metrics.scoring.choice_text import Words
from eyechart.metrics.scoring.choice_text import ends_sentence
from eyechart.metrics.scoring.choice_text import is_cjk
from eyechart.metrics.scoring.choice_text import option_phrase

_YES_NO = frozenset({("yes",), ("no",), *map(tuple, ["是", "否", "是的", "不是", "はい", "いいえ", "예", "아니요"])})

_CUE_NOUNS = frozenset({"answer", "option", "choice", "response", "output", "答案", "选项", "選項"})
_LABEL_NOUNS = frozenset({"option", "choice"})
_CUE_VERBS = frozenset({"choose", "select", "pick", "选", "選", "择", "擇"})
_CUE_COPULAS = frozenset({"is", "be", "was", "是", "为", "為"})
_CUE_REACH = 6
_BEFORE_LETTER = _CUE_NOUNS | _LABEL_NOUNS | _CUE_VERBS | _CUE_COPULAS | frozenset("案项項")

# The letters of so many options, upper and lower case.
_LETTERS_OF = [
    (frozenset(ascii_uppercase[:n]), frozenset(ascii_uppercase[:n].lower())) for n in range(len(ascii_uppercase) + 1)
]
# A bare capital behind one of these names something else: "image B", "vitamin C".
_OTHER_NAMES = frozenset(
    {"image", "picture", "photo", "figure", "fig", "panel", "plan", "vitamin", "grade", "type", "class", "hepatitis"}
    | {"letter", "letters", "point", "appendix", "part", "section", "channel", "number", "group", "team", "exhibit"}
)
# A letter that one of these joins to the word before or behind it is part of that word: "USB-C", "C++".
_JOINING_BEFORE = ("-", "/", "\u00b0", "'", "+", "&", "@", "#")
_JOINING_BEHIND = ("+", "#", "/", "'", "&")
_ARTICLES = frozenset("AI")
# What may follow the letter A but not the article.
_AFTER_LETTER = frozenset(
    {"is", "was", "are", "were", "because", "since", "and", "or", "nor", "as", "but", "due", "has", "it"}
    | {"seems", "appears", "looks", "fits", "matches", "would", "should", "could", "can"}
    | {"to", "through", "vs", "versus", "instead", "with", "for", "if", "when"}
)


class Mentions(NamedTuple):
    """What a reply names.

    Attributes:
        letters: Letters named as letters; two of them where there are more.
        texts: Letters of the options named by their text.
    """

    letters: frozenset[str]
    texts: frozenset[str]


def find_mentions(reply: Words, options: Sequence[str]) -> Mentions:
    """Options that a reply names, by letter and by text.

    Args:
        reply: The reply's words.
        options: At most 26 option texts.

    Returns:
        The named letters.

    Examples:
        >>> from eyechart.metrics.scoring.choice_text import split_words
        >>> find_mentions(split_words("B. It is dark, not bright"), ["Bright", "Dark"])
        Mentions(letters=frozenset({'B'}), texts=frozenset({'B'}))
    """
    phrases = {
        letter: phrase
        for letter, phrase in zip(ascii_uppercase, map(option_phrase, options), strict=False)
        if phrase.words and phrase.joined in reply.joined
    }
    candidates = _candidates(reply, len(options))
    if not phrases and not candidates:
        return Mentions(frozenset(), frozenset())
    denials = find_denials(reply)
    letters, opening = _letters(reply, candidates, options, denials, list(phrases.values()))
    texts = {letter: phrase for letter, phrase in phrases.items() if _named(reply, phrase, denials, opening)}
    return Mentions(frozenset(letters), frozenset(_longest(texts)))


def _named(reply: Words, phrase: Phrase, denials: Denials | None, opening: int) -> bool:
    """Whether the reply names an option by its text."""
    yes_or_no = phrase.words in _YES_NO
    return any(not yes_or_no or _asserts(reply, first, opening) for first in _affirmed(reply, phrase, denials))


def _affirmed(reply: Words, phrase: Phrase, denials: Denials | None) -> Iterator[int]:
    """First words of the places where a phrase stands as a whole and is not denied."""
    position, index, counted = reply.joined.find(phrase.joined), 0, 0
    while position >= 0:
        # Counting on from the last match keeps the search linear.
        index += reply.joined.count("\n", counted, position)
        counted, end = position, index + len(phrase.words)
        if not (denials and denials.text(index, end)) and not (
            phrase.breaks and _crosses_sentence(reply.gaps[index + 1 : end], phrase.breaks)
        ):
            yield index
        position = reply.joined.find(phrase.joined, position + len(phrase.joined) - 1)


def _crosses_sentence(gaps: Sequence[str], breaks: Sequence[bool]) -> bool:
    """Whether a sentence ends in one of the gaps where none ends in the option."""
    if gaps.count(" ") == len(gaps):
        return False
    return any(ends_sentence(gap) and not allowed for gap, allowed in zip(gaps, breaks, strict=True))


def _asserts(reply: Words, position: int, opening: int) -> bool:
    """Whether a yes or no at this word is the answer: it opens the reply or stands right behind "answer is"."""
    if position <= opening:
        return True
    # A copula that goes on is no answer: "答案是否" says no.
    goes_on = position + 1 < len(reply.words) and not reply.gaps[position + 1]
    if reply.folded[position] in _CUE_COPULAS and goes_on:
        return False
    if _after_cue(reply, position, nouns_only=True):
        return True
    # "yes or no" and "yes/no" name both.
    joined = reply.folded[opening + 1] in JOINERS
    return position == opening + 1 + joined and (joined or "/" in reply.gaps[position])


def _longest(texts: dict[str, Phrase]) -> list[str]:
    """Letters of the phrases that are not part of another one."""
    if len(texts) < 2:
        return list(texts)
    return [
        letter
        for letter, phrase in texts.items()
        if not any(phrase.joined in other.joined and phrase.joined != other.joined for other in texts.values())
    ]


def _letters(
    reply: Words,
    candidates: Sequence[int],
    options: Sequence[str],
    denials: Denials | None,
    phrases: Sequence[Phrase],
) -> tuple[set[str], int]:
    """Letters named as letters, two at most, and the first word behind an opening label such as "B." or "Option B"."""
    named: set[str] = set()
    opening = 0
    covered: set[int] | None = None
    for position in candidates:
        letter = reply.words[position].upper()
        if (letter in named and position > 1) or (covered and position in covered):
            continue
        if (denials and denials.letter(position)) or not _is_letter(reply, position, options):
            continue
        if covered is None:
            covered = _covered(reply, denials, phrases)
            if position in covered:
                continue
        named.add(letter)
        if position == 0 or (position == 1 and reply.folded[0] in _CUE_NOUNS):
            opening = position + 1
        if len(named) == 2:
            break
    return named, opening


def _candidates(reply: Words, n_options: int) -> list[int]:
    """Positions of single letters that may name an option.

    Sifts out what a long text is full of: lower-case letters behind no cue, articles, and letters that a sign joins to
    the word before.
    """
    upper, lower = _LETTERS_OF[n_options]
    words, folded, gaps = reply.words, reply.folded, reply.gaps
    single = [index for index, word in enumerate(words) if word in upper or word in lower]
    if not single:
        return single
    joining = set(filter(_joins_or_abbreviates, reply.distinct_gaps))
    return [
        index
        for index in single
        if index < 2
        or (folded[index - 1] in _BEFORE_LETTER and not (words[index] in "ai" and gaps[index + 1] == " "))
        or (words[index] in upper and gaps[index] not in joining and not _is_article(reply, index))
    ]


@lru_cache(maxsize=1024)
def _joins_or_abbreviates(gap: str) -> bool:
    return gap == "." or _joins(gap)


def _joins(gap: str) -> bool:
    """Whether a gap joins the letter behind it to the word before; a quotation mark behind a blank does not."""
    return gap.endswith(_JOINING_BEFORE) and not (gap.endswith("'") and len(gap) > 1)


def _is_article(reply: Words, position: int) -> bool:
    """Whether a letter is plainly an A (or I) of its own: behind no cue, before a word that an article may precede."""
    if reply.words[position] not in _ARTICLES or reply.gaps[position + 1] != " " or position + 1 == len(reply.words):
        return False
    previous, following = reply.folded[position - 1], reply.words[position + 1]
    return (
        (len(following) > 1 or following.islower())
        and following.casefold() not in _AFTER_LETTER
        and previous not in _BEFORE_LETTER
        and not is_cjk(previous)
    )


def _covered(reply: Words, denials: Denials | None, phrases: Sequence[Phrase]) -> set[int]:
    """Positions of words inside the options' own texts: the D of "Vitamin D" is no letter."""
    return {
        position
        for phrase in phrases
        if len(phrase.words) > 1 and any(len(word) == 1 for word in phrase.words)
        for first in _affirmed(reply, phrase, denials)
        for position in range(first, first + len(phrase.words))
    }


def _is_letter(reply: Words, position: int, options: Sequence[str]) -> bool:
    """Whether a single in-range letter is a choice and no word, initial or unit."""
    word, before, after = reply.words[position], reply.gaps[position], reply.gaps[position + 1]
    last = position + 1 == len(reply.words)
    following = "" if last else reply.words[position + 1]
    if position and _joins(before):
        return False
    quoted = before.endswith("'") and after.startswith("'")
    if (after.startswith(_JOINING_BEHIND) and not quoted) or (after == "-" and following):
        return False
    # "A.M.", "U.S.": single letters joined by points.
    if (after == "." and len(following) == 1 and not is_cjk(following)) or (before == "." and position > 0):
        return False
    closed = last or _closes(after, following)
    if word.islower():
        opens = position == 0 and (last or after.startswith((".", ")", ":", "]")))
        return opens or ((word not in "ai" or closed) and _after_cue(reply, position))
    named_by = reply.folded[position - 1] if position and not before.strip() else ""
    if named_by in _OTHER_NAMES or named_by.isdecimal():
        return False
    return word not in _ARTICLES or closed or _capital_a(reply, position, options)


def _closes(gap: str, following: str) -> bool:
    """Whether the gap behind a letter sets it off from the next word."""
    return (not gap and is_cjk(following)) or (
        bool(gap) and (not gap[0].isspace() or "\n" in gap or any(mark in gap for mark in "-\u2013\u2014:=>"))
    )


def _capital_a(reply: Words, position: int, options: Sequence[str]) -> bool:
    """Whether a capital A (or I) with a word right behind it is the letter and not the article (or pronoun)."""
    following, word = reply.folded[position + 1 : position + 2], reply.words[position]
    previous = reply.words[position - 1] if position else ""
    if word == "A" and following and following[0] in _AFTER_LETTER:
        return True
    if position and is_cjk(previous) and not reply.gaps[position]:
        return True
    if previous.casefold() in _LABEL_NOUNS:
        return True
    if len(following[0]) == 1 and reply.words[position + 1] in ascii_uppercase[: len(options)]:
        return True
    if previous.islower() and _after_cue(reply, position):
        return ":" not in reply.gaps[position]
    own = option_phrase(options[ascii_uppercase.index(word)]).words
    starts = position == 0 or _after_cue(reply, position)
    return starts and bool(own) and tuple(reply.folded[position + 1 : position + 1 + len(own)]) == own


def _after_cue(reply: Words, position: int, nouns_only: bool = False) -> bool:
    """Whether the words before `position` announce an answer: "answer:", "the correct option is", "choose"."""
    if position == 0:
        return False
    folded = reply.folded
    if folded[position - 1] in _CUE_NOUNS or "".join(folded[max(position - 2, 0) : position]) in _CUE_NOUNS:
        return True
    if not nouns_only and folded[position - 1] in _CUE_VERBS:
        return True
    if folded[position - 1] not in _CUE_COPULAS:
        return False
    for index in range(position - 2, max(position - 2 - _CUE_REACH, -1), -1):
        if not CLAUSE_MARKS.isdisjoint(reply.gaps[index + 1]):
            return False
        if folded[index] in _CUE_NOUNS or "".join(folded[max(index - 1, 0) : index + 1]) in _CUE_NOUNS:
            return True
    return False
