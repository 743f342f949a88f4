"""Losses of given texts on a server that runs the tiny model, compared with the same model run here."""

import pytest

from eyechart.datasets_scripts.common.errors import EndpointError, ModelError
from eyechart.evaluators import evaluator
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.requests.types import IMAGE, Request
from eyechart.evaluators.tasks import get_task
from tests.evaluators.scripted_server import refusal

OPTIONS = ("Blurry", "Noise", "Low contrast", "Very dark and underexposed")


def ask(id, images, prefill="#Answer:", continuations=OPTIONS):
    prompt = ("What distortion degrades the quality of the image?\n", *[IMAGE] * len(images))
    return Request(str(id), prompt, tuple(images), prefill=prefill, continuations=continuations)


def by_id(responses):
    answers = {response.request.id: response for response in responses}
    assert all(response.error is None for response in answers.values())
    return answers


def test_losses_are_those_of_the_model_run_here(model_server, backend, here, make_picture):
    pictures = [make_picture(i, 64) for i in range(4)]
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
    assert len({loss.total for response in served.values() for loss in response.losses}) > 20
    assert model.settings()["prefill"] == ["continue_final_message"]
    assert served["two"].usage["completion_tokens"] == 1 + len(OPTIONS), "all requests about an item are counted"
    sent = [body for body in model_server.asked if body.get("prompt_logprobs") is not None]
    # One about what stands before the options, and one about each.
    assert len(sent) == sum(1 + len(request.continuations) for request in requests)
    assert {(body["prompt_logprobs"], body["max_tokens"]) for body in sent} == {(0, 1)}


def test_closed_set_inference_gives_the_scores_of_the_model_run_here(model_server, backend, here):
    loaded = load_data(get_task("q_bench/perception"), DataRequest(is_mini=True, limit=12))
    task = evaluator("q_bench/perception", settings={"inference": "closed-set"})
    served, local = (task.run(model, loaded) for model in (backend(), here))
    assert served.scores == local.scores
    assert [item.choice for item in served.items] == [item.choice for item in local.items]
    for ours, theirs in zip(served.items, local.items, strict=True):
        assert ours.losses == pytest.approx(theirs.losses, abs=1e-3)


def test_a_server_that_passes_over_the_field_is_refused(model_server, backend, make_picture):
    model_server.returns_prompt_logprobs, model_server.owner = False, "vllm"
    with pytest.raises(ModelError, match=r"returns no prompt_logprobs.*vLLM"):
        list(backend().answer([ask(0, [make_picture(0)])]))
    assert len(model_server.asked) == 1


def test_a_server_that_refuses_the_field_is_refused_with_its_words(script, backend):
    script.say(refusal(400, "Unrecognized request argument supplied: prompt_logprobs"))
    with pytest.raises(ModelError, match=r"Unrecognized request argument.*for example vLLM"):
        list(backend().answer([ask(0, [])]))
    script.say(refusal(400, "too long"))
    (response,) = backend().answer([ask(0, [])])
    assert isinstance(response.error, EndpointError), "a refusal for another reason says nothing of the field"
