import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.metrics.scoring import pair_ranking
from eyechart.metrics.scoring.errors import InputError, UndefinedScoreError
from eyechart.metrics.scoring.pair_ranking.comparisons import count_outcomes

RANKINGS = [
    pair_ranking.map_scores,
    pair_ranking.mle_scores,
    pair_ranking.perron_scores,
    pair_ranking.trueskill_scores,
]


@pytest.mark.parametrize("ranking", RANKINGS)
@pytest.mark.parametrize(
    ("winners", "losers", "n_items", "message"),
    [
        ([], [], 2, "winners is empty"),
        ([0, 1], [1], 2, "losers has 1 rows and winners has 2; row 1 is the first without a partner"),
        ([0, 1, 2], [1, 0, 1], 2, r"winners\[2\] is 2; allowed: whole numbers from 0 to 1"),
        ([0, 1], [1, -1], 2, r"losers\[1\] is -1; allowed"),
        ([0, 0.5], [1, 1], 2, r"winners\[1\] is 0.5; allowed"),
        ([0, float("nan")], [1, 0], 2, r"winners\[1\] is nan"),
        ([0, "x"], [1, 0], 2, r"winners must contain one number per row; winners\[1\] is 'x'"),
        ([0, 1, 1], [1, 1, 1], 2, r"winners\[1\] and losers\[1\] are both 1; an item cannot be compared with itself"),
        ([0], [1], 0, "n_items is 0"),
        ([0], [1], 2.0, r"n_items is 2\.0"),
        ([0], [1], True, "n_items is True"),
    ],
)
def test_bad_input(ranking, winners, losers, n_items, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ranking(winners, losers, n_items)


@pytest.mark.parametrize("ranking", RANKINGS)
def test_the_winner_scores_higher(ranking) -> None:
    found = ranking([0, 0, 0, 1, 2, 0, 0], [1, 2, 1, 2, 0, 2, 2], 3)
    assert found.shape == (3,)
    assert found[0] > found[1] and found[0] > found[2]


def test_counts() -> None:
    found = count_outcomes([3, 0, 3, 1], [1, 2, 1, 3], 4)
    cells = dict(zip(zip(found.winners.tolist(), found.losers.tolist(), strict=True), found.counts, strict=True))
    assert cells == {(3, 1): 2.0, (0, 2): 1.0, (1, 3): 1.0}


def test_counts_where_the_matrix_would_not_fit() -> None:
    found = count_outcomes([10**9], [0], 10**9 + 1)
    assert (found.winners.tolist(), found.losers.tolist()) == ([10**9], [0])


@given(st.lists(st.floats(-1e6, 1e6), min_size=2).filter(lambda values: min(values) < max(values)))
def test_rescaled_scores_span_the_range_and_keep_the_order(values: list[float]) -> None:
    found = pair_ranking.rescale(values)
    assert found.min() == 0 and found.max() == 100
    assert (np.diff(found[np.argsort(values)]) >= 0).all()


def test_equal_scores_have_no_scale() -> None:
    with pytest.raises(UndefinedScoreError, match="all 2 scores are equal"):
        pair_ranking.rescale([1.0, 1.0])
    with pytest.raises(InputError, match="scores is empty"):
        pair_ranking.rescale([])
