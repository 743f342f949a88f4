from math import erf, exp, pi, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.pair_ranking import trueskill_scores
from eyechart.metrics.scoring.pair_ranking.trueskill import trueskill_ratings

PAIRS = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda pair: pair[0] != pair[1]), min_size=1, max_size=40
)


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


def test_the_first_comparison_by_hand() -> None:
    # c^2 = 2 (25/6)^2 + 2 (25/3)^2 = 173.6111; t = 0, so v = 2 phi(0) = sqrt(2/pi) and w = v^2 = 2/pi.
    # mu: 25 +- 69.4444 / 13.1762 * 0.797885 = 25 +- 4.2052; sigma: 8.3333 sqrt(1 - 0.4 * 0.636620) = 7.1945.
    found = trueskill_ratings([0], [1], 2)
    assert found.means == pytest.approx([29.2052, 20.7948], abs=5e-5)
    assert found.deviations == pytest.approx([7.1945, 7.1945], abs=5e-5)


def test_three_comparisons_by_hand() -> None:
    a = b = c = (25.0, 25 / 3)
    a, b = _update(a, b)
    b, c = _update(b, c)
    c, a = _update(c, a)
    found = trueskill_ratings([0, 1, 2], [1, 2, 0], 3)
    assert list(zip(found.means, found.deviations, strict=True)) == [pytest.approx(rating) for rating in (a, b, c)]
    assert trueskill_scores([0, 1, 2], [1, 2, 0], 3).tolist() == found.means.tolist()


def test_items_that_never_appear_keep_the_prior() -> None:
    found = trueskill_ratings([0], [1], 3)
    assert found.means[2] == 25 and found.deviations[2] == pytest.approx(25 / 3)


def test_order() -> None:
    winners, losers = [0, 1, 2, 0], [1, 2, 0, 2]
    as_given = trueskill_scores(winners, losers, 3)
    assert trueskill_scores(winners, losers, 3, order=[0, 1, 2, 3]).tolist() == as_given.tolist()
    backwards = trueskill_scores(winners[::-1], losers[::-1], 3)
    assert trueskill_scores(winners, losers, 3, order=[3, 2, 1, 0]).tolist() == backwards.tolist()
    assert backwards.tolist() != as_given.tolist()


def test_seed_shuffles() -> None:
    rng = np.random.default_rng(0)
    winners = rng.integers(0, 10, size=60)
    losers = (winners + rng.integers(1, 10, size=60)) % 10
    first, again, other = (trueskill_scores(winners, losers, 10, seed=seed) for seed in (1, 1, 2))
    assert first.tolist() == again.tolist() != other.tolist()
    order = np.random.default_rng(1).permutation(60)
    assert trueskill_scores(winners, losers, 10, order=order).tolist() == first.tolist()


@given(PAIRS)
def test_swapping_winners_and_losers_mirrors(pairs: list[tuple[int, int]]) -> None:
    winners, losers = np.array(pairs).T
    found, mirrored = trueskill_ratings(winners, losers, 8), trueskill_ratings(losers, winners, 8)
    assert mirrored.means - 25 == pytest.approx(25 - found.means, abs=1e-9)
    assert mirrored.deviations == pytest.approx(found.deviations)


@given(PAIRS, st.randoms(use_true_random=False))
def test_equivariant_under_renaming(pairs: list[tuple[int, int]], random) -> None:
    winners, losers = np.array(pairs).T
    renamed = np.array(random.sample(range(8), 8))
    expected = np.empty(8)
    expected[renamed] = trueskill_scores(winners, losers, 8)
    assert trueskill_scores(renamed[winners], renamed[losers], 8).tolist() == expected.tolist()


@given(PAIRS, st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda pair: pair[0] != pair[1]))
def test_a_last_win_never_lowers_the_winner(pairs: list[tuple[int, int]], last: tuple[int, int]) -> None:
    before, after = (trueskill_scores(*np.array(rows).T, 8) for rows in (pairs, [*pairs, last]))
    assert after[last[0]] >= before[last[0]] and after[last[1]] <= before[last[1]]


@given(PAIRS)
def test_comparisons_only_sharpen(pairs: list[tuple[int, int]]) -> None:
    found = trueskill_ratings(*np.array(pairs).T, 8)
    assert (found.deviations > 0).all() and (found.deviations <= 25 / 3 + 1e-9).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"order": [0, 0]}, "order must hold each row number from 0 to 1 once"),
        ({"order": [0]}, "order must hold"),
        ({"order": [0.0, 1.0]}, "order must hold"),
        ({"seed": -1}, "seed is -1; it must be a whole number of at least 0, or None"),
        ({"seed": 0.5}, "seed is 0.5"),
        ({"order": [1, 0], "seed": 3}, "seed is 3 and order is given"),
    ],
)
def test_bad_order(arguments: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        trueskill_scores([0, 1], [1, 0], 2, **arguments)
