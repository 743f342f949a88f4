"""TrueSkill: ratings that each comparison updates in closed form.

Source: Herbrich, Minka and Graepel, "TrueSkill: A Bayesian Skill Rating System", NeurIPS 2006, Eq. 2 and the update
equations below it for two players, without draws and without skill dynamics (tau = 0), as 2AFC uses it in Sec. III-D
(https://arxiv.org/abs/2402.01162).
"""

from math import pi, sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx

from eyechart.metrics.scoring.inputs import FloatArray
from eyechart.metrics.scoring.pair_ranking.comparisons import check_outcomes
from eyechart.metrics.scoring.statistics.bootstrap import check_seed

MU = 25.0
SIGMA = 25.0 / 3
BETA = 25.0 / 6


def trueskill_scores(winners: ArrayLike, losers: ArrayLike, n_items: int, *, seed: int | None = None) -> FloatArray:
    """Mean skills after all comparisons, from mu 25, sigma 25/3, beta 25/6.

    Each update depends on the current ratings, so the result depends on the order of the comparisons.

    Args:
        winners: Number of the item that won each comparison, shape (n,), in 0 .. n_items - 1.
        losers: Number of the item that lost it, shape (n,).
        n_items: Number of items.
        seed: Seed that shuffles the comparisons; None keeps the given order.

    Returns:
        Shape (n_items,), higher is better; 25 for an item without comparisons.

    Raises:
        InputError: An argument is invalid.

    Examples:
        >>> trueskill_scores([0], [1], n_items=3).round(4).tolist()
        [29.2052, 20.7948, 25.0]
    """
    won, lost = check_outcomes(winners, losers, n_items)
    if seed is not None:
        check_seed(seed)
        order = np.random.default_rng(seed).permutation(len(won))
        won, lost = won[order], lost[order]
    means, variances = [MU] * n_items, [SIGMA**2] * n_items
    noise, scale, root = 2 * BETA**2, sqrt(2 / pi), sqrt(2)
    for winner, loser in zip(won.tolist(), lost.tolist(), strict=True):
        spread = noise + variances[winner] + variances[loser]
        deviation = sqrt(spread)
        lead = (means[winner] - means[loser]) / deviation
        # pdf(lead) / cdf(lead), in a form that neither underflows nor cancels for an unlikely win.
        v = scale / float(erfcx(-lead / root))
        w = v * (v + lead)
        for item, sign in ((winner, 1), (loser, -1)):
            means[item] += sign * v * variances[item] / deviation
            variances[item] *= 1 - w * variances[item] / spread
    return np.array(means)
