"""Dual encoders: logits against a plain forward pass and Eq. 2 of Q-Bench, and what a user meets at each door."""

import json

import pytest
import torch
from transformers import pipeline

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.backends import resolve_backend
from eyechart.evaluators.backends.clip import ClipZeroShotBackend
from eyechart.evaluators.backends.local.loading import DUAL_ENCODERS, Origin
from eyechart.evaluators.requests.errors import ModelError
from eyechart.evaluators.requests.types import IMAGE, OutputType, Request
from tests.evaluators.backends import architectures

WORDS = ("good", "poor")
TEXTS = ["a photo of good quality", "a photo of poor quality"]


def rate(id, image, words=WORDS, **options):
    return Request(str(id), ("Rate the quality of the image.\n", IMAGE), (image,), words=words, **options)


def backend(parts, batch_size=4, **options):
    return ClipZeroShotBackend(*parts, name="test", batch_size=batch_size, **options)


def logits(model, requests):
    responses = list(model.answer(requests))
    assert not [response.error for response in responses if response.error]
    return {response.request.id: response.logits for response in responses}


@torch.no_grad()
def forward(parts, images, texts=TEXTS, padding=True, **options):
    """What the model itself gives for texts and images."""
    model, words, image_processor = parts
    tokens = words(texts, padding=padding, return_tensors="pt", **options)
    return model(**tokens, **image_processor(images=images, return_tensors="pt"))


@pytest.fixture(scope="module")
def clip():
    return architectures.build_dual_encoder("clip")


def endless(clip):
    """Ends no text, so that CLIP looks at the first token, which all texts share."""
    return clip[0], architectures.tokenizer({}), clip[2]


@pytest.fixture
def pictures(make_picture):
    """Nine pictures of several sizes and shapes."""
    return [make_picture(seed, 40 + 13 * (seed % 4)).crop((0, 0, 40 + 9 * (seed % 3), 38)) for seed in range(9)]


@pytest.fixture
def requests(pictures):
    return [rate(i, image) for i, image in enumerate(pictures)]


@pytest.fixture
def clip_folder(clip, tmp_path):
    for part in clip:
        part.save_pretrained(tmp_path / "clip")
    return tmp_path / "clip"


@pytest.mark.parametrize("name", DUAL_ENCODERS)
def test_logits_are_a_hundred_cosines_on_every_architecture(name, pictures, requests):
    model, _, _ = parts = architectures.build_dual_encoder(name)
    padding = {"padding": "max_length", "max_length": 64} if "siglip" in name else {}
    scaled = forward(parts, pictures, **padding).logits_per_image
    assert name != "clip" or scaled.std(dim=0).min() > 1, "the images must differ for the comparison to mean something"
    scale = 1 / model.temperature if name == "align" else model.logit_scale.exp()
    cosines = (scaled - getattr(model, "logit_bias", 0.0)) / scale
    observed = logits(backend(parts), requests)
    for request, expected in zip(requests, (100 * cosines).tolist(), strict=True):
        assert [observed[request.id][word] for word in WORDS] == pytest.approx(expected, abs=1e-4)


def test_each_text_and_each_image_is_encoded_once(clip, pictures, requests, monkeypatch):
    encoded = {"text": [], "image": []}
    for kind, name in (("text", "input_ids"), ("image", "pixel_values")):
        encode = getattr(clip[0], f"get_{kind}_features")

        def counting(*, _encode=encode, _kind=kind, _name=name, **inputs):
            encoded[_kind].append(len(inputs[_name]))
            return _encode(**inputs)

        monkeypatch.setattr(clip[0], f"get_{kind}_features", counting)
    more = [rate(i, image, ("fine", "poor", "bad"), pass_name="more") for i, image in enumerate(pictures)]
    tested = backend(clip)
    assert len(list(tested.answer([*requests, *more]))) == 18
    assert encoded == {"text": [1, 1, 1, 1], "image": [4, 4, 1]}
    list(tested.answer(requests[:1]))
    assert len(encoded["text"]) == 4


