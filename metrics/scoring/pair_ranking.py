"""One score per item from the outcomes of pairs: four ways to aggregate paired comparisons.

Protocol: 2AFC, Sec. II-B and III-D (https://arxiv.org/abs/2402.01162). Every function takes the item numbers `winners`
and `losers`, one per comparison, shape (n,), in 0 .. n_items - 1, and returns scores of shape (n_items,), higher is
better. Time and memory grow with the number of pairs. The scores of the functions have different scales; `rescale`
maps any of them to [0, 100]. Invalid arguments raise `InputError`.
"""

from math import inf, pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import erfcx

from eyechart.metrics.scoring.errors import InputError, ScoringError, UnboundedScoresError, UndefinedScoreError
from eyechart.metrics.scoring.inputs import FloatArray, check_count, check_lengths, check_numbers
from eyechart.metrics.scoring.statistics.bootstrap import check_seed


def map_scores(winners: ArrayLike, losers: ArrayLike, n_items: int) -> FloatArray:
    """Maximum a posteriori scores of Thurstone's Case V, Eq. 2 of 2AFC.

    Item i beats item j with probability Phi(q_i - q_j). The scores maximise
    sum_ij C_ij log Phi(q_i - q_j) - sum_i q_i^2 / 2, where C_ij is the number of times that i beat j; they sum to zero.
    An item without comparisons gets 0, the mean of the prior.

    Examples:
        >>> map_scores([0, 0, 1], [1, 2, 2], n_items=4).round(3).tolist()
        [0.638, 0.0, -0.638, 0.0]
    """
    return _most_likely(_counts(winners, losers, n_items), prior=1.0)


def mle_scores(winners: ArrayLike, losers: ArrayLike, n_items: int, ridge: float = 0.0) -> FloatArray:
    """Maximum likelihood scores, Eq. 1 of 2AFC, on the scale of `map_scores`; they sum to zero.

    Without a ridge, the scores are finite only if no set of items won all its comparisons with the other items (Ford,
    "Solution of a ranking problem from binary comparisons", 1957). A `ridge` r above 0 subtracts r sum_i q_i^2 / 2 from
    the log-likelihood, so that its maximum is always finite. It is not known how the paper made its MLE finite: its
    released code only has MAP. Infinite scores raise `UnboundedScoresError`.

    Examples:
        >>> mle_scores([0, 1, 2, 0], [1, 2, 0, 1], n_items=3).round(3).tolist()
        [0.27, -0.27, 0.0]
    """
    counts = _counts(winners, losers, n_items)
    if not 0 <= ridge < inf:
        raise InputError(f"ridge is {ridge!r}; it must be 0 or a positive number")
    n_sets, label = connected_components(counts, directed=True, connection="strong")
    if ridge == 0 and n_sets > 1:
        of_winners, of_losers = (label[items] for items in counts.nonzero())
        is_beaten = np.bincount(of_losers[of_winners != of_losers], minlength=n_sets) > 0
        sizes = np.where(is_beaten, inf, np.bincount(label, minlength=n_sets))
        raise UnboundedScoresError(np.flatnonzero(label == np.argmin(sizes)).tolist())
    return _most_likely(counts, prior=ridge)


def perron_scores(winners: ArrayLike, losers: ArrayLike, n_items: int) -> FloatArray:
    """Positive scores that sum to 1, by the Perron rank method of 2AFC, Sec. III-D, after Saaty and Vargas, 1984.

    The paper does not define the matrix. Here, row i has the share of each item in the wins over i:
    S[i, j] = C[j, i] / sum_k C[k, i], or 1 / n_items for an item that never lost. Damping of 0.01 mixes in the uniform
    matrix, P = 0.99 S + 0.01 / n_items, which makes the principal eigenvector unique and positive. The scores are
    the left eigenvector, scores @ P = scores: the long-run frequencies of a walk that goes from each item to an item
    that beat it. (The right eigenvector is constant.) An item that never won gets the lowest score.

    Examples:
        >>> perron_scores([0, 0, 1, 2], [1, 2, 2, 0], n_items=3).round(3).tolist()
        [0.4, 0.201, 0.399]
    """
    damping, accuracy = 0.01, 1e-12
    # Transposed, so that a step of the walk is a product.
    step = _counts(winners, losers, n_items)
    n, losses = step.shape[0], step.sum(axis=0)
    step.data = (1 - damping) * step.data / losses[step.indices]
    scores = np.full(n, 1 / n)
    # Each step multiplies the distance to the eigenvector, at most 2, by at most 0.99: to 1e-12 after 2,819 steps.
    for _ in range(2819):
        spread = (damping + (1 - damping) * scores[losses == 0].sum()) / n
        previous, scores = scores, step @ scores + spread
        scores /= scores.sum()
        if np.abs(scores - previous).sum() * (1 - damping) <= accuracy * damping:
            break
    return scores


