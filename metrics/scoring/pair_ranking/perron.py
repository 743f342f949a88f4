"""Perron rank: scores of items as the principal eigenvector of the matrix of win shares.

Source: 2AFC, Sec. III-D (https://arxiv.org/abs/2402.01162), after Saaty and Vargas, "Inconsistency and rank
preservation", Journal of Mathematical Psychology, 1984. The paper prints no matrix; what is taken here is said in
`perron_scores`.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.inputs import FloatArray
from eyechart.metrics.scoring.pair_ranking.comparisons import count_outcomes

DAMPING = 0.01
# Bound of the summed error of the scores, which sum to 1.
_ACCURACY = 1e-12


def perron_scores(winners: ArrayLike, losers: ArrayLike, n_items: int, *, damping: float = DAMPING) -> FloatArray:
    """Scores by the Perron rank method.

    Row i of the matrix holds the share of each item in the wins over i: S[i, j] = C[j, i] / sum_k C[k, i], which sums
    to 1; an item that never lost has 1 / n_items everywhere. Damping mixes in the uniform matrix,
    P = (1 - damping) S + damping / n_items, which makes the principal eigenvector unique and positive. The scores are
    the left one, scores @ P = scores: where a walker ends up who goes from each item to one that beat it, so that an
    item scores high by beating items that score high. (The right one of a row-stochastic matrix is constant.)

    Args:
        winners: Number of the item that won each comparison, shape (n,), in 0 .. n_items - 1.
        losers: Number of the item that lost it, shape (n,).
        n_items: Number of items.
        damping: Weight of the uniform matrix, from 0.001 to below 1.

    Returns:
        Positive scores that sum to 1, shape (n_items,); higher is better. An item that never won, or never appears,
        gets the lowest score.

    Raises:
        InputError: An argument is malformed.

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
    # Transposed, so that a step of the walk is a product from the left.
    step = csr_array((shares, (found.winners, found.losers)), shape=(n, n))
    unbeaten = losses == 0
    scores = np.full(n, 1 / n)
    # Each step shrinks the distance to the eigenvector, at most 2, by 1 - damping or more, so that the steps needed and
    # the distance left after a change are known.
    for _ in range(1 + int(np.log(_ACCURACY / 2) / np.log(1 - damping))):
        spread = (damping + (1 - damping) * scores[unbeaten].sum()) / n
        previous, scores = scores, step @ scores + spread
        scores /= scores.sum()
        if np.abs(scores - previous).sum() * (1 - damping) <= _ACCURACY * damping:
            break
    return scores
