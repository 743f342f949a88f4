"""Which image a reply prefers, and what consistent preferences and rankings follow."""

import math
import re

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy.stats import binomtest

from eyechart.metrics.scoring.errors import InputError, UndefinedScoreError
from eyechart.metrics.scoring.pair_ranking import map_scores, mle_scores, rescale
from eyechart.metrics.scoring.pairs.pools import Pairs, PairSettings, check_pairs, rank_pool, split_pools
from eyechart.metrics.scoring.pairs.preferences import preference_scores, read_pairs, winners
from eyechart.metrics.scoring.pairs.replies import read_preference
from eyechart.metrics.scoring.statistics.dyadic import dyadic_share_interval
from tests.growth import growth

FIRST = [
    *("A", "A.", "(A)", "**A**", "a", "A\n", " A. The first image.", "A. The first image", "A) The first image"),
    *("(A) First image", "Answer: A", "The answer is A.", "The correct answer is A. The first image.", "Option A"),
    *("Option A: the first image", "It is A.", "I would choose A.", "<answer>A</answer>", r"\boxed{A}"),
    *(r"\boxed{\text{The first image}}", "<think>The second image is better? No.</think>A", "The first image"),
    *("The first image.", "the first image", "First image", "**The first image.**", "first", "First.", "The first"),
    *("The first one", "1", "1st image", "Image 1", "Image 1.", "image #1", "Image A", "Image A.", "Picture 1"),
    *("The first picture", "the first photo", "It's the first image.", "The answer is the first image."),
    *("Answer: the first image", "The better image is the first image."),
    *("The image with better visual quality is the first image.", "The first image has better visual quality."),
    "The first image has better visual quality than the second image.",
    "The first image has better quality than the second.",
    *("The first image has a higher visual quality compared to the second image.", "The first image is better."),
    *("The first image is better than the second one.", "The first image is of higher quality."),
    *("The first image appears to have better visual quality.", "The first image looks much better overall."),
    *("The first has better quality.", "Image 1 has better visual quality than image 2."),
    *("Image A is better than Image B.", "The quality of the first image is better than that of the second image."),
    *("The first image's visual quality is better.", "The visual quality of image 1 is higher."),
    "I prefer the first image because it is sharper than the second image.",
    *("I would select the first image over the second image.", "If I had to choose, the first image is better."),
    "The second image is blurrier, so the first image is better.",
    "The first image has better visual quality. The second image is blurry and dark.",
    "A. The first image has better visual quality. The second image is blurry.",
    "The answer is A, the first image is clearer than the second image.",
    "The first image.\n\nIt is sharper and has less noise than the second image.",
    "The first image has better visual quality. Therefore, the answer is A.",
    "Which image has better visual quality? The first image.",
]
NEITHER = [
    *("", "   ", "...", "Neither", "None", "Both", "C", "AB", "A or B", "A/B", "A and B"),
    *("A. The first image. B. The second image.", "The first image, the second image."),
    *("The first image or the second image", "The answer is the first image or the second image."),
    *("Both images have similar quality.", "Both the first image and the second image is of higher quality"),
    "The first image and the second image are of the same quality.",
    *("Neither the first image nor the second image is better.", "I cannot tell.", "I'm sorry, I can't see images."),
    *("A: The second image", "B. The first image."),
    "The first image has better visual quality. Therefore, the answer is B.",
    "The first image is better, but the second image has higher quality.",
    *("The second image is blurrier than the first image.", "The second image is worse than the first image."),
    *("The second image is blurry.", "The first image is not better.", "I don't think the first image is better."),
    *("It is not the first image.", "The first image has better colours."),
    "The first image has better colours. The second image has better contrast.",
    *("In this image a cat sits on a table.", "At first glance, they look alike.", "It took a second to load."),
    *("The image on the left", "1 or 2", "Image quality is a matter of taste.", "<think>A</think>"),
]


def _mirrored(text: str) -> str:
    """The same reply about the other image."""
    swaps = {"first": "second", "First": "Second", "1st": "2nd", "1": "2", "2": "1", "A": "B", "B": "A", "a": "b"}
    swaps |= {"second": "first", "#1": "#2"}
    words, parts = "", []
    for character in text + "\0":
        if character.isalnum() or character == "#":
            words += character
            continue
        parts += [swaps.get(words, words) if words != "a" or text == "a" else words, character]
        words = ""
    return "".join(parts)[:-1]


READ = [
    *((text, "first") for text in FIRST),
    *((_mirrored(text), "second") for text in FIRST),
    *((text, None) for reply in NEITHER for text in (reply, _mirrored(reply))),
    *((text, None) for text in ("A cat", "A blurry image", "A first look at the image")),
]


@pytest.mark.parametrize(("text", "preferred"), READ)
def test_the_image_that_a_reply_prefers(text: str, preferred: str | None) -> None:
    assert read_preference(text) == preferred


