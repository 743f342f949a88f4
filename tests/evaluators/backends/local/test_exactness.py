"""Every way of running requests gives the answers of running each alone, on real architectures."""

import functools

import pytest
import torch

from eyechart.evaluators.backends.local import engine
from eyechart.evaluators.backends.local.backend import TransformersBackend
from eyechart.evaluators.backends.processes import DistributedBackend
from eyechart.evaluators.requests.types import IMAGE, Request
from tests.evaluators.backends import architectures
from tests.evaluators.backends.asked import answers, mixed_requests, picture
from tests.evaluators.backends.threads import in_processes


def texts(responses):
    return {key: response.text for key, response in responses.items()}


@pytest.fixture(scope="module")
def requests() -> list[Request]:
    return mixed_requests()


@pytest.fixture(scope="module")
def each_alone(requests):
    """The answers of an architecture to each request alone."""

    @functools.cache
    def answer(name):
        model, processor = architectures.build(name)
        return answers(TransformersBackend(model, processor, name=name, batch_size=1, share_prefixes=False), requests)

    return answer


@pytest.mark.parametrize("name", architectures.BUILDERS)
def test_all_ways_agree(name, requests, each_alone):
    model, processor = architectures.build(name)
    alone = each_alone(name)
    assert not [response.error for response in alone.values() if response.error]
    replies = {key: text for key, text in texts(alone).items() if text is not None}
    assert len(set(replies.values())) > len(replies) / 4, "the answers must differ for the comparison to mean something"
    ways = []
    for batch_size, share in ((8, False), (1, True), (16, True)):
        backend = TransformersBackend(model, processor, name=name, batch_size=batch_size, share_prefixes=share)
        ways.append(answers(backend, requests))
        assert backend.settings()["prefix_sharing"] == ("on" if share else "off: switched off")
    # Two processes have a model each.
    models = [(model, processor), architectures.build(name)]

    def distributed(processes):
        backend = TransformersBackend(*models[processes.rank], name=name, batch_size=8)
        return answers(DistributedBackend(backend, processes), requests)

    for responses in (*ways, in_processes(2, distributed)[0]):
        assert texts(responses) == texts(alone)
        for key, expected in alone.items():
            if expected.logits:
                assert responses[key].logits == pytest.approx(expected.logits, abs=1e-4)
            losses = expected.losses or ()
            assert [loss.tokens for loss in responses[key].losses or ()] == [loss.tokens for loss in losses]
            totals = [loss.total for loss in responses[key].losses or ()]
            assert totals == pytest.approx([loss.total for loss in losses], abs=1e-4)


def test_six_pools_of_words_cost_one_pass():
    """Q-Bench, Table 11: the logits of all pools' words come from one request."""
    model, processor = architectures.build("llava")
    pools = [("good", "poor"), ("fair", "blur"), ("excellent", "noise")]
    prompt, prefill = ("Rate ", IMAGE), "The quality of the image is"
    words = tuple(word for pool in pools for word in pool)
    asked = [
        Request(str(number), prompt, (picture(0),), prefill=prefill, words=pool) for number, pool in enumerate(pools)
    ]
    backend = TransformersBackend(model, processor, name="llava", batch_size=4)
    (together,) = backend.answer([Request("all", prompt, (picture(0),), prefill=prefill, words=words)])
    for response in backend.answer(asked):
        for word in response.request.words:
            assert together.logits[word] == pytest.approx(response.logits[word], abs=1e-5)


def test_losses_are_the_models_own_on_labelled_tokens():
    model, processor = architectures.build("llava")
    image = picture(0)
    asked = Request("c", ("Rate ", IMAGE), (image,), prefill="The quality is", continuations=("good or poor", "blur"))
    (response,) = TransformersBackend(model, processor, name="llava", batch_size=4).answer([asked])
    prompt = "USER: Rate <image>\nASSISTANT: The quality is"
    before = processor(text=prompt, images=image, return_tensors="pt")["input_ids"].shape[1]
    for loss, text in zip(response.losses, asked.continuations, strict=True):
        inputs = processor(text=f"{prompt} {text}", images=image, return_tensors="pt")
        labels = inputs["input_ids"].clone()
        labels[:, :before] = -100
        with torch.no_grad():
            mean = model(**inputs, labels=labels).loss.item()
        assert loss.tokens == (labels != -100).sum()
        assert loss.mean == pytest.approx(mean, abs=1e-5)


