"""Every way of running requests gives the answers of running each alone, on real architectures."""

import functools
import threading
from types import SimpleNamespace

import pytest
import torch
from transformers import DynamicCache

from eyechart.evaluators.backends.local import engine
from eyechart.evaluators.backends.local.backend import TransformersBackend
from eyechart.evaluators.backends.local.reader import ImageFeatures, _smallest_window
from eyechart.evaluators.backends.processes import DistributedBackend
from eyechart.evaluators.requests.types import IMAGE, Answer, Request
from tests.evaluators.backends import architectures
from tests.evaluators.backends.architectures import answers, mixed_requests, picture
from tests.evaluators.backends.logging_model import in_processes


def texts(responses):
    return {key: response.text for key, response in responses.items()}


def assert_equal(responses, expected):
    """Except for rounding."""
    assert texts(responses) == texts(expected)
    for key, response in expected.items():
        assert not response.logits or responses[key].logits == pytest.approx(response.logits, abs=1e-4)
        losses, observed = response.losses or (), responses[key].losses or ()
        assert [loss.tokens for loss in observed] == [loss.tokens for loss in losses]
        assert [loss.total for loss in observed] == pytest.approx([loss.total for loss in losses], abs=1e-4)


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
        assert_equal(responses, alone)


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
    requests = requests[8:24]
    model, processor = architectures.gemma3(window=48)
    backend = TransformersBackend(model.eval(), processor, name="gemma", batch_size=8)
    with pytest.warns(UserWarning, match="model 'gemma' runs each request without.*window has 48 tokens") as warned:
        responses = answers(backend, requests)
    assert len(warned) == 1
    assert backend.settings()["prefix_sharing"].startswith("off: its sliding attention window has 48 tokens")
    alone = answers(TransformersBackend(model, processor, name="gemma", batch_size=1, share_prefixes=False), requests)
    assert texts(responses) == texts(alone)


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
    requests = requests[:16]
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


class Compressed(DynamicCache):
    """A cache whose rows nobody but its model can copy."""


def without_image_features(model, monkeypatch):
    inner = model.forward

    def forward(input_ids=None, attention_mask=None, pixel_values=None, position_ids=None, logits_to_keep=0, **options):
        given = {"attention_mask": attention_mask, "pixel_values": pixel_values, "position_ids": position_ids}
        return inner(input_ids=input_ids, logits_to_keep=logits_to_keep, **given, **options)

    monkeypatch.setattr(model, "forward", forward)


def with_other_positions(model, monkeypatch):
    monkeypatch.setattr(engine, "token_positions", lambda model, prompt, _: 2 * torch.arange(len(prompt.ids))[None])


def with_a_failing_encoder(model, monkeypatch):
    def encode(*_):
        raise TypeError("got an unexpected keyword argument 'tiles'")

    monkeypatch.setattr(ImageFeatures, "_encode", encode)


def with_a_cache_of_another_kind(model, monkeypatch):
    model.register_forward_hook(lambda module, _, output: setattr(output.past_key_values, "__class__", Compressed))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (without_image_features, "its architecture does not take mm_encoder_outputs, past_key_values"),
        (with_other_positions, "prefix sharing would change its logits by"),
        (with_a_failing_encoder, "prefix sharing failed with TypeError: got an unexpected keyword argument 'tiles'"),
        (with_a_cache_of_another_kind, "its cache is a Compressed of DynamicLayer"),
    ],
)
def test_a_model_that_cannot_share_is_run_whole(change, reason, requests, each_alone, monkeypatch):
    expected = each_alone("llava")
    model, processor = architectures.build("llava")
    change(model, monkeypatch)
    with pytest.warns(UserWarning, match="runs each request without prefix sharing") as warned:
        backend = TransformersBackend(model, processor, name="odd", batch_size=8)
        responses = answers(backend, requests)
    assert len(warned) == 1 and reason in str(warned[0].message)
    assert backend.settings()["prefix_sharing"].startswith(f"off: {reason}")
    assert texts(responses) == texts(expected)


@pytest.fixture
def llava():
    return architectures.build("llava")


def ask(number: int, **options) -> Request:
    return Request(str(number), ("What? ", IMAGE), (picture(number),), **{"max_new_tokens": 2, **options})