@pytest.mark.parametrize(
    ("text", "preferred"),
    [
        ("A", "first"),
        ("A. The first image.", "first"),
        ("B. The second image. It is sharper, and its colours are", "second"),
        ("The second image is better because it is sharper and", "second"),
        ("**The first image** has better visual quality. The second", "first"),
        ("Let me compare them. The first image is better in colour, but", None),
        ("The first image is sharp. I would choose image 1 if it were not", None),
        ("The answer is not yet clear.\nB", None),
        ("", None),
    ],
)
def test_a_reply_that_was_cut_off_prefers_what_its_first_sentence_does(text: str, preferred: str | None) -> None:
    assert read_preference(text, "length") == read_preference(text, "content_filter") == preferred


@given(st.text())
def test_never_raises(text: str) -> None:
    assert read_preference(text) in ("first", "second", None)


PIECES = ["(A)", "(B)", "the first image", "image 2", "is", "better", "not", "than", ".", ",", "\n"]


@given(st.lists(st.sampled_from(PIECES)).map(" ".join))
@example("(B) (B) \n (A) (A)")
def test_the_other_way_round(text: str) -> None:
    # Lines that begin with A, then with another letter, are the options once more.
    assume(len(re.findall(r"\n[^a-z()]*\([AB]\)", text)) < 2)
    swapped = {"first": "second", "second": "first", None: None}
    assert read_preference(_mirrored(text)) == swapped[read_preference(text)]


@given(st.sampled_from(FIRST + NEITHER), st.sampled_from(["", " ", "\n\n", "\t"]), st.sampled_from(["", " ", "\n"]))
def test_blanks_around_do_not_matter(text: str, before: str, behind: str) -> None:
    assert read_preference(before + text + behind) == read_preference(text)


UNITS = ["the first image ", "the ", " ", "A ", "the first image is better, ", "not the first image is better, "]
UNITS += ["better overall visual ", "the first image is much ", "the quality of the first image "]


