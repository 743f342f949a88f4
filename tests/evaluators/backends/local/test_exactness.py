"""Every way of running requests gives the answers of running each alone, on real architectures."""

import numpy as np
import pytest
import torch
from PIL import Image

from eyechart.evaluators.backends.transformers_pipeline import TransformersBackend
from eyechart.evaluators.types import IMAGE
from eyechart.evaluators.types import Request
from tests.evaluators.backends import architectures

LETTERS = "ABCD"
OPTIONS = ("noise", "blur", "fair", "excellent")
SIZES = [(40, 40), (90, 40), (40, 100), (33, 65), (200, 60)]


def picture(seed: int) -> Image.Image:
    width, height = SIZES[seed % len(SIZES)]
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8))


@pytest.fixture(scope="module")
def requests() -> list[Request]:
    """Rotations, pairs in both orders, logits and losses; 1 and 2 images of several sizes, 10 to 1,500 tokens."""
    pictures = [picture(seed) for seed in range(5)]
    asked = []
    for number, words in enumerate((0, 20, 80, 400)):
        for rotation in range(4):
            turned = OPTIONS[rotation:] + OPTIONS[:rotation]
            shown = " ".join(f"{letter}. {option}" for letter, option in zip(LETTERS, turned, strict=True))
            text = ("What is it?\n", IMAGE, "\n" + shown + " noise of the image" * (words // 4))
            asked.append(
                Request(f"q{number}", text, (pictures[number],), max_new_tokens=6, pass_name=f"rotation:{rotation}")
            )
    for first in range(3):
        for second in range(3):
            if first != second:
                shown = (pictures[first], pictures[second])
                name = f"{first} {second}"
                asked.append(Request(name, (IMAGE, " and ", IMAGE, " which?"), shown, max_new_tokens=6))
                asked.append(
                    Request(
                        name, ("Is ", IMAGE, " or ", IMAGE, " good?"), shown, words=("good", "poor"), pass_name="a3"
                    )
                )
    for number, shown in enumerate(pictures):
        rate, prefill = ("Rate ", IMAGE), "The quality of the image is"
        asked.append(Request(f"r{number}", rate, (shown,), prefill=prefill, words=("good", "poor")))
        asked.append(
            Request(f"c{number}", rate, (shown,), prefill=prefill, continuations=("good", "fair or poor", "blur"))
        )
    asked.append(Request("text", ("What is noise?",), (), max_new_tokens=6))
    asked.append(Request("text losses", ("What is noise?",), (), continuations=("blur", "noise or blur")))
    return asked


def answers(backend: TransformersBackend, requests: list[Request]) -> dict[tuple[str, str], object]:
    return {(found.request.id, found.request.pass_name): found for found in backend.answer(requests)}


@pytest.mark.parametrize("name", architectures.BUILDERS)
def test_all_ways_agree(name, requests):
    model, processor = architectures.build(name)
    alone = answers(TransformersBackend(model, processor, name=name, batch_size=1, share_prefixes=False), requests)
    assert not [found.error for found in alone.values() if found.error]
    texts = {key: found.text for key, found in alone.items() if found.text is not None}
    assert len(set(texts.values())) > len(texts) / 4, "the answers must differ for the comparison to mean something"
    for batch_size, share in ((8, False), (1, True), (16, True)):
        backend = TransformersBackend(model, processor, name=name, batch_size=batch_size, share_prefixes=share)
        found = answers(backend, requests)
        assert backend.settings()["prefix_sharing"] == ("on" if share else "off: switched off")
        assert {key: found[key].text for key in texts} == texts
        for key, expected in alone.items():
            if expected.logits:
                assert found[key].logits == pytest.approx(expected.logits, abs=1e-4)
            if expected.losses:
                assert [loss.tokens for loss in found[key].losses] == [loss.tokens for loss in expected.losses]
                totals = [loss.total for loss in expected.losses]
                assert [loss.total for loss in found[key].losses] == pytest.approx(totals, abs=1e-4)


def test_losses_are_the_models_own_on_labelled_tokens():
    model, processor = architectures.build("llava")
    image = picture(0)
    asked = Request("c", ("Rate ", IMAGE), (image,), prefill="The quality is", continuations=("good or poor", "blur"))
    (found,) = TransformersBackend(model, processor, name="llava", batch_size=4).answer([asked])
    prompt = "USER: Rate <image>\nASSISTANT: The quality is"
    before = processor(text=prompt, images=image, return_tensors="pt")["input_ids"].shape[1]
    for loss, text in zip(found.losses, asked.continuations, strict=True):
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
    with pytest.warns(UserWarning, match="model 'gemma' runs each request whole.*slides over 48 tokens") as told:
        found = answers(backend, requests)
    assert len(told) == 1
    assert backend.settings()["prefix_sharing"].startswith("off: its attention slides over 48 tokens")
    alone = answers(TransformersBackend(model, processor, name="gemma", batch_size=1, share_prefixes=False), requests)
    assert {key: response.text for key, response in found.items()} == {key: r.text for key, r in alone.items()}


def test_a_model_whose_logits_change_when_shared_is_run_whole(requests, monkeypatch):
    from eyechart.evaluators.backends.local.positions import Positions

    model, processor = architectures.build("llava")
    backend = TransformersBackend(model, processor, name="odd", batch_size=8)
    # As an architecture would be that counts positions in a way of its own.
    monkeypatch.setattr(Positions, "of", lambda self, prompt, inputs: 2 * torch.arange(len(prompt.ids))[None])
    with pytest.warns(UserWarning, match="its logits change by .* when a prefix is shared"):
        found = answers(backend, requests)
    alone = answers(TransformersBackend(model, processor, name="odd", batch_size=1, share_prefixes=False), requests)
    assert {key: response.text for key, response in found.items()} == {key: r.text for key, r in alone.items()}


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
    found = answers(backend, requests)
    assert backend.settings()["batch_size"] == 4
    assert not [response.error for response in found.values() if response.error]
    assert set(found) == {(request.id, request.pass_name) for request in requests}
