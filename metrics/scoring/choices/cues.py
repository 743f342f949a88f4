"""Which words of a reply announce an answer: "answer:", "the correct option is", "choose".

Part of exact matching in MMBench, Sec. 3.2, step 1, which leaves open when a single letter is a choice. Here a
lower-case letter, an "A" before another word, and a yes or no inside a sentence count only after such a cue.
"""

from bisect import bisect_left
from functools import cached_property

from eyechart.metrics.scoring.choices.negation import CLAUSE_MARKS
from eyechart.metrics.scoring.choices.text import Words

CUE_NOUNS = frozenset({"answer", "option", "choice", "response", "output", "答案", "选项", "選項"})
LABEL_NOUNS = frozenset({"option", "choice"})
CUE_COPULAS = frozenset({"is", "be", "was", "是", "为", "為"})
_CUE_VERBS = frozenset({"choose", "select", "pick", "选", "選", "择", "擇"})
# Every CJK character is a separate word, so the last character represents its noun.
_NOUN_ENDS = frozenset(noun[-1] for noun in CUE_NOUNS if not noun.isascii())
# "This has no answer, I cannot tell": "I" is not an answer.
_BETWEEN = frozenset(",.;!?")
# Maximum number of words between a noun and its copula: "the answer to this question is".
_REACH = 6
# The words with which a cue can end.
BEFORE_LETTER = CUE_NOUNS | CUE_COPULAS | _CUE_VERBS | _NOUN_ENDS


class Cues:
    """The cues of a reply, which announce answers.

    Args:
        reply: The reply's words.

    Examples:
        >>> from eyechart.metrics.scoring.choices.text import split_words
        >>> cues = Cues(split_words("The answer to this is b"))
        >>> cues.announce(5), cues.announce(3)
        (True, False)
    """

    def __init__(self, reply: Words) -> None:
        """See above."""
        self._reply = reply

    @cached_property
    def _nouns(self) -> list[int]:
        """Positions of the last words of the cue nouns, sorted. Most replies are decided without them."""
        folded = self._reply.folded
        return [
            index
            for index, word in enumerate(folded)
            if word in CUE_NOUNS or (word in _NOUN_ENDS and index and folded[index - 1] + word in CUE_NOUNS)
        ]

    def announce(self, position: int, nouns_only: bool = False) -> bool:
        """Whether the words before `position` announce an answer; without verbs such as "choose" if `nouns_only`."""
        if position == 0:
            return False
        previous = self._reply.folded[position - 1]
        if previous in _CUE_VERBS and not nouns_only:
            return True
        number = bisect_left(self._nouns, position)
        if not number:
            return False
        nearest = self._nouns[number - 1]
        if nearest == position - 1:
            return _BETWEEN.isdisjoint(self._reply.gaps[position])
        if previous not in CUE_COPULAS or position - nearest > _REACH + 1:
            return False
        return all(CLAUSE_MARKS.isdisjoint(gap) for gap in self._reply.gaps[nearest + 1 : position])
