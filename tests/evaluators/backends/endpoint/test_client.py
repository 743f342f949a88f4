"""What is checked before anything is sent, and how requests run and end."""

import threading
import time

import pytest
from werkzeug import Response

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.backends.endpoint.client import ChatClient
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.requests.types import Request
from tests.evaluators.scripted_server import always, json_response, refusal


@pytest.mark.parametrize(
    "url", ["ftp://host/v1", "host:8000/v1", "http://", "http://host:port/v1", "http://host/v1#a", "http://[bad"]
)
def test_an_address_of_another_form_is_refused(url, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    with pytest.raises(UsageError, match="base_url"):
        ChatClient("m", EndpointOptions())
    monkeypatch.setenv("OPENAI_BASE_URL", "")
    assert EndpointOptions().address == "https://api.openai.com/v1"


@pytest.mark.parametrize(
    "options",
    [{"concurrency": 0}, {"timeout": 0}, {"timeout": float("nan")}, {"max_retries": -1}, {"top_logprobs": 0}],
    ids=str,
)
def test_options_that_cannot_be_are_refused(options):
    (name,) = options
    with pytest.raises(UsageError, match=name):
        EndpointOptions(**options)


@pytest.mark.parametrize(
    ("answer", "tokens"),
    [
        (json_response({"token_strs": ["a", "\u0120b"], "tokens": [1, 2]}), ["a", " b"]),
        (json_response({"tokens": [{"id": 1, "piece": "a"}, {"id": 2, "piece": [228]}]}), ["a", "[228]"]),
        (json_response({"tokens": [1, 2]}), []),
        (json_response([]), []),
        (Response("[" * 100_000, content_type="application/json"), []),
        (Response("<html>", content_type="text/html"), []),
        (refusal(404), []),
    ],
    ids=["vLLM", "llama.cpp", "no texts", "a list", "deep", "a page", "not there"],
)
def test_texts_are_split_where_the_server_does(http, answer, tokens):
    http.expect_request("/tokenize", method="POST").respond_with_response(answer)
    client = ChatClient("m", EndpointOptions(base_url=http.url_for("/v1")))
    assert list(client.map(client.tokenize, ["a b"])) == [tokens]
    assert not client.counts


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
