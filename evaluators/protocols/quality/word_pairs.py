"""Word pairs: two words, or two sets of words, whose next-token logits are pooled into a quality score."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eyechart.datasets_scripts.common.errors import unknown_name
from eyechart.metrics.scoring.quality.pooling import ensemble_logits


@dataclass(frozen=True)
class WordPair:
    """A positive and a negative set of words: one word each in Eq. 1 of Q-Bench, synonyms in Eq. 4."""

    positive: tuple[str, ...]
    """Words for good images."""
    negative: tuple[str, ...]
    """Words for bad images."""

    @property
    def name(self) -> str:
        """Its name in settings and results, such as "good+high/poor+low"."""
        return f"{'+'.join(self.positive)}/{'+'.join(self.negative)}"

    @property
    def words(self) -> tuple[str, ...]:
        """All its words, positive first."""
        return self.positive + self.negative

    def pooled(self, logits: Sequence[Mapping[str, float]]) -> list[list[float]]:
        """The summed logits of its two sets of words for each image, positive first: Q-Bench, Eq. 4."""
        columns = {word: np.array([of_image[word] for of_image in logits]) for word in self.words}
        return ensemble_logits(columns, self.positive, self.negative).tolist()


def find_pair(name: str | None, pairs: Sequence[WordPair]) -> WordPair:
    """The word pair of that name, the first if the name is None; raises UsageError if there is none.

    Examples:
        >>> find_pair("high/low", [WordPair(("good",), ("poor",)), WordPair(("high",), ("low",))]).words
        ('high', 'low')
    """
    by_name = {pair.name: pair for pair in pairs}
    if name is not None and name not in by_name:
        raise unknown_name("value", name, by_name, "of word_pair")
    return pairs[0] if name is None else by_name[name]


def likeliest_pair(counts: Mapping[str, int], pairs: Sequence[WordPair]) -> WordPair | None:
    """The pair of single words that a model itself uses most often, the first of a tie: Q-Bench, Sec. 2.4.1 and Eq. 3.

    `counts` says how often each word was the most probable token; None if no word of a pair ever was.

    Examples:
        >>> pairs = [WordPair(("good",), ("poor",)), WordPair(("high",), ("low",))]
        >>> likeliest_pair({"high": 89, "low": 8, "good": 3}, pairs).name
        'high/low'
    """
    shares = {pair: sum(counts.get(word, 0) for word in pair.words) for pair in pairs if len(pair.words) == 2}
    best = max(shares, key=lambda pair: shares[pair])
    return best if shares[best] else None
