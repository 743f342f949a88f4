import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_ndtr
from scipy.stats import norm

from eyechart.metrics.scoring.errors import InputError, UnboundedScoresError
from eyechart.metrics.scoring.pair_ranking import map_scores, mle_scores
from eyechart.metrics.scoring.pair_ranking.comparisons import count_outcomes
from eyechart.metrics.scoring.pair_ranking.thurstone import _line_search, _loss, inverse_mills

PAIRS = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda pair: pair[0] != pair[1]), min_size=1, max_size=40
)


def _outcomes(n: int, rounds: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Noisy outcomes of rounds of random matchings."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=n)
    pairs = np.concatenate([rng.permutation(n)[: n // 2 * 2].reshape(-1, 2) for _ in range(rounds)])
    first = quality[pairs[:, 0]] - quality[pairs[:, 1]] + rng.normal(size=len(pairs)) > 0
    return np.where(first, pairs[:, 0], pairs[:, 1]), np.where(first, pairs[:, 1], pairs[:, 0])


def _dense_optimum(winners, losers, n: int, prior: float) -> np.ndarray:
    """The same optimum by SciPy on the full matrix, with its own gradient."""
    counts = np.zeros((n, n))
    np.add.at(counts, (winners, losers), 1)

    def loss(q: np.ndarray) -> tuple[float, np.ndarray]:
        difference = q[:, None] - q
        pull = counts * np.exp(norm.logpdf(difference) - norm.logcdf(difference))
        gradient = prior * q - pull.sum(axis=1) + pull.sum(axis=0)
        return prior * q @ q / 2 - np.sum(counts * norm.logcdf(difference)), gradient

    found = minimize(loss, np.zeros(n), jac=True, method="BFGS", options={"gtol": 1e-7, "maxiter": 5000})
    return found.x - found.x.mean() * (prior == 0)


@pytest.mark.parametrize(("n", "rounds", "seed"), [(100, 12, 0), (100, 12, 1), (101, 3, 2), (25, 1, 3), (5, 12, 4)])
def test_map_is_the_dense_optimum(n: int, rounds: int, seed: int) -> None:
    winners, losers = _outcomes(n, rounds, seed)
    found = map_scores(winners, losers, n)
    assert found == pytest.approx(_dense_optimum(winners, losers, n, prior=1.0), abs=1e-5)
    assert found.sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_mle_is_the_dense_optimum(seed: int) -> None:
    winners, losers = _outcomes(30, 40, seed)
    winners, losers = np.append(winners, np.arange(30)), np.append(losers, np.roll(np.arange(30), 1))
    found = mle_scores(winners, losers, 30)
    assert found == pytest.approx(_dense_optimum(winners, losers, 30, prior=0.0), abs=1e-5)
    assert found.sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("ridge", [0.01, 0.3])
@pytest.mark.parametrize("seed", range(2))
def test_mle_with_a_ridge_is_the_dense_optimum_where_an_image_never_lost(seed: int, ridge: float) -> None:
    winners, losers = _outcomes(12, 6, seed)
    # Item 0 wins whatever it is in; item 12 is beaten once and wins nothing.
    flipped = losers == 0
    winners, losers = np.where(flipped, losers, winners), np.where(flipped, winners, losers)
    winners, losers = np.append(winners, 5), np.append(losers, 12)
    with pytest.raises(UnboundedScoresError, match="Use aggregator 'mle_ridge', whose scores are always finite"):
        mle_scores(winners, losers, 13)
    found = mle_scores(winners, losers, 13, ridge=ridge)
    assert found == pytest.approx(_dense_optimum(winners, losers, 13, prior=ridge), abs=1e-4)
    assert found.sum() == pytest.approx(0, abs=1e-8)


def test_a_ridge_of_one_is_map_and_a_vanishing_one_is_mle() -> None:
    winners, losers = _outcomes(30, 40, 0)
    winners, losers = np.append(winners, np.arange(30)), np.append(losers, np.roll(np.arange(30), 1))
    assert mle_scores(winners, losers, 30, ridge=1.0).tolist() == map_scores(winners, losers, 30).tolist()
    assert mle_scores(winners, losers, 30, ridge=1e-7) == pytest.approx(mle_scores(winners, losers, 30), abs=1e-5)


@pytest.mark.parametrize("ridge", [-0.1, float("nan"), float("inf")])
def test_a_ridge_is_a_positive_number(ridge: float) -> None:
    with pytest.raises(InputError, match=r"ridge is .*; it must be 0 or a positive number"):
        mle_scores([0], [1], 2, ridge=ridge)


def test_two_items_by_hand() -> None:
    # Three wins to one: the share of wins is Phi of the difference.
    found = mle_scores([0, 0, 0, 1], [1, 1, 1, 0], 2)
    assert found[0] - found[1] == pytest.approx(norm.ppf(0.75), abs=1e-9)
    # One win: the slope of log Phi(2 q) is that of the prior, q.
    q = map_scores([0], [1], 2)[0]
    assert norm.pdf(2 * q) / norm.cdf(2 * q) == pytest.approx(q, abs=1e-9)


def test_three_items_in_a_row_by_hand() -> None:
    # Each wins 3 of 4 against the next: the two differences do not touch each other.
    winners, losers = [0, 0, 0, 1, 1, 1, 1, 2], [1, 1, 1, 0, 2, 2, 2, 1]
    found = mle_scores(winners, losers, 3)
    assert found == pytest.approx([norm.ppf(0.75), 0, -norm.ppf(0.75)], abs=1e-8)


def test_items_that_never_appear_get_the_prior_mean() -> None:
    found = map_scores([2, 2], [4, 4], 6)
    assert found[[0, 1, 3, 5]].tolist() == [0.0] * 4
    assert found[2] == -found[4] > 0


@pytest.mark.parametrize("count", [1, 10**3, 10**6])
def test_one_sided_series(count: int) -> None:
    found = map_scores(np.zeros(count, dtype=int), np.ones(count, dtype=int), 2)
    assert inverse_mills(2 * found[:1])[0] * count == pytest.approx(found[0], rel=1e-6)


def test_an_upset_of_long_odds() -> None:
    winners, losers = [0] * 10**5 + [1], [1] * 10**5 + [0]
    found = mle_scores(winners, losers, 2)
    assert found[0] - found[1] == pytest.approx(norm.isf(1 / (10**5 + 1)), rel=1e-8)


def test_a_long_chain_converges() -> None:
    # A chain with one win back makes each difference depend on all others.
    n = 200
    up, down = np.arange(n - 1), np.arange(1, n)
    winners, losers = np.concatenate([up, up, up, down]), np.concatenate([down, down, down, up])
    assert np.diff(mle_scores(winners, losers, n)) == pytest.approx(-norm.ppf(0.75), abs=1e-7)


@given(st.floats(-40, 8))
def test_inverse_mills_is_the_quotient(x: float) -> None:
    expected = np.exp(norm.logpdf(x) - log_ndtr(x))
    assert inverse_mills(np.array([x]))[0] == pytest.approx(expected, rel=1e-9)


def test_inverse_mills_far_out() -> None:
    # Towards minus infinity phi / Phi is -x - 1/x + 2/x^3, towards infinity it is phi.
    x = np.array([-1e3, -1e8])
    assert inverse_mills(x) == pytest.approx(-x - 1 / x + 2 / x**3, rel=1e-14)
    assert inverse_mills(np.array([30.0, 1e8])) == pytest.approx([norm.pdf(30), 0.0], rel=1e-9)


@given(PAIRS, st.randoms(use_true_random=False))
def test_equivariant_under_renaming(pairs: list[tuple[int, int]], random) -> None:
    winners, losers = np.array(pairs).T
    renamed = np.array(random.sample(range(8), 8))
    expected = np.empty(8)
    expected[renamed] = map_scores(winners, losers, 8)
    assert map_scores(renamed[winners], renamed[losers], 8) == pytest.approx(expected, abs=1e-8)


@given(PAIRS)
def test_swapping_winners_and_losers_negates(pairs: list[tuple[int, int]]) -> None:
    winners, losers = np.array(pairs).T
    assert map_scores(losers, winners, 8) == pytest.approx(-map_scores(winners, losers, 8), abs=1e-8)


@given(PAIRS, st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda pair: pair[0] != pair[1]))
def test_another_win_raises_the_winner_and_lowers_the_loser(pairs: list[tuple[int, int]], more) -> None:
    before, after = (map_scores(*np.array(rows).T, 8) for rows in (pairs, [*pairs, more]))
    assert after[more[0]] > before[more[0]]
    assert after[more[1]] < before[more[1]]


@given(PAIRS)
def test_the_order_of_pairs_does_not_matter(pairs: list[tuple[int, int]]) -> None:
    winners, losers = np.array(pairs).T
    assert map_scores(winners[::-1], losers[::-1], 8).tolist() == map_scores(winners, losers, 8).tolist()


@pytest.mark.parametrize(
    ("pairs", "n", "never_won", "never_lost", "unbeaten"),
    [
        ([(0, 1)], 2, [1], [0], []),
        ([(0, 1), (1, 2), (2, 1)], 3, [], [0], []),
        ([(0, 1), (1, 0), (1, 2)], 3, [2], [], []),
        ([(0, 1), (1, 0)], 3, [2], [2], []),
        # Two circles; all wins between them go one way, so each item has won and lost.
        ([(0, 1), (1, 0), (2, 3), (3, 4), (4, 2), (4, 0)], 5, [], [], [2, 3, 4]),
        # Two circles that never met.
        ([(0, 1), (1, 2), (2, 0), (3, 4), (4, 3)], 5, [], [], [3, 4]),
    ],
)
def test_mle_refuses_what_has_no_finite_optimum(pairs, n: int, never_won, never_lost, unbeaten) -> None:
    with pytest.raises(UnboundedScoresError) as caught:
        mle_scores(*np.array(pairs).T, n)
    assert caught.value.never_won == never_won
    assert caught.value.never_lost == never_lost
    assert caught.value.unbeaten_set == unbeaten


def test_the_message_names_the_items() -> None:
    with pytest.raises(UnboundedScoresError, match="would be infinite; never won: 1; never lost: 0"):
        mle_scores([0], [1], 2)
    with pytest.raises(UnboundedScoresError, match="these items lost to none of the others: 0, 1"):
        mle_scores([0, 1, 0, 2, 3, 3, 2], [1, 0, 2, 3, 2, 2, 3], 4)
    never = re.escape("never won: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 5 more; never lost: 0")
    with pytest.raises(UnboundedScoresError, match=never):
        mle_scores([0] * 15, range(1, 16), 16)


def test_many_images() -> None:
    winners, losers = _outcomes(5000, 12, seed=0)
    found = map_scores(winners, losers, 5000)
    difference = found[winners] - found[losers]
    pull = np.zeros(5000)
    np.add.at(pull, winners, inverse_mills(difference))
    np.subtract.at(pull, losers, inverse_mills(difference))
    # At the optimum of a strictly concave objective the pull of the pairs balances that of the prior.
    assert np.abs(pull - found).max() < 1e-8


def test_a_step_that_goes_too_far_is_halved_until_the_loss_falls() -> None:
    pairs = count_outcomes([0, 0, 0, 1], [1, 1, 1, 0], 2)
    start, step = np.zeros(2), np.array([50.0, -50.0])
    before = _loss(pairs, start, 0.0)
    # Three wins and one loss: each pulls with the density over the distribution function at 0, sqrt(2 / pi).
    slope = -2 * np.sqrt(2 / np.pi) * 100
    assert _loss(pairs, step, 0.0) > before
    found, loss = _line_search(pairs, 0.0, start, before, step, slope)
    assert loss < before and loss == pytest.approx(_loss(pairs, found, 0.0))
    assert 0 < found[0] == -found[1] < 2
