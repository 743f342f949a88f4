import random

from eyechart.hub_cards.leaderboard.boards.board import Column
from eyechart.hub_cards.leaderboard.boards.ranking import ranks
from eyechart.metrics.scores import spec

ACCURACY = Column(spec("accuracy"), "Accuracy")


def places(scores, column=ACCURACY):
    return [(rank.place, rank.shared) for rank in ranks(scores, column)]


def test_no_scores_no_ranks():
    assert places([]) == []


def test_a_score_within_the_interval_of_the_ranks_first_shares_its_rank():
    scores = [(0.70, 0.65, 0.75), (0.66, 0.61, 0.71), (0.64, 0.59, 0.69), (0.60, 0.55, 0.65)]
    assert places(scores) == [(1, True), (1, True), (3, True), (3, True)]


def test_the_bound_itself_is_within():
    assert places([(0.70, 0.65, 0.75), (0.65, 0.6, 0.7)]) == [(1, True), (1, True)]


def test_without_intervals_only_equal_digits_tie():
    scores = [(value, None, None) for value in (0.5, 0.50001, 0.5001)]
    assert places(scores) == [(2, True), (2, True), (1, False)]
    assert places(scores, Column(spec("srcc"), "SRCC")) == [(1, True)] * 3


def test_no_two_of_a_rank_are_told_apart_by_the_firsts_interval():
    rng = random.Random(0)
    scores = [(value, value - 0.02, value + 0.02) for value in (rng.random() for _ in range(300))]
    found = ranks(scores, ACCURACY)
    for place in {rank.place for rank in found}:
        same = [scores[i][0] for i, rank in enumerate(found) if rank.place == place]
        above = [scores[i][0] for i, rank in enumerate(found) if rank.place < place]
        assert max(same) - min(same) <= 0.02 + 1e-12
        assert len(above) == place - 1 and all(value > max(same) for value in above)
