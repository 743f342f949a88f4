"""Thurstone's Case V: item i beats item j with probability Phi(q_i - q_j).

Source: 2AFC, Eq. 1 and 2 (https://arxiv.org/abs/2402.01162), after Tsukida and Gupta, "How to analyze paired comparison
data", UWEETR-2011-0004. With the prior of Eq. 2, the scores sum to zero without enforcing this constraint: a shift
of all scores does not change the likelihood, and the prior is highest if they sum to zero.

Both estimates are computed by Newton's method. Each step solves its linear system by conjugate gradients, with products
of the Hessian and vectors; each product is one pass over the pairs.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import erfcx, log_ndtr

from eyechart.metrics.scoring.errors import InputError, ScoringError, UnboundedScoresError
from eyechart.metrics.scoring.inputs import FloatArray
from eyechart.metrics.scoring.pair_ranking.comparisons import Comparisons, count_outcomes

# A gradient below this share of the size of its summands counts as zero; rounding errors are about 1e-16.
_TOLERANCE = 1e-10
_MAX_STEPS = 200


def map_scores(winners: ArrayLike, losers: ArrayLike, n_items: int) -> FloatArray:
    """Maximum a posteriori scores, Eq. 2 of 2AFC.

    They maximise sum_ij C_ij log Phi(q_i - q_j) - sum_i q_i^2 / 2, where C_ij is the number of times that i beat j.

    Args:
        winners: Number of the item that won each comparison, shape (n,), in 0 .. n_items - 1.
        losers: Number of the item that lost it, shape (n,).
        n_items: Number of items.

    Returns:
        Scores q, shape (n_items,), higher is better; they sum to zero. A difference of 1 is one standard deviation of
        the perceived difference. An item without comparisons gets 0, the mean of the prior. `rescale` maps the scores
        to [0, 100].

    Raises:
        InputError: An argument is invalid.

    Examples:
        >>> map_scores([0, 0, 1], [1, 2, 2], n_items=4).round(3).tolist()
        [0.638, 0.0, -0.638, 0.0]
    """
    return _newton(count_outcomes(winners, losers, n_items), prior=1.0)


def mle_scores(winners: ArrayLike, losers: ArrayLike, n_items: int, ridge: float = 0.0) -> FloatArray:
    """Maximum likelihood scores, Eq. 1 of 2AFC. Arguments as for `map_scores`, and the size of a ridge.

    Without a ridge, the scores are finite only if the graph of wins is strongly connected, that is, if no set of items
    won, or lost, all its comparisons with the other items (Ford, "Solution of a ranking problem from binary
    comparisons", 1957). A shift of all scores does not change the likelihood; the returned scores sum to zero.

    A `ridge` r above 0 subtracts r sum_i q_i^2 / 2 from the log-likelihood, so that its maximum is always finite. This
    is a prior like that of MAP, with variance 1 / r. The smaller r is, the more extreme are the scores of items that
    never won or never lost. It is not known how the paper made its MLE finite: its released code only has MAP.

    Returns:
        Scores q, shape (n_items,), higher is better; they sum to zero. The scale is that of `map_scores`.

    Raises:
        InputError: An argument is invalid.
        UnboundedScoresError: There is no ridge and the graph is not strongly connected; the message and the attributes
            name the items that never won or never lost.

    Examples:
        >>> mle_scores([0, 1, 2, 0], [1, 2, 0, 1], n_items=3).round(3).tolist()
        [0.27, -0.27, 0.0]
        >>> mle_scores([0, 0, 1], [1, 2, 2], n_items=3, ridge=0.01).round(3).tolist()
        [2.379, 0.0, -2.379]
    """
    found = count_outcomes(winners, losers, n_items)
    if not 0 <= ridge < math.inf:
        raise InputError(f"ridge is {ridge!r}; it must be 0 or a positive number")
    if ridge == 0:
        _check_connected(found)
    return _newton(found, prior=ridge)


def inverse_mills(x: FloatArray) -> FloatArray:
    """phi(x) / Phi(x), the derivative of log Phi.

    The scaled complementary error function gives the quotient to full precision even if numerator and denominator
    underflow; the difference of their logarithms does not.

    Examples:
        >>> inverse_mills(np.array([-1e6, 0.0, 50.0])).round(4).tolist()
        [1000000.0, 0.7979, 0.0]
    """
    return np.sqrt(2 / np.pi) / erfcx(-x / np.sqrt(2))


def _newton(pairs: Comparisons, prior: float) -> FloatArray:
    """Maximiser of the log-likelihood minus prior * sum q^2 / 2; with prior 0, the one that sums to zero."""
    q = np.zeros(pairs.n_items)
    loss = _loss(pairs, q, prior)
    for _ in range(_MAX_STEPS):
        difference = q[pairs.winners] - q[pairs.losers]
        slope = inverse_mills(difference)
        pull = pairs.counts * slope
        gradient = prior * q - _scatter(pairs, pull)
        size = float(np.linalg.norm(gradient))
        if size <= _TOLERANCE * float(np.linalg.norm(pull)):
            return q
        # The value is between 0 and 1; for very negative differences, the sum suffers from cancellation.
        curvature = pairs.counts * np.clip(slope * (slope + difference), 0.0, 1.0)
        # Far from the maximum, an inexact solution is enough; closer to it, the accuracy increases.
        step = _solve(pairs, curvature, prior, -gradient, accuracy=min(0.1, np.sqrt(size / len(q))))
        q, loss = _line_search(pairs, prior, q, loss, step, float(gradient @ step))
    raise ScoringError(f"the scores do not converge: the gradient is {size:.1g} after {_MAX_STEPS} steps")


def _loss(pairs: Comparisons, q: FloatArray, prior: float) -> float:
    agreement = pairs.counts @ log_ndtr(q[pairs.winners] - q[pairs.losers])
    return float(prior * (q @ q) / 2 - agreement)


def _scatter(pairs: Comparisons, values: FloatArray) -> FloatArray:
    """Adds a value per pair to its winner and takes it from its loser."""
    won = np.bincount(pairs.winners, weights=values, minlength=pairs.n_items)
    lost = np.bincount(pairs.losers, weights=values, minlength=pairs.n_items)
    return np.subtract(won, lost, dtype=np.float64)


def _solve(pairs: Comparisons, curvature: FloatArray, prior: float, target: FloatArray, accuracy: float) -> FloatArray:
    """Solution of Hessian @ step = target by conjugate gradients; the Hessian is a graph Laplacian plus the prior."""
    n = pairs.n_items
    diagonal = (
        prior
        + np.bincount(pairs.winners, weights=curvature, minlength=n)
        + np.bincount(pairs.losers, weights=curvature, minlength=n)
    )

    def product(v: FloatArray) -> FloatArray:
        return prior * v + _scatter(pairs, curvature * (v[pairs.winners] - v[pairs.losers]))

    step, _ = cg(
        LinearOperator((n, n), matvec=product, dtype=np.float64),
        target,
        rtol=accuracy,
        M=LinearOperator((n, n), matvec=lambda v: v / diagonal, dtype=np.float64),
    )
    # The exact solution has no constant component, but rounding errors do, and the likelihood does not limit them.
    return step - step.mean()


def _line_search(
    pairs: Comparisons, prior: float, q: FloatArray, loss: float, step: FloatArray, slope: float
) -> tuple[FloatArray, float]:
    """The first of the full step, half of it, a quarter ... that lowers the loss enough; also the loss there."""
    length, rounding = 1.0, 1e-14 * abs(loss)
    while True:
        tried = q + length * step
        found = _loss(pairs, tried, prior)
        if found <= loss + 1e-4 * length * slope + rounding:
            return tried, found
        length /= 2


def _check_connected(pairs: Comparisons) -> None:
    """Check that the maximum likelihood scores are finite."""
    n = pairs.n_items
    graph = csr_array((pairs.counts, (pairs.winners, pairs.losers)), shape=(n, n))
    n_sets, label = connected_components(graph, directed=True, connection="strong")
    if n_sets == 1:
        return
    never_won = np.flatnonzero(np.bincount(pairs.winners, minlength=n) == 0)
    never_lost = np.flatnonzero(np.bincount(pairs.losers, minlength=n) == 0)
    each_did_both = not len(never_won) and not len(never_lost)
    raise UnboundedScoresError(
        never_won=never_won.tolist(),
        never_lost=never_lost.tolist(),
        unbeaten_set=_unbeaten_set(pairs, n_sets, label) if each_did_both else [],
    )


def _unbeaten_set(pairs: Comparisons, n_sets: int, label: NDArray[np.int32]) -> list[int]:
    """The smallest strongly connected set of items that lost no comparison with an item outside."""
    crossing = label[pairs.winners] != label[pairs.losers]
    beaten = np.bincount(label[pairs.losers[crossing]], minlength=n_sets) > 0
    sizes = np.where(beaten, len(label) + 1, np.bincount(label, minlength=n_sets))
    return np.flatnonzero(label == np.argmin(sizes)).tolist()
