from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.common.pairs.pairing import (
    pools_of_intervals,
    pools_of_levels,
    pools_of_types,
    random_matching,
    released_matching,
)


def is_perfect(pairs: list[tuple[int, int]], n_items: int) -> bool:
    met = [item for pair in pairs for item in pair]
    return len(pairs) == n_items // 2 and len(set(met)) == len(met) and set(met) <= set(range(n_items))


@settings(max_examples=60, deadline=None)
@given(n_items=st.integers(2, 200), seed=st.integers(0, 2**32 - 1))
def test_every_round_is_a_perfect_matching(n_items: int, seed: int) -> None:
    pairs = random_matching(n_items, np.random.default_rng(seed))
    assert is_perfect(pairs, n_items)
    assert pairs == random_matching(n_items, np.random.default_rng(seed))
    assert is_perfect(released_matching(n_items, seed % 12), n_items)


def test_each_pair_order_and_place_is_as_likely_as_any_other() -> None:
    rng = np.random.default_rng(7)
    counts = Counter(pair for _ in range(4000) for pair in random_matching(5, rng))
    # 20 ordered pairs, 8,000 draws; the standard deviation of a count is about 19.
    assert len(counts) == 20 and all(abs(count - 400) < 80 for count in counts.values())
    sits_out = Counter(10 - sum(sum(pair) for pair in random_matching(5, rng)) for _ in range(1000))
    assert set(sits_out) == set(range(5)) and min(sits_out.values()) > 140


def test_released_rounds_are_numpys_legacy_shuffles() -> None:
    # np.random.seed(1234); order = np.arange(5); np.random.shuffle(order) gives 4 0 1 2 3, with 1235: 0 2 3 4 1.
    assert released_matching(5, 0) == [(4, 0), (1, 2)]
    for n_items in (5, 25, 30, 81, 100, 129, 160):
        for number in range(12):
            order = np.random.RandomState(1234 + number).permutation(n_items).tolist()
            expected = [(order[2 * i], order[2 * i + 1]) for i in range(n_items // 2)]
            assert released_matching(n_items, number) == expected


def test_a_pool_of_one_has_no_pairs() -> None:
    for draw in (lambda: random_matching(1, np.random.default_rng(0)), lambda: released_matching(0, 0)):
        with pytest.raises(UsageError, match="a round needs at least 2"):
            draw()


CONTENTS = ["sea", "sea", "sea", "sea", "tree", "tree", "dog"]
TYPES = ["blur", "blur", "noise", "noise", "blur", "noise", "blur"]
LEVELS = [1, 2, 1, 2, 1, 1, 2]


def test_levels_differ_within_content_and_type() -> None:
    assert pools_of_levels(CONTENTS, TYPES, LEVELS) == {"sea.blur": [0, 1], "sea.noise": [2, 3]}


def test_types_differ_within_content_and_level() -> None:
    assert pools_of_types(CONTENTS, TYPES, LEVELS) == {"sea.1": [0, 2], "sea.2": [1, 3], "tree.1": [4, 5]}


def test_a_pool_may_not_hold_equals() -> None:
    with pytest.raises(UsageError, match=r"image 2 is the second with level 1 in pool 'sea\.blur'"):
        pools_of_levels(["sea"] * 3, ["blur"] * 3, [1, 2, 1])
    with pytest.raises(UsageError, match=r"image 1 is the second with type 'blur' in pool 'sea\.1'"):
        pools_of_types(["sea"] * 2, ["blur"] * 2, [1, 1])


@pytest.mark.parametrize(
    ("score", "interval"),
    [
        (0, "interval_0_25"),
        (24.999, "interval_0_25"),
        (25, "interval_25_50"),
        (49.999, "interval_25_50"),
        (50, "interval_50_75"),
        (75, "interval_75_100"),
        (100, "interval_75_100"),
    ],
)
def test_intervals_hold_their_lower_end_and_the_last_both(score: float, interval: str) -> None:
    # A pool of one is none, so each score comes twice.
    assert pools_of_intervals([score, score]) == {interval: [0, 1]}
