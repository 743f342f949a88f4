"""Servers: a fault stops the run, or becomes an error of the affected item."""

import contextlib
import gzip
import itertools
import json
import math
import socket
import threading
import time

import pytest
from werkzeug import Response

from eyechart.evaluators.backends.stored import StoredBackend
from eyechart.evaluators.requests.errors import EndpointError, ModelError
from eyechart.evaluators.requests.types import Request
from eyechart.metrics.scoring.choices.replies import why_unread
from tests.evaluators.scripted_server import refusal
from tests.faults.conftest import GOOD, assert_error, body, scored
from tests.faults.fault import fault, row, rows


def torn(request):
    """Promises more than it sends, then closes the connection."""
    return Response(iter([b'{"choices": [']), 200, {"Content-Length": "1000"}, content_type="application/json")


def slow(request):
    time.sleep(1.5)
    return GOOD


def trickle(request):
    """Sends a byte every quarter of a second: no single wait is long, but the response never ends."""

    def drip():
        for byte in json.dumps(GOOD).encode()[:40]:
            yield bytes([byte])
            time.sleep(0.25)

    return Response(drip(), 200, content_type="application/json")


ZIPPED = Response(gzip.compress(bytes(7 * 10**7), 1), 200, {"Content-Encoding": "gzip"})

ODD = {"content_type": "text/html; charset=zlib_codec"}
NUMBERS = body(f'{{"choices": [{"1," * 10**6}1]}}')
REFUSAL = {"message": {"content": None, "refusal": "I can't."}}
PAGE = Response("<html>Log in</html>", 200, content_type="text/html")
SURROGATE = body('{"choices": [{"message": {"content": "\\ud800"}}]}')
UNSTORED = "the item has an error that gives the reason; nothing is stored"
AGAIN = "the request is repeated; then the item has an error that states what the server did"
WEB_PAGE = "the item has an error with the usual path of the URL"
ONCE = "the item has an error that states the problem; the request is not repeated"


@pytest.mark.parametrize(
    ("fault", "reason"),
    rows(
        AGAIN,
        ("a server answers 429", refusal(429), "answered 429 after 1 retry: some reason"),
        ("a server answers 500 in plain text", Response("Internal Server Error", 500), "answered 500 after 1 retry"),
        ("a server answers 502 without a body", Response("", 502), "answered 502 after 1 retry: no reason given"),
        ("a server promises more bytes than it sends", torn, "broke off after 1 retry: RemoteProtocolError"),
        ("a server sends an endless body", lambda request: Response(itertools.repeat(b"x" * 2**16), 200), "16,777,216"),
        ("a server sends nothing for longer than the timeout", slow, "did not answer within 0.3 s after 1 retry"),
        ("a server sends the body byte by byte for longer than the timeout", trickle, "did not answer within 0.3 s af"),
    ),
)
def test_what_may_pass_is_asked_again_and_then_an_error_of_the_item(script, ask, fault, reason):
    timeout = {"timeout": 0.3} if fault in (slow, trickle) else {}
    script.say(fault)
    response, model = ask(**timeout)
    assert isinstance(response.error, EndpointError)
    assert response.error.args and response.text is None
    assert_error(response, reason)
    script.wait_for(2)
    assert script.attempts == ["0", "1"]
    nothing = {"prompt_tokens": 0, "completion_tokens": 0, "requests_without_usage": 0}
    assert model.settings()["asked"] == {**nothing, "requests": 0, "retries": 1}
    script.say(fault, GOOD)
    response, model = ask(**{name: 2 * seconds for name, seconds in timeout.items()})
    assert response.text == "B."
    assert model.settings()["asked"] == {
        **nothing,
        "requests": 1,
        "retries": 1,
        "prompt_tokens": 7,
        "completion_tokens": 2,
    }


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        *rows(
            ONCE,
            ("a server answers 400", refusal(400, "image too large"), "answered 400: image too large"),
            ("a server returns its reason in the field `detail`", body('{"detail": "odd"}', 422), "answered 422: odd"),
            ("a server's JSON is truncated", body('{"choices": [{"mess'), "not a chat completion .*EOF"),
            ("a server answers 200 without a body", body(""), "not a chat completion .*EOF"),
            ("a server answers 200 with a list", [], "not a chat completion .*it begins with '\\[\\]'"),
            ("a server answers 200 with an error", {"error": {"message": "overloaded"}}, "not a chat completion"),
            ("a server's character set is not one of texts", Response("{}", 400, **ODD), "400: no reason given"),
            ("a server's headers are not ASCII", Response("{}", 400, {"X": "caf\xe9"}), "400: no reason given"),
            ("a reply has no message", {"choices": [{}]}, "'choices.0.message': Field required"),
            ("a server returns a million numbers as replies", NUMBERS, "choices.0'"),
            ("a server's name has a million letters", {**GOOD, "model": "m" * 10**6}, "at most 1000 characters"),
            ("a server answers 200 with a body that is not UTF-8", body(b"\xff\xfe"), "not a chat completion"),
            ("a server sends a small compressed body, large when unpacked", ZIPPED, "not a chat completion"),
            ("a reply's text contains a lone surrogate", SURROGATE, "not a chat completion .*hex"),
            ("a server returns no reply", {"choices": []}, "returned 0 replies; expected 1"),
            ("a server returns 10,000 replies", {"choices": GOOD["choices"] * 10**4}, "at most 1000 items"),
            ("a reply has no text", {"choices": [{"message": {}, "finish_reason": "stop"}]}, "no text .finish_reason"),
        ),
        row("a server answers with a web page", WEB_PAGE, PAGE, "begins with '<html>Log in.*usually ends in"),
    ],
)
def test_what_stays_is_an_error_of_the_item_at_once(script, ask, fault, reason):
    script.say(fault)
    response, _ = ask()
    assert_error(response, reason)
    assert len(script.bodies) == 1


