import numpy as np
import pytest

from eyechart.metrics.scoring import pair_ranking
from eyechart.metrics.scoring.errors import InputError, UndefinedScoreError
from eyechart.metrics.scoring.pairs.pools import check_pairs, rank_pool, split_pools

FIRST, SECOND, NONE = 0, 1, -1


def _pool(pairs: str):
    """One pool of pairs such as "ab ac", whose qualities are the letters' numbers."""
    first, second = zip(*pairs.split(), strict=True)
    return split_pools(check_pairs(first, second, [ord(x) for x in first], [ord(x) for x in second]))["overall"]


def test_images_are_numbered_within_their_pool() -> None:
    pairs = check_pairs(["a", "b", "a"], ["b", "c", "c"], [1, 2, 10], [2, 3, 30], [5, 5, 6])
    pools = split_pools(pairs)
    assert list(pools) == ["5", "6"]
    assert pools["5"].image_ids == ["a", "b", "c"] and pools["5"].references.tolist() == [1, 2, 3]
    assert (pools["5"].first.tolist(), pools["5"].second.tolist()) == ([0, 1], [1, 2])
    assert pools["6"].image_ids == ["a", "c"] and pools["6"].references.tolist() == [10, 30]
    assert pools["6"].rows == [2]


def test_only_consistent_pairs_rank() -> None:
    pool = _pool("ab ac bc ab")
    winner = np.array([SECOND, SECOND, NONE, NONE], dtype=np.int8)
    expected = pair_ranking.rescale(pair_ranking.map_scores([1, 2], [0, 0], 3))
    assert rank_pool(pool, winner) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("aggregator", ["map", "perron", "trueskill"])
def test_each_aggregator_ranks(aggregator: str) -> None:
    found = rank_pool(_pool("ab bc ac"), np.full(3, SECOND, dtype=np.int8), aggregator)
    assert found[0] == 0 and found[2] == 100 and 0 < found[1] < 100


def test_maximum_likelihood_ranks_where_it_can() -> None:
    pool, winner = _pool("ab bc ca ac"), np.array([SECOND, SECOND, SECOND, SECOND], dtype=np.int8)
    expected = pair_ranking.rescale(pair_ranking.mle_scores([1, 2, 0, 2], [0, 1, 2, 0], 3))
    assert rank_pool(pool, winner, "mle") == pytest.approx(expected, abs=1e-6)


def test_maximum_likelihood_names_the_images() -> None:
    with pytest.raises(UndefinedScoreError, match="infinite; never won: a; never lost: c"):
        rank_pool(_pool("ab bc ab"), np.array([SECOND, SECOND, FIRST - 1], dtype=np.int8), "mle")


def test_trueskill_depends_on_the_order() -> None:
    pool, winner = _pool("ab bc ca ad bd cd"), np.full(6, SECOND, dtype=np.int8)
    as_given, again, shuffled = (rank_pool(pool, winner, "trueskill", order_seed=seed) for seed in (None, None, 3))
    assert as_given.tolist() == again.tolist() != shuffled.tolist()


def test_equal_records_tie() -> None:
    # Two pairs that never meet: rounding errors of the solver must not order the winners.
    pool = _pool("ab cd ef")
    found = rank_pool(pool, np.array([FIRST, SECOND, FIRST], dtype=np.int8))
    assert found.tolist() == [100, 0, 0, 100, 100, 0]


def test_nothing_to_rank_by() -> None:
    with pytest.raises(UndefinedScoreError, match="no pair has consistent replies"):
        rank_pool(_pool("ab"), np.array([NONE], dtype=np.int8))
    with pytest.raises(UndefinedScoreError, match="all 2 scores are equal"):
        rank_pool(_pool("ab ab"), np.array([FIRST, SECOND], dtype=np.int8))
    with pytest.raises(
        InputError, match="aggregator is 'elo'; allowed: 'map', 'mle', 'mle_ridge', 'perron', 'trueskill'"
    ):
        rank_pool(_pool("ab"), np.array([FIRST], dtype=np.int8), "elo")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([], [], [], []), "first_ids is empty"),
        ((["a"], ["b", "c"], [1], [2]), "second_ids has 2 rows and first_ids has 1; row 1"),
        ((["a"], ["b"], [1], [2, 3]), "second_references has 2 rows"),
        ((["a"], ["b"], [1], [2], ["x", "y"]), "pool_ids has 2 rows"),
        ((["a", "b"], ["b", "b"], [1, 2], [2, 2]), r"first_ids\[1\] and second_ids\[1\] are both 'b'"),
        ((["a"], ["b"], [float("nan")], [2]), r"first_references\[0\] is nan"),
        ((["a"], ["b"], [1], ["x"]), r"second_references\[0\] is 'x'"),
    ],
)
def test_bad_columns(columns, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_pairs(*columns)


def test_an_image_has_one_reference() -> None:
    pairs = check_pairs(["a", "c"], ["b", "a"], [1, 3], [2, 1.5])
    message = r"second_references\[1\] is 1.5 for image 'a', but first_references\[0\] is 1; an image must have one r"
    with pytest.raises(InputError, match=message):
        split_pools(pairs)
    apart = check_pairs(["a", "c"], ["b", "a"], [1, 3], [2, 1.5], ["x", "y"])
    assert list(split_pools(apart)) == ["x", "y"]