@pytest.mark.parametrize("unit", UNITS)
def test_time_grows_with_the_text_and_not_with_its_square(unit: str) -> None:
    assert growth(lambda size: read_preference(unit * (size // len(unit)))) < 8


NAN = float("nan")
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
    items = read_pairs(["A", "B", "A", "B", "?", "A"], ["B", "A", "A", "B", "B", ""], pairs)
    assert winners(items).tolist() == ["first", "second", None, None, None, None]
    assert items["consistent"] == [True, True, False, False, False, False]
    assert items["correct"] == [True, None, False, None, False, False]
    assert items["choice"] == ["first", "second", "first", "second", None, "first"]


def test_preferences_by_hand() -> None:
    # Right, wrong, right for the second image, twice "first", no preference, equal quality, no preference in one order.
    scores = _scores("AABA?A?", "BBAA?BB", [3, 1, 1, 2, 4, 2, 1], [1, 2, 3, 1, 2, 2, 9])
    assert (scores["n_pairs"], scores["n_consistent"], scores["equal_quality"], scores["unmatched"]) == (7, 4, 1, 2)
    assert scores["consistency"] == 4 / 7
    assert scores["accuracy_consistent"] == 2 / 3
    assert scores["accuracy_all"] == 2 / 6
    assert (scores["first_rate"], scores["second_rate"], scores["draw_rate"]) == (6 / 14, 5 / 14, 3 / 14)
    for name, right, n in (("consistency", 4, 7), ("accuracy_consistent", 2, 3), ("accuracy_all", 2, 6)):
        interval = binomtest(right, n).proportion_ci(method="wilson")
        assert scores[f"{name}_ci95"] == pytest.approx([interval.low, interval.high])
        assert scores["intervals"][name] == {"kind": "wilson-clustered", "units": 2 * n}


def test_a_model_that_always_says_first_draws_and_equal_quality() -> None:
    scores = _scores("AAAA", "AAAA", [1, 2, 3, 4], [4, 3, 2, 1])
    assert scores["consistency"] == scores["accuracy_all"] == 0 and scores["first_rate"] == 1
    assert math.isnan(scores["accuracy_consistent"]) and all(map(math.isnan, scores["accuracy_consistent_ci95"]))
    assert scores["intervals"]["accuracy_consistent"] == {"kind": "none", "units": 0}
    assert _scores("?", "?", [1], [2])["consistency"] == 0
    scores = _scores("AB", "BA", [1, 2], [1, 2])
    assert scores["consistency"] == 1 and scores["equal_quality"] == 2
    assert math.isnan(scores["accuracy_consistent"]) and math.isnan(scores["accuracy_all"])


@given(ROWS)
def test_identities(rows: list[tuple[str, str, int, int]]) -> None:
    forward, reverse, first, second = zip(*rows, strict=True)
    scores = _scores("".join(forward), "".join(reverse), list(first), list(second))
    assert scores["first_rate"] + scores["second_rate"] + scores["draw_rate"] == pytest.approx(1)
    assert scores["n_consistent"] + scores["unmatched"] <= scores["n_pairs"]
    if scores["equal_quality"] == 0:
        # What the tables print: accuracy over all pairs is the consistent share times the accuracy of Eq. 4.
        right = 0 if scores["n_consistent"] == 0 else scores["consistency"] * scores["accuracy_consistent"]
        assert scores["accuracy_all"] == pytest.approx(right)
    swapped = _scores("".join(reverse), "".join(forward), list(second), list(first))
    np.testing.assert_equal(swapped, scores)


def test_pairs_that_share_images_have_dyadic_intervals() -> None:
    rng = np.random.default_rng(0)
    sides = np.concatenate([rng.permutation(60).reshape(2, -1) for _ in range(12)], axis=1)
    first, second = ([str(image) for image in side] for side in sides)
    skilled = rng.random(60) < 0.6
    pairs = check_pairs(first, second, sides[0], sides[1])
    better = np.where((sides[0] > sides[1]) == (skilled[sides[0]] | skilled[sides[1]]), "A", "B")
    scores = preference_scores(read_pairs(list(better), ["B" if one == "A" else "A" for one in better], pairs), pairs)
    expected = dyadic_share_interval(skilled[sides[0]] | skilled[sides[1]], first, second)
    assert scores["accuracy_all_ci95"] == [expected.low, expected.high]
    assert scores["intervals"]["accuracy_all"] == {"kind": "wilson-clustered", "units": 60}
    wilson = binomtest(round(scores["accuracy_all"] * 360), 360).proportion_ci(method="wilson")
    assert expected.high - expected.low > 1.2 * (wilson.high - wilson.low)


def _pool(pairs: str):
    """One pool of pairs such as "ab ac", whose qualities are the letters' numbers."""
    first, second = zip(*pairs.split(), strict=True)
    return split_pools(check_pairs(first, second, [ord(x) for x in first], [ord(x) for x in second]))["overall"]


def _ranking(pairs: str, winner: list[str | None], aggregator: str = "map", **settings) -> list[float]:
    return rank_pool(_pool(pairs), np.array(winner, dtype=object), PairSettings(aggregator, **settings)).tolist()


def test_only_consistent_pairs_rank() -> None:
    expected = rescale(map_scores([1, 2], [0, 0], 3))
    assert _ranking("ab ac bc ab", ["second", "second", None, None]) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("aggregator", ["map", "mle_ridge", "perron", "trueskill"])
def test_each_aggregator_ranks(aggregator: str) -> None:
    lowest, middle, highest = _ranking("ab bc ac", ["second"] * 3, aggregator)
    assert lowest == 0 and highest == 100 and 0 < middle < 100


def test_maximum_likelihood_ranks_or_names_images() -> None:
    expected = rescale(mle_scores([1, 2, 0, 2], [0, 1, 2, 0], 3))
    assert _ranking("ab bc ca ac", ["second"] * 4, "mle") == pytest.approx(expected, abs=1e-6)
    with pytest.raises(UndefinedScoreError, match="infinite: c lost to none of the others"):
        _ranking("ab bc ab", ["second", "second", None], "mle")


def test_equal_records_tie() -> None:
    # Pairs that never meet: rounding errors of the solver must not order the winners.
    assert _ranking("ab cd ef", ["first", "second", "first"]) == [100, 0, 0, 100, 100, 0]


def test_nothing_to_rank_by() -> None:
    with pytest.raises(UndefinedScoreError, match="no pair has consistent replies"):
        _ranking("ab", [None])
    with pytest.raises(UndefinedScoreError, match="all 2 scores are equal"):
        _ranking("ab ab", ["first", "second"])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ((["a"], ["b", "c"], [1], [2]), "second_ids has 2 rows and first_ids has 1"),
        ((["a", "c"], ["b", "d"], [1, 1], [2, 2], ["x", None]), r"pool_ids\[1\] is None"),
        ((["a", "b"], ["b", "b"], [1, 2], [2, 2]), r"first_ids\[1\] and second_ids\[1\] are both 'b'"),
        ((["a"], ["b"], [1], ["x"]), r"second_references\[0\] is 'x'"),
        ((["a", "c"], ["b", "a"], [1, 3], [2, 1.5]), r"second_references\[1\] is 1.5 for image 'a', but .* has 1;"),
        ((["a", "c"], ["b", "a"], [1, 3], [2, 0.5]), r"second_references\[1\] is 0.5 for image 'a', but .* has 1;"),
    ],
)
def test_bad_columns(columns, message: str) -> None:
    with pytest.raises(InputError, match=message):
        split_pools(check_pairs(*columns))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"aggregator": "mlee"}, "aggregator is 'mlee'"),
        ({"pool_weights": "pairs"}, "pool_weights is 'pairs'"),
        ({"undefined_pools": 0}, "undefined_pools is 0"),
        ({"fit": "logistic3"}, "fit is 'logistic3'"),
        ({"order_seed": 1}, "order_seed is 1; it can be set only with aggregator='trueskill'"),
        ({"aggregator": "trueskill", "order_seed": 0.5}, "order_seed is 0.5"),
        *(({"ridge": value}, f"ridge is {value!r}; it must be") for value in (0, NAN, math.inf, "1")),
    ],
)
def test_bad_settings_are_refused_before_there_are_pairs(settings: dict, message: str) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        PairSettings(**settings)
