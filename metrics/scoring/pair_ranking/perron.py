"""Perron rank: scores of items as the principal eigenvector of the matrix of win shares.

Source: 2AFC, Sec. III-D (https://arxiv.org/abs/2402.01162), after Saaty and Vargas, "Inconsistency and rank
preservation", Journal of Mathematical Psychology, 1984. The paper does not define the matrix; the definition used
here is in `perron_scores`.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.inputs import FloatArray
from eyechart.metrics.scoring.pair_ranking.comparisons import count_outcomes

DAMPING = 0.01
# Bound of the sum of the errors of all scores; the scores sum to 1.
_ACCURACY = 1e-12


def perron_scores(winners: ArrayLike, losers: ArrayLike, n_items: int, *, damping: float = DAMPING) -> FloatArray:
    """Scores by the Perron rank method.

    Row i of the matrix has the share of each item in the wins over i: S[i, j] = C[j, i] / sum_k C[k, i]. The row sums
    to 1; for an item that never lost, every entry is 1 / n_items. Damping mixes in the uniform matrix,
    P = (1 - damping) S + damping / n_items, which makes the principal eigenvector unique and positive. The scores are
    the left eigenvector, scores @ P = scores. They are the long-run frequencies of a walk that goes from each item to
    an item that beat it, so an item gets a high score by beating items with high scores. (The right eigenvector of a
    row-stochastic matrix is constant.)

    Args:
        winners: Number of the item that won each comparison, shape (n,), in 0 .. n_items - 1.
        losers: Number of the item that lost it, shape (n,).
        n_items: Number of items.
        damping: Weight of the uniform matrix, from 0.001 to below 1.

    Returns:
        Positive scores that sum to 1, shape (n_items,); higher is better. An item that never won, or is in no
        comparison, gets the lowest score.

    Raises:
        InputError: An argument is invalid.

    Examples:
        >>> perron_scores([0, 0, 1, 2], [1, 2, 2, 0], n_items=3).round(3).tolist()
        [0.4, 0.201, 0.399]
    """
    if not 0.001 <= damping < 1:
        raise InputError(f"damping is {damping!r}; it must be at least 0.001 and below 1")
    found = count_outcomes(winners, losers, n_items)
    n = found.n_items
    losses = np.bincount(found.losers, weights=found.counts, minlength=n)
    shares = (1 - damping) * found.counts / losses[found.losers]
    # Transposed, so that one step of the walk is a product `step @ scores`.
    step = csr_array((shares, (found.winners, found.losers)), shape=(n, n))
    unbeaten = losses == 0
    scores = np.full(n, 1 / n)
    # Each step multiplies the distance to the eigenvector, at most 2, by at most 1 - damping. This gives the number of
    # steps needed, and bounds the remaining distance after a change.
    for _ in range(1 + int(np.log(_ACCURACY / 2) / np.log(1 - damping))):
        spread = (damping + (1 - damping) * scores[unbeaten].sum()) / n
        previous, scores = scores, step @ scores + spread
        scores /= scores.sum()
        if np.abs(scores - previous).sum() * (1 - damping) <= _ACCURACY * damping:
            break
    return scores
