from math import erf, exp, pi, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_ndtr
from scipy.stats import norm

from eyechart.metrics.scoring.errors import InputError, UnboundedScoresError, UndefinedScoreError
from eyechart.metrics.scoring.pair_ranking import (
    inverse_mills,
    map_scores,
    mle_scores,
    perron_scores,
    rescale,
    trueskill_scores,
)

RANKINGS = [map_scores, mle_scores, perron_scores, trueskill_scores]
NEXT = st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda pair: pair[0] != pair[1])
PAIRS = st.lists(NEXT, min_size=1, max_size=40)


def _outcomes(n: int, rounds: int, seed: int, circle: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Noisy outcomes of rounds of random matchings; a circle of wins keeps maximum likelihood finite."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=n)
    pairs = np.concatenate([rng.permutation(n)[: n // 2 * 2].reshape(-1, 2) for _ in range(rounds)])
    first = quality[pairs[:, 0]] - quality[pairs[:, 1]] + rng.normal(size=len(pairs)) > 0
    winners, losers = np.where(first, pairs[:, 0], pairs[:, 1]), np.where(first, pairs[:, 1], pairs[:, 0])
    if circle:
        winners, losers = np.append(winners, np.arange(n)), np.append(losers, np.roll(np.arange(n), 1))
    return winners, losers


@pytest.mark.parametrize("ranking", RANKINGS)
@pytest.mark.parametrize(
    ("winners", "losers", "n_items", "message"),
    [
        ([0, 1, 2], [1, 0, 1], 2, r"winners\[2\] is 2; allowed: whole numbers from 0 to 1"),
        ([0, 1], [1, -1], 2, r"losers\[1\] is -1"),
        ([0, 0.5], [1, 1], 2, r"winners\[1\] is 0.5"),
        ([0, 1, 1], [1, 1, 1], 2, r"winners\[1\] and losers\[1\] are both 1"),
        ([0], [1], 0, "n_items is 0"),
    ],
)
def test_bad_input(ranking, winners, losers, n_items, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ranking(winners, losers, n_items)
    with pytest.raises(InputError, match=r"ridge is -0\.1"):
        mle_scores([0], [1], 2, -0.1)


@pytest.mark.parametrize("ranking", [map_scores, perron_scores, trueskill_scores])
@given(PAIRS, st.randoms(use_true_random=False))
def test_equivariant_under_renaming(ranking, pairs: list[tuple[int, int]], random) -> None:
    winners, losers = np.array(pairs).T
    renamed = np.array(random.sample(range(8), 8))
    expected = np.empty(8)
    expected[renamed] = ranking(winners, losers, 8)
    assert ranking(renamed[winners], renamed[losers], 8) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(("ranking", "middle"), [(map_scores, 0), (trueskill_scores, 25)])
@given(PAIRS)
def test_swapping_winners_and_losers_mirrors(ranking, middle: float, pairs: list[tuple[int, int]]) -> None:
    winners, losers = np.array(pairs).T
    assert ranking(losers, winners, 8) - middle == pytest.approx(middle - ranking(winners, losers, 8), abs=1e-8)


@pytest.mark.parametrize("ranking", [map_scores, trueskill_scores])
@given(PAIRS, NEXT)
def test_another_win_raises_the_winner_and_lowers_the_loser(ranking, pairs: list[tuple[int, int]], more) -> None:
    before, after = (ranking(*np.array(rows).T, 8) for rows in (pairs, [*pairs, more]))
    assert after[more[0]] >= before[more[0]] and after[more[1]] <= before[more[1]]


@given(st.lists(st.floats(-1e6, 1e6), min_size=2).filter(lambda values: min(values) < max(values)))
def test_rescaled_scores_span_the_range_and_keep_the_order(values: list[float]) -> None:
    scores = rescale(values)
    assert scores.min() == 0 and scores.max() == 100
    assert (np.diff(scores[np.argsort(values)]) >= 0).all()
    with pytest.raises(UndefinedScoreError, match="all 2 scores are equal"):
        rescale([1.0, 1.0])


# Thurstone's Case V


def _dense_optimum(winners, losers, n: int, prior: float) -> np.ndarray:
    """The optimum by SciPy on the full matrix, with its own gradient."""
    counts = np.zeros((n, n))
    np.add.at(counts, (winners, losers), 1)

    def loss(q: np.ndarray) -> tuple[float, np.ndarray]:
        difference = q[:, None] - q
        pull = counts * np.exp(norm.logpdf(difference) - norm.logcdf(difference))
        gradient = prior * q - pull.sum(axis=1) + pull.sum(axis=0)
        return prior * q @ q / 2 - np.sum(counts * norm.logcdf(difference)), gradient

    optimum = minimize(loss, np.zeros(n), jac=True, method="BFGS", options={"gtol": 1e-7, "maxiter": 5000})
    return optimum.x - optimum.x.mean() * (prior == 0)


@pytest.mark.parametrize(("n", "rounds", "seed"), [(101, 3, 2), (25, 1, 3)])
def test_map_is_the_dense_optimum(n: int, rounds: int, seed: int) -> None:
    winners, losers = _outcomes(n, rounds, seed)
    scores = map_scores(winners, losers, n)
    assert scores == pytest.approx(_dense_optimum(winners, losers, n, prior=1.0), abs=1e-5)
    assert scores.sum() == pytest.approx(0, abs=1e-9)


def test_mle_is_the_dense_optimum() -> None:
    winners, losers = _outcomes(30, 40, seed=0, circle=True)
    scores = mle_scores(winners, losers, 30)
    assert scores == pytest.approx(_dense_optimum(winners, losers, 30, prior=0.0), abs=1e-5)
    assert scores.sum() == pytest.approx(0, abs=1e-9)


def test_mle_with_a_ridge_is_the_dense_optimum_if_an_item_never_lost() -> None:
    winners, losers = _outcomes(12, 6, seed=0)
    # Item 0 wins whatever it is in; item 12 is beaten once and wins nothing.
    flipped = losers == 0
    winners, losers = np.where(flipped, losers, winners), np.where(flipped, winners, losers)
    winners, losers = np.append(winners, 5), np.append(losers, 12)
    scores = mle_scores(winners, losers, 13, ridge=0.01)
    assert scores == pytest.approx(_dense_optimum(winners, losers, 13, prior=0.01), abs=1e-4)
    assert scores.sum() == pytest.approx(0, abs=1e-8)


def test_two_and_three_items_by_hand() -> None:
    # Three wins to one: the share of wins is Phi of the difference.
    scores = mle_scores([0, 0, 0, 1], [1, 1, 1, 0], 2)
    assert scores[0] - scores[1] == pytest.approx(norm.ppf(0.75), abs=1e-9)
    # One win: the slope of log Phi(2 q) is that of the prior, q.
    q = map_scores([0], [1], 2)[0]
    assert norm.pdf(2 * q) / norm.cdf(2 * q) == pytest.approx(q, abs=1e-9)
    # Each wins 3 of 4 against the next: the two differences do not touch each other.
    scores = mle_scores([0, 0, 0, 1, 1, 1, 1, 2], [1, 1, 1, 0, 2, 2, 2, 1], 3)
    assert scores == pytest.approx([norm.ppf(0.75), 0, -norm.ppf(0.75)], abs=1e-8)


def test_a_step_that_goes_too_far_is_halved() -> None:
    # With full steps, these scores need more than the allowed number of steps.
    rng = np.random.default_rng(3)
    pairs = np.concatenate([rng.permutation(60).reshape(-1, 2) for _ in range(30)])
    winners, losers = pairs.min(axis=1), pairs.max(axis=1)
    scores = mle_scores(winners, losers, 60, ridge=1e-9)
    assert (scores[winners] > scores[losers]).all() and scores.sum() == pytest.approx(0, abs=1e-6)


def test_a_long_chain_converges() -> None:
    # A chain with one win back makes each difference depend on all others.
    n = 200
    up, down = np.arange(n - 1), np.arange(1, n)
    winners, losers = np.concatenate([up, up, up, down]), np.concatenate([down, down, down, up])
    assert np.diff(mle_scores(winners, losers, n)) == pytest.approx(-norm.ppf(0.75), abs=1e-7)


@given(st.floats(-40, 8))
def test_inverse_mills_is_the_quotient(x: float) -> None:
    assert inverse_mills(x) == pytest.approx(np.exp(norm.logpdf(x) - log_ndtr(x)), rel=1e-9)


def test_inverse_mills_far_out() -> None:
    # Towards minus infinity phi / Phi is -x - 1/x + 2/x^3, towards infinity it is phi.
    x = np.array([-1e3, -1e8])
    assert inverse_mills(x) == pytest.approx(-x - 1 / x + 2 / x**3, rel=1e-14)
    assert inverse_mills(np.array([30.0, 1e8])) == pytest.approx([norm.pdf(30), 0.0], rel=1e-9)


@pytest.mark.parametrize(
    ("pairs", "n", "unbeaten"),
    [
        ([(0, 1), (1, 0), (1, 2)], 3, [0, 1]),
        ([(0, 1), (1, 0)], 3, [2]),
        # Two circles; all wins between them go one way, so each item has won and lost.
        ([(0, 1), (1, 0), (2, 3), (3, 4), (4, 2), (4, 0)], 5, [2, 3, 4]),
        # Two circles that never met.
        ([(0, 1), (1, 2), (2, 0), (3, 4), (4, 3)], 5, [3, 4]),
        ([*((one, (one + 1) % 12) for one in range(12)), (0, 12)], 13, list(range(12))),
    ],
)
def test_mle_refuses_what_has_no_finite_optimum(pairs, n: int, unbeaten) -> None:
    names = ", ".join(map(str, unbeaten[:10])) + (" and 2 more" if len(unbeaten) > 10 else "")
    with pytest.raises(
        UnboundedScoresError, match=f"infinite: {names} lost to none of the others. Use .*mle_ridge"
    ) as e:
        mle_scores(*zip(*pairs, strict=True), n)
    assert e.value.unbeaten == unbeaten


# Perron


def _dense_eigenvector(winners, losers, n: int) -> np.ndarray:
    """The principal left eigenvector of the damped, row-stochastic matrix, by NumPy."""
    lost_to = np.zeros((n, n))
    np.add.at(lost_to, (losers, winners), 1)
    rows = lost_to.sum(axis=1, keepdims=True)
    matrix = 0.99 * np.where(rows > 0, lost_to / np.maximum(rows, 1), 1 / n) + 0.01 / n
    assert matrix.sum(axis=1) == pytest.approx(1)
    values, vectors = np.linalg.eig(matrix.T)
    principal = vectors[:, np.argmax(values.real)].real
    return principal / principal.sum()


@pytest.mark.parametrize(("n", "pairs", "seed"), [(100, 60, 1), (30, 2000, 2)])
def test_perron_is_the_dense_eigenvector(n: int, pairs: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    winners = rng.integers(0, n, size=pairs)
    losers = (winners + rng.integers(1, n, size=pairs)) % n
    assert perron_scores(winners, losers, n) == pytest.approx(_dense_eigenvector(winners, losers, n), abs=1e-12)


def test_perron_by_hand() -> None:
    # The loser's row is (0.995, 0.005), the unbeaten winner's (0.5, 0.5): x = 0.5 x + 0.995 (1 - x).
    assert perron_scores([0], [1], 2) == pytest.approx([0.995 / 1.495, 0.5 / 1.495])
    # A circle is a draw.
    assert perron_scores(np.arange(50), np.roll(np.arange(50), 1), 50) == pytest.approx(1 / 50, abs=1e-12)
    # Items without a win come last, also if they are in no comparison.
    scores = perron_scores([0, 0, 0, 1, 1, 2], [1, 2, 3, 2, 3, 3], 5)
    assert scores[0] > scores[1] > scores[2] > scores[3] == pytest.approx(scores[4]) == pytest.approx(scores.min())


# TrueSkill


def _update(winner: tuple[float, float], loser: tuple[float, float]) -> list[tuple[float, float]]:
    """The update of the paper, written down with (mu, sigma) of both players."""
    (mu_w, sigma_w), (mu_l, sigma_l) = winner, loser
    c = sqrt(2 * (25 / 6) ** 2 + sigma_w**2 + sigma_l**2)
    t = (mu_w - mu_l) / c
    v = exp(-t * t / 2) / sqrt(2 * pi) / ((1 + erf(t / sqrt(2))) / 2)
    w = v * (v + t)
    return [
        (mu_w + sigma_w**2 / c * v, sigma_w * sqrt(1 - sigma_w**2 / c**2 * w)),
        (mu_l - sigma_l**2 / c * v, sigma_l * sqrt(1 - sigma_l**2 / c**2 * w)),
    ]


def test_trueskill_by_hand() -> None:
    # c^2 = 2 (25/6)^2 + 2 (25/3)^2 = 173.6111; t = 0, so v = 2 phi(0) = sqrt(2/pi) and w = v^2 = 2/pi.
    # 25 +- 69.4444 / 13.1762 * 0.797885 = 25 +- 4.2052.
    assert trueskill_scores([0], [1], 2) == pytest.approx([29.2052, 20.7948], abs=5e-5)
    a = b = c = (25.0, 25 / 3)
    a, b = _update(a, b)
    b, c = _update(b, c)
    c, a = _update(c, a)
    assert trueskill_scores([0, 1, 2], [1, 2, 0], 3) == pytest.approx([a[0], b[0], c[0]])


def test_trueskill_depends_on_the_order_which_a_seed_shuffles() -> None:
    winners, losers = _outcomes(10, 12, 0)
    order = np.random.default_rng(1).permutation(len(winners))
    as_given, shuffled = trueskill_scores(winners, losers, 10), trueskill_scores(winners, losers, 10, seed=1)
    assert shuffled.tolist() == trueskill_scores(winners[order], losers[order], 10).tolist() != as_given.tolist()
