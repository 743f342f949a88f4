"""Quality scores from logits, and ratings from replies."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.quality.pooling import ensemble_logits, pool
from eyechart.metrics.scoring.quality.ratings import read_rating

HALF = st.integers(-400, 400).map(lambda eighths: eighths / 8)


@given(st.lists(st.tuples(HALF, HALF), min_size=1, max_size=20), st.sampled_from([1.0, 10.0, 100.0]))
def test_softmax_by_its_formula(pairs: list[tuple[float, float]], temperature: float) -> None:
    expected = [
        math.exp(good / temperature) / (math.exp(good / temperature) + math.exp(poor / temperature))
        for good, poor in pairs
    ]
    exact, released = pool(pairs, temperature=temperature), pool(pairs, temperature=temperature, ties="released")
    assert exact.values == pytest.approx(expected, abs=1e-15)
    assert released.values.tolist() == expected
    assert released.ranking.tolist() == expected
    assert exact.ranking.tolist() == [good - poor for good, poor in pairs]


def test_exact_ties_stay_tied_and_released_ones_split() -> None:
    pairs = [[17.5 + shift, 17.0 + shift] for shift in np.arange(0, 8, 0.125)]
    assert len(set(pool(pairs).ranking.tolist())) == 1
    assert len(set(pool(pairs, ties="released").ranking.tolist())) > 1


def test_argmax() -> None:
    assert pool([[2, 1], [1, 2], [1, 1]], strategy="argmax").values.tolist() == [1.0, 0.0, 0.0]


def test_no_overflow_in_exact_mode() -> None:
    assert pool([[1e6, -1e6], [-1e6, 1e6]], temperature=1.0).values.tolist() == [1.0, 0.0]
    with pytest.raises(InputError, match=r"predictions\[0\] is \[1000000.0, -1000000.0\].*temperature"):
        pool([[1e6, -1e6]], temperature=1.0, ties="released")
    with pytest.raises(InputError, match=r"predictions\[0\]"):
        pool([[-1e6, -1e6]], temperature=1.0, ties="released")


def test_ensemble_is_the_sum_of_each_side() -> None:
    logits = {"good": [1.0, 2.0], "fine": [0.5, 0.25], "poor": [3.0, 1.0], "bad": [1.0, 1.0]}
    assert ensemble_logits(logits, ["good", "fine"], ["poor", "bad"]).tolist() == [[1.5, 4.0], [2.25, 2.0]]


LOGITS = {"good": [1.0, 2.0], "poor": [1.0, 1.0], "short": [1.0]}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pool([[1, 2]], temperature=0), "temperature is 0"),
        (lambda: pool([[1, 2]], temperature=float("nan")), "temperature is nan"),
        (lambda: pool([[1, 2]], strategy="softmx"), "Did you mean 'softmax'"),
        (lambda: pool([[1, 2]], ties="exat"), "Did you mean 'exact'"),
        (lambda: pool([1.0, 2.0]), "2 numbers per row"),
        (lambda: pool([[1.0, 2.0], [float("inf"), 1.0]]), r"predictions\[1\] is \[inf, 1.0\]"),
        (lambda: ensemble_logits(LOGITS, [], ["poor"]), "positive is"),
        (lambda: ensemble_logits(LOGITS, ["good", "good"], ["poor"]), "positive is"),
        (lambda: ensemble_logits(LOGITS, ["god"], ["poor"]), "Did you mean 'good'"),
        (lambda: ensemble_logits(LOGITS, ["good"], ["short"]), "short has 1 rows and good has 2"),
    ],
)
def test_bad_input(call, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


READ = {
    1: ["1 " * 10_000, "1 " + " " * 50_000],
    2: ["Quality score: **2** out of 5", "On a scale of 1-5, it is a 2."],
    3: ["The quality of the image is 3."],
    3.5: ["3.5", "3,5"],
    4: [
        *("4", " 4.\n", "**4**", "4/5", "- 4", '{"score": 4}', '{"score": 4, "confidence": 2}', "\u8bc4\u5206: 4"),
        *("Rating: 4 (on a scale from 1 to 5)", "I would rate this image a 4 out of 5.", "A 4, I repeat, a 4"),
        *("4. The image is sharp, with 2 people in it.", "*" * 50_000 + "4"),
    ],
    5: ["Score: 5", "\uff15"],
    None: [
        *("From 1 to 5, with 5 as highest: 3", "\u8bc4\u5206: 4\u5206", "Between 3 and 4", "3 to 4", "the 4th of 5"),
        "4.2.1",
        *("1. Sharpness: good\n2. Noise: low", "0", "6", "-3", "Score: -3", "10/10", "80%", "3.5%", "Good.", "four"),
        *("", "\x00\x1b[2J", "5" * 10_000, "good " * 10_000, "- " * 50_000, "score " * 50_000, "from " * 20_000),
    ],
}


@pytest.mark.parametrize(
    ("text", "rating"),
    [(text, rating) for rating, texts in READ.items() for text in texts],
    ids=lambda value: repr(value)[:40],
)
def test_numbers_are_read_from_replies(text, rating):
    assert read_rating(text) == rating
