"""What is checked before anything is sent, and how requests run and end."""

import contextlib
import math
import threading
import time

import pytest
from werkzeug import Response

from eyechart.datasets_scripts.common.errors import ModelError, UsageError
from eyechart.evaluators.backends.endpoint.client import ChatClient
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.requests.types import Request
from tests.evaluators.scripted_server import always, json_response, refusal


@pytest.mark.parametrize(
    "url", ["ftp://host", "host:80/v1", "http://", "http://host:port/v1", "http://host:0", "http://host#a", "http://[b"]
)
def test_an_address_of_another_form_is_refused(url, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    with pytest.raises(UsageError, match="base_url"):
        ChatClient("m", EndpointOptions())
    monkeypatch.setenv("OPENAI_BASE_URL", "")
    assert EndpointOptions().address == "https://api.openai.com/v1"


@pytest.mark.parametrize("name", ["concurrency", "timeout", "max_retries", "top_logprobs"])
def test_options_that_cannot_be_are_refused(name):
    least = 0 if name == "max_retries" else 0.001 if name == "timeout" else 1
    EndpointOptions(**{name: least})
    for value in (least - 1, math.nan):
        with pytest.raises(UsageError, match=name):
            EndpointOptions(**{name: value})


@pytest.mark.parametrize(
    ("answer", "tokens"),
    [
        (json_response({"token_strs": ["a", "\u0120b"], "tokens": [1, 2]}), ["a", " b"]),
        (json_response({"tokens": [{"id": 1, "piece": "a"}, {"id": 2, "piece": [228]}]}), ["a", "[228]"]),
        (json_response({"tokens": [1, 2]}), []),
        (json_response({"tokens": [{"id": 1}]}), []),
        (json_response([]), []),
        (Response("[" * 100_000, content_type="application/json"), []),
        (Response("<html>", content_type="text/html"), []),
        (refusal(503), []),
    ],
)
def test_texts_are_split_where_the_server_does(http, answer, tokens):
    http.expect_request("/tokenize", method="POST").respond_with_response(answer)
    client = ChatClient("m", EndpointOptions(base_url=http.url_for("/v1")))
    assert list(client.map(client.tokenize, ["a b"])) == [tokens]
    assert not client.counts and len(http.log) == 1, "the service is not necessary"


def listed(count):
    return json_response({"object": "list", "data": [{"id": f"model {i}", "object": "model"} for i in range(count)]})


@pytest.mark.parametrize(
    ("models", "answer", "asked", "error"),
    [
        (listed(20), refusal(405), 1, "unknown model 'm' .*serves 20; .*model 0, .*, model 19"),
        (listed(21), refusal(404), 1, "unknown model 'm' .*serves 21; .*/models lists them"),
        (listed(1), refusal(400, "no model m"), 1, "unknown model 'm'"),
        (listed(1), refusal(400, "too long"), 1, None),
        (listed(1), refusal(500, "no model m"), 1, None),
        (listed(1), refusal(402), 1, "answered 402"),
        (listed(0), refusal(400, "no model m"), 1, None),
        (refusal(403), refusal(403), 1, "answered 403"),
        (refusal(404), refusal(403), 0, None),
        (refusal(503), refusal(403), 0, None),
        (Response("{", content_type="application/json"), refusal(403), 0, None),
        (Response("[" * 100_000, content_type="application/json"), refusal(403), 0, None),
        (json_response({"data": 1}), refusal(403), 0, None),
        (json_response([]), refusal(403), 0, None),
    ],
)
def test_a_model_that_a_server_does_not_list_is_asked(http, script, models, answer, asked, error):
    http.expect_request("/v1/models").respond_with_response(models)
    script.say(answer)
    client = ChatClient("m", EndpointOptions(http.url_for("/v1"), max_retries=0))
    with pytest.raises((UsageError, ModelError), match=error) if error else contextlib.nullcontext():
        list(client.map(ChatClient.check_model, [client]))
    assert [body["max_tokens"] for body in script.bodies] == [1] * asked and len(http.log) == 1 + asked


def test_closing_ends_the_requests_without_waiting_for_them(script, backend):
    before = threading.active_count()
    gate = threading.Event()
    script.say(always("A"), lambda request: gate.wait(60) and always("A")(request))
    responses = backend(concurrency=3).answer([Request(str(i), ("What?",), ()) for i in range(1000)])
    assert next(responses).text == "A"
    start = time.monotonic()
    responses.close()
    assert time.monotonic() - start < 30 and len(script.bodies) <= 2 * 3 + 1, "few are sent ahead"
    gate.set()
    while threading.active_count() > before and time.monotonic() < start + 300:
        time.sleep(0.01)
    assert threading.active_count() == before
