"""Which mentions of an option in a reply are denied.

A mention does not count after a negation in the same clause ("It is not blurry"), if it is rejected directly afterwards
("Dark is wrong"), or as part of a compound that says the opposite ("noise-free"). Departure from exact matching in
MMBench, Sec. 3.2, step 1, which does not have this rule and would read "not A" as A.
"""

from bisect import bisect_right
from functools import lru_cache
from itertools import pairwise
from string import ascii_uppercase
from typing import NamedTuple

from eyechart.metrics.scoring.choices.text import Words

CLAUSE_MARKS = frozenset(".,;:!?)]}\n\u3002\u3001\u2014\u2013")
JOINERS = frozenset({"and", "or"})

_NEGATORS = frozenset({"not", "no", "never", "without", "neither", "nor", "cannot"})
_NEGATORS |= frozenset({"hardly", "barely", "scarcely", "lack", "lacks", "lacking"})
_NEGATOR_PAIRS = frozenset(
    {("free", "of"), ("free", "from"), ("far", "from"), ("absence", "of"), ("opposite", "of"), ("anything", "but")}
    | {("rather", "than"), ("instead", "of"), ("opposed", "to")}
)
_PAIR_STARTS = frozenset(first for first, _ in _NEGATOR_PAIRS)
# "not only dark but also dull" denies neither.
_AFFIRMERS = frozenset({"only", "just", "merely"})
_CJK_NEGATORS = frozenset("不没沒未無无")
# A CJK negator applies only to the next few words; further away it is usually part of another word.
_CJK_REACH = 3
_CLAUSE_WORDS = frozenset({"but", "because", "since", "however", "although", "though", "whereas", "while", "yet"})

_COPULAS = frozenset({"is", "are", "was", "were"})
_PLURALS = frozenset({"are", "were", "aren't"})
_BEFORE_REJECTION = _COPULAS | {"isn't", "aren't", "incorrect", "wrong"}
_REJECTIONS = frozenset({"not", "never", "incorrect", "wrong", "false"})
_BREAKS_BEHIND = CLAUSE_MARKS - frozenset(")]}")
_LETTERS = frozenset(ascii_uppercase)
# Maximum number of words in a list of letters that are rejected together: "A, B, C and D are wrong".
_LIST_REACH = 8

_COMPOUND_GAPS = ("-", "\u2010", "\u2011", " ")
_OPPOSITE_PREFIXES = frozenset({"non", "un", "anti"})
_OPPOSITE_SUFFIXES = frozenset({"free", "less"})

# A reply without these words and without n't denies nothing.
_DENYING = _NEGATORS | _PAIR_STARTS | _CJK_NEGATORS | _REJECTIONS | _OPPOSITE_PREFIXES | _OPPOSITE_SUFFIXES


