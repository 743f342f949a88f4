"""What servers do wrong, and what becomes of it: a refused run, or an error of the one item that says what happened."""

import itertools
import json
import logging
import time
import traceback

import pytest
from werkzeug import Response

from eyechart.datasets_scripts.common.errors import EndpointError, ModelError, QuotaError
from eyechart.evaluators.requests.types import IMAGE, Request
from tests.evaluators.scripted_server import refusal

KEY = "sk-this-is-the-secret-key"
GOOD = {"choices": [{"message": {"content": " B. "}}], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}


def torn(request):
    """Promises more than it sends, then closes the connection."""
    return Response(iter([b'{"choices": [']), 200, {"Content-Length": "1000"}, content_type="application/json")


def slow(request):
    time.sleep(3)
    return GOOD


def trickle(request):
    """A byte every quarter of a second: no wait between two bytes is long, and the whole answer never ends."""

    def drip():
        for byte in json.dumps(GOOD).encode()[:40]:
            yield bytes([byte])
            time.sleep(0.25)

    return Response(drip(), 200, content_type="application/json")


@pytest.fixture
def ask(backend, make_picture):
    """The response to one request, and the backend."""

    def ask_once(**options):
        model = backend(**options)
        request = Request("x", ("What is this?", IMAGE), (make_picture(0),))
        (response,) = model.answer([request])
        return response, model

    return ask_once


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (refusal(408), "answered 408 after 1 retry: some reason"),
        (refusal(409), "answered 409 after 1 retry: some reason"),
        (refusal(429), "answered 429 after 1 retry: some reason"),
        (refusal(500), "answered 500 after 1 retry: some reason"),
        (refusal(503), "answered 503 after 1 retry: some reason"),
        (Response("Internal Server Error", 500), "answered 500 after 1 retry: Internal Server Error"),
        (Response("", 502), "answered 502 after 1 retry: no reason given"),
        (torn, "broke after 1 retry: RemoteProtocolError: .*without sending complete message body"),
        (slow, "did not answer within 1 s after 1 retry"),
        (trickle, "did not answer within 1 s after 1 retry"),
    ],
    ids=["408", "409", "429", "500", "503", "500 in plain text", "502 without a body", "torn", "slow", "trickle"],
)
def test_what_may_pass_is_asked_again_and_then_an_error_of_the_item(script, ask, fault, reason):
    timeout = {"timeout": 1.0} if fault in (slow, trickle) else {}
    script.say(fault)
    response, model = ask(**timeout)
    assert isinstance(response.error, EndpointError)
    assert response.error.args and response.text is None
    with pytest.raises(EndpointError, match=reason):
        raise response.error
    assert script.attempts == ["0", "1"]
    assert model.settings()["asked"] == {"requests": 0, "retries": 1, "prompt_tokens": 0, "completion_tokens": 0}
    script.say(fault, GOOD)
    response, model = ask(**timeout)
    assert response.text == "B."
    assert model.settings()["asked"] == {"requests": 1, "retries": 1, "prompt_tokens": 7, "completion_tokens": 2}


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (refusal(400, "image too large"), "answered 400: image too large"),
        (refusal(413), "answered 413: some reason"),
        (Response(json.dumps({"detail": "odd"}), 422, content_type="application/json"), "answered 422: odd"),
        (Response('{"choices": [{"mess', 200, content_type="application/json"), "no chat completion .*EOF"),
        (Response("{choices: 1}", 200, content_type="application/json"), "no chat completion .*key must be a string"),
        (Response("", 200, content_type="application/json"), "no chat completion .*EOF"),
        (Response(b"\xff\xfe", 200, content_type="application/json"), "no chat completion"),
        (Response("<html>Log in</html>", 200, content_type="text/html"), "begins '<html>Log in.*usually ends in /v1"),
        (Response("<html>", 200, content_type="application/json"), "begins '<html>'.*usually ends in /v1"),
        ([], "no chat completion .*it begins '\\[\\]'"),
        ({"error": {"message": "overloaded"}}, "no chat completion .'choices': Field required.*overloaded"),
        ({"choices": None}, "'choices': Input should be a valid array"),
        ({"choices": [{}]}, "'choices.0.message': Field required"),
        ({"choices": [{"message": {"content": 5}}]}, "'choices.0.message.content': Input should be a valid string"),
        ({"choices": []}, "returned 0 replies; expected 1"),
        ({"choices": GOOD["choices"] * 2}, "returned 2 replies; expected 1"),
        ({"choices": [{"message": {}, "finish_reason": "content_filter"}]}, "no text .finish_reason 'content_filter'"),
        ({"choices": [{"message": {}}]}, "no text .finish_reason None"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_stays_is_an_error_of_the_item_at_once(script, ask, fault, reason):
    script.say(fault)
    response, _ = ask()
    with pytest.raises(EndpointError, match=reason):
        raise response.error
    assert len(script.bodies) == 1


@pytest.mark.parametrize("status", [401, 402, 403, 404])
def test_what_no_other_request_would_change_stops_all(script, backend, make_picture, status):
    script.say(refusal(status, "no such thing"))
    requests = [Request(str(i), ("What is this?", IMAGE), (make_picture(0),)) for i in range(50)]
    with pytest.raises(ModelError, match=f"cannot be used: .* answered {status}: no such thing"):
        list(backend(concurrency=2).answer(requests))
    time.sleep(0.2)
    assert len(script.bodies) <= 4


NO_IMAGES = "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"


def test_a_server_without_images_is_asked_once_and_the_option_is_named(script, backend, make_picture):
    script.say(refusal(500, NO_IMAGES))
    requests = [Request(str(i), ("What is this?", IMAGE), (make_picture(0),)) for i in range(50)]
    with pytest.raises(ModelError, match=r"image input is not supported.*Start llama\.cpp's server with --mmproj FILE"):
        list(backend(concurrency=1, max_retries=4).answer(requests))
    assert len(script.bodies) <= 2, "the thread may have taken the next one"
    assert set(script.attempts) == {"0"}, "and none is sent again"


@pytest.mark.parametrize(
    "message",
    [
        "Requested sample logprobs of 200, which is greater than max allowed: 20 (parameter=logprobs, value=200)",
        "Invalid 'top_logprobs': integer above maximum value. Expected a value <= 20, but got 200 instead.",
    ],
    ids=["vLLM", "OpenAI"],
)
def test_more_log_probabilities_than_the_server_gives_are_refused_and_the_option_is_named(script, backend, message):
    script.say(refusal(400, message))
    requests = [Request(str(i), ("Rate.",), (), words=("good", "poor")) for i in range(50)]
    with pytest.raises(ModelError, match=r"200.*Give a smaller --top-logprobs"):
        list(backend(concurrency=1, top_logprobs=200).answer(requests))
    assert len(script.bodies) <= 2


@pytest.mark.parametrize(
    ("message", "remedy"),
    [
        (
            "This model's maximum context length is 512 tokens. However, your prompt contains at least 600 input "
            "tokens, which exceeds this limit even without any output tokens. Please reduce the length of the input "
            "prompt. (parameter=input_tokens, value=600)",
            r"smaller --max-new-tokens, or start the server with a longer context \(vLLM: --max-model-len\)",
        ),
        (
            "request (613 tokens) exceeds the available context size (512 tokens), try increasing it",
            r"llama\.cpp: --ctx-size",
        ),
        (
            "max_tokens is too large: 9000. This model supports at most 4096 completion tokens, whereas you provided "
            "9000.",
            "Give a smaller --max-new-tokens",
        ),
        (
            "max_tokens=600 cannot be greater than max_model_len=512. Please request fewer output tokens. "
            "(parameter=max_tokens, value=600)",
            r"smaller --max-new-tokens.*vLLM: --max-model-len",
        ),
        ("At most 1 image(s) may be provided in one prompt.", "a larger --limit-mm-per-prompt"),
        ("an error of another kind, 12", "the first 5 requests failed in the same way"),
    ],
    ids=["vLLM context", "llama.cpp context", "OpenAI max_tokens", "vLLM max_tokens", "vLLM images", "other"],
)
def test_a_server_that_fails_in_the_same_way_from_the_start_is_not_asked_about_every_item(
    script, backend, message, remedy
):
    counted = itertools.count(600)
    script.say(lambda request: refusal(400, message.replace("600", str(next(counted)))))
    requests = [Request(str(i), ("What is this?",), ()) for i in range(500)]
    with pytest.raises(ModelError, match=f"the first 5 requests failed in the same way.*{remedy}|{remedy}.*"):
        list(backend(concurrency=2).answer(requests))
    time.sleep(0.2)
    assert len(script.bodies) <= 5 + 4


def test_failures_of_other_kinds_or_after_an_answer_are_errors_of_their_items(script, backend):
    faults = [refusal(400, f"reason {'ab'[i % 2]}") for i in range(12)]
    script.say(*faults, GOOD, *[refusal(400, "reason c")] * 12)
    requests = [Request(str(i), ("What is this?",), ()) for i in range(25)]
    responses = list(backend(concurrency=1).answer(requests))
    assert [response.error is None for response in responses].count(True) == 1 and len(responses) == 25


@pytest.mark.parametrize("fault", [refusal(404), refusal(405), Response("<html>Hello</html>", 200)], ids=str)
def test_an_address_without_v1_is_answered_with_the_one_that_works(http, backend, fault):
    http.expect_request("/chat/completions", method="POST").respond_with_response(fault)
    http.expect_request("/v1/models").respond_with_json({"object": "list", "data": [{"id": "m", "object": "model"}]})
    address = http.url_for("").rstrip("/")
    with pytest.raises(ModelError, match=f"Give that address .--base-url {address}/v1."):
        list(backend(base_url=address).answer([Request("x", ("What?",), ())]))


def test_an_address_that_is_wrong_with_v1_too_is_not_recommended(http, backend):
    http.expect_request("/chat/completions", method="POST").respond_with_response(refusal(404, "nothing here"))
    address = http.url_for("").rstrip("/")
    with pytest.raises(ModelError, match=r"cannot be used: .* answered 404: nothing here"):
        list(backend(base_url=address).answer([Request("x", ("What?",), ())]))


@pytest.mark.parametrize("fault", [refusal(402), refusal(429, code="insufficient_quota")], ids=["402", "429"])
def test_want_of_money_is_told_from_being_asked_too_often(script, ask, fault):
    script.say(fault)
    with pytest.raises(QuotaError, match=r"cannot be used: .* answered 4.*: some reason"):
        ask()


def test_what_is_under_way_when_all_stops_is_not_asked_again(script, backend, make_picture):
    script.say(refusal(500), refusal(500), refusal(500), refusal(401))
    requests = [Request(str(i), ("What is this?", IMAGE), (make_picture(0),)) for i in range(50)]
    with pytest.raises(ModelError):
        list(backend(concurrency=4, max_retries=9).answer(requests))
    time.sleep(1.6)
    assert len(script.bodies) <= 6, "with its retries, each of three would have been asked thrice by now"


def test_what_is_left_of_a_stopped_call_does_not_hold_up_the_next(script, backend):
    def answer(request):
        if b"first" in request.data and len(script.bodies) > 1:
            time.sleep(3)
        return refusal(401)

    script.say(answer)
    model = backend(concurrency=2, max_retries=0)
    for call in ("first", "second"):
        requests = [Request(str(i), (call,), (), prefill="The", words=("good", "poor")) for i in range(2)]
        start = time.perf_counter()
        with pytest.raises(ModelError):
            list(model.answer(requests))
    assert time.perf_counter() - start < 2, (
        "threads of the first call wait for an answer, and hold no lock of the second"
    )


def test_a_missing_key_is_named_where_it_may_be_the_cause(script, ask):
    script.say(refusal(401))
    with pytest.raises(ModelError, match="Set the environment variable OPENAI_API_KEY"):
        ask()


def test_a_server_that_is_not_there_stops_all(ask):
    with pytest.raises(ModelError, match=r"no server can be reached at http://127\.0\.0\.1:9/v1 after 1 retry"):
        ask(base_url="http://127.0.0.1:9/v1")


def test_retry_after_is_honoured(script, ask):
    script.say(refusal(429, headers={"Retry-After": "1.2"}), refusal(429), GOOD)
    assert ask(max_retries=2)[0].text == "B."
    first, second, third = script.times
    # The client's own waits are half a second and a second, each less up to a quarter.
    assert second - first >= 1.2
    assert third - second >= 0.75


def test_a_refusal_is_what_the_model_says(script, ask):
    script.say({"choices": [{"message": {"content": None, "refusal": "I cannot look at this."}}]})
    assert ask()[0].text == "I cannot look at this."


def test_an_empty_reply_is_a_reply(script, ask):
    script.say({"choices": [{"message": {"content": ""}}]})
    assert ask()[0].text == ""


def test_the_new_name_of_the_length_is_used_where_the_old_one_is_refused(script, backend, make_picture):
    message = (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    )

    def answer(request):
        return refusal(400, message) if "max_tokens" in json.loads(request.data) else GOOD

    script.say(answer)
    model = backend(concurrency=1)
    requests = [Request(str(i), ("What?",), (), max_new_tokens=9) for i in range(3)]
    assert [response.text for response in model.answer(requests)] == ["B."] * 3
    assert [sorted({"max_tokens", "max_completion_tokens"} & body.keys()) for body in script.bodies] == [
        ["max_tokens"],
        ["max_completion_tokens"],
        ["max_completion_tokens"],
        ["max_completion_tokens"],
    ]
    assert script.bodies[-1]["max_completion_tokens"] == 9
    assert model.settings()["length_field"] == ["max_completion_tokens"]


def scored(*likeliest):
    top = [{"token": token, "logprob": value} for token, value in likeliest]
    return {"choices": [{"message": {"content": ""}, "logprobs": {"content": [{**top[0], "top_logprobs": top}]}}]}


@pytest.mark.parametrize(("value", "shown"), [("NaN", "nan"), ("0.25", "0.25"), ("Infinity", "inf")])
def test_what_is_no_log_probability_is_an_error_of_the_item(script, backend, value, shown):
    body = json.dumps(scored((" good", -1), (" poor", -2))).replace("-2", value)
    script.say(Response(body, 200, content_type="application/json"))
    (response,) = backend().answer([Request("x", ("Rate.",), (), words=("good", "poor"))])
    with pytest.raises(EndpointError, match=f"a log-probability is at most 0; this one is {shown}"):
        raise response.error


def test_rounding_may_make_a_log_probability_slightly_positive(script, backend):
    script.say(scored((" good", 4.7e-7), (" poor", -15)))
    (response,) = backend().answer([Request("x", ("Rate.",), (), words=("good", "poor"))])
    assert response.logits == {"good": 4.7e-7, "poor": -15}


@pytest.mark.parametrize(
    "fault",
    [
        {"choices": [{"message": {"content": "x"}}]},
        {"choices": [{"message": {"content": "x"}, "logprobs": None}]},
        {"choices": [{"message": {"content": "x"}, "logprobs": {"content": None}}]},
        {"choices": [{"message": {"content": "x"}, "logprobs": {"content": [{"token": "x", "logprob": -1}]}}]},
    ],
    ids=["absent", "null", "null content", "no alternatives"],
)
def test_a_server_that_loses_logprobs_is_refused(script, backend, fault):
    script.say(scored((" good", -1), (" poor", -2)), fault)
    requests = [Request(str(i), ("Rate.",), (), words=("good", "poor")) for i in range(2)]
    responses = backend(concurrency=1).answer(requests)
    assert next(responses).logits == {"good": -1, "poor": -2}
    with pytest.raises(ModelError, match="returns no log-probabilities"):
        list(responses)


def test_the_key_is_sent_and_never_shown(script, backend, caplog, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\n")
    caplog.set_level(logging.DEBUG)
    sent = []

    def echo(status, text=f"Incorrect API key provided: {KEY}"):
        def answer(request):
            sent.append(request.headers["Authorization"])
            return refusal(status, text) if status > 200 else Response(text, 200)

        return answer

    shown = []
    for status in (200, 400, 401, 500):
        script.say(echo(status))
        model = backend(max_retries=0)
        try:
            shown += [str(response) for response in model.answer([Request("x", ("What?",), ())])]
        except ModelError as error:
            shown += traceback.format_exception(error)
        shown += [repr(model), repr(vars(model)), json.dumps(model.settings()), json.dumps(model.identity())]
    assert sent == [f"Bearer {KEY}"] * 4
    assert "[API key]" in "".join(shown)
    assert KEY not in "".join(shown) + caplog.text


def test_control_characters_of_a_server_do_not_reach_the_terminal(script, ask):
    script.say(refusal(400, "red \x1b[31m alert\n\n" + "x" * 1000))
    reason = ask()[0].error.reason
    assert "\x1b" not in reason and "\n" not in reason and len(reason) < 320
