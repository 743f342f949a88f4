"""Losses of given texts on a server that runs the tiny model, compared with the same model run here."""

import pytest

from eyechart.datasets_scripts.common.errors import EndpointError, ModelError
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends import resolve_backend
from eyechart.evaluators.evaluation.data import load_data
from eyechart.evaluators.requests.types import IMAGE, Request
from eyechart.evaluators.tasks import get_task
from tests.evaluators.scripted_server import refusal

OPTIONS = ("Blurry", "Noise", "Low contrast", "Very dark and underexposed")


@pytest.fixture(scope="module")
def here():
    return resolve_backend(None, batch_size=1)


def ask(id, images, prefill="#Answer:", continuations=OPTIONS):
    prompt = ("What distortion degrades the quality of the image?\n", *[IMAGE] * len(images))
    return Request(str(id), prompt, tuple(images), prefill=prefill, continuations=continuations)


def by_id(responses):
    found = {response.request.id: response for response in responses}
    assert all(response.error is None for response in found.values())
    return found


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
    # One tries the server out; then one about what stands before the options, and one about each.
    assert len(sent) == 1 + sum(1 + len(request.continuations) for request in requests)
    assert {(body["prompt_logprobs"], body["max_tokens"]) for body in sent} == {(0, 1)}


def test_closed_set_inference_gives_the_scores_of_the_model_run_here(model_server, backend, here):
    loaded = load_data(get_task("q_bench/perception"), is_mini=True)
    task = evaluator("q_bench/perception", settings={"inference": "closed-set"})
    served, local = (task.run(model, loaded, limit=12) for model in (backend(), here))
    assert served.scores == local.scores
    assert [line["choice"] for line in served.predictions] == [line["choice"] for line in local.predictions]
    for ours, theirs in zip(served.predictions, local.predictions, strict=True):
        assert ours["losses"] == pytest.approx(theirs["losses"], abs=1e-3)


def test_a_server_that_passes_over_the_field_is_refused(model_server, backend, make_picture):
    model_server.returns_prompt_logprobs = False
    with pytest.raises(ModelError, match=r"returns no log-probabilities of a given text .*passes over.*vLLM"):
        list(backend().answer([ask(0, [make_picture(0)])]))
    assert len(model_server.asked) <= 2


def test_a_server_that_refuses_the_field_is_refused_with_its_words(script, backend):
    script.say(refusal(400, "Unrecognized request argument supplied: prompt_logprobs"))
    with pytest.raises(ModelError, match=r"no losses of given continuations"):
        list(backend().answer([ask(0, [])]))
    script.say(refusal(400, "too long"))
    (response,) = backend().answer([ask(0, [])])
    assert isinstance(response.error, EndpointError), "a refusal for another reason says nothing of the field"


def test_a_server_that_closes_what_it_is_given_is_refused(model_server, backend, make_picture):
    model_server.continues = "never"
    with pytest.raises(ModelError, match="does not go on with a reply whose beginning is given"):
        list(backend().answer([ask(0, [make_picture(0)])]))


def scored(*tokens):
    """A server's answer about a prompt of these tokens, (id, log-probability)."""
    places = [None, *({str(token): {"logprob": value}, "9": {"logprob": -0.1}} for token, value in tokens)]
    return {"choices": [{"message": {"content": "x"}}], "prompt_logprobs": places}


def said(*tokens):
    """A server's reply of these tokens, (text, log-probability)."""
    places = [{"token": token, "logprob": value} for token, value in tokens]
    content = [{**place, "top_logprobs": [place]} for place in places]
    message = {"content": "".join(token for token, _ in tokens)}
    return {"choices": [{"message": message, "logprobs": {"content": content}}]}


# What shows that a server goes on: a reply, and its rest.
GOES_ON = (said(("A", -0.1), (" blur", -0.2)), said((" blur", -0.2)))
BEFORE = ((1, -1.0), (2, -2.0))


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (scored(*BEFORE, (3, -0.5), (4, -0.25)), None),
        (
            scored((1, -1.0), (5, -2.0), (3, -0.5)),
            "tokens of 'Blurry' cannot be separated from those of the text before",
        ),
        (scored(*BEFORE), "cannot be separated"),
        (scored(*BEFORE, (3, -9999.0)), "gives 'Blurry' a probability of 0"),
        (scored(*BEFORE, (3, float("nan"))), "a log-probability is at most 0; this one is nan"),
        (scored(*BEFORE, (3, 0.5)), "a log-probability is at most 0; this one is 0.5"),
        ({"choices": [{"message": {"content": "x"}}]}, "returned no prompt_logprobs, as it did before"),
    ],
    ids=["good", "melted", "no tokens", "impossible", "NaN", "positive", "lost"],
)
def test_what_gives_no_loss_is_an_error_of_the_item_or_of_all(script, backend, answer, error):
    model = backend(concurrency=1)
    script.say(scored(*BEFORE), *GOES_ON, scored(*BEFORE), answer)
    request = ask(0, [], continuations=("Blurry",))
    if error is None:
        (response,) = model.answer([request])
        assert [(loss.total, loss.tokens) for loss in response.losses] == [(0.75, 2)]
    elif "separated" in error:
        with pytest.raises(ModelError, match=error):
            list(model.answer([request]))
    else:
        (response,) = model.answer([request])
        with pytest.raises(EndpointError, match=error):
            raise response.error
