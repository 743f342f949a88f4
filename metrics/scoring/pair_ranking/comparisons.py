"""Checked and counted outcomes of paired comparisons, and the common scale of scores."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.metrics.scoring.errors import InputError, UndefinedScoreError
from eyechart.metrics.scoring.inputs import FloatArray, check_count, check_lengths, check_numbers

IndexArray = NDArray[np.int64]


@dataclass(frozen=True)
class Comparisons:
    """The preference matrix C in sparse form: each (winner, loser) pair that occurs, once.

    Attributes:
        winners: Numbers of the winners, shape (n_pairs,).
        losers: Numbers of the losers, shape (n_pairs,).
        counts: How often the winner beat the loser, C[winner, loser], shape (n_pairs,).
        n_items: Number of items.
    """

    winners: IndexArray
    losers: IndexArray
    counts: FloatArray
    n_items: int


def check_outcomes(winners: ArrayLike, losers: ArrayLike, n_items: int) -> tuple[IndexArray, IndexArray]:
    """Winners and losers as arrays of item numbers, in the order given.

    Args:
        winners: Number of the item that won each comparison, shape (n,), in 0 .. n_items - 1.
        losers: Number of the item that lost it, shape (n,).
        n_items: Number of items.

    Raises:
        InputError: There are no comparisons, the lengths differ, a number is not that of an item, or an item is
            compared with itself.

    Examples:
        >>> check_outcomes([0, 2], [1, 0], n_items=3)
        (array([0, 2]), array([1, 0]))
    """
    check_count("n_items", int(n_items) if isinstance(n_items, np.integer) else n_items)
    won, lost = (_item_numbers(name, values, n_items) for name, values in (("winners", winners), ("losers", losers)))
    check_lengths(winners=won, losers=lost)
    same = won == lost
    if same.any():
        row = int(np.argmax(same))
        raise InputError(
            f"winners[{row}] and losers[{row}] are both {lost[row]}; an item cannot be compared with itself"
        )
    return won, lost


def _item_numbers(argument: str, values: ArrayLike, n_items: int) -> IndexArray:
    numbers = check_numbers(argument, values)
    allowed = (numbers >= 0) & (numbers < n_items) & (numbers == np.floor(numbers))
    if not allowed.all():
        row = int(np.argmin(allowed))
        raise InputError(f"{argument}[{row}] is {numbers[row]:g}; allowed: whole numbers from 0 to {n_items - 1}")
    return numbers.astype(np.int64)


def count_outcomes(winners: ArrayLike, losers: ArrayLike, n_items: int) -> Comparisons:
    """Count equal outcomes. Arguments and errors as for `check_outcomes`.

    Examples:
        >>> count_outcomes([0, 2, 0], [1, 0, 1], n_items=3).counts
        array([2., 1.])
    """
    won, lost = check_outcomes(winners, losers, n_items)
    cells, counts = np.unique(won * n_items + lost, return_counts=True)
    return Comparisons(cells // n_items, cells % n_items, counts.astype(np.float64), int(n_items))


def rescale(scores: ArrayLike) -> FloatArray:
    """Scores on [0, 100], as 2AFC reports them (Sec. III-A): the lowest becomes 0, the highest 100.

    Args:
        scores: Shape (n,).

    Returns:
        100 (scores - min) / (max - min), shape (n,).

    Raises:
        InputError: A score is not finite, or there are no scores.
        UndefinedScoreError: All scores are equal.

    Examples:
        >>> rescale([-1.0, 0.0, 3.0]).tolist()
        [0.0, 25.0, 100.0]
    """
    values = check_numbers("scores", scores)
    n = check_lengths(scores=values)
    low, high = values.min(), values.max()
    if low == high:
        raise UndefinedScoreError(f"all {n} scores are equal, so they cannot be rescaled to 0 to 100")
    return 100 * ((values - low) / (high - low))
