import random

import numpy as np

from eyechart.hub_cards.leaderboard.boards.board import Column
from eyechart.hub_cards.leaderboard.boards.ranking import ranks
from eyechart.metrics.scores import spec

ACCURACY = Column(spec("accuracy"), "Accuracy")


def places(scores, column=ACCURACY):
    return [(rank.place, rank.shared) for rank in ranks(scores, column)]


def test_no_scores_no_ranks():
    assert places([]) == []


def test_intervals_alone_tell_nothing_apart_but_digits_do():
    scores = [(0.70, 0.65, 0.75), (0.66, 0.61, 0.71), (0.66, 0.59, 0.69)]
    assert places(scores) == [(1, False), (2, True), (2, True)]


def test_without_intervals_only_equal_digits_tie():
    scores = [(value, None, None) for value in (0.5, 0.50001, 0.5001)]
    assert places(scores) == [(2, True), (2, True), (1, False)]
    assert places(scores, Column(spec("srcc"), "SRCC")) == [(1, True)] * 3


def test_a_rank_is_one_more_than_the_number_of_better_models():
    rng = random.Random(0)
    scores = [(rng.random(), None, None) for _ in range(100)]
    for (score, _, _), rank in zip(scores, ranks(scores, ACCURACY), strict=True):
        better = [other for other, *_ in scores if other > score and ACCURACY.shown(other) != ACCURACY.shown(score)]
        assert rank.place == 1 + len(better)


def test_paired_tests_count_where_there_are_any():
    scores = [(0.70, 0.6, 0.8), (0.65, 0.55, 0.75), (0.50, 0.4, 0.6)]
    p_values = np.array([[np.nan, 0.01, np.nan], [0.01, np.nan, 0.2], [np.nan, 0.2, np.nan]])
    # The first two are told apart by a test, the last two are not; the first and the last by their digits.
    assert [rank.place for rank in ranks(scores, ACCURACY, p_values)] == [1, 2, 2]
