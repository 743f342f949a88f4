"""TrueSkill: ratings that each comparison updates in closed form.

Source: Herbrich, Minka and Graepel, "TrueSkill: A Bayesian Skill Rating System", NeurIPS 2006, Eq. 2 and the update
equations below it for two players, without draws and without skill dynamics (tau = 0), as 2AFC uses it in Sec. III-D
(https://arxiv.org/abs/2402.01162).
"""

from dataclasses import dataclass
from math import pi, sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.inputs import FloatArray
from eyechart.metrics.scoring.pair_ranking.comparisons import IndexArray, check_outcomes

MU = 25.0
SIGMA = 25.0 / 3
BETA = 25.0 / 6


@dataclass(frozen=True)
class Ratings:
    """What is believed of each item's skill.

    Attributes:
        means: Shape (n_items,), higher is better; 25 for an item that never appears.
        deviations: Standard deviations, shape (n_items,), at most 25 / 3.
    """

    means: FloatArray
    deviations: FloatArray


def trueskill_scores(
    winners: ArrayLike,
    losers: ArrayLike,
    n_items: int,
    *,
    order: ArrayLike | None = None,
    seed: int | None = None,
) -> FloatArray:
    """Mean skills after all comparisons. Arguments and errors as for `trueskill_ratings`.

    Returns:
        Shape (n_items,), higher is better; 25 for an item that never appears.

    Examples:
        >>> trueskill_scores([0], [1], n_items=3).round(4).tolist()
        [29.2052, 20.7948, 25.0]
    """
    return trueskill_ratings(winners, losers, n_items, order=order, seed=seed).means


def trueskill_ratings(
    winners: ArrayLike,
    losers: ArrayLike,
    n_items: int,
    *,
    order: ArrayLike | None = None,
    seed: int | None = None,
) -> Ratings:
    """Ratings after all comparisons, from mu 25, sigma 25/3, beta 25/6.

    An update depends on the ratings it finds, so the result depends on the order of the comparisons.

    Args:
        winners: Number of the item that won each comparison, shape (n,), in 0 .. n_items - 1.
        losers: Number of the item that lost it, shape (n,).
        n_items: Number of items.
        order: The rows in the order they are played, a permutation of 0 .. n - 1; None for the order given.
        seed: Shuffles the rows instead; not together with `order`.

    Returns:
        Means and standard deviations.

    Raises:
        InputError: An argument is malformed.

    Examples:
        >>> trueskill_ratings([0], [1], n_items=2).deviations.round(4).tolist()
        [7.1945, 7.1945]
    """
    won, lost = check_outcomes(winners, losers, n_items)
    played = _play_order(len(won), order, seed)
    means, variances = [MU] * n_items, [SIGMA**2] * n_items
    noise, scale, root = 2 * BETA**2, sqrt(2 / pi), sqrt(2)
    for winner, loser in zip(won[played].tolist(), lost[played].tolist(), strict=True):
        spread = noise + variances[winner] + variances[loser]
        deviation = sqrt(spread)
        lead = (means[winner] - means[loser]) / deviation
        # pdf(lead) / cdf(lead), in a form that neither underflows nor cancels for an unlikely win.
        v = scale / float(erfcx(-lead / root))
        w = v * (v + lead)
        for item, sign in ((winner, 1), (loser, -1)):
            means[item] += sign * v * variances[item] / deviation
            variances[item] *= 1 - w * variances[item] / spread
    return Ratings(np.array(means), np.sqrt(variances))


def _play_order(n: int, order: ArrayLike | None, seed: int | None) -> IndexArray:
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool) or seed < 0):
        raise InputError(f"seed is {seed!r}; it must be a whole number of at least 0, or None")
    if order is None:
        return np.arange(n) if seed is None else np.random.default_rng(seed).permutation(n)
    if seed is not None:
        raise InputError(f"seed is {seed!r} and order is given; one of them decides the order")
    rows = np.asarray(order)
    if rows.shape != (n,) or rows.dtype.kind not in "iu" or not np.array_equal(np.sort(rows), np.arange(n)):
        raise InputError(f"order must hold each row number from 0 to {n - 1} once")
    return rows.astype(np.int64)
