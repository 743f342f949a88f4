import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.evaluators.requests.values import decode, encode

# Every code point, halves of surrogate pairs included.
TEXTS = st.text(st.characters(codec=None, categories=None), max_size=20)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=10)


@given(VALUES)
def test_values_come_back_exactly(value):
    assert decode(encode(value)) == value
    assert decode(encode(value, sort_keys=True)) == value


def test_two_halves_of_a_pair_stay_two_and_differ_from_the_character():
    halves = "\ud83d" + "\ude00"
    assert decode(encode(halves)) == halves
    assert encode(halves) != encode("😀")


def test_floats_keep_their_last_digit_and_their_sign():
    values = [0.1 + 0.2, 5e-324, 1.7976931348623157e308, -0.0, math.inf, -math.inf]
    assert list(map(repr, decode(encode(values)))) == list(map(repr, values))
    assert math.isnan(decode(encode(math.nan)))


def test_keys_keep_their_order_or_are_sorted():
    assert list(decode(encode({"b": 1, "a": 2}))) == ["b", "a"]
    assert encode({"b": 1, "a": 2}, sort_keys=True) == encode({"a": 2, "b": 1}, sort_keys=True)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe", b"[1,]"])
def test_other_bytes_are_refused(data):
    with pytest.raises(ValueError):
        decode(data)
