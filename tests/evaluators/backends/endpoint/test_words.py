"""How words are found among the tokens that a server returns."""

import asyncio
import math

import pytest

from eyechart.datasets_scripts.common.errors import ModelError
from eyechart.evaluators.backends.endpoint.backend import find_words
from eyechart.evaluators.requests.types import Request


def find(likeliest, words, first="", *, optional=(), prefill="It is"):
    async def first_token(word):
        return first

    request = Request("1", ("How is it?",), (), prefill=prefill, words=words, optional_words=optional)
    return asyncio.run(find_words(likeliest, request, first_token))


CASES = {
    "with a blank": ({" good": -1, " poor": -2, " x": -3}, None, {"good": -1, "poor": -2}, ()),
    "without": ({"good": -1, "poor": -2}, None, {"good": -1, "poor": -2}, ()),
    "rather with a blank": ({" good": -1, "good": -0.5, " poor": -2}, None, {"good": -1, "poor": -2}, ()),
    "case counts": ({" Good": -0.1, " good": -1, " poor": -2}, None, {"good": -1, "poor": -2}, ()),
    "one is not there": ({" good": -1, " x": -3}, None, {"good": -1, "poor": -3}, ("poor",)),
    "none is there": ({" x": -1, " y": -3}, None, {"good": -3, "poor": -3}, ("good", "poor")),
    "a beginning of a single token": ({" good": -1, " p": -2, " x": -3}, None, {"good": -1, "poor": -3}, ("poor",)),
    "the longest beginning": ({" good": -1, " p": -2, " po": -3, " x": -4}, "", {"good": -1, "poor": -3}, ()),
    "a beginning without a blank": ({" good": -1, "po": -2, " x": -4}, "", {"good": -1, "poor": -2}, ()),
    "no beginnings": ({" good": -1, " ": -2, "": -2.5, "oor": -3}, "", {"good": -1, "poor": -3}, ("poor",)),
    "a longer word": ({" good": -1, " goodness": -2, " poor": -3}, "", {"good": -1, "poor": -3}, ()),
    "OpenAI's value": ({" good": -1, " x": -3, " poor": -9999.0}, None, {"good": -1, "poor": -3}, ("poor",)),
    "minus infinity": ({" good": -1, " x": -3, " y": -math.inf}, None, {"good": -1, "poor": -3}, ("poor",)),
}


@pytest.mark.parametrize(("likeliest", "first", "logits", "upper_bound_words"), CASES.values(), ids=CASES)
def test_words_are_found_by_their_tokens_texts(likeliest, first, logits, upper_bound_words):
    assert find(likeliest, ("good", "poor"), first) == (logits, upper_bound_words)


def test_a_word_that_begins_the_reply_is_the_likelier_with_or_without_a_blank():
    likeliest = {"good": -1.0, " good": -6.0, " poor": -2.0, "poor": -7.0}
    assert find(likeliest, ("good", "poor")) == ({"good": -6.0, "poor": -2.0}, ())
    assert find(likeliest, ("good", "poor"), prefill="") == ({"good": -1.0, "poor": -2.0}, ())


@pytest.mark.parametrize(("one", "other", "token"), [("good", "goodness", " good"), ("unsharp", "unclear", " un")])
def test_words_of_one_token_are_refused(one, other, token):
    with pytest.raises(ModelError, match=f"'{one}' and '{other}' begin with the same token '{token}'"):
        find({token: -1, " x": -3}, (one, other))


def test_optional_words_are_left_out_where_they_begin_like_another():
    likeliest = {" good": -1, " poor": -2, " f": -3, " x": -4}
    words = find(likeliest, ("good", "poor"), optional=("fine", "fair", "goods", "high"))
    assert words == ({"good": -1, "poor": -2, "high": -4}, ("high",))
