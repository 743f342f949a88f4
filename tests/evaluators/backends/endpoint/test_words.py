"""How words are found among the tokens that a server returns."""

import asyncio
import math

import pytest

from eyechart.datasets_scripts.common.errors import ModelError
from eyechart.evaluators.backends.endpoint.words import find_words
from eyechart.evaluators.requests.types import Request


def never(beginnings):
    return None


def longest(beginnings):
    return max(beginnings, key=len)


def find(likeliest, words, choose=longest, *, optional=(), prefill="It is"):
    async def first_token(word, beginnings):
        return choose(beginnings)

    request = Request("1", ("How is it?",), (), prefill=prefill, words=words, optional_words=optional)
    return asyncio.run(find_words(likeliest, request, first_token))


@pytest.mark.parametrize(
    ("likeliest", "several", "logits", "upper_bound_words"),
    [
        ({" good": -1, " poor": -2, " x": -3}, never, {"good": -1, "poor": -2}, ()),
        ({"good": -1, "poor": -2}, never, {"good": -1, "poor": -2}, ()),
        ({"\u2581good": -1, "\u0120poor": -2}, never, {"good": -1, "poor": -2}, ()),
        ({" good": -1, "good": -0.5, " poor": -2}, never, {"good": -1, "poor": -2}, ()),
        ({" Good": -0.1, " good": -1, " poor": -2}, never, {"good": -1, "poor": -2}, ()),
        ({" good": -1, " x": -3}, never, {"good": -1, "poor": -3}, ("poor",)),
        ({" x": -1, " y": -3}, never, {"good": -3, "poor": -3}, ("good", "poor")),
        ({" good": -1, " p": -2, " x": -3}, never, {"good": -1, "poor": -3}, ("poor",)),
        ({" good": -1, " p": -2, " po": -3, " x": -4}, longest, {"good": -1, "poor": -3}, ()),
        ({" good": -1, "po": -2, " x": -4}, longest, {"good": -1, "poor": -2}, ()),
        ({" good": -1, " ": -2, "": -2.5, "oor": -3}, longest, {"good": -1, "poor": -3}, ("poor",)),
        ({" good": -1, " goodness": -2, " poor": -3}, longest, {"good": -1, "poor": -3}, ()),
        ({" good": -1, " x": -3, " poor": -9999.0}, never, {"good": -1, "poor": -3}, ("poor",)),
        ({" good": -1, " x": -3, " y": -math.inf}, never, {"good": -1, "poor": -3}, ("poor",)),
    ],
    ids=[
        "with a blank",
        "without",
        "blanks as tokenizers write them",
        "with a blank rather than without",
        "case counts",
        "one is not there",
        "none is there",
        "a beginning of a word of one token",
        "the longest beginning of a word of several",
        "a beginning without a blank",
        "blanks and ends are no beginnings",
        "a longer word is not the word",
        "OpenAI's value for none",
        "minus infinity",
    ],
)
def test_words_are_found_by_their_tokens_texts(likeliest, several, logits, upper_bound_words):
    assert find(likeliest, ("good", "poor"), several) == (logits, upper_bound_words)


def test_a_word_that_begins_the_reply_is_the_likelier_with_or_without_a_blank():
    likeliest = {"good": -1.0, " good": -6.0, " poor": -2.0, "poor": -7.0}
    assert find(likeliest, ("good", "poor")) == ({"good": -6.0, "poor": -2.0}, ())
    assert find(likeliest, ("good", "poor"), prefill="") == ({"good": -1.0, "poor": -2.0}, ())


@pytest.mark.parametrize(
    ("likeliest", "words", "token"),
    [
        ({" good": -1, " x": -3}, ("good", "goodness"), "' good'"),
        ({" un": -1, " x": -3}, ("unsharp", "unclear"), "' un'"),
    ],
)
def test_words_of_one_token_are_refused(likeliest, words, token):
    with pytest.raises(ModelError, match=f"'{words[0]}' and '{words[1]}' begin with the same token {token}"):
        find(likeliest, words)


def test_optional_words_are_left_out_where_they_begin_like_another():
    likeliest = {" good": -1, " poor": -2, " f": -3, " x": -4}
    found = find(likeliest, ("good", "poor"), optional=("fine", "fair", "goods", "high"))
    assert found == ({"good": -1, "poor": -2, "high": -4}, ("high",))
