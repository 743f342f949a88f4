"""Losses: impossible log-probabilities of given texts from a server."""

import math

import pytest

from eyechart.datasets_scripts.common.errors import EndpointError, ModelError
from eyechart.evaluators.requests.types import Request
from tests.faults.fault import rows


def scored(*tokens):
    """A server's response for a prompt with these tokens: (id, log-probability)."""
    places = [None, *({str(token): {"logprob": value}, "9": {"logprob": -0.1}} for token, value in tokens)]
    return {"choices": [{"message": {"content": "x"}}], "prompt_logprobs": places}


def said(*tokens):
    """A server's reply with these tokens: (text, log-probability)."""
    places = [{"token": token, "logprob": value} for token, value in tokens]
    content = [{**place, "top_logprobs": [place]} for place in places]
    message = {"content": "".join(token for token, _ in tokens)}
    return {"choices": [{"message": message, "logprobs": {"content": content}}]}


# What shows that a server goes on: a reply, and its rest.
GOES_ON = (said(("A", -0.1), (" blur", -0.2)), said((" blur", -0.2)))
BEFORE = ((1, -1.0), (2, -2.0))


OF_ITEM = "the item has an error that gives the reason"


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        *rows(
            "only the tokens of the text count",
            ("a server adds more likely tokens to a text's", scored(*BEFORE, (3, -0.5), (4, -0.25)), None),
        ),
        *rows(
            "the run stops and gives the reason",
            ("a server merges a text with the prompt", scored((1, -1.0), (5, -2.0), (3, -0.5)), "cannot be separated"),
            ("a server returns no tokens for a text", scored(*BEFORE), "cannot be separated"),
            ("a server stops returning prompt_logprobs", said(), "returns no prompt_logprobs"),
        ),
        *rows(
            OF_ITEM,
            ("a server returns a probability of 0 for a text", scored(*BEFORE, (3, -9999.0)), "a probability of 0"),
            ("a log-probability of a text is NaN", scored(*BEFORE, (3, math.nan)), "log-probability is nan"),
            ("a log-probability of a text is positive", scored(*BEFORE, (3, 0.5)), "log-probability is 0.5"),
        ),
    ],
)
def test_what_gives_no_loss_is_an_error_of_the_item_or_of_all(script, backend, answer, error):
    model = backend(concurrency=1)
    script.say(*GOES_ON, scored(*BEFORE), answer)
    request = Request("0", ("?",), (), prefill="#Answer:", continuations=("Blurry",))
    if error is None:
        (response,) = model.answer([request])
        assert [(loss.total, loss.tokens) for loss in response.losses] == [(0.75, 2)]
    elif "separated" in error or "returns no" in error:
        with pytest.raises(ModelError, match=error):
            list(model.answer([request]))
    else:
        (response,) = model.answer([request])
        with pytest.raises(EndpointError, match=error):
            raise response.error
