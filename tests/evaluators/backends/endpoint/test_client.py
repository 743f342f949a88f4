"""Several replies at once, and what is checked before anything is sent."""

import pytest
from werkzeug import Response

from eyechart.datasets_scripts.common.errors import EndpointError, UsageError
from eyechart.evaluators.backends.endpoint.client import ChatClient
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from tests.evaluators.scripted_server import json_response, refusal

MESSAGES = [{"role": "user", "content": "Say a number."}]


def choices(*texts):
    return {"choices": [{"message": {"content": text}} for text in texts]}


@pytest.fixture
def client(http):
    with ChatClient("judge", EndpointOptions(base_url=http.url_for("/v1"), max_retries=0)) as client:
        yield client


def ask(client, n):
    return replies(client, n, 0.7)


def replies(client, n, temperature):
    completions = client.completions(MESSAGES, n, max_tokens=5, temperature=temperature)
    return [choice.text for completion in completions for choice in completion.choices]


def counts(script):
    return [body.get("n", 1) for body in script.bodies]


def test_replies_are_asked_for_at_once(script, client):
    script.say(choices("1", "2", "3", "4", "5"))
    assert ask(client, 5) == ["1", "2", "3", "4", "5"]
    assert counts(script) == [5]
    assert script.bodies[0]["temperature"] == 0.7 and script.bodies[0]["max_tokens"] == 5


def test_one_reply_is_asked_for_without_n(script, client):
    script.say(choices("1"))
    assert ask(client, 1) == ["1"]
    assert "n" not in script.bodies[0]


def test_what_a_server_leaves_out_is_asked_for_one_by_one(script, client):
    script.say(choices("1", "2"), choices("3"), choices("4"))
    assert ask(client, 4) == ["1", "2", "3", "4"]
    assert counts(script) == [4, 1, 1]


def test_a_server_that_passes_over_n_is_not_asked_for_several_again(script, client):
    script.say(choices("1"))
    assert ask(client, 3) == ["1"] * 3
    assert ask(client, 3) == ["1"] * 3
    assert counts(script) == [3, 1, 1, 1, 1, 1]


def test_a_server_that_refuses_n_is_asked_one_by_one(script, client):
    script.say(Response("n must be 1", 400), choices("1"))
    assert ask(client, 2) == ["1"] * 2
    assert ask(client, 2) == ["1"] * 2
    assert counts(script) == [2, 1, 1, 1, 1]


def test_a_refusal_for_another_reason_does_not_stop_asking_at_once(script, client):
    script.say(Response("too long", 400))
    with pytest.raises(EndpointError, match="answered 400: too long"):
        ask(client, 2)
    script.say(choices("1", "2"))
    assert ask(client, 2) == ["1", "2"]
    assert counts(script) == [2, 1, 2]


def test_no_reply_or_too_many_are_errors(script, client):
    script.say(choices())
    with pytest.raises(EndpointError, match="returned no reply; expected 2"):
        ask(client, 2)
    script.say(choices("1", "2", "3"))
    with pytest.raises(EndpointError, match="returned 3 replies; expected 2"):
        ask(client, 2)


def test_replies_of_a_model_differ_where_they_are_sampled(model_server, client):
    texts = replies(client, 6, 2.0)
    assert len(texts) == 6 and len(set(texts)) > 1
    assert [body["n"] for body in model_server.asked] == [6]
    assert len(set(replies(client, 3, 0.0))) == 1
    model_server.most_choices = 2
    assert len(replies(client, 3, 2.0)) == 3
    assert [body.get("n") for body in model_server.asked] == [6, 3, 3, None]


@pytest.mark.parametrize(
    "url", ["ftp://host/v1", "host:8000/v1", "http://", "http://host:port/v1", "http://host/v1#a", "http://[bad", ""]
)
def test_an_address_of_another_form_is_refused(url, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    if url:
        with pytest.raises(UsageError, match="expected http://host:port/v1"):
            ChatClient("m", EndpointOptions())
    else:
        assert ChatClient("m", EndpointOptions()).base_url == "https://api.openai.com/v1"


@pytest.mark.parametrize(
    "options",
    [{"concurrency": 0}, {"timeout": 0}, {"timeout": float("nan")}, {"max_retries": -1}, {"top_logprobs": 0}],
    ids=str,
)
def test_options_that_cannot_be_are_refused(options):
    (name,) = options
    with pytest.raises(UsageError, match=f"{name}=.* is not allowed; it must be at least"):
        EndpointOptions(**options)


@pytest.mark.parametrize(
    ("answer", "tokens"),
    [
        (json_response({"token_strs": ["a", "\u0120b"], "tokens": [1, 2]}), ["a", "\u0120b"]),
        (json_response({"tokens": [{"id": 1, "piece": "a"}, {"id": 2, "piece": [228]}]}), ["a", "[228]"]),
        (json_response({"tokens": [1, 2]}), None),
        (json_response([]), None),
        (Response("[" * 100_000, content_type="application/json"), None),
        (Response(b"\xff", content_type="application/json"), None),
        (Response("<html>", content_type="text/html"), None),
        (Response("", 204), None),
        (refusal(404), None),
        (refusal(500), None),
    ],
    ids=["vLLM", "llama.cpp", "no texts", "a list", "deep", "no UTF-8", "a page", "empty", "not there", "an error"],
)
def test_texts_are_split_where_the_server_does(http, answer, tokens):
    http.expect_request("/tokenize", method="POST").respond_with_response(answer)
    with ChatClient("m", EndpointOptions(base_url=http.url_for("/v1"))) as client:
        assert client.tokenize("a b") == tokens
        assert client.record.requests == 0
