from math import erf, exp, pi, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.pair_ranking import trueskill_scores

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
    # 25 +- 69.4444 / 13.1762 * 0.797885 = 25 +- 4.2052.
    assert trueskill_scores([0], [1], 2) == pytest.approx([29.2052, 20.7948], abs=5e-5)


def test_three_comparisons_by_hand() -> None:
    a = b = c = (25.0, 25 / 3)
    a, b = _update(a, b)
    b, c = _update(b, c)
    c, a = _update(c, a)
    assert trueskill_scores([0, 1, 2], [1, 2, 0], 3) == pytest.approx([a[0], b[0], c[0]])


def test_the_order_counts_and_a_seed_shuffles() -> None:
    rng = np.random.default_rng(0)
    winners = rng.integers(0, 10, size=60)
    losers = (winners + rng.integers(1, 10, size=60)) % 10
    order = np.random.default_rng(1).permutation(60)
    as_given, shuffled = trueskill_scores(winners, losers, 10), trueskill_scores(winners, losers, 10, seed=1)
    assert shuffled.tolist() == trueskill_scores(winners[order], losers[order], 10).tolist() != as_given.tolist()


@given(PAIRS)
def test_swapping_winners_and_losers_mirrors(pairs: list[tuple[int, int]]) -> None:
    winners, losers = np.array(pairs).T
    found, mirrored = trueskill_scores(winners, losers, 8), trueskill_scores(losers, winners, 8)
    assert mirrored - 25 == pytest.approx(25 - found, abs=1e-9)


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


@pytest.mark.parametrize("seed", [-1, 0.5])
def test_bad_seed(seed: float) -> None:
    with pytest.raises(InputError, match=f"seed is {seed}; it must be a whole number of at least 0"):
        trueskill_scores([0, 1], [1, 0], 2, seed=seed)  # type: ignore[arg-type]