class Denials(NamedTuple):
    """The denials of a reply.

    Attributes:
        reply: The reply's words.
        negated: For each word, 1 if a negation precedes it in its clause, else 0.
    """

    reply: Words
    negated: bytearray

    def text(self, first: int, end: int) -> bool:
        """Whether an option's text, from word `first` to before word `end`, is denied."""
        return bool(self.negated[first]) or self._rejected(end) or self._compounded(first, end)

    def letter(self, position: int) -> bool:
        """Whether an option's letter at this word is denied."""
        return bool(self.negated[position]) or self._rejected(position + 1) or self._rejected_together(position)

    def _rejected(self, end: int) -> bool:
        """Whether the text that ends before word `end` is then rejected: "dark is wrong", "(B) is not correct"."""
        folded = self.reply.folded
        if end == len(folded) or folded[end] not in _BEFORE_REJECTION:
            return False
        if not _BREAKS_BEHIND.isdisjoint(self.reply.gaps[end]):
            return False
        return folded[end] not in _COPULAS or not _REJECTIONS.isdisjoint(folded[end + 1 : end + 2])

    def _rejected_together(self, position: int) -> bool:
        """Whether the letter is in a list of letters that is then rejected: "A, B and C are wrong"."""
        words, folded, gaps = self.reply.words, self.reply.folded, self.reply.gaps
        joiner, limit = position + 1, min(len(words), position + _LIST_REACH)
        while joiner < limit and gaps[joiner] == ", " and words[joiner] in _LETTERS:
            joiner += 1
        if gaps[joiner] not in (" ", ", ") or joiner == len(words) or folded[joiner] not in JOINERS:
            return False
        last, behind = words[joiner + 1 : joiner + 2], folded[joiner + 2 : joiner + 3]
        return not _LETTERS.isdisjoint(last) and not _PLURALS.isdisjoint(behind) and self._rejected(joiner + 2)

    def _compounded(self, first: int, end: int) -> bool:
        """Whether a text is part of a compound that says the opposite: "noise-free", "non-blurry"."""
        folded, gaps = self.reply.folded, self.reply.gaps
        behind = gaps[end] in _COMPOUND_GAPS and not _OPPOSITE_SUFFIXES.isdisjoint(folded[end : end + 1])
        return behind or (first > 0 and gaps[first] in _COMPOUND_GAPS and folded[first - 1] in _OPPOSITE_PREFIXES)


def find_denials(reply: Words) -> Denials | None:
    """The denials of a reply, or None if none of its words can deny anything.

    Args:
        reply: The reply's words.

    Examples:
        >>> from eyechart.metrics.scoring.choices.text import split_words
        >>> denials = find_denials(split_words("It is not dark, it is bright"))
        >>> denials.text(3, 4), denials.text(6, 7)
        (True, False)
    """
    folded = reply.folded
    contracted = "n't\n" in reply.joined
    if not contracted and _DENYING.isdisjoint(folded):
        return None
    present = set(folded)
    negating = present & _NEGATORS
    if contracted:
        negating |= {word for word in present if word.endswith("n't")}
    negators = [index for index, word in enumerate(folded) if word in negating] if negating else []
    if not present.isdisjoint(_AFFIRMERS):
        negators = [index for index in negators if _AFFIRMERS.isdisjoint(folded[index + 1 : index + 2])]
    if not present.isdisjoint(_PAIR_STARTS):
        pairs = [index for index, pair in enumerate(pairwise(folded), start=1) if pair in _NEGATOR_PAIRS]
        negators = sorted(negators + pairs)
    cjk = [] if present.isdisjoint(_CJK_NEGATORS) else [i for i, word in enumerate(folded) if word in _CJK_NEGATORS]
    # Even a long text has few different gaps.
    breaking = set(filter(_ends_clause, set(reply.gaps)))
    breaks = [index for index, gap in enumerate(reply.gaps[:-1]) if gap in breaking] if breaking else []
    if not present.isdisjoint(_CLAUSE_WORDS):
        breaks = sorted({*breaks, *(index for index, word in enumerate(folded) if word in _CLAUSE_WORDS)})
    return Denials(reply, _negated(len(folded), negators, cjk, breaks))


@lru_cache(maxsize=1024)
def _ends_clause(gap: str) -> bool:
    return " - " in gap or not CLAUSE_MARKS.isdisjoint(gap)


def _negated(n_words: int, negators: list[int], cjk_negators: list[int], breaks: list[int]) -> bytearray:
    """For each word, whether a negation precedes it in its clause; clauses begin at `breaks`, which are sorted."""
    flags = bytearray(n_words)
    for reach, positions in ((n_words, negators), (_CJK_REACH, cjk_negators)):
        for negator in positions:
            # After a negation, the rest of the clause is already flagged.
            if reach < n_words or not flags[negator]:
                clause = bisect_right(breaks, negator)
                end = min(negator + 1 + reach, breaks[clause] if clause < len(breaks) else n_words, n_words)
                flags[negator + 1 : end] = b"\1" * (end - negator - 1)
    return flags
