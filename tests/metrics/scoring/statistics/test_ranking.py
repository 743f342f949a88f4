"""Places by tests, by hand."""

import numpy as np

from eyechart.metrics.scoring.statistics.ranking import places


def test_places_count_the_models_that_are_better_beyond_chance() -> None:
    # a and b are not told apart, nor b and c, but a and c are.
    p_values = np.array([[1, 0.4, 0.001, 0.001], [0.4, 1, 0.2, 0.01], [0.001, 0.2, 1, 0.04], [0.001, 0.01, 0.04, 1]])
    assert places([0.9, 0.8, 0.7, 0.5], p_values) == [1, 1, 2, 4]
    order = [2, 0, 3, 1]
    assert places(np.array([0.9, 0.8, 0.7, 0.5])[order], p_values[np.ix_(order, order)]) == [2, 1, 4, 1]


def test_without_a_test_nothing_is_told_apart() -> None:
    assert places([0.9, 0.1], [[1, np.nan], [np.nan, 1]]) == [1, 1]
