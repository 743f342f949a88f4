"""Pairs that share images, against independent computations and simulations."""

import math

import numpy as np
import pytest
from scipy.stats import ttest_rel

from eyechart.metrics.scoring.errors import InputError, UndefinedScoreError
from eyechart.metrics.scoring.statistics.dyadic import dyadic_mean_difference
from eyechart.metrics.scoring.statistics.significance import mcnemar


def pairs_of(n_images: int, rounds: int, rng: np.random.Generator) -> np.ndarray:
    """Every image in one pair of each round, as in 2AFC, Sec. III-B; shape (2, rounds * n_images / 2)."""
    return np.concatenate([rng.permutation(n_images).reshape(2, -1) for _ in range(rounds)], axis=1)


def test_the_variance_is_the_sum_over_pairs_of_pairs_with_an_image_in_common() -> None:
    rng = np.random.default_rng(0)
    first_ids, second_ids = pairs_of(10, 6, rng)
    effects = rng.normal(size=10)
    first, second = effects[first_ids] + effects[second_ids] + 0.1 * rng.normal(size=30), np.zeros(30)
    found = dyadic_mean_difference(first, second, first_ids.tolist(), second_ids.tolist())
    residuals = first - first.mean()
    pairs = [{*pair} for pair in zip(first_ids, second_ids, strict=True)]
    common = np.array([[bool(one & other) for other in pairs] for one in pairs])
    deviation = math.sqrt(residuals @ common @ residuals * 10 / 9) / 30
    assert found.n == 30
    assert found.difference == pytest.approx(first.mean())
    # The 97.5 % quantile of Student's t with 9 degrees of freedom.
    assert found.interval[1] - found.difference == pytest.approx(2.262157 * deviation, rel=1e-6)


def test_the_variance_is_at_least_that_of_pairs_without_a_common_image() -> None:
    # In a circle of four images with differences of 1 and -1 in turn, what each image has adds up to 0.
    found = dyadic_mean_difference([1, 0, 1, 0], [0, 1, 0, 1], [0, 1, 2, 3], [1, 2, 3, 0])
    # The 97.5 % quantile of Student's t with 3 degrees of freedom.
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
    assert (same.difference, same.interval, same.p_value) == (0.0, (0.0, 0.0), 1.0)
    whole = dyadic_mean_difference([1] * 4, [0] * 4, *ids)
    assert (whole.difference, whole.interval, whole.p_value) == (1.0, (1.0, 1.0), 0.0)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: dyadic_mean_difference([], [], [], []), InputError, "first is empty"),
        (lambda: dyadic_mean_difference([1, 0], [1], [0, 1], [2, 3]), InputError, "second has 1 rows"),
        (lambda: dyadic_mean_difference([1, 0], [1, 0], [0, 1], [2]), InputError, "second_ids has 1 rows"),
        (lambda: dyadic_mean_difference([1, math.nan], [1, 0], [0, 1], [2, 3]), InputError, r"first\[1\] is nan"),
        (lambda: dyadic_mean_difference([1], [0], ["a"], ["b"]), UndefinedScoreError, "at least 3 images; there are 2"),
    ],
)
def test_bad_input(call, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
