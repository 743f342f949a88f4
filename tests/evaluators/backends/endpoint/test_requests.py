"""What is checked before anything is sent, and how requests run and end."""

import asyncio
import contextlib
import math
import threading
import time

import pytest
from werkzeug import Response

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.backends.chat import ChatOptions, Sampling
from eyechart.evaluators.backends.endpoint.backend import find_words
from eyechart.evaluators.backends.endpoint.client import ChatClient
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.backends.endpoint.prefill import find_prefill
from eyechart.evaluators.requests.errors import EndpointError, ModelError
from eyechart.evaluators.requests.types import IMAGE, Request
from eyechart.evaluators.results.results_file import read_results
from tests.evaluators import providers
from tests.evaluators.command_line import invoke
from tests.evaluators.providers import provider
from tests.evaluators.scripted_server import always, completion, json_response, refusal


@pytest.mark.parametrize(
    "url", ["ftp://host", "host:80/v1", "http://", "http://host:port/v1", "http://host:0", "http://host#a", "http://[b"]
)
def test_an_address_of_another_form_is_refused(url, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    with pytest.raises(UsageError, match="base_url"):
        ChatClient("m", EndpointOptions())
    monkeypatch.setenv("OPENAI_BASE_URL", "")
    assert EndpointOptions().address == "https://api.openai.com/v1"


@pytest.mark.parametrize(
    ("name", "least"), [("concurrency", 1), ("timeout", 0.001), ("max_retries", 0), ("top_logprobs", 1)]
)
def test_options_that_cannot_be_are_refused(name, least):
    EndpointOptions(**{name: least})
    for value in (least - 1, math.nan):
        with pytest.raises(UsageError, match=name):
            EndpointOptions(**{name: value})


@pytest.mark.parametrize(
    ("answer", "tokens"),
    [
        (json_response({"tokens": [{"id": 1, "piece": "a"}, {"id": 2, "piece": [228]}]}), ["a", "[228]"]),
        (json_response({"tokens": [1, 2]}), []),
        (Response("[" * 100_000, content_type="application/json"), []),
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
        (listed(21), refusal(404), 1, "unknown model 'm' .*serves 21; .*/models lists them"),
        (listed(1), refusal(400, "no model m"), 1, "unknown model 'm'"),
        (listed(1), refusal(400, "too long"), 1, None),
        (listed(1), refusal(500, "no model m"), 1, None),
        (refusal(403), refusal(403), 1, "answered 403"),
        (refusal(404), refusal(403), 0, None),
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


OPTIONS = ("Blurry", "Noise", "Low contrast", "Very dark and underexposed")


def ask(id, images, prefill="#Answer:", continuations=OPTIONS):
    prompt = ("What distortion degrades the quality of the image?\n", *[IMAGE] * len(images))
    return Request(str(id), prompt, tuple(images), prefill=prefill, continuations=continuations)


def by_id(responses):
    answers = {response.request.id: response for response in responses}
    assert all(response.error is None for response in answers.values())
    return answers


def test_losses_are_those_of_the_model_run_here(model_server, backend, here, make_picture):
    pictures = [make_picture(i, 64) for i in range(2)]
    requests = [
        ask(f"{prefill} {i}", [picture], prefill) for i, picture in enumerate(pictures) for prefill in ("", "#A:")
    ]
    requests += [ask("two", pictures[:2]), ask("one option", pictures[:1], continuations=("Blurry",))]
    model = backend()
    served, local = by_id(model.answer(requests)), by_id(here.answer(requests))
    for id, response in served.items():
        expected = local[id].losses
        assert [loss.tokens for loss in response.losses] == [loss.tokens for loss in expected]
        assert [loss.total for loss in response.losses] == pytest.approx([loss.total for loss in expected], abs=1e-3)
    assert len({loss.total for response in served.values() for loss in response.losses}) > 10
    assert model.settings()["prefill"] == ["continue_final_message"]
    assert served["two"].usage["completion_tokens"] == 1 + len(OPTIONS), "all requests about an item are counted"
    sent = [body for body in model_server.asked if body.get("prompt_logprobs") is not None]
    # One about what stands before the options, and one about each.
    assert len(sent) == sum(1 + len(request.continuations) for request in requests)
    assert {(body["prompt_logprobs"], body["max_tokens"]) for body in sent} == {(0, 1)}


def test_a_server_that_refuses_the_field_is_refused_with_its_words(script, backend):
    script.say(refusal(400, "Unrecognized request argument supplied: prompt_logprobs"))
    with pytest.raises(ModelError, match=r"Unrecognized request argument.*for example vLLM"):
        list(backend().answer([ask(0, [])]))
    script.say(refusal(400, "too long"))
    (response,) = backend().answer([ask(0, [])])
    assert isinstance(response.error, EndpointError), "a refusal for another reason says nothing of the field"


IMAGE_PART = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
MESSAGES = [{"role": "user", "content": [IMAGE_PART, {"type": "text", "text": "Rate it."}]}]
REFUSALS = [Response("no continue_final_message here", 400), Response("no assistant last", 400)]
REPLY, REST = "A blurry dark picture of the sea.", "picture of the  coast."


def reply(content):
    return {"choices": [{"message": {"content": content}}]}


@pytest.fixture
def find(http):
    """How the server continues a prefilled reply."""

    def ask():
        client = ChatClient("m", EndpointOptions(base_url=http.url_for("/v1"), max_retries=0))
        (prefill,) = client.map(lambda messages: find_prefill(client, messages), [MESSAGES])
        return prefill

    return ask


@pytest.mark.parametrize(
    ("replies", "error", "message"),
    [
        ([reply(REPLY)], ModelError, "does not continue.*'A blurry dark'.*began a new reply: 'A blurry dark"),
        ([reply("A picture."), *REFUSALS], ModelError, "does not continue.*refused it: .*no assistant last"),
        ([reply("Good")], ModelError, "cannot test whether.*'Good'"),
        ([reply(REPLY), Response("busy", 503)], EndpointError, "answered 503: busy"),
    ],
)
def test_a_server_that_does_not_continue_is_refused_with_the_reason(script, find, replies, error, message):
    script.say(*replies)
    with pytest.raises(error, match=message):
        find()


PARAMETERS = ("temperature", "top_p", "seed", "max_tokens", "max_completion_tokens", "n")
SAMPLED = ChatOptions(sampling=Sampling(1.0))


def questions(count=3):
    return [Request(str(i), ("What?",), (), max_new_tokens=9) for i in range(count)]


def sent(script):
    """The parameters of each request, in the order of arrival."""
    return [tuple(name for name in PARAMETERS if name in body) for body in script.bodies]


SENT, SAMPLES = ("temperature", "max_tokens"), ("temperature", "top_p", "seed", "max_tokens")
NO_SEED = ("temperature", "top_p", "max_tokens")
OF_GPT_5 = [SENT, ("temperature", "max_completion_tokens"), ("max_completion_tokens",)]
SAMPLES_OF_GPT_5 = [SAMPLES, (*SAMPLES[:3], "max_completion_tokens"), ("temperature", "seed", "max_completion_tokens")]


@pytest.mark.parametrize(
    ("refusals", "chat", "forms", "dropped"),
    [
        (providers.GPT_5, ChatOptions(), OF_GPT_5, "max_tokens, temperature"),
        (providers.GPT_5, SAMPLED, SAMPLES_OF_GPT_5, "max_tokens, top_p"),
        ([providers.NO_TEMPERATURE_AT_ANTHROPIC], ChatOptions(), [SENT, ("max_tokens",)], "temperature"),
        ([providers.NO_TEMPERATURE_AT_BEDROCK], ChatOptions(), [SENT, ("max_tokens",)], "temperature"),
        ([providers.ONLY_TEMPERATURE_1_AT_MOONSHOT], ChatOptions(), [SENT, ("max_tokens",)], "temperature"),
        ([providers.NOT_BOTH], SAMPLED, [SAMPLES, ("temperature", "seed", "max_tokens")], "top_p"),
        ([providers.NO_SEED_AT_MISTRAL], SAMPLED, [SAMPLES, NO_SEED], "seed"),
        ([providers.NO_SEED_AT_GOOGLE], SAMPLED, [SAMPLES, NO_SEED], "seed"),
    ],
)
def test_refused_parameters_are_dropped_one_by_one_and_not_sent_again(script, backend, refusals, chat, forms, dropped):
    script.say(provider(*refusals))
    model = backend(concurrency=1, chat=chat)
    responses = list(model.answer(questions()))
    assert [response.text for response in responses] == ["B."] * 3
    assert sent(script) == [*forms, forms[-1], forms[-1]]
    assert {response.response_metadata["dropped_parameters"] for response in responses} == {dropped}
    list(model.for_data("another").answer(questions(1)))
    assert sent(script)[len(forms) + 2 :] == [forms[-1]], "other tasks of the run know"


def test_requests_in_flight_find_out_once_each(script, backend):
    script.say(provider(*providers.GPT_5))
    assert all(response.error is None for response in backend(concurrency=4).answer(questions(40)))
    refused = len(script.bodies) - 40
    assert 2 <= refused <= 2 * 4


def test_an_error_that_only_mentions_a_parameter_drops_none_for_good(script, backend):
    # After an answer, an error that stays belongs to its item.
    script.say(always("B"), *[refusal(400, "The prompt about temperature was filtered")] * 2, always("B"))
    responses = list(backend(concurrency=1).answer(questions(3)))
    assert [response.error is None for response in responses] == [True, False, True]
    assert isinstance(responses[1].error, EndpointError) and "was filtered" in str(responses[1].error)
    assert "temperature" in script.bodies[-1] and not responses[-1].response_metadata.get("dropped_parameters")


@pytest.mark.parametrize(
    ("sampling", "refused", "asked"),
    [
        (Sampling(0.7), providers.ONLY_TEMPERATURE_1, "temperature"),
        (Sampling(1.0, 0.9), providers.NO_TOP_P, "top_p"),
        (Sampling(1.0, seed=7), providers.NO_SEED_AT_GOOGLE, "seed"),
    ],
)
def test_sampling_that_was_asked_for_is_not_dropped(script, backend, sampling, refused, asked):
    script.say(provider(refused))
    with pytest.raises(ModelError, match=f"You asked for {asked}; leave it out"):
        list(backend(concurrency=1, chat=ChatOptions(sampling=sampling)).answer(questions(1)))


@pytest.mark.parametrize("refused", [providers.NO_LOGPROBS, providers.NO_LOGPROBS_AT_GOOGLE])
def test_log_probabilities_are_not_dropped_and_what_works_is_named(script, backend, refused):
    script.say(provider(*providers.GPT_5[:1], refused))
    with pytest.raises(ModelError, match=r"(?i)logprobs.*--set prompt=numerical"):
        list(backend(concurrency=1).answer([Request("1", ("Rate.",), (), words=("good", "poor"))]))


def replies(request):
    """A rating that varies with the image."""
    return json_response(completion(f"{1 + len(request.data) % 5}"))


@pytest.mark.filterwarnings("ignore::eyechart.metrics.scoring.errors.SmallSampleWarning")
def test_quality_assessment_without_log_probabilities_reads_numbers(http, script, tmp_path):
    script.say(provider(*providers.O3_MINI, answer=replies))
    server = ("--base-url", http.url_for("/v1"), "--model", "o3-mini", "--mini", "--limit", 12)
    task = ("q_bench/assessment", "--dataset", "kadis700k", *server)
    invoke("run", *task, "--set", "prompt=numerical", "--out", tmp_path / "numbers", code=0)
    (result,) = read_results(tmp_path / "numbers").tasks
    assert result.scores["n"] == 12 and any("provider chose the decoding" in caveat for caveat in result.caveats)
    assert result.settings["model"]["decoding"] == "chosen by the provider"
    assert result.settings["model"]["dropped_parameters"] == ["max_tokens", "temperature"]


def found_among(likeliest, words, first="", *, optional=(), prefill="It is"):
    async def first_token(word):
        return first

    request = Request("1", ("How is it?",), (), prefill=prefill, words=words, optional_words=optional)
    return asyncio.run(find_words(likeliest, request, first_token))


CASES = {
    "with a blank": ({" good": -1, " poor": -2, " x": -3}, None, {"good": -1, "poor": -2}, ()),
    "rather with a blank": ({" good": -1, "good": -0.5, " poor": -2}, None, {"good": -1, "poor": -2}, ()),
    "case counts": ({" Good": -0.1, " good": -1, " poor": -2}, None, {"good": -1, "poor": -2}, ()),
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
    assert found_among(likeliest, ("good", "poor"), first) == (logits, upper_bound_words)


def test_a_word_that_begins_the_reply_is_the_likelier_with_or_without_a_blank():
    likeliest = {"good": -1.0, " good": -6.0, " poor": -2.0, "poor": -7.0}
    assert found_among(likeliest, ("good", "poor")) == ({"good": -6.0, "poor": -2.0}, ())
    assert found_among(likeliest, ("good", "poor"), prefill="") == ({"good": -1.0, "poor": -2.0}, ())


@pytest.mark.parametrize(("one", "other", "token"), [("good", "goodness", " good"), ("unsharp", "unclear", " un")])
def test_words_of_one_token_are_refused(one, other, token):
    with pytest.raises(ModelError, match=f"'{one}' and '{other}' begin with the same token '{token}'"):
        found_among({token: -1, " x": -3}, (one, other))


def test_optional_words_are_left_out_where_they_begin_like_another():
    likeliest = {" good": -1, " poor": -2, " f": -3, " x": -4}
    words = found_among(likeliest, ("good", "poor"), optional=("fine", "fair", "goods", "high"))
    assert words == ({"good": -1, "poor": -2, "high": -4}, ("high",))
