"""Pairs of words, or of sets of words, whose next-token logits are pooled into a quality score."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eyechart.datasets_scripts.common.errors import unknown_name


@dataclass(frozen=True)
class WordPair:
    """A positive and a negative set of words: one word each in Eq. 1 of Q-Bench, synonyms in Eq. 4.

    Attributes:
        positive: Words for good images.
        negative: Words for bad ones.
    """

    positive: tuple[str, ...]
    negative: tuple[str, ...]

    @property
    def name(self) -> str:
        """What options and results call it, such as "good+high/poor+low"."""
        return f"{'+'.join(self.positive)}/{'+'.join(self.negative)}"

    @property
    def words(self) -> tuple[str, ...]:
        """All its words, positive first."""
        return self.positive + self.negative

    @property
    def is_single(self) -> bool:
        """Whether it is one word against another."""
        return len(self.words) == 2


def find_pair(name: str | None, pairs: Sequence[WordPair]) -> WordPair:
    """The pair of that name; the first where it is None.

    Raises:
        UsageError: There is none of this name.

    Examples:
        >>> find_pair("high/low", [WordPair(("good",), ("poor",)), WordPair(("high",), ("low",))]).words
        ('high', 'low')
    """
    by_name = {pair.name: pair for pair in pairs}
    if name is not None and name not in by_name:
        raise unknown_name("value of word_pair", name, by_name)
    return pairs[0] if name is None else by_name[name]


def words_of(pairs: Sequence[WordPair]) -> tuple[str, ...]:
    """All words of some pairs, each once."""
    return tuple(dict.fromkeys(word for pair in pairs for word in pair.words))


def likeliest_pair(counts: Mapping[str, int], pairs: Sequence[WordPair]) -> WordPair | None:
    """The pair that a model's own choice of words speaks for: Q-Bench, Sec. 2.4.1 and Eq. 3.

    Args:
        counts: How often each word was the likeliest, by word.
        pairs: Those of one word against another are looked at.

    Returns:
        The pair whose two words were the likeliest most often, the earlier of equal ones; None if none ever was.

    Examples:
        >>> pairs = [WordPair(("good",), ("poor",)), WordPair(("high",), ("low",))]
        >>> likeliest_pair({"high": 89, "low": 8, "good": 3}, pairs).name
        'high/low'
    """
    shares = {pair: sum(counts.get(word, 0) for word in pair.words) for pair in pairs if pair.is_single}
    best = max(shares, key=lambda pair: shares[pair])
    return best if shares[best] else None
