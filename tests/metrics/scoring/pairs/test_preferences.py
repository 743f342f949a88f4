import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.pairs.pools import FIRST, NONE, SECOND, Pairs, check_pairs
from eyechart.metrics.scoring.pairs.preferences import preference_scores, read_pairs, winners
from eyechart.metrics.scoring.statistics.dyadic import dyadic_share_interval

REPLIES = st.sampled_from(["A", "B", "?"])
ROWS = st.lists(st.tuples(REPLIES, REPLIES, st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=30)


def _scores(forward: str, reverse: str, first: list[float], second: list[float]) -> dict:
    pairs = _pairs(first, second)
    return preference_scores(read_pairs(list(forward), list(reverse), pairs), pairs)


def _pairs(first: list[float], second: list[float]) -> Pairs:
    rows = range(len(first))
    return check_pairs([f"first {row}" for row in rows], [f"second {row}" for row in rows], first, second)


def test_the_same_image_is_at_the_other_place_in_reverse() -> None:
    pairs = _pairs([1] * 6, [0, 1, 0, 1, 2, 2])
    found = read_pairs(["A", "B", "A", "B", "?", "A"], ["B", "A", "A", "B", "B", ""], pairs)
    assert winners(found).tolist() == [FIRST, SECOND, NONE, NONE, NONE, NONE]
    assert found["consistent"] == [True, True, False, False, False, False]
    assert found["correct"] == [True, None, False, None, False, False]
    assert found["choice"] == ["first", "second", "first", "second", None, "first"]


def test_by_hand() -> None:
    # Right, wrong, right for the second image, twice "first", no preference, equal quality, no preference in one order.
    found = _scores("AABA?A?", "BBAA?BB", [3, 1, 1, 2, 4, 2, 1], [1, 2, 3, 1, 2, 2, 9])
    assert (found["n_pairs"], found["n_consistent"], found["equal_quality"], found["unmatched"]) == (7, 4, 1, 2)
    assert found["consistency"] == 4 / 7
    assert found["accuracy_consistent"] == 2 / 3
    assert found["accuracy_all"] == 2 / 6
    assert (found["first_rate"], found["second_rate"], found["draw_rate"]) == (6 / 14, 5 / 14, 3 / 14)
    for name, right, n in (("consistency", 4, 7), ("accuracy_consistent", 2, 3), ("accuracy_all", 2, 6)):
        interval = binomtest(right, n).proportion_ci(method="wilson")
        assert found[f"{name}_ci95"] == pytest.approx([interval.low, interval.high])
        assert found["intervals"][name] == {"kind": "dyadic-by-image", "units": 2 * n}


def test_a_model_that_always_says_first() -> None:
    found = _scores("AAAA", "AAAA", [1, 2, 3, 4], [4, 3, 2, 1])
    assert found["consistency"] == found["accuracy_all"] == 0
    assert math.isnan(found["accuracy_consistent"]) and all(map(math.isnan, found["accuracy_consistent_ci95"]))
    assert found["first_rate"] == 1
    wilson = binomtest(4, 4).proportion_ci(method="wilson")
    assert found["first_rate_ci95"] == pytest.approx([wilson.low, 1.0])
    assert found["intervals"]["accuracy_consistent"] == {"kind": "none", "units": 0}


def test_two_draws_are_not_consistent() -> None:
    assert _scores("?", "?", [1], [2])["consistency"] == 0


def test_equal_quality_alone() -> None:
    found = _scores("AB", "BA", [1, 2], [1, 2])
    assert found["consistency"] == 1 and found["equal_quality"] == 2
    assert math.isnan(found["accuracy_consistent"]) and math.isnan(found["accuracy_all"])


@given(ROWS)
def test_identities(rows: list[tuple[str, str, int, int]]) -> None:
    forward, reverse, first, second = zip(*rows, strict=True)
    found = _scores("".join(forward), "".join(reverse), list(first), list(second))
    assert found["first_rate"] + found["second_rate"] + found["draw_rate"] == pytest.approx(1)
    assert found["n_consistent"] + found["unmatched"] <= found["n_pairs"]
    if found["equal_quality"] == 0:
        # What the tables print: accuracy over all pairs is the consistent share times the accuracy of Eq. 4.
        right = 0 if found["n_consistent"] == 0 else found["consistency"] * found["accuracy_consistent"]
        assert found["accuracy_all"] == pytest.approx(right)
        assert found["accuracy_all"] <= found["consistency"]


@given(ROWS)
def test_swapping_the_images_of_every_pair_changes_nothing(rows: list[tuple[str, str, int, int]]) -> None:
    forward, reverse, first, second = zip(*rows, strict=True)
    found = _scores("".join(forward), "".join(reverse), list(first), list(second))
    swapped = _scores("".join(reverse), "".join(forward), list(second), list(first))
    np.testing.assert_equal(swapped, found)


def test_pairs_that_share_images_have_dyadic_intervals() -> None:
    rng = np.random.default_rng(0)
    sides = np.concatenate([rng.permutation(60).reshape(2, -1) for _ in range(12)], axis=1)
    first, second = ([str(image) for image in side] for side in sides)
    skilled = rng.random(60) < 0.6
    pairs = check_pairs(first, second, sides[0], sides[1])
    better = np.where((sides[0] > sides[1]) == (skilled[sides[0]] | skilled[sides[1]]), "A", "B")
    found = preference_scores(read_pairs(list(better), ["B" if one == "A" else "A" for one in better], pairs), pairs)
    expected = dyadic_share_interval(skilled[sides[0]] | skilled[sides[1]], first, second)
    assert found["accuracy_all_ci95"] == [expected.low, expected.high]
    assert found["intervals"]["accuracy_all"] == {"kind": "dyadic", "units": 60}
    wilson = binomtest(round(found["accuracy_all"] * 360), 360).proportion_ci(method="wilson")
    assert expected.high - expected.low > 1.2 * (wilson.high - wilson.low)


@pytest.mark.parametrize(
    ("forward", "reverse", "message"),
    [
        (["A"], ["A", "B"], "reversed_predictions has 2 rows and predictions has 1; row 1"),
        (["A", None], ["A", "B"], r"predictions\[1\] is None; it must be a string"),
        (["A", "A"], ["A", 3], r"reversed_predictions\[1\] is 3"),
    ],
)
def test_bad_input(forward, reverse, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_pairs(forward, reverse, _pairs([1] * len(forward), [2] * len(forward)))