def test_a_sliding_window_past_its_length_is_run_whole_and_said_once(requests):
    model, processor = architectures.gemma3(window=48)
    backend = TransformersBackend(model.eval(), processor, name="gemma", batch_size=8)
    with pytest.warns(
        UserWarning, match="model 'gemma' runs each request without prefix sharing.*window has 48 tokens"
    ) as warned:
        responses = answers(backend, requests)
    assert len(warned) == 1
    assert backend.settings()["prefix_sharing"].startswith("off: its sliding attention window has 48 tokens")
    alone = answers(TransformersBackend(model, processor, name="gemma", batch_size=1, share_prefixes=False), requests)
    assert texts(responses) == texts(alone)


def test_an_architecture_without_image_features_is_run_whole_and_said_once(requests, each_alone, monkeypatch):
    model, processor = architectures.build("llava")
    inner = model.forward

    def forward(input_ids=None, attention_mask=None, pixel_values=None, position_ids=None, logits_to_keep=0, **options):
        return inner(
            input_ids=input_ids,
            attention_mask=attention_mask,
            pixel_values=pixel_values,
            position_ids=position_ids,
            logits_to_keep=logits_to_keep,
            **options,
        )

    monkeypatch.setattr(model, "forward", forward)
    with pytest.warns(UserWarning, match="architecture does not take mm_encoder_outputs, past_key_values"):
        backend = TransformersBackend(model, processor, name="old", batch_size=8)
    responses = answers(backend, requests)
    assert texts(responses) == texts(each_alone("llava"))


def test_a_model_whose_logits_change_when_shared_is_run_whole(requests, each_alone, monkeypatch):
    model, processor = architectures.build("llava")
    backend = TransformersBackend(model, processor, name="odd", batch_size=8)
    # As an architecture would be that counts positions in a way of its own.
    monkeypatch.setattr(
        engine, "token_positions", lambda model, prompt, inputs: 2 * torch.arange(len(prompt.ids))[None]
    )
    with pytest.warns(UserWarning, match="prefix sharing would change its logits by"):
        responses = answers(backend, requests)
    assert texts(responses) == texts(each_alone("llava"))


def test_images_are_encoded_once(requests, monkeypatch):
    model, processor = architectures.build("llava")
    encoded = []
    tower = model.model.vision_tower
    inner = tower.forward

    def counting(pixel_values, *arguments, **options):
        encoded.append(len(pixel_values))
        return inner(pixel_values, *arguments, **options)

    monkeypatch.setattr(tower, "forward", counting)
    backend = TransformersBackend(model, processor, name="llava", batch_size=8)
    backend._compared = {True, False}
    answers(backend, [request for request in requests if request.images])
    assert sum(encoded) == 5


def test_memory_that_runs_out_halves_the_batch_and_is_remembered(requests, monkeypatch):
    model, processor = architectures.build("llava")
    backend = TransformersBackend(model, processor, name="llava", batch_size=16)
    inner = model.model.language_model.forward

    def small(*arguments, inputs_embeds=None, **options):
        if len(inputs_embeds) > 4:
            raise RuntimeError("CUDA out of memory. Tried to allocate 1 GiB")
        return inner(*arguments, inputs_embeds=inputs_embeds, **options)

    monkeypatch.setattr(model.model.language_model, "forward", small)
    responses = answers(backend, requests)
    assert backend.settings()["batch_size"] == 4
    assert not [response.error for response in responses.values() if response.error]
    assert set(responses) == {(request.id, request.pass_name) for request in requests}
