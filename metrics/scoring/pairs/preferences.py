"""What a model prefers in pairs that it saw in both orders: consistency, accuracy and position bias.

Protocol: 2AFC, Sec. II-C (https://arxiv.org/abs/2402.01162). Departures:

- Eq. 4 divides the right pairs by the consistent ones; the tables divide them by all pairs. Both are given.
- A pair whose two replies prefer no image names no image twice. The released code counts it as consistent; here it is
  not, as Eq. 3 asks for two answers that name the same image.
- Pairs of equal quality have no right answer: they count for consistency and are left out of both accuracies. Eq. 4
  prints q(x) >= q(y), which makes the order of such a pair decide.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.inputs import FloatArray, check_lengths
from eyechart.metrics.scoring.pairs.replies import read_preference
from eyechart.metrics.scoring.statistics.intervals import wilson_interval

FIRST, SECOND, NONE = 0, 1, -1
_POSITIONS = {"first": FIRST, "second": SECOND, None: NONE}

SHARES = ("consistency", "accuracy_consistent", "accuracy_all")

PositionArray = NDArray[np.int8]


@dataclass(frozen=True)
class Preferences:
    """What the two replies to each of n pairs prefer.

    Attributes:
        forward: Preferred position, `FIRST`, `SECOND` or `NONE`, where the pair was shown as given, shape (n,).
        reverse: Preferred position where it was shown in reverse, shape (n,): `FIRST` is the pair's second image.
    """

    forward: PositionArray
    reverse: PositionArray

    @property
    def winner(self) -> PositionArray:
        """Which of the pair's images both replies prefer: `FIRST`, `SECOND`, or `NONE` where they do not agree."""
        agree = (self.forward != NONE) & (self.reverse != NONE) & (self.forward != self.reverse)
        return np.where(agree, self.forward, NONE).astype(np.int8)

    def select(self, rows: Sequence[int]) -> "Preferences":
        """The preferences in some of the pairs."""
        return Preferences(self.forward[list(rows)], self.reverse[list(rows)])


def read_preferences(predictions: Sequence[str], reversed_predictions: Sequence[str]) -> Preferences:
    """Read the replies to each pair.

    Args:
        predictions: Replies to the pairs as given; "" for a failed response, which prefers no image.
        reversed_predictions: Replies to the same pairs with the two images swapped.

    Raises:
        InputError: The lengths differ, there are none, or a reply is no string.

    Examples:
        >>> found = read_preferences(["A", "The first image", "B"], ["B", "A", "?"])
        >>> found.winner.tolist()
        [0, -1, -1]
    """
    check_lengths(predictions=predictions, reversed_predictions=reversed_predictions)
    # Most replies are one of few texts.
    read: dict[str, int] = {}
    positions = []
    for name, replies in (("predictions", predictions), ("reversed_predictions", reversed_predictions)):
        for row, text in enumerate(replies):
            if not isinstance(text, str):
                raise InputError(f'{name}[{row}] is {text!r}; it must be a string ("" if there is none)')
            if text not in read:
                read[text] = _POSITIONS[read_preference(text)]
        positions.append(np.array([read[text] for text in replies], dtype=np.int8))
    return Preferences(*positions)


def preference_scores(
    preferences: Preferences, first_references: FloatArray, second_references: FloatArray
) -> dict[str, float | int | list[float]]:
    """Consistency, accuracy and position bias.

    Args:
        preferences: Those of n pairs.
        first_references: Quality of each pair's first image, shape (n,), higher is better.
        second_references: Quality of its second image, shape (n,).

    Returns:
        `consistency`: share of pairs whose two replies prefer the same image (Eq. 3), in [0, 1]; 1 is best.
        `accuracy_consistent`: share of the consistent pairs of unequal quality whose preferred image has the higher
        quality (Eq. 4), in [0, 1]; 1 is best; nan where there is no such pair.
        `accuracy_all`: the same pairs as a share of all pairs of unequal quality, as in the paper's tables; nan where
        all pairs are of equal quality.
        Each with its 95 % Wilson interval, `<name>_ci95`.
        `first_rate`, `second_rate`, `draw_rate`: shares of the 2 n replies that prefer the image shown first, the one
        shown second, and none. A model without a position bias has equal rates of the first two.
        `unmatched`: number of pairs with a reply that prefers none. `equal_quality`: number of pairs of equal quality.
        `n_consistent`, `n_pairs`.

    Examples:
        >>> pairs = read_preferences(["A", "A", "B", "A"], ["B", "A", "A", ""])
        >>> found = preference_scores(pairs, np.array([3.0, 1, 1, 2]), np.array([1.0, 2, 0, 2]))
        >>> found["consistency"], found["accuracy_consistent"], round(found["accuracy_all"], 3), found["equal_quality"]
        (0.5, 0.5, 0.333, 1)
        >>> found["first_rate"], found["second_rate"], found["draw_rate"], found["unmatched"]
        (0.625, 0.25, 0.125, 1)
    """
    winner, n = preferences.winner, len(preferences.forward)
    unequal = first_references != second_references
    right = winner == np.where(first_references > second_references, FIRST, SECOND)
    consistent = winner != NONE
    n_right, n_unequal = int(np.sum(right & unequal)), int(unequal.sum())
    replies = np.concatenate([preferences.forward, preferences.reverse])
    counted = (int(consistent.sum()), n), (n_right, int(np.sum(consistent & unequal))), (n_right, n_unequal)
    scores: dict[str, float | int | list[float]] = {}
    for name, (part, whole) in zip(SHARES, counted, strict=True):
        scores[name] = part / whole if whole else float("nan")
        scores[f"{name}_ci95"] = list(wilson_interval(part, whole)) if whole else [float("nan")] * 2
    return scores | {
        "first_rate": float(np.mean(replies == FIRST)),
        "second_rate": float(np.mean(replies == SECOND)),
        "draw_rate": float(np.mean(replies == NONE)),
        "unmatched": int(np.sum((preferences.forward == NONE) | (preferences.reverse == NONE))),
        "equal_quality": n - n_unequal,
        "n_consistent": int(consistent.sum()),
        "n_pairs": n,
    }
