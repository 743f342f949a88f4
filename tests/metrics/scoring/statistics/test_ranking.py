"""Places by tests, and probabilities of ranks, against hand computations and simulation."""

import numpy as np
import pytest

from eyechart.metrics.scoring.statistics.ranking import dyadic_replicates, places, rank_probabilities, share_replicates


def test_places_count_the_models_that_are_better_beyond_chance() -> None:
    # a and b are not told apart, nor b and c, but a and c are.
    p_values = np.array([[1, 0.4, 0.001, 0.001], [0.4, 1, 0.2, 0.01], [0.001, 0.2, 1, 0.04], [0.001, 0.01, 0.04, 1]])
    assert places([0.9, 0.8, 0.7, 0.5], p_values) == [1, 1, 2, 4]
    order = [2, 0, 3, 1]
    assert places(np.array([0.9, 0.8, 0.7, 0.5])[order], p_values[np.ix_(order, order)]) == [2, 1, 4, 1]


def test_without_a_test_nothing_is_told_apart() -> None:
    assert places([0.9, 0.1], [[1, np.nan], [np.nan, 1]]) == [1, 1]


def test_probabilities_of_ranks_add_up() -> None:
    replicates = np.random.default_rng(0).normal(size=(4, 500)) + np.array([[0.3], [0.2], [0.1], [0.0]])
    found = rank_probabilities(replicates)
    assert found.shape == (4, 4) and found.sum(axis=1) == pytest.approx(np.ones(4))
    assert found[0, 0] == np.mean(replicates.argmax(axis=0) == 0)


def test_equal_models_share_the_first_rank() -> None:
    assert rank_probabilities(np.ones((3, 5))).tolist() == [[1, 0, 0]] * 3


def test_resamples_that_are_undefined_are_left_out() -> None:
    replicates = np.array([[1.0, np.nan, 0.0], [0.0, 5.0, 1.0]])
    assert rank_probabilities(replicates).tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert np.isnan(rank_probabilities(np.full((2, 3), np.nan))).all()


def test_replicates_vary_as_the_mean_does() -> None:
    values = np.random.default_rng(1).random((2, 400))
    found = share_replicates(values, np.arange(400), np.random.default_rng(2), 4000)
    assert found.mean(axis=1) == pytest.approx(values.mean(axis=1), abs=2e-3)
    assert found.std(axis=1) == pytest.approx(values.std(axis=1) / 20, rel=0.05)


def test_clusters_are_drawn_whole() -> None:
    # Forty answers about ten images, all alike within an image, are ten.
    right = np.repeat([1, 1, 1, 0, 0, 1, 0, 1, 1, 0], 4).astype(float)
    found = share_replicates(right[None], np.repeat(np.arange(10), 4), np.random.default_rng(0), 4000)
    assert found.std() == pytest.approx(np.sqrt(0.24 / 10), rel=0.05)


def test_models_meet_the_same_resamples() -> None:
    values = np.random.default_rng(3).random((1, 60))
    numbers = np.arange(60)
    found = share_replicates(np.vstack([values, values - 0.25]), numbers, np.random.default_rng(0))
    assert found[0] - found[1] == pytest.approx(np.full(1000, 0.25))


def test_a_pair_counts_as_often_as_both_of_its_images_are_drawn() -> None:
    first, second = np.array([0, 1]), np.array([1, 2])
    found = dyadic_replicates(np.array([[1.0, 0.0]]), first, second, np.random.default_rng(0), 2000)[0]
    # Three images, each drawn c times: the share of the first pair is c0 c1 / (c0 c1 + c1 c2) = c0 / (c0 + c2).
    assert set(np.round(found[~np.isnan(found)], 6)) <= {0.0, 0.333333, 0.5, 0.666667, 1.0}
    # No pair where image 1 is not drawn, with chance (2/3)^3, or where it alone is, with chance 1/27.
    assert np.isnan(found).mean() == pytest.approx(8 / 27 + 1 / 27, abs=0.04)
