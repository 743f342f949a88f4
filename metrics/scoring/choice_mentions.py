"""Which options a reply names, by letter and by text.

The rules are those of exact matching in MMBench, Sec. 3.2, step 1, made precise: a letter needs a boundary and, where
it may be a word of its own ("A", a lower-case letter), a cue; an option's text matches as a whole phrase; a negated
mention does not count. Each function takes the words of `choice_text.split_words` and returns letters.
"""

from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from eyechart.metrics.scoring.choice_text import Phrase
from eyechart.metrics.scoring.choice_text import Words
from eyechart.metrics.scoring.choice_text import ends_sentence
from eyechart.metrics.scoring.choice_text import is_cjk
from eyechart.metrics.scoring.choice_text import option_phrase

_NEGATORS = frozenset({"not", "no", "never", "without", "neither", "nor", "cannot"})
_CJK_NEGATORS = frozenset("不没沒未無无")
# A CJK negator governs what follows it closely; further away it is part of another word more often than not.
_CJK_REACH = 3
_CLAUSE_MARKS = frozenset(".,;:!?)]}\n\u3002\u3001\u2014\u2013")
_CLAUSE_WORDS = frozenset({"but", "because", "since", "however", "although", "though", "whereas", "while", "yet"})
_COPULAS = frozenset({"is", "are", "was", "were"})
_BEFORE_REJECTION = _COPULAS | {"isn't", "incorrect", "wrong"}
_REJECTIONS = frozenset({"not", "never", "incorrect", "wrong", "false"})

_COMPOUND_GAPS = ("-", "\u2010", "\u2011", " ")
_OPPOSITE_PREFIXES = frozenset({"non", "un", "anti"})

_YES_NO = frozenset({("yes",), ("no",), *map(tuple, ["是", "否", "是的", "不是", "はい", "いいえ", "예", "아니요"])})
_JOINERS = frozenset({"and", "or"})

_CUE_NOUNS = frozenset({"answer", "option", "choice", "response", "output", "答案", "选项", "選項"})
_LABEL_NOUNS = frozenset({"option", "choice"})
_CUE_VERBS = frozenset({"choose", "select", "pick", "选", "選", "择", "擇"})
_CUE_COPULAS = frozenset({"is", "be", "was", "是", "为", "為"})
_CUE_REACH = 6
_BEFORE_LETTER = _CUE_NOUNS | _LABEL_NOUNS | _CUE_VERBS | _CUE_COPULAS | frozenset("案项項")

# A bare capital behind one of these names something else: "image B", "vitamin C".
_OTHER_NAMES = frozenset(
    {"image", "picture", "photo", "figure", "fig", "panel", "plan", "vitamin", "grade", "type", "class", "hepatitis"}
    | {"letter", "letters", "point", "appendix", "part", "section", "channel", "number", "group", "team", "exhibit"}
)
_ARTICLES = frozenset("AI")
# What may follow the letter A but not the article.
_AFTER_LETTER = frozenset(
    {"is", "was", "because", "since", "and", "or", "as", "but", "due", "has"}
    | {"seems", "appears", "looks", "would", "should", "could", "can"}
)


