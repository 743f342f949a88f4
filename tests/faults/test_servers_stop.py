"""Servers: permanent faults stop the run with one message and no further requests."""

import itertools
import time

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Response

from eyechart.datasets_scripts.common.errors import ModelError, QuotaError, UsageError
from eyechart.evaluators.requests.types import IMAGE, Request
from tests.evaluators.providers import NO_TEMPERATURE
from tests.evaluators.scripted_server import json_response, refusal
from tests.faults.fault import fault, row
from tests.faults.server_answers import GOOD, scored

NO_QUOTA = "insufficient_quota"
FIVE = "after five requests the run stops, and the error names the option that helps"


@pytest.mark.parametrize(
    "status",
    [
        row("a server refuses the key (401)", "the run stops and gives the reason", 401),
        row("a server does not know the model (404)", "the run stops and gives the reason", 404),
    ],
)
def test_what_no_other_request_would_change_stops_all(script, backend, make_picture, status):
    script.say(refusal(status, "no such thing"))
    requests = [Request(str(i), ("What is this?", IMAGE), (make_picture(0),)) for i in range(50)]
    with pytest.raises(ModelError, match=f"cannot be used: .* answered {status}: no such thing"):
        list(backend(concurrency=2).answer(requests))
    time.sleep(0.2)
    assert len(script.bodies) <= 4


NO_IMAGES = "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"


@fault("a server accepts no images", "one request is sent; the error names the server's option")
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
        row(
            "more log-probabilities are requested than vLLM allows",
            "one request is sent; the error names --top-logprobs",
            "Requested sample logprobs of 200, which is greater than max allowed: 20 (parameter=logprobs, value=200)",
        ),
        row(
            "more log-probabilities are requested than OpenAI allows",
            "one request is sent; the error names --top-logprobs",
            "Invalid 'top_logprobs': integer above maximum value. Expected a value <= 20, but got 200 instead.",
        ),
    ],
)
def test_more_log_probabilities_than_the_server_gives_are_refused_and_the_option_is_named(script, backend, message):
    script.say(refusal(400, message))
    requests = [Request(str(i), ("Rate.",), (), words=("good", "poor")) for i in range(50)]
    with pytest.raises(ModelError, match=r"200.*Set a smaller --top-logprobs"):
        list(backend(concurrency=1, top_logprobs=200).answer(requests))
    assert len(script.bodies) <= 2


@fault("a provider refuses a parameter in every form", "the run stops at once and gives the provider's reason")
def test_a_provider_that_refuses_every_form_is_not_asked_again(script, backend):
    script.say(json_response(NO_TEMPERATURE.error, 400))
    with pytest.raises(ModelError, match=r"cannot be used: .*'temperature' is not supported with this model"):
        list(backend(concurrency=1).answer([Request("x", ("Every form?",), ())]))
    # Threads of the tests above may still ask.
    asked = [body for body in script.bodies if "Every form?" in str(body)]
    assert ["temperature" in body for body in asked] == [True, False]


@pytest.mark.parametrize(
    ("message", "remedy"),
    [
        row(
            "prompts are longer than vLLM's context",
            FIVE,
            "This model's maximum context length is 512 tokens. However, your prompt contains at least 600 input "
            "tokens, which exceeds this limit even without any output tokens. Please reduce the length of the input "
            "prompt. (parameter=input_tokens, value=600)",
            r"smaller --max-new-tokens, or start the server with a longer context \(vLLM: --max-model-len\)",
        ),
        row(
            "prompts are longer than llama.cpp's context",
            FIVE,
            "request (613 tokens) exceeds the available context size (512 tokens), try increasing it",
            r"llama\.cpp: --ctx-size",
        ),
        row(
            "the maximum reply length exceeds the limit of OpenAI's model",
            FIVE,
            "max_tokens is too large: 9000. This model supports at most 4096 completion tokens, whereas you provided "
            "9000.",
            "Set a smaller --max-new-tokens",
        ),
        row(
            "the maximum reply length exceeds vLLM's context",
            FIVE,
            "max_tokens=600 cannot be greater than max_model_len=512. Please request fewer output tokens. "
            "(parameter=max_tokens, value=600)",
            r"smaller --max-new-tokens.*vLLM: --max-model-len",
        ),
        row(
            # https://github.com/spiceai/spiceai/issues/7126
            "the maximum reply length is too small for the reasoning of OpenAI's model",
            FIVE,
            "Could not finish the message because max_tokens or model output limit was reached. Please try again with "
            "higher max_tokens.",
            "Set a larger --max-new-tokens",
        ),
        row(
            "prompts have more images than vLLM accepts",
            FIVE,
            "At most 1 image(s) may be provided in one prompt.",
            "a larger --limit-mm-per-prompt",
        ),
        row(
            "all requests fail for an unknown reason",
            "after five requests the run stops and shows the reason",
            "an error of another kind, 12",
            "the first 5 requests all failed in the same way",
        ),
    ],
)
def test_a_server_that_fails_in_the_same_way_from_the_start_is_not_asked_about_every_item(
    script, backend, message, remedy
):
    counted = itertools.count(600)
    script.say(lambda request: refusal(400, message.replace("600", str(next(counted)))))
    requests = [Request(str(i), ("What is this?",), ()) for i in range(500)]
    with pytest.raises(ModelError, match=f"the first 5 requests all failed in the same way.*{remedy}|{remedy}.*"):
        list(backend(concurrency=2).answer(requests))
    time.sleep(0.2)
    assert len(script.bodies) <= 5 + 4


