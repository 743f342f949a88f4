"""Agreement of two choice extractors, such as exact matching, a judge, or a human reader.

Protocol: MMBench, Sec. 3.3 (Fig. 5, the alignment rate) and Appendix D.1 (https://arxiv.org/abs/2307.06281). Two
extractors disagree either on whether the reply names an option (Case I: one of them says X), or on which option it
names (Case II).
"""

from collections.abc import Sequence
from string import ascii_uppercase
from typing import Any

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.inputs import check_lengths
from eyechart.metrics.scoring.statistics.intervals import Interval, listed_intervals, wilson_interval

X = "X"
"""The answer of a judge or a reader about a reply that names no option; None means the same."""
_LETTERS = frozenset(ascii_uppercase)


def extractor_agreement(first: Sequence[str | None], second: Sequence[str | None]) -> dict[str, Any]:
    """How often two extractors find the same choice in the same replies.

    Args:
        first: Result of the first extractor for each of n replies: a letter, or "X" or None for no option.
        second: Result of the second extractor for the same replies.

    Returns:
        Shares of the n replies, which sum to 1: `agreement`, both found the same letter or both found none (1 is best);
        `one_says_x`, only one of them found a letter (Case I); `different_letters`, they found different letters
        (Case II). `agreement_ci95`, its 95 % Wilson interval, and `intervals`, its kind. `n`.

    Raises:
        InputError: The lengths differ, there are no replies, or a value is neither a letter nor None.

    Examples:
        >>> found = extractor_agreement(["A", "X", "B", "C"], ["A", None, "X", "D"])
        >>> found["agreement"], found["one_says_x"], found["different_letters"], found["n"]
        (0.5, 0.25, 0.25, 4)
    """
    n = check_lengths(first=first, second=second)
    pairs = list(zip(_letters("first", first), _letters("second", second), strict=True))
    agree = sum(one == other for one, other in pairs)
    one_says_x = sum((one is None) != (other is None) for one, other in pairs)
    return {
        "agreement": agree / n,
        **listed_intervals({"agreement": Interval(*wilson_interval(agree, n), "wilson", n)}),
        "one_says_x": one_says_x / n,
        "different_letters": (n - agree - one_says_x) / n,
        "n": n,
    }


def _letters(argument: str, found: Sequence[object]) -> list[str | None]:
    """Letters, with None for X."""
    letters: list[str | None] = []
    for row, value in enumerate(found):
        if value is None or value == X:
            letters.append(None)
        elif isinstance(value, str) and value in _LETTERS:
            letters.append(value)
        else:
            raise InputError(
                f"{argument}[{row}] is {value!r}; allowed: a letter from A to Z, 'X' or None for no option"
            )
    return letters
