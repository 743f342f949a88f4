"""Averages of scores over sets of data."""

import numpy as np
from numpy.typing import ArrayLike

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.inputs import check_lengths, check_numbers


def weighted_mean(values: ArrayLike, weights: ArrayLike) -> float:
    """Mean of scores, each weighted by the size of the set it was computed on.

    This is the weighted average over databases of 2AFC, Table II (https://arxiv.org/abs/2402.01162), whose weights are
    the numbers of sampled images.

    Args:
        values: Scores, shape (n,).
        weights: Non-negative numbers, shape (n,), not all 0.

    Returns:
        sum(weights * values) / sum(weights), between the lowest and the highest score.

    Raises:
        InputError: The lengths differ, a number is not finite, or the weights are negative or all 0.

    Examples:
        >>> round(weighted_mean([0.5, 0.8], [100, 200]), 4)
        0.7
    """
    scores, sizes = check_numbers("values", values), check_numbers("weights", weights)
    check_lengths(values=scores, weights=sizes)
    if (sizes < 0).any():
        row = int(np.argmax(sizes < 0))
        raise InputError(f"weights[{row}] is {sizes[row]:g}; it must not be negative")
    if not sizes.any():
        raise InputError("weights are all 0; at least one must be positive")
    return float(np.average(scores, weights=sizes))
