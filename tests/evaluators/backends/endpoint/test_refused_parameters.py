"""Providers that refuse parameters: what is asked then, what the result says, and when a run ends."""

import json

import pytest

from eyechart.datasets_scripts.common.errors import EndpointError, ModelError
from eyechart.evaluators.backends.chat import ChatOptions, Sampling
from eyechart.evaluators.requests.types import Request
from eyechart.evaluators.results.results_file import read_results
from tests.evaluators import providers
from tests.evaluators.command_line import invoke
from tests.evaluators.providers import provider
from tests.evaluators.scripted_server import always, completion, json_response, refusal

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


def test_a_failing_server_is_asked_with_all_parameters_again(script, backend):
    script.say(*[refusal(500, "temperature of the GPU")] * 4)
    assert all(response.error for response in backend(concurrency=1).answer(questions(2)))
    assert {*sent(script)} == {SENT}


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
    """A rating that varies with the image; a judge's score."""
    body = json.loads(request.data)
    text = "Score: 2" if body["model"] == "judge" else f"{1 + len(request.data) % 5}"
    return json_response(completion(*[text] * body.get("n", 1)))


@pytest.mark.filterwarnings("ignore::eyechart.metrics.scoring.errors.SmallSampleWarning")
def test_quality_assessment_without_log_probabilities_reads_numbers(http, script, tmp_path):
    script.say(provider(*providers.O3_MINI, answer=replies))
    server = ("--base-url", http.url_for("/v1"), "--model", "o3-mini", "--mini", "--limit", 12)
    task = ("q_bench/assessment", "--dataset", "kadis700k", *server)
    done = invoke("run", *task, "--out", tmp_path / "logits", code=1)
    assert "--set prompt=numerical" in done.output and "--skip-bad" not in done.output
    done = invoke("run", *task, "--set", "prompt=numerical", "--out", tmp_path / "numbers", code=0)
    assert read_results(tmp_path / "numbers").tasks[0].scores["n"] == 12


def test_a_result_says_that_the_provider_chose_the_decoding_of_model_and_judge(http, script, tmp_path):
    script.say(provider(*providers.O3_MINI, answer=replies))
    server = ("--base-url", http.url_for("/v1"), "--model", "o3-mini", "--mini", "--limit", 3)
    judge = ("--judge", "judge", "--judge-arg", f"base_url={http.url_for('/v1')}", "--judge-arg", "temperature=1.0")
    asked = []
    for name in ("first", "again"):
        invoke("run", "q_bench/description", *server, *judge, "--out", tmp_path / name, code=0)
        asked.append(len(script.bodies))
        (result,) = read_results(tmp_path / name).tasks
        for settings in (result.settings["model"], result.settings["judge"]):
            assert settings["decoding"] == "chosen by the provider"
            assert settings["dropped_parameters"] == ["max_tokens", "temperature"]
        assert result.settings["judge"]["temperature"] is None
        assert any("provider chose the decoding" in caveat for caveat in result.caveats)
    assert asked[0] == asked[1], "stored answers are not asked for again"


def test_a_server_that_refuses_all_items_gets_no_advice_to_skip_them(http, script, tmp_path):
    script.say(refusal(400, "image too large"))
    server = ("--base-url", http.url_for("/v1"), "--model", "m", "--mini", "--concurrency", 1)
    done = invoke("run", "q_bench/perception", *server, "--limit", 1, "--out", tmp_path / "all", code=1)
    assert "image too large" in done.output and "--skip-bad" not in done.output
    script.say(always("A"), refusal(400, "image too large"))
    done = invoke("run", "q_bench/perception", *server, "--limit", 2, "--out", tmp_path / "some", code=1)
    assert "--skip-bad" in done.output