@dataclass(frozen=True)
class Mentions:
    """What a reply names.

    Attributes:
        letters: Letters named as letters.
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
    present = set(reply.folded)
    phrases = {
        letter: phrase
        for letter, phrase in zip(ascii_uppercase, map(option_phrase, options), strict=False)
        if phrase.words and phrase.words[0] in present
    }
    negated = _negated_positions(reply, present)
    covered = {
        position
        for phrase in phrases.values()
        if len(phrase.words) > 1 and any(len(word) == 1 for word in phrase.words)
        for first in _affirmed(reply, phrase, negated)
        for position in range(first, first + len(phrase.words))
    }
    letters, opening = _letters(reply, options, negated, covered)
    texts = {
        letter: phrase
        for letter, phrase in phrases.items()
        if any(
            phrase.words not in _YES_NO or _asserts(reply, first, opening)
            for first in _affirmed(reply, phrase, negated)
        )
    }
    return Mentions(frozenset(letters), frozenset(_longest(texts)))


def _negated_positions(reply: Words, present: set[str]) -> list[bool] | None:
    """For each word, whether a negation precedes it in its clause; None where the reply negates nothing."""
    cjk = not present.isdisjoint(_CJK_NEGATORS)
    if not cjk and present.isdisjoint(_NEGATORS) and not any(word.endswith("n't") for word in present):
        return None
    negated, active, cjk_left = [], False, 0
    for word, gap in zip(reply.folded, reply.gaps, strict=False):
        if word in _CLAUSE_WORDS or not _CLAUSE_MARKS.isdisjoint(gap) or " - " in gap:
            active, cjk_left = False, 0
        negated.append(active or cjk_left > 0)
        active = active or word in _NEGATORS or word.endswith("n't")
        cjk_left = _CJK_REACH if word in _CJK_NEGATORS else cjk_left - 1
    return negated


def _rejected(reply: Words, end: int) -> bool:
    """Whether what ends before word `end` is rejected behind it: "dark is wrong", "B is not correct"."""
    after = reply.folded[end : end + 2]
    if not after or after[0] not in _BEFORE_REJECTION or not _CLAUSE_MARKS.isdisjoint(reply.gaps[end]):
        return False
    return after[0] not in _COPULAS or (len(after) == 2 and after[1] in _REJECTIONS)


def _compounded(reply: Words, first: int, end: int) -> bool:
    """Whether a phrase is part of a compound that says the opposite: "noise-free", "non-blurry"."""
    behind = reply.gaps[end] in _COMPOUND_GAPS and reply.folded[end : end + 1] in (["free"], ["less"])
    return behind or (
        first > 0 and reply.gaps[first] in _COMPOUND_GAPS and reply.folded[first - 1] in _OPPOSITE_PREFIXES
    )


def _affirmed(reply: Words, phrase: Phrase, negated: list[bool] | None) -> Iterator[int]:
    """First words of the places where a phrase stands as a whole and is neither negated nor rejected."""
    position, index, counted = reply.joined.find(phrase.joined), 0, 0
    while position >= 0:
        # Counting on from the last match keeps the search linear.
        index += reply.joined.count("\n", counted, position)
        counted, end = position, index + len(phrase.words)
        if (
            not (negated and negated[index])
            and not _rejected(reply, end)
            and not _compounded(reply, index, end)
            and not (phrase.breaks and _crosses_sentence(reply.gaps[index + 1 : end], phrase.breaks))
        ):
            yield index
        position = reply.joined.find(phrase.joined, position + len(phrase.joined) - 1)


def _crosses_sentence(gaps: Sequence[str], breaks: Sequence[bool]) -> bool:
    """Whether a sentence ends in one of the gaps where none ends in the option."""
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
    joined = reply.folded[opening + 1] in _JOINERS
    return position == opening + 1 + joined and (joined or "/" in reply.gaps[position])


def _longest(texts: dict[str, Phrase]) -> list[str]:
    """Letters of the phrases that are not part of another one."""
    return [
        letter
        for letter, phrase in texts.items()
        if not any(phrase.joined in other.joined and phrase.joined != other.joined for other in texts.values())
    ]


def _letters(
    reply: Words, options: Sequence[str], negated: list[bool] | None, covered: set[int]
) -> tuple[set[str], int]:
    """Letters named as letters, and the first word behind an opening label such as "B." or "Option B"."""
    allowed = frozenset(ascii_uppercase[: len(options)] + ascii_uppercase[: len(options)].lower())
    named: set[str] = set()
    opening = 0
    for position in [index for index, word in enumerate(reply.words) if word in allowed]:
        letter = reply.words[position].upper()
        if position > 1 and (letter in named or _plain_word(reply, position)):
            continue
        if position in covered or (negated and negated[position]) or _rejected(reply, position + 1):
            continue
        if _is_letter(reply, position, options):
            named.add(letter)
            if position == 0 or (position == 1 and reply.folded[0] in _CUE_NOUNS):
                opening = position + 1
    return named, opening


def _plain_word(reply: Words, position: int) -> bool:
    """A quick way to tell most lower-case letters, articles and initials, which are many in a long text."""
    word = reply.words[position]
    if reply.gaps[position] == ".":
        return True
    if (word not in _ARTICLES and word.isupper()) or reply.folded[position - 1] in _BEFORE_LETTER:
        return False
    # Behind no cue, a lower-case letter is none; a capital A is none before a plain word.
    return word.islower() or (
        reply.gaps[position + 1] == " "
        and len(following := reply.folded[position + 1]) > 1
        and following not in _AFTER_LETTER
        and not is_cjk(reply.words[position - 1])
    )


def _is_letter(reply: Words, position: int, options: Sequence[str]) -> bool:
    """Whether a single in-range letter is a choice and no word, initial or unit."""
    word, before, after = reply.words[position], reply.gaps[position], reply.gaps[position + 1]
    last = position + 1 == len(reply.words)
    following = "" if last else reply.words[position + 1]
    joined = before[-1:] in ("-", "/", "°", "'", "+", "&", "@", "#") and position > 0
    if joined or after.startswith(("+", "#", "/", "'", "&")) or (after == "-" and following):
        return False
    # "A.M.", "U.S.": single letters joined by points.
    if (after == "." and len(following) == 1 and not is_cjk(following)) or (before == "." and position > 0):
        return False
    closed = last or _closes(after, following)
    if word.islower():
        opens = position == 0 and (last or after.startswith((".", ")", ":", "]")))
        return opens or (_after_cue(reply, position) and (word not in "ai" or closed))
    if word in _ARTICLES:
        return closed or _capital_a(reply, position, options)
    named_by = reply.folded[position - 1] if position and not before.strip() else ""
    return named_by not in _OTHER_NAMES and not named_by.isdecimal()


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
        if not _CLAUSE_MARKS.isdisjoint(reply.gaps[index + 1]):
            return False
        if folded[index] in _CUE_NOUNS or "".join(folded[max(index - 1, 0) : index + 1]) in _CUE_NOUNS:
            return True
    return False
