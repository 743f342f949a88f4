"""What happens where sharing does not work, and where a run ends early."""

import threading

import pytest
import torch
from transformers import DynamicCache

from eyechart.evaluators.backends.local.backend import TransformersBackend
from eyechart.evaluators.backends.local.features import ImageFeatures
from eyechart.evaluators.backends.local.reader import restrict_lm_head
from eyechart.evaluators.requests.types import IMAGE, Request
from tests.evaluators.backends import architectures
from tests.evaluators.backends.asked import answers, mixed_requests, picture


@pytest.fixture
def llava():
    return architectures.build("llava")


def texts(responses):
    return {key: response.text for key, response in responses.items()}


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
    for key, expected in alone.items():
        assert responses[key].text == expected.text
        assert not expected.logits or responses[key].logits == pytest.approx(expected.logits, abs=1e-4)
        totals = [loss.total for loss in expected.losses or ()]
        assert [loss.total for loss in responses[key].losses or ()] == pytest.approx(totals, abs=1e-4)


def test_a_model_that_fails_only_when_shared_is_run_whole(llava, monkeypatch):
    asked = [ask(number) for number in range(3)]
    expected = answers(TransformersBackend(*llava, name="odd", batch_size=4), asked)

    def encode(*_):
        raise TypeError("got an unexpected keyword argument 'tiles'")

    monkeypatch.setattr(ImageFeatures, "_encode", encode)
    backend = TransformersBackend(*llava, name="odd", batch_size=4)
    with pytest.warns(
        UserWarning, match="prefix sharing failed with TypeError: got an unexpected keyword argument 'tiles'"
    ):
        responses = answers(backend, asked)
    assert texts(responses) == texts(expected)


class Compressed(DynamicCache):
    """A cache whose rows nobody but its model can copy."""


def test_a_model_with_a_cache_of_another_kind_is_run_whole(llava):
    asked = [ask(number) for number in range(3)]
    expected = answers(TransformersBackend(*llava, name="odd", batch_size=4), asked)

    def compress(module, given, output):
        output.past_key_values.__class__ = Compressed

    backend = TransformersBackend(*llava, name="odd", batch_size=4)
    handle = llava[0].register_forward_hook(compress)
    with pytest.warns(
        UserWarning, match=r"runs each request without prefix sharing.*its cache is a Compressed of DynamicLayer"
    ):
        responses = answers(backend, asked)
    handle.remove()
    assert texts(responses) == texts(expected)


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


def test_the_output_projection_is_put_back_after_an_error(llava):
    model, _ = llava
    head = model.get_output_embeddings()
    with pytest.raises(KeyboardInterrupt), restrict_lm_head(model, [3, 1]) as is_narrow:
        assert is_narrow and model.get_output_embeddings().weight.equal(head.weight[[3, 1]])
        raise KeyboardInterrupt
    assert model.get_output_embeddings() is head


class Packed(torch.Tensor):
    """Weights in a format of their own, as quantised ones are."""


def test_an_output_projection_of_another_format_is_left_alone(llava, monkeypatch):
    model, _ = llava
    head = model.get_output_embeddings()
    packed = torch.nn.Parameter(head.weight.detach().as_subclass(Packed), requires_grad=False)
    monkeypatch.setitem(head._parameters, "weight", packed)
    with restrict_lm_head(model, [3, 1]) as is_narrow:
        assert not is_narrow and model.get_output_embeddings() is head


def test_losses_that_are_no_numbers_are_errors_of_their_items(llava, monkeypatch):
    model, _ = llava
    broken = torch.nn.Parameter(model.lm_head.weight.detach() * float("nan"))
    monkeypatch.setitem(model.lm_head._parameters, "weight", broken)
    (response,) = TransformersBackend(*llava, name="nan", batch_size=1).answer([ask(0, continuations=("good", "poor"))])
    assert "losses of the continuations are [nan, nan]" in str(response.error)


@pytest.mark.parametrize("end", [GeneratorExit, KeyboardInterrupt])
def test_no_thread_goes_on_where_a_run_ends_early(llava, end):
    backend = TransformersBackend(*llava, name="llava", batch_size=1)
    running = backend.answer([ask(number) for number in range(12)])
    next(running)
    if end is GeneratorExit:
        running.close()
    else:
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
    backend._engine.features._capacity = 1
    responses = answers(backend, asked)
    assert not backend._engine.features._cache
    assert texts(responses) == texts(plain)
