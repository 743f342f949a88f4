"""Pairs that share images, against independent computations and simulations."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import ttest_rel

from eyechart.metrics.scoring.errors import UndefinedScoreError
from eyechart.metrics.scoring.statistics.dyadic import PairedImages, dyadic_mean_difference, dyadic_share_interval
from eyechart.metrics.scoring.statistics.intervals import wilson_interval
from eyechart.metrics.scoring.statistics.paired import mcnemar
from eyechart.metrics.scoring.statistics.shares import RARE


def pairs_of(n_images: int, rounds: int, rng: np.random.Generator) -> np.ndarray:
    """Every image in one pair of each round, as in 2AFC, Sec. III-B; shape (2, rounds * n_images / 2)."""
    return np.concatenate([rng.permutation(n_images).reshape(2, -1) for _ in range(rounds)], axis=1)


def test_the_variance_is_at_least_that_of_pairs_without_a_common_image() -> None:
    # In a circle of four images with differences of 1 and -1 in turn, what each image has adds up to 0.
    found = dyadic_mean_difference([1, 0, 1, 0], [0, 1, 0, 1], [0, 1, 2, 3], [1, 2, 3, 0])
    # The 97.5 % quantile of Student's t with 3 degrees of freedom, and the variance of four independent pairs.
    assert found.interval == pytest.approx((-3.182446 / 2, 3.182446 / 2), rel=1e-6)


def test_pairs_without_a_common_image_give_the_t_test() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.normal(0.1, 1, 400), rng.normal(0, 1, 400)
    found = dyadic_mean_difference(first, second, range(400), range(400, 800))
    expected = ttest_rel(first, second)
    assert found.p_value == pytest.approx(expected.pvalue, rel=0.02)
    assert found.interval == pytest.approx(tuple(expected.confidence_interval()), rel=0.02)


def test_false_positives_where_images_matter() -> None:
    """Two equally good models that are right about some images and wrong about others, 400 trials."""
    rng = np.random.default_rng(2)
    dyadic, independent = [], []
    for _ in range(400):
        first_ids, second_ids = pairs_of(60, 12, rng)
        right = []
        for _ in range(2):
            skill = rng.normal(size=60)
            right.append(skill[first_ids] + skill[second_ids] + 0.5 * rng.normal(size=360) > 0)
        dyadic.append(dyadic_mean_difference(*right, first_ids.tolist(), second_ids.tolist()).p_value < 0.05)
        independent.append(mcnemar(*right).p_value < 0.05)
    assert 0.02 < np.mean(dyadic) < 0.09
    assert np.mean(independent) > 0.3, "which is why the pairs are not taken for independent"


def test_no_difference_and_a_whole_one() -> None:
    ids = ([0, 1, 2, 3], [1, 2, 3, 0])
    same = dyadic_mean_difference([1, 0, 1, 1], [1, 0, 1, 1], *ids)
    assert (same.difference, same.p_value) == (0.0, 1.0)
    whole = dyadic_mean_difference([1] * 4, [0] * 4, *ids)
    assert (whole.difference, whole.p_value) == (1.0, 2 * 0.5**4)
    assert all(map(math.isnan, (*same.interval, *whole.interval))), "pairs that are all alike do not say how sure it is"


PAIRS = st.lists(
    st.tuples(st.booleans(), st.integers(0, 50), st.integers(0, 50)).filter(lambda pair: pair[1] != pair[2]),
    min_size=1,
    max_size=150,
)


@pytest.mark.parametrize("n_images", [6, 20])
def test_the_variance_is_a_double_sum_over_pairs(n_images: int) -> None:
    """Also where a pair comes twice, which has both images in common and counts once."""
    rng = np.random.default_rng(n_images)
    for _ in range(20):
        first, second = pairs_of(n_images, 5, rng)
        effects = rng.normal(size=n_images)
        values = effects[first] + effects[second] + 0.3 * rng.normal(size=len(first))
        residuals = values - values.mean()
        total, common = 0.0, 0
        for one, pair in enumerate(zip(first, second, strict=True)):
            for other, more in enumerate(zip(first, second, strict=True)):
                if {*pair} & {*more}:
                    total, common = total + residuals[one] * residuals[other], common + 1
        expected = max(total / (1 - common / len(first) ** 2), np.square(residuals).sum()) / len(first) ** 2
        assert PairedImages(first, second, n_images).variance(values) == pytest.approx(expected, rel=1e-12)


def test_a_share_by_hand() -> None:
    rng = np.random.default_rng(5)
    first, second = pairs_of(60, 12, rng)
    effects = rng.normal(size=60)
    right = effects[first] + effects[second] + rng.normal(size=360) > 0
    rarer = right == (right.mean() < 0.5)
    uses = np.bincount(np.concatenate([first[rarer], second[rarer]]))
    images = 2 * 2 * np.sum(rarer) ** 2 / np.sum(uses**2)
    share, t = right.mean(), stats.t.ppf(0.975, min(59, RARE * images - 1))
    n = share * (1 - share) / PairedImages(first, second, 60).variance(right.astype(float))
    centre = (share + t**2 / (2 * n)) / (1 + t**2 / n)
    half = t / (1 + t**2 / n) * math.sqrt(share * (1 - share) / n + t**2 / (4 * n**2))
    found = dyadic_share_interval(right, first.tolist(), second.tolist())
    assert (found.low, found.high) == pytest.approx((centre - half, centre + half))
    assert (found.kind, found.units) == ("wilson-clustered", 60)


def test_pairs_without_a_common_image_have_wilsons_interval() -> None:
    right = np.random.default_rng(0).random(400) < 0.7
    found = dyadic_share_interval(right, range(400), range(400, 800))
    low, high = wilson_interval(int(right.sum()), 400)
    assert (found.kind, found.units) == ("wilson-clustered", 800)
    assert (found.low, found.high) == pytest.approx((low, high))


@pytest.mark.parametrize(("images", "log_odds", "truth"), [(60, 1.867, 0.8), (160, 4.35, 0.97)])
def test_high_shares_are_covered(images: int, log_odds: float, truth: float) -> None:
    """In 600 runs; the table in `docs/coverage.md` counts 2,000."""
    rng, hits = np.random.default_rng(5), 0
    for _ in range(600):
        first, second = pairs_of(images, 12, rng)
        effects = rng.normal(size=images)
        chance = 1 / (1 + np.exp(-(log_odds + effects[first] + effects[second])))
        found = dyadic_share_interval(rng.random(len(first)) < chance, first.tolist(), second.tolist())
        hits += found.low <= truth <= found.high
    assert hits >= 0.92 * 600


def test_no_pairs_and_one() -> None:
    nothing = dyadic_share_interval([], [], [])
    assert math.isnan(nothing.low) and math.isnan(nothing.high) and (nothing.kind, nothing.units) == ("none", 0)
    one = dyadic_share_interval([True], ["a"], ["b"])
    assert (one.low, one.high) == pytest.approx(wilson_interval(1, 1)) and one.units == 2


@given(PAIRS, st.permutations(range(51)), st.randoms(use_true_random=False))
def test_names_order_and_sides_change_nothing(pairs: list[tuple[bool, int, int]], names: list[int], random) -> None:
    right, first, second = zip(*pairs, strict=True)
    expected = dyadic_share_interval(right, first, second)
    changed = [(flag, names[other], names[one]) for flag, one, other in pairs]
    random.shuffle(changed)
    found = dyadic_share_interval(*zip(*changed, strict=True))
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert (found.kind, found.units) == (expected.kind, expected.units)


@given(PAIRS)
def test_never_narrower_than_independent_pairs(pairs: list[tuple[bool, int, int]]) -> None:
    right, first, second = zip(*pairs, strict=True)
    found = dyadic_share_interval(right, first, second)
    low, high = wilson_interval(sum(right), len(right))
    assert found.high - found.low >= high - low - 1e-12
    assert found.low - 1e-12 <= np.mean(right) <= found.high + 1e-12


def test_a_test_needs_three_images() -> None:
    with pytest.raises(UndefinedScoreError, match="at least 3 images; there are 2"):
        dyadic_mean_difference([1], [0], ["a"], ["b"])