def test_what_it_cannot_compare_is_refused_with_the_reason(clip, llava, pictures):
    photo = [rate(0, pictures[0], (*WORDS, "sharp"))]
    pair = Request("pair", (IMAGE, IMAGE), tuple(pictures[:2]), words=WORDS)
    other = (llava[0], llava[1].tokenizer, None)
    for refused, error, message in (
        (lambda: backend(clip).check(OutputType.TEXT), ModelError, "not text. Choose a task"),
        (lambda: backend(clip).answer([pair]), ModelError, "item 'pair' has 2 images"),
        (lambda: backend(clip).answer([Request("x", ("?",), (), words=WORDS)]), ModelError, "item 'x' has 0 images"),
        (lambda: backend(endless(clip)).answer(photo), ModelError, f"same features for '{TEXTS[0]}' and '{TEXTS[1]}'"),
        (lambda: backend(clip, text_template="{word} " * 99).answer(photo), ModelError, "takes at most 77"),
        (lambda: backend(clip, 0), UsageError, "batch_size=0"),
        (lambda: backend(clip, text_template="a photo"), UsageError, "text_template='a photo' is not allowed"),
        (lambda: backend(other), ModelError, "'llava'; supported types: align, .*siglip2"),
    ):
        with pytest.raises(error, match=message):
            list(refused())


def test_settings_and_responses_tell_what_can_change_an_answer(clip, make_picture):
    tested = backend(clip, text_template="a photo of {word} sharpness")
    responses = tested.answer([rate(0, make_picture(0, 200)), rate(1, make_picture(1, 32))])
    by_id = {response.request.id: response for response in responses}
    assert [by_id[id].images_downscaled for id in "01"] == [1, 0]
    assert by_id["0"].rendered_prompt == "a photo of good sharpness\na photo of poor sharpness"
    settings = tested.settings()
    assert (settings["backend"], settings["similarity_scale"]) == ("clip_zero_shot", 100.0)
    assert settings["text_template"] == "a photo of {word} sharpness"
    assert settings["image_sizes"]["crop_size"] == {"height": 32, "width": 32}
    assert json.loads(json.dumps(settings)) == settings


def test_a_pipeline_and_a_folder_give_the_same(clip_folder, requests):
    pipe = pipeline("zero-shot-image-classification", model=str(clip_folder))
    live, folder = resolve_backend(pipe, batch_size=3), resolve_backend(clip_folder, batch_size=3)
    assert isinstance(live, ClipZeroShotBackend) and isinstance(folder, ClipZeroShotBackend)
    expected = logits(folder, requests)
    for id, values in logits(live, requests).items():
        assert values == pytest.approx(expected[id], abs=1e-4)
    assert live.name == folder.name == str(clip_folder) and live.settings()["batch_size"] == 3


def test_stored_answers_belong_to_weights_texts_and_processing(clip, clip_folder):
    assert resolve_backend(pipeline("zero-shot-image-classification", model=str(clip_folder))).identity() is None
    first = resolve_backend(clip_folder, batch_size=2).identity()
    assert first == resolve_backend(clip_folder, batch_size=8).identity()
    assert json.loads(json.dumps(first)) == first
    known = {"origin": Origin(fingerprint="f")}
    assert backend(clip, **known).identity() != backend(clip, text_template="{word}", **known).identity()
    config = json.loads((clip_folder / "config.json").read_text())
    (clip_folder / "config.json").write_text(json.dumps({**config, "note": "other weights"}))
    assert resolve_backend(clip_folder).identity() != first


def test_optional_words_change_no_logit_and_are_given_where_their_texts_differ(clip, pictures):
    (alone,) = logits(backend(clip), [rate(0, pictures[0])]).values()
    (values,) = logits(backend(clip), [rate(0, pictures[0], optional_words=("high", "low", "good"))]).values()
    assert list(values) == ["good", "poor", "high", "low"]
    assert {word: values[word] for word in WORDS} == pytest.approx(alone, abs=1e-4)
    (values,) = logits(backend(endless(clip)), [rate(0, pictures[0], ("good",), optional_words=("high",))]).values()
    assert list(values) == ["good"]
