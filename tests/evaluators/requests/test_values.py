import math

from hypothesis import given
from hypothesis import strategies as st

from eyechart.evaluators.requests.values import brief, decode, encode, is_unicode

# Every code point, halves of surrogate pairs included.
TEXTS = st.text(st.characters(codec=None, categories=None), max_size=20)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=10)


@given(VALUES)
def test_values_come_back_exactly(value):
    assert decode(encode(value)) == value
    assert decode(encode(value, sort_keys=True)) == value


def test_halves_of_a_pair_differ_from_the_character_and_nan_and_infinities_stay():
    assert encode("\ud83d" + "\ude00") != encode("😀")
    assert repr(decode(encode([math.nan, math.inf, -math.inf, -0.0]))) == "[nan, inf, -inf, -0.0]"


def test_values_of_more_than_80_characters_are_shortened():
    assert [brief(["x" * length]) for length in (76, 77)] == [f"['{'x' * 76}']", f"['{'x' * 74}...]"]


def test_surrogates_are_not_unicode():
    assert [is_unicode(text) for text in ("\ud7ff\ue000", "a\ud800", "a\udfff")] == [True, False, False]


def test_keys_keep_their_order_or_are_sorted():
    assert list(decode(encode({"b": 1, "a": 2}))) == ["b", "a"]
    assert encode({"b": 1, "a": 2}, sort_keys=True) == encode({"a": 2, "b": 1}, sort_keys=True)