def trueskill_scores(winners: ArrayLike, losers: ArrayLike, n_items: int, *, seed: int | None = None) -> FloatArray:
    """Mean skills after all comparisons by TrueSkill, from mu 25, sigma 25/3 and beta 25/6.

    Source: Herbrich, Minka and Graepel, NeurIPS 2006, Eq. 2 and the updates below it for two players, without draws and
    without skill dynamics, as in 2AFC, Sec. III-D. The scores depend on the order of the comparisons; a seed shuffles
    them.

    Examples:
        >>> trueskill_scores([0], [1], n_items=3).round(4).tolist()
        [29.2052, 20.7948, 25.0]
    """
    won, lost, n = _outcomes(winners, losers, n_items)
    if seed is not None:
        check_seed(seed)
        order = np.random.default_rng(seed).permutation(len(won))
        won, lost = won[order], lost[order]
    means, variances = [25.0] * n, [(25 / 3) ** 2] * n
    for winner, loser in zip(won.tolist(), lost.tolist(), strict=True):
        spread = 2 * (25 / 6) ** 2 + variances[winner] + variances[loser]
        deviation = sqrt(spread)
        lead = (means[winner] - means[loser]) / deviation
        v = float(inverse_mills(lead))
        w = v * (v + lead)
        for item, sign in ((winner, 1), (loser, -1)):
            means[item] += sign * v * variances[item] / deviation
            variances[item] *= 1 - w * variances[item] / spread
    return np.array(means)


def rescale(scores: ArrayLike) -> FloatArray:
    """Scores on [0, 100], as 2AFC reports them (Sec. III-A); raises `UndefinedScoreError` if all scores are equal."""
    values = check_numbers("scores", scores)
    n = check_lengths(scores=values)
    low, high = values.min(), values.max()
    if low == high:
        raise UndefinedScoreError(f"all {n} scores are equal, so they cannot be rescaled to 0 to 100")
    return 100 * ((values - low) / (high - low))


def inverse_mills(x: Any) -> Any:
    """phi(x) / Phi(x), the derivative of log Phi, which neither underflows nor cancels far from 0."""
    return sqrt(2 / pi) / erfcx(x / -sqrt(2))


def _outcomes(winners: ArrayLike, losers: ArrayLike, n_items: int) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    n = int(n_items)
    check_count("n_items", n)
    won, lost = check_numbers("winners", winners), check_numbers("losers", losers)
    check_lengths(winners=won, losers=lost)
    for name, items in (("winners", won), ("losers", lost)):
        if (wrong := (items < 0) | (items >= n) | (items % 1 != 0)).any():
            row = int(np.argmax(wrong))
            raise InputError(f"{name}[{row}] is {items[row]:g}; allowed: whole numbers from 0 to {n - 1}")
    if (won == lost).any():
        row = int(np.argmax(won == lost))
        raise InputError(f"winners[{row}] and losers[{row}] are both {won[row]:g}; they must be different items")
    return won.astype(np.int64), lost.astype(np.int64), n


def _counts(winners: ArrayLike, losers: ArrayLike, n_items: int) -> csr_array:
    """The preference matrix C: how often each winner (row) beat each loser (column)."""
    won, lost, n = _outcomes(winners, losers, n_items)
    return csr_array((np.ones(len(won)), (won, lost)), shape=(n, n))


def _most_likely(counts: csr_array, prior: float) -> FloatArray:
    """Maximiser of the log-likelihood minus prior * sum q^2 / 2; with prior 0, the one that sums to zero.

    Newton's method on the gradient; each step solves its linear system by conjugate gradients. SciPy's optimisers
    (trust-ncg, Newton-CG, L-BFGS-B, newton_krylov) take two to ten times as long, and those that compare values of the
    likelihood end with rounding errors that split ties.
    """
    n, wins, pairs = counts.shape[0], counts.data, np.arange(counts.nnz)
    signs = np.repeat([1.0, -1.0], len(pairs))
    difference = csr_array((signs, (np.tile(pairs, 2), np.concatenate(counts.nonzero()))), shape=(len(pairs), n))
    scatter = difference.T.tocsr()
    degree = abs(scatter)

    def derivatives(q: FloatArray) -> tuple[FloatArray, float, FloatArray]:
        """The gradient of the loss, the size of its summands, and the curvature of each pair, between 0 and 1."""
        x = difference @ q
        slope = inverse_mills(x)
        gradient = prior * q - scatter @ (wins * slope)
        return gradient, float(np.linalg.norm(wins * slope)), wins * np.clip(slope * (slope + x), 0, 1)

    q = np.zeros(n)
    gradient, summands, curvature = derivatives(q)
    for _ in range(100):
        size = float(np.linalg.norm(gradient))
        # Rounding errors are about 1e-16 of the summands.
        if size <= 1e-10 * summands:
            return q
        diagonal = prior + degree @ curvature
        hessian = LinearOperator(
            (n, n), lambda v, k=curvature: prior * v + scatter @ (k * (difference @ v)), dtype=float
        )
        scaling = LinearOperator((n, n), lambda v, d=diagonal: v / d, dtype=float)
        # Far from the maximum, an inexact solution is enough.
        step, _ = cg(hessian, -gradient, rtol=min(0.1, sqrt(size / n)), M=scaling)
        # The exact solution has no constant component, but rounding errors do, and the likelihood does not limit them.
        step -= step.mean()
        for length in 0.5 ** np.arange(30):
            gradient, summands, curvature = derivatives(q + length * step)
            if np.linalg.norm(gradient) <= (1 - 1e-4 * length) * size:
                break
        q = q + length * step
    raise ScoringError(f"the scores do not converge: the gradient is {size:.1g} after 100 steps")
