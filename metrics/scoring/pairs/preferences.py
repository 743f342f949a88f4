"""A model's preferences in pairs shown in both orders: consistency, accuracy and position bias.

Protocol: 2AFC, Sec. II-C (https://arxiv.org/abs/2402.01162). Departures:

- Eq. 4 divides the correctly ordered pairs by the consistent pairs; the tables divide them by all pairs. Both scores
  are reported.
- The released code counts a pair as consistent if neither reply prefers an image. Here it is not consistent, because
  Eq. 3 requires two answers that name the same image.
- Pairs of equal quality have no correct answer. They count for consistency and are left out of both accuracies. Eq. 4
  has q(x) >= q(y), so that the order of such a pair would decide.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from eyechart.metrics.scoring.choices.reading import extraction_shares
from eyechart.metrics.scoring.choices.replies import why_unread
from eyechart.metrics.scoring.inputs import ItemColumns, Items, check_lengths
from eyechart.metrics.scoring.pairs.pools import Pairs, WinnerArray
from eyechart.metrics.scoring.pairs.replies import read_preference
from eyechart.metrics.scoring.statistics.dyadic import dyadic_share_interval
from eyechart.metrics.scoring.statistics.intervals import listed_intervals

SHARES = ("consistency", "accuracy_consistent", "accuracy_all")


def read_pairs(
    predictions: Sequence[str],
    reversed_predictions: Sequence[str],
    pairs: Pairs,
    finish_reasons: Sequence[str | None] | None = None,
    reversed_finish_reasons: Sequence[str | None] | None = None,
) -> Items:
    """Read the replies to each of n pairs as given and with the two images swapped; the metric's card has the columns.

    `finish_reasons` are from `reasoning.FINISH_REASONS`; None if that is not known.

    Examples:
        >>> from eyechart.metrics.scoring.pairs.pools import check_pairs
        >>> pairs = check_pairs(["a", "a", "a"], ["b", "b", "c"], [2, 2, 2], [1, 1, 2])
        >>> items = read_pairs(["A", "The first image", "B"], ["B", "A", "?"], pairs)
        >>> items["reversed_choice"], items["consistent"], items["correct"]
        (['second', 'first', None], [True, False, False], [True, False, None])
    """
    unknown = [None] * len(predictions)
    ends, reversed_ends = finish_reasons or unknown, reversed_finish_reasons or unknown
    check_lengths(
        predictions=predictions,
        reversed_predictions=reversed_predictions,
        first_ids=pairs.image_ids,
        finish_reasons=ends,
        reversed_finish_reasons=reversed_ends,
    )
    items, other = read_preferences(predictions, ends), read_preferences(reversed_predictions, reversed_ends)
    items |= {"reversed_choice": other["choice"], "reversed_step": other["step"]}
    return items | pair_outcomes(items["choice"], items["reversed_choice"], pairs)


def read_preferences(replies: Sequence[str], finish_reasons: Sequence[str | None]) -> Items:
    """The columns `choice` and `step` of `read_pairs` for replies in one order."""
    # There are few different replies, so each is read only once.
    asked = list(zip(replies, finish_reasons, strict=True))
    preferred = {reply: read_preference(*reply) for reply in set(asked)}
    steps = {reply: "exact" if preference else why_unread(*reply) for reply, preference in preferred.items()}
    return {"choice": [preferred[reply] for reply in asked], "step": [steps[reply] for reply in asked]}


def pair_outcomes(choice: Sequence[str | None], reversed_choice: Sequence[str | None], pairs: Pairs) -> Items:
    """The columns `consistent` and `correct` of `read_pairs`, from the preferences in both orders."""
    consistent = [set(both) == {"first", "second"} for both in zip(choice, reversed_choice, strict=True)]
    preferred = winners({"choice": choice, "consistent": consistent})
    correct = [better and better == winner for better, winner in zip(pairs.better, preferred, strict=True)]
    return {"consistent": consistent, "correct": correct}


def winners(items: ItemColumns) -> WinnerArray:
    """The image that each pair's replies prefer, shape (n,); None if they are not consistent."""
    both = zip(items["choice"], items["consistent"], strict=True)
    return np.array([choice if is_consistent else None for choice, is_consistent in both], dtype=object)


def preference_scores(items: ItemColumns, pairs: Pairs) -> dict[str, Any]:
    """Consistency, accuracy and position bias from the items of `read_pairs`; the metric's card explains each score."""
    choices = np.array([items["choice"], items["reversed_choice"]], dtype=object)
    is_draw, is_first = ~choices.astype(bool), choices == "first"
    consistent, correct = np.array(items["consistent"], dtype=bool), np.array(items["correct"], dtype=bool)
    every, unequal = np.ones(len(consistent), dtype=bool), pairs.better.astype(bool)
    scores: dict[str, float] = {}
    intervals = {}
    for name, values, rows in (
        ("consistency", consistent, every),
        ("accuracy_consistent", correct, unequal & consistent),
        ("accuracy_all", correct, unequal),
        ("first_rate", is_first.mean(axis=0), every),
    ):
        scores[name] = float(values[rows].mean()) if rows.any() else math.nan
        intervals[name] = dyadic_share_interval(values[rows], *pairs.image_ids[rows].T.tolist())
    return {
        **scores,
        "second_rate": float((choices == "second").mean()),
        "draw_rate": float(is_draw.mean()),
        **listed_intervals(intervals),
        "extraction": extraction_shares([*items["step"], *items["reversed_step"]]),
        "unmatched": int(is_draw.any(axis=0).sum()),
        "equal_quality": int((~unequal).sum()),
        "n_consistent": int(consistent.sum()),
        "n_pairs": len(consistent),
    }