def test_images_that_are_cut_otherwise_among_others_are_run_whole_and_said_once():
    model, processor = architectures.build("llava_onevision")
    asked = [*mixed_requests(), Request("pair losses", (IMAGE, IMAGE), (picture(0), picture(1)), continuations=("a",))]
    alone = answers(TransformersBackend(model, processor, name="one", batch_size=1, share_prefixes=False), asked)
    assert not [response.error for response in alone.values() if response.error]
    backend = TransformersBackend(model, processor, name="one", batch_size=8)
    with pytest.warns(UserWarning, match="model 'one' runs some requests without prefix sharing") as warned:
        responses = answers(backend, asked)
    assert len(warned) == 1
    assert backend.settings()["prefix_sharing"].startswith("on, in part: its processor")
    assert_equal(responses, alone)
    # Whether an image is downscaled is known only where it is cut as it is alone.
    counts = {len(response.request.images): response.images_downscaled is None for response in responses.values()}
    assert counts == {0: False, 1: False, 2: True}


def test_a_first_request_that_fails_leaves_the_comparison_to_the_next(llava, monkeypatch):
    backend = TransformersBackend(*llava, name="llava", batch_size=4)
    inner, compared = backend._plain.run, []

    def run(job, *given):
        compared.append([prompt.request.id for prompt in job.prompts])
        if "0" in compared[-1]:
            raise ValueError("no")
        return inner(job, *given)

    monkeypatch.setattr(backend._plain, "run", run)
    responses = answers(backend, [ask(number) for number in range(3)])
    assert [key[0] for key, response in responses.items() if response.error] == ["0"]
    assert compared == [["0", "1"], ["0"], ["1"]]


def test_no_thread_goes_on_where_a_run_ends_early(llava):
    backend = TransformersBackend(*llava, name="llava", batch_size=1)
    running = backend.answer([ask(number) for number in range(12)])
    next(running)
    with pytest.raises(KeyboardInterrupt):
        running.throw(KeyboardInterrupt)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("eyechart-prepare")]


def test_two_equal_images_in_one_request_are_two_images(llava):
    image = picture(0)
    asked = [
        Request("same object", (IMAGE, " and ", IMAGE), (image, image), max_new_tokens=4),
        Request("equal", (IMAGE, " and ", IMAGE), (image, picture(0)), max_new_tokens=4),
        Request("without", ("What is noise?",), (), max_new_tokens=4),
        Request("shortest", (IMAGE, " and ", IMAGE), (image, image), max_new_tokens=1),
    ]
    plain = answers(TransformersBackend(*llava, name="llava", batch_size=1, share_prefixes=False), asked)
    responses = answers(TransformersBackend(*llava, name="llava", batch_size=4), asked)
    assert texts(responses) == texts(plain)
    assert responses["same object", "main"].text == responses["equal", "main"].text != ""


def test_features_that_are_forgotten_stay_for_those_that_use_them(llava):
    asked = mixed_requests()
    plain = answers(TransformersBackend(*llava, name="llava", batch_size=8), asked)
    backend = TransformersBackend(*llava, name="llava", batch_size=8)
    # Of one image: 16 tokens of 48 numbers of four bytes.
    backend._engine.features._capacity = 16 * 48 * 4
    responses = answers(backend, asked)
    assert len(backend._engine.features._cache) == 1
    assert texts(responses) == texts(plain)


@pytest.mark.parametrize(
    ("dtype", "share", "sharing"),
    [
        (torch.float32, 0.0008, "on"),
        (torch.float32, 0.0012, "off: prefix sharing would change its logits by 0.0"),
        (torch.bfloat16, 0.03, "on"),
        (torch.bfloat16, 0.08, "off: prefix sharing would change its logits by 0."),
    ],
)
@pytest.mark.filterwarnings("ignore:model 'llava' runs each request without prefix sharing")
def test_logits_may_differ_by_rounding_alone(llava, monkeypatch, dtype, share, sharing):
    backend = TransformersBackend(llava[0].to(dtype), llava[1], name="llava", batch_size=4)
    inner = backend._engine.run

    def shifted(*given):
        observed = [answer.logits for answer in inner(*given)]
        step = share * max(1.0, *(abs(logit) for logits in observed for logit in logits.values()))
        return [Answer(logits={word: logit + step for word, logit in logits.items()}) for logits in observed]

    monkeypatch.setattr(backend._engine, "run", shifted)
    answers(backend, [ask(0, words=("good", "poor"))])
    assert backend.settings()["prefix_sharing"].startswith(sharing)


def test_the_window_of_a_model_is_that_of_its_sliding_or_chunked_layers():
    window, chunk = {"sliding_window": 48}, {"attention_chunk_size": 64}
    for config, expected in (
        ({"layer_types": ["full_attention", "sliding_attention"], **window}, 48),
        ({"layer_types": ["chunked_attention"], **chunk}, 64),
        ({"layer_types": ["full_attention"], **window}, None),
        *((window, 48), ({**window, "use_sliding_window": False}, None)),
    ):
        assert _smallest_window(SimpleNamespace(**config)) == expected
