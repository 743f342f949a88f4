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
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from eyechart.metrics.scoring.choices.replies import why_unread
from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.inputs import check_lengths
from eyechart.metrics.scoring.items import ItemColumns, Items
from eyechart.metrics.scoring.pairs.pools import FIRST, NONE, SECOND, Pairs, WinnerArray
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
    """Read the two replies to each of n pairs.

    Args:
        predictions: Replies to the pairs as given; "" for a failed response, which counts as no preference.
        reversed_predictions: Replies to the same pairs with the two images swapped.
        pairs: The pairs.
        finish_reasons: How each reply ended, one of `reasoning.FINISH_REASONS`; None if that is not known.
        reversed_finish_reasons: The same for the replies to the swapped images.

    Returns:
        `choice`, `reversed_choice`: "first" or "second", the place of the preferred image as the pair was shown; None
        without a preference. `step`, `reversed_step`: "exact" with a preference; else the reason, one of
        `choices.replies.UNREAD`. `consistent`: whether both replies prefer the same image. `correct`: whether both
        prefer the image of higher quality; None if both images have equal quality.

    Raises:
        InputError: The lengths differ, there are no pairs, or a reply is not a string.

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
        first_ids=pairs.first_ids,
        finish_reasons=ends,
        reversed_finish_reasons=reversed_ends,
    )
    choice, step = _read("predictions", predictions, ends)
    reverse, reversed_step = _read("reversed_predictions", reversed_predictions, reversed_ends)
    return {
        "choice": choice,
        "step": step,
        "reversed_choice": reverse,
        "reversed_step": reversed_step,
        **pair_outcomes(choice, reverse, pairs),
    }


def pair_outcomes(choice: Sequence[str | None], reversed_choice: Sequence[str | None], pairs: Pairs) -> Items:
    """The columns `consistent` and `correct` of `read_pairs`, from the preferences in both orders.

    Examples:
        >>> from eyechart.metrics.scoring.pairs.pools import check_pairs
        >>> pair_outcomes(["first"], ["second"], check_pairs(["a"], ["b"], [2], [1]))
        {'consistent': [True], 'correct': [True]}
    """
    agree = [
        one is not None and {one, other} == {"first", "second"}
        for one, other in zip(choice, reversed_choice, strict=True)
    ]
    correct = [
        None if better == NONE else is_same and one == ("first" if better == FIRST else "second")
        for one, is_same, better in zip(choice, agree, pairs.better.tolist(), strict=True)
    ]
    return {"consistent": agree, "correct": correct}


def read_preferences(replies: Sequence[str], finish_reasons: Sequence[str | None]) -> Items:
    """The columns `choice` and `step` of `read_pairs` for replies in one order."""
    choice, step = _read("replies", replies, finish_reasons)
    return {"choice": choice, "step": step}


def _read(
    name: str, replies: Sequence[str], finish_reasons: Sequence[str | None]
) -> tuple[list[str | None], list[str]]:
    """Choices and steps of the replies in the argument `name`."""
    # There are few different replies, so each is read only once.
    read: dict[tuple[str, str | None], tuple[str | None, str]] = {}
    for row, (text, ended) in enumerate(zip(replies, finish_reasons, strict=True)):
        if not isinstance(text, str):
            raise InputError(f'{name}[{row}] is {text!r}; it must be a string (use "" for an empty text)')
        if (text, ended) not in read:
            preferred = read_preference(text, ended)
            read[text, ended] = preferred, "exact" if preferred else why_unread(text, ended)
    found = [read[reply] for reply in zip(replies, finish_reasons, strict=True)]
    return [preferred for preferred, _ in found], [step for _, step in found]


def winners(items: ItemColumns) -> WinnerArray:
    """The image that each pair's replies prefer: `FIRST`, `SECOND`, or `NONE` if they are not consistent.

    Args:
        items: From `read_pairs`.

    Returns:
        Shape (n,).

    Examples:
        >>> winners({"choice": ["first", "second", None], "consistent": [True, False, False]}).tolist()
        [0, -1, -1]
    """
    is_first = np.array([choice == "first" for choice in items["choice"]], dtype=bool)
    consistent = np.array(items["consistent"], dtype=bool)
    return np.where(consistent, np.where(is_first, FIRST, SECOND), NONE).astype(np.int8)


def preference_scores(items: ItemColumns, pairs: Pairs) -> dict[str, Any]:
    """Consistency, accuracy and position bias.

    Args:
        items: Items of n pairs, from `read_pairs`.
        pairs: The pairs, which may have images in common.

    Returns:
        `consistency`: share of pairs whose two replies prefer the same image (Eq. 3), in [0, 1]; 1 is best.
        `accuracy_consistent`: among the consistent pairs of unequal quality, the share whose preferred image has the
        higher quality (Eq. 4), in [0, 1]; 1 is best; nan without such pairs.
        `accuracy_all`: the same pairs as a share of all pairs of unequal quality, as in the paper's tables; nan if all
        pairs are of equal quality.
        `first_rate`, `second_rate`, `draw_rate`: shares of the 2 n replies that prefer the first image shown, the
        second image shown, and neither. Without a position bias, the first two are equal.
        The first three scores and `first_rate` each have a 95 % interval, `<name>_ci95`, and its kind in `intervals`.
        `unmatched`: number of pairs with a reply that states no preference. `equal_quality`: number of pairs of equal
        quality. `n_consistent`, `n_pairs`.

    Examples:
        >>> from eyechart.metrics.scoring.pairs.pools import check_pairs
        >>> pairs = check_pairs(list("abcd"), list("efgh"), [3, 1, 1, 2], [1, 2, 0, 2])
        >>> found = preference_scores(read_pairs(["A", "A", "B", "A"], ["B", "A", "A", ""], pairs), pairs)
        >>> found["consistency"], found["accuracy_consistent"], round(found["accuracy_all"], 3), found["equal_quality"]
        (0.5, 0.5, 0.333, 1)
        >>> found["first_rate"], found["second_rate"], found["draw_rate"], found["unmatched"]
        (0.625, 0.25, 0.125, 1)
    """
    columns = (items[name] for name in ("choice", "reversed_choice", "consistent", "correct"))
    choice, reversed_choice, consistent, correct = map(list, columns)
    n, places = len(choice), Counter([*choice, *reversed_choice])
    unequal = [row for row in range(n) if correct[row] is not None]
    agreed = [row for row in unequal if consistent[row]]
    counted = {
        "consistency": (range(n), consistent),
        "accuracy_consistent": (agreed, [correct[row] for row in agreed]),
        "accuracy_all": (unequal, [correct[row] for row in unequal]),
        "first_rate": (range(n), [seen.count("first") / 2 for seen in zip(choice, reversed_choice, strict=True)]),
    }
    intervals = {
        name: dyadic_share_interval(
            values, [pairs.first_ids[row] for row in rows], [pairs.second_ids[row] for row in rows]
        )
        for name, (rows, values) in counted.items()
    }
    return {
        **{name: sum(counted[name][1]) / len(counted[name][1]) if counted[name][1] else math.nan for name in SHARES},
        "first_rate": places["first"] / (2 * n),
        "second_rate": places["second"] / (2 * n),
        "draw_rate": places[None] / (2 * n),
        **listed_intervals(intervals),
        "unmatched": sum(None in seen for seen in zip(choice, reversed_choice, strict=True)),
        "equal_quality": n - len(unequal),
        "n_consistent": sum(consistent),
        "n_pairs": n,
    }