@fault("a server answers only one request of 25", "the other items have errors; the run continues")
def test_failures_of_other_kinds_or_after_an_answer_are_errors_of_their_items(script, backend):
    faults = [refusal(400, f"reason {'ab'[i % 2]}") for i in range(12)]
    script.say(*faults, GOOD, *[refusal(400, "reason c")] * 12)
    requests = [Request(str(i), ("What is this?",), ()) for i in range(25)]
    responses = list(backend(concurrency=1).answer(requests))
    assert [response.error is None for response in responses].count(True) == 1 and len(responses) == 25


@fault("a server redirects to another server (307)", "nothing is sent there, and the error names the other address")
def test_a_server_that_points_elsewhere(script, backend):
    with HTTPServer() as other:
        script.say(Response("", 307, {"Location": other.url_for("/v1/chat/completions")}))
        with pytest.raises(ModelError, match=rf"answered 307, a redirect to http://localhost:{other.port}/v1/chat/co"):
            list(backend().answer([Request("x", ("What?",), ())]))
        assert other.log == []


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        row(
            "SSL_CERT_FILE names a missing file",
            "the run stops and names the variable",
            "SSL_CERT_FILE",
            "/nowhere/certificates.pem",
            "FileNotFoundError",
        ),
        row(
            "the proxy's address has an unknown scheme and contains a password",
            "the run stops and names the variable, without the password",
            "ALL_PROXY",
            "ftp://me:secret@127.0.0.1:1",
            "ValueError: Unknown scheme for proxy URL",
        ),
    ],
)
def test_an_environment_that_no_client_can_be_made_with(script, backend, monkeypatch, name, value, reason):
    monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match=rf"the environment variables for proxies .*{reason}") as caught:
        list(backend().answer([Request("x", ("What?",), ())]))
    assert name in str(caught.value) and "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "fault",
    [
        row("an address lacks its /v1 (404)", "the error suggests the address that works", refusal(404)),
        row("an address lacks its /v1 (a page)", "the error suggests the address that works", Response("<html>", 200)),
    ],
)
def test_an_address_without_v1_is_answered_with_the_one_that_works(http, backend, fault):
    http.expect_request("/chat/completions", method="POST").respond_with_response(fault)
    http.expect_request("/v1/models").respond_with_json({"object": "list", "data": [{"id": "m", "object": "model"}]})
    address = http.url_for("").rstrip("/")
    with pytest.raises(ModelError, match=f"Use that address: --base-url {address}/v1"):
        list(backend(base_url=address).answer([Request("x", ("What?",), ())]))


@fault("an address is wrong, even with /v1", "the error suggests no other address")
def test_an_address_that_is_wrong_with_v1_too_is_not_recommended(http, backend):
    http.expect_request("/chat/completions", method="POST").respond_with_response(refusal(404, "nothing here"))
    address = http.url_for("").rstrip("/")
    with pytest.raises(ModelError, match=r"cannot be used: .* answered 404: nothing here"):
        list(backend(base_url=address).answer([Request("x", ("What?",), ())]))


@pytest.mark.parametrize(
    "fault",
    [
        row("the account's credit runs out (402)", "the run stops and gives the reason", refusal(402)),
        row("the quota runs out (429)", "it is not treated as a rate limit", refusal(429, code=NO_QUOTA)),
    ],
)
def test_want_of_money_is_told_from_being_asked_too_often(script, ask, fault):
    script.say(fault)
    with pytest.raises(QuotaError, match=r"cannot be used: .* answered 4.*: some reason"):
        ask()


@fault("a run stops while other requests are in flight", "they are not repeated")
def test_what_is_under_way_when_all_stops_is_not_asked_again(script, backend, make_picture):
    script.say(refusal(500), refusal(500), refusal(500), refusal(401))
    requests = [Request(str(i), ("What is this?", IMAGE), (make_picture(0),)) for i in range(50)]
    with pytest.raises(ModelError):
        list(backend(concurrency=4, max_retries=9).answer(requests))
    time.sleep(1.6)
    assert len(script.bodies) <= 6, "with its retries, each of three would have been asked thrice by now"


@fault("a task starts while threads of a stopped task still wait", "they do not delay it")
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


@fault("a server requires a key and none is set", "the error names the environment variable")
def test_a_missing_key_is_named_where_it_may_be_the_cause(script, ask):
    script.say(refusal(401))
    with pytest.raises(ModelError, match="Set the environment variable OPENAI_API_KEY"):
        ask()


@fault("no server listens at the address", "the run stops and gives the reason")
def test_a_server_that_is_not_there_stops_all(ask):
    with pytest.raises(ModelError, match=r"cannot reach a server at http://127\.0\.0\.1:9/v1 after 1 retry"):
        ask(base_url="http://127.0.0.1:9/v1")


@pytest.mark.parametrize(
    "fault",
    [
        row(
            "a server stops returning log-probabilities",
            "the run stops and gives the reason",
            {"choices": [{"message": {"content": "x"}}]},
        ),
        row(
            "a server returns null instead of log-probabilities",
            "the run stops and gives the reason",
            {"choices": [{"message": {"content": "x"}, "logprobs": {"content": None}}]},
        ),
        row(
            "a server returns only the log-probability of the chosen token",
            "the run stops and gives the reason",
            {"choices": [{"message": {"content": "x"}, "logprobs": {"content": [{"token": "x", "logprob": -1}]}}]},
        ),
    ],
)
def test_a_server_that_loses_logprobs_is_refused(script, backend, fault):
    script.say(scored((" good", -1), (" poor", -2)), fault)
    requests = [Request(str(i), ("Rate.",), (), words=("good", "poor")) for i in range(2)]
    responses = backend(concurrency=1).answer(requests)
    assert next(responses).logits == {"good": -1, "poor": -2}
    with pytest.raises(ModelError, match="returned no log-probabilities"):
        list(responses)