@fault("a server states how long to wait", "the request is not repeated earlier")
def test_retry_after_is_honoured(script, ask, monkeypatch):
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.1)
    script.say(refusal(429, headers={"Retry-After": "0.4"}), refusal(429), GOOD)
    assert ask(max_retries=2)[0].text == "B."
    first, second, third = script.times
    # The client's own waits are a tenth of a second and two, each less up to a quarter.
    assert second - first >= 0.4
    assert third - second >= 0.15


@pytest.mark.parametrize(
    ("choice", "text", "reason"),
    rows(
        "it is the reply, and counts as refused or empty",
        ("a server returns a refusal instead of a text", REFUSAL, "I can't.", None),
        ("a content filter removes a text", {"message": {}, "finish_reason": "content_filter"}, "", "refused"),
        ("a server returns an empty text", {"message": {"content": ""}}, "", "unparseable"),
    ),
)
def test_replies_without_an_answer(script, ask, choice, text, reason):
    script.say({"choices": [choice]})
    response, _ = ask()
    assert response.text == text
    if reason:
        assert why_unread(response.text, response.finish_reason) == reason


@pytest.mark.parametrize(
    ("values", "reason"),
    rows(
        UNSTORED,
        ("a server returns a log-probability of NaN", (-1, "NaN"), "logprob.: Input should be less"),
        ("a server returns a log-probability of Infinity", (-1, "Infinity"), "logprob.: Input should be less"),
        ("a server returns a positive log-probability", (-1, 0.25), "logprob.: Input should be less"),
        ("a server returns a probability of 0 for all tokens", ("-Infinity", "-Infinity"), "returned a probability"),
    ),
)
def test_what_is_no_log_probability_is_an_error_of_the_item(script, backend, store, values, reason):
    good, poor = values
    text = json.dumps(scored((" good", "X"), (" poor", "Y"))).replace('"X"', str(good)).replace('"Y"', str(poor))
    script.say(body(text))
    (response,) = StoredBackend(backend(), store).answer([Request("x", ("Rate.",), (), words=("good", "poor"))])
    assert_error(response, reason)
    assert not store.models()


@fault("a log-probability is slightly positive because of rounding", "it is accepted")
def test_rounding_may_make_a_log_probability_slightly_positive(script, backend):
    script.say(scored((" good", 4.7e-7), (" poor", -15)))
    (response,) = backend().answer([Request("x", ("Rate.",), (), words=("good", "poor"))])
    assert response.logits == {"good": 4.7e-7, "poor": -15}


@fault("a server's error contains terminal escape sequences", "they are not printed to the terminal")
def test_control_characters_of_a_server_do_not_reach_the_terminal(script, ask):
    script.say(refusal(400, "red \x1b[31m alert\n\n" + "x" * 1000))
    reason = ask()[0].error.reason
    assert "\x1b" not in reason and "\n" not in reason and len(reason) == 300 + len("...")


@fault("a server sends the response headers byte by byte for longer than the timeout", AGAIN)
def test_a_head_that_never_ends(backend):
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=drip_head, args=(server,), daemon=True).start()
        model = backend(base_url=f"http://127.0.0.1:{server.getsockname()[1]}/v1", timeout=0.6, max_retries=0)
        (response,) = model.answer([Request("x", ("What?",), ())])
        assert_error(response, r"did not answer within 0\.6 s")


def drip_head(server):
    """Sends a byte every tenth of a second until the client disconnects."""
    connection, _ = server.accept()
    with connection, contextlib.suppress(OSError):
        for byte in b"HTTP/1.1 200 OK\r\nX: " + b"x" * 600:
            connection.sendall(bytes([byte]))
            time.sleep(0.1)


def prompt_of(*tokens):
    """A server's response for a prompt with these tokens, then those of a text: (id, log-probability)."""
    places = [None, *({str(token): {"logprob": value}, "9": {"logprob": -0.1}} for token, value in tokens)]
    return {"choices": [{"message": {"content": "x"}}], "prompt_logprobs": places}


def said(text):
    return {"choices": [{"message": {"content": text}}]}


BEFORE = ((1, -1.0), (2, -2.0))


@pytest.mark.parametrize(
    ("answer", "error", "reason"),
    [
        *rows(
            "the run stops and gives the reason",
            ("a server merges a text with the prompt", prompt_of((1, -1), (5, -2), (3, -1)), ModelError, "separated"),
            ("a server returns no tokens for a text", prompt_of(*BEFORE), ModelError, "cannot be separated"),
            ("a server stops returning prompt_logprobs", said(""), ModelError, "returns no prompt_logprobs"),
        ),
        *rows(
            "the item has an error that gives the reason",
            ("a server returns a probability of 0 for a text", prompt_of(*BEFORE, (3, -9999)), EndpointError, "of 0"),
            ("a log-probability of a text is NaN", prompt_of(*BEFORE, (3, math.nan)), EndpointError, "should be less"),
        ),
    ],
)
def test_what_gives_no_loss_is_an_error_of_the_item_or_of_all(script, backend, answer, error, reason):
    # What shows that a server goes on: a reply, and its rest.
    script.say(said("A blurry dark picture"), said(" dark picture"), prompt_of(*BEFORE), answer)
    responses = backend(concurrency=1).answer([Request("0", ("?",), (), prefill="#A:", continuations=("Blurry",))])
    if error is EndpointError:
        assert_error(next(responses), reason)
    else:
        with pytest.raises(ModelError, match=reason):
            next(responses)
