import json
import math
import os

import pytest
import torch
from typer.testing import CliRunner

from eyechart.datasets_scripts.common.errors import ModelError, UsageError
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends import resolve_backend
from eyechart.evaluators.backends.clip import ClipZeroShotBackend
from eyechart.evaluators.backends.local.loading import DUAL_ENCODERS, Origin
from eyechart.evaluators.cli import app
from eyechart.evaluators.requests.types import IMAGE, OutputType, Request
from eyechart.evaluators.results.results_file import read_results
from eyechart.metrics.scoring.quality.pooling import pool
from tests.evaluators.backends import dual_encoders

WORDS = ("good", "poor")
TEXTS = ["a photo of good quality", "a photo of poor quality"]


def rate(id, image, words=WORDS, **options):
    return Request(str(id), ("Rate the quality of the image.\n", IMAGE), (image,), words=words, **options)


def backend(parts, batch_size=4, **options):
    return ClipZeroShotBackend(*parts, name="test", batch_size=batch_size, **options)


def logits(model, requests):
    found = list(model.answer(requests))
    assert not [response.error for response in found if response.error]
    return {response.request.id: response.logits for response in found}


@pytest.fixture(scope="module")
def clip():
    return dual_encoders.build("clip")


@pytest.fixture
def pictures(make_picture):
    """Nine pictures of several sizes and shapes."""
    return [make_picture(seed, 40 + 13 * (seed % 4)).crop((0, 0, 40 + 9 * (seed % 3), 38)) for seed in range(9)]


@pytest.fixture
def clip_folder(clip, tmp_path):
    for part in clip:
        part.save_pretrained(tmp_path / "clip")
    return tmp_path / "clip"


def test_logits_are_those_of_a_plain_forward_pass(clip, pictures):
    model, words, image_processor = clip
    found = logits(backend(clip), [rate(i, image) for i, image in enumerate(pictures)])
    with torch.no_grad():
        expected = model(
            **words(TEXTS, padding=True, return_tensors="pt"), **image_processor(images=pictures, return_tensors="pt")
        ).logits_per_image
    assert expected.std(dim=0).min() > 1, "the images must differ for the comparison to mean something"
    for i, row in enumerate(expected.tolist()):
        assert [found[str(i)][word] for word in WORDS] == pytest.approx(row, abs=1e-4)


@pytest.mark.parametrize("name", DUAL_ENCODERS)
def test_logits_are_a_hundred_cosines_on_every_architecture(name, pictures):
    model, words, image_processor = parts = dual_encoders.build(name)
    found = logits(backend(parts), [rate(i, image) for i, image in enumerate(pictures)])
    padding = {"padding": "max_length", "max_length": 64} if "siglip" in name else {"padding": True}
    with torch.no_grad():
        own = model(
            **words(TEXTS, return_tensors="pt", **padding), **image_processor(images=pictures, return_tensors="pt")
        ).logits_per_image
        scale = 1 / model.temperature if name == "align" else model.logit_scale.exp()
        cosines = (own - getattr(model, "logit_bias", 0.0)) / scale
    for i, row in enumerate((100 * cosines).tolist()):
        assert [found[str(i)][word] for word in WORDS] == pytest.approx(row, abs=1e-4)


@pytest.mark.parametrize("scale", [100.0, 14.0])
def test_scores_are_those_of_eq_2_whatever_the_models_scale(scale, pictures):
    model, words, image_processor = parts = dual_encoders.build("clip", scale=scale)
    found = logits(backend(parts), [rate(i, image) for i, image in enumerate(pictures)])
    scores = pool([[found[str(i)][word] for word in WORDS] for i in range(9)], "softmax", 100.0).values
    with torch.no_grad():
        output = model(
            **words(TEXTS, padding=True, return_tensors="pt"), **image_processor(images=pictures, return_tensors="pt")
        )
    cosines = torch.nn.functional.cosine_similarity(output.image_embeds[:, None], output.text_embeds[None], dim=-1)
    expected = [math.exp(good) / (math.exp(good) + math.exp(poor)) for good, poor in cosines.tolist()]
    assert list(scores) == pytest.approx(expected, abs=1e-6)


def test_batches_give_the_logits_of_single_images(clip, pictures):
    requests = [rate(i, image) for i, image in enumerate(pictures)]
    single, batched = logits(backend(clip, 1), requests), logits(backend(clip, 8), requests)
    assert len({round(found["good"], 3) for found in single.values()}) == 9
    for id, expected in single.items():
        assert batched[id] == pytest.approx(expected, abs=1e-4)


def test_each_text_and_each_image_is_encoded_once(clip, pictures, monkeypatch):
    model, _, _ = clip
    encoded = {"text": [], "image": []}
    for kind, place in (("text", "input_ids"), ("image", "pixel_values")):
        inner = getattr(model, f"get_{kind}_features")

        def counting(*, _inner=inner, _kind=kind, _place=place, **inputs):
            encoded[_kind].append(len(inputs[_place]))
            return _inner(**inputs)

        monkeypatch.setattr(model, f"get_{kind}_features", counting)
    requests = [rate(i, image) for i, image in enumerate(pictures)]
    requests += [rate(i, image, ("fine", "poor", "bad"), pass_name="more") for i, image in enumerate(pictures)]
    tested = backend(clip)
    assert len(list(tested.answer(requests))) == 18
    assert encoded == {"text": [1, 1, 1, 1], "image": [4, 4, 1]}
    list(tested.answer(requests[:1]))
    assert len(encoded["text"]) == 4


def test_the_texts_are_a_setting(clip, pictures):
    model, words, image_processor = clip
    (response,) = backend(clip, text_template="{word} photo.").answer([rate(0, pictures[0], ("Good", "Bad"))])
    assert response.rendered_prompt == "Good photo.\nBad photo."
    with torch.no_grad():
        inputs = words(["Good photo.", "Bad photo."], padding=True, return_tensors="pt")
        expected = model(**inputs, **image_processor(images=pictures[:1], return_tensors="pt")).logits_per_image[0]
    assert [response.logits["Good"], response.logits["Bad"]] == pytest.approx(expected.tolist(), abs=1e-4)


def test_memory_that_runs_out_halves_the_batch_and_is_remembered(clip, pictures, monkeypatch):
    model, _, _ = clip
    inner, sizes = model.get_image_features, []

    def small(*, pixel_values, **options):
        sizes.append(len(pixel_values))
        if len(pixel_values) > 2:
            raise RuntimeError("CUDA out of memory. Tried to allocate 1 GiB")
        return inner(pixel_values=pixel_values, **options)

    monkeypatch.setattr(model, "get_image_features", small)
    tested = backend(clip, 8)
    assert len(logits(tested, [rate(i, image) for i, image in enumerate(pictures)])) == 9
    assert tested.settings()["batch_size"] == 2
    assert sizes == [8, 4, 2, 2, 2, 2, 1]


@pytest.mark.parametrize("wanted", [OutputType.TEXT, OutputType.LOSSES])
def test_what_it_cannot_give_is_refused_with_the_reason(clip, wanted):
    backend(clip).check(OutputType.LOGITS)
    with pytest.raises(ModelError, match=rf"compares images with texts.*not {wanted.value}\. Choose a task"):
        backend(clip).check(wanted)


def test_requests_that_are_no_comparison_of_one_image_are_refused(clip, pictures):
    pair = Request("pair", (IMAGE, IMAGE), (pictures[0], pictures[1]), words=WORDS)
    with pytest.raises(ModelError, match="item 'pair' has 2 images"):
        list(backend(clip).answer([pair]))
    with pytest.raises(ModelError, match="not text"):
        list(backend(clip).answer([Request("x", (IMAGE,), (pictures[0],))]))


def test_texts_that_the_model_cannot_tell_apart_or_take_are_refused(clip, pictures):
    model, _, image_processor = clip
    # Ends no text, so that CLIP looks at the first token, which all texts share.
    endless = dual_encoders.architectures.tokenizer({})
    with pytest.raises(ModelError, match="same features for 'a photo of good quality' and 'a photo of poor quality'"):
        list(backend((model, endless, image_processor)).answer([rate(0, pictures[0])]))
    with pytest.raises(ModelError, match=r"the text 'a photo of good quality.*tokens; model 'test' takes at most 77"):
        list(backend(clip, text_template="a photo of {word} quality" * 9).answer([rate(0, pictures[0])]))


def test_wrong_arguments_are_refused(clip):
    with pytest.raises(UsageError, match="batch_size=0"):
        backend(clip, 0)
    with pytest.raises(UsageError, match=r"text_template='a photo' is not allowed; it must contain \{word\}"):
        backend(clip, text_template="a photo")


def test_a_model_of_another_type_is_refused(llava):
    model, processor = llava
    with pytest.raises(ModelError, match=r"is of type 'llava'; supported types: align, .*siglip2"):
        backend((model, processor.tokenizer, processor.image_processor))


def test_an_image_that_the_model_cannot_take_does_not_take_its_batch_along(clip, pictures, monkeypatch):
    model, _, image_processor = clip
    odd = image_processor(images=[pictures[3]], return_tensors="pt")["pixel_values"][0]
    inner = model.get_image_features

    def picky(*, pixel_values, **options):
        if any(torch.equal(image, odd) for image in pixel_values):
            raise ValueError("I do not like this one")
        return inner(pixel_values=pixel_values, **options)

    monkeypatch.setattr(model, "get_image_features", picky)
    requests = [rate(i, image) for i, image in enumerate(pictures)]
    answers = {response.request.id: response for response in backend(clip).answer(requests)}
    assert str(answers["3"].error) == "the model failed on it: ValueError: I do not like this one"
    assert all(answers[str(i)].logits for i in range(9) if i != 3)


def test_features_of_no_length_are_errors_of_their_items(clip, pictures, monkeypatch):
    model, _, _ = clip
    nothing = torch.nn.Parameter(torch.zeros_like(model.visual_projection.weight))
    monkeypatch.setitem(model.visual_projection._parameters, "weight", nothing)
    (response,) = backend(clip).answer([rate(0, pictures[0])])
    assert "logits of good, poor are [nan, nan]" in str(response.error)


def test_settings_and_responses_tell_what_can_change_an_answer(clip, make_picture):
    tested = backend(clip)
    requests = [rate(0, make_picture(0, 200)), rate(1, make_picture(1, 32))]
    found = {response.request.id: response for response in tested.answer(requests)}
    assert [found[id].images_downscaled for id in "01"] == [1, 0]
    assert found["0"].rendered_prompt == "a photo of good quality\na photo of poor quality"
    settings = tested.settings()
    assert settings["backend"] == "clip_zero_shot"
    assert settings["text_template"] == "a photo of {word} quality"
    assert settings["similarity_scale"] == 100.0
    assert settings["image_sizes"]["crop_size"] == {"height": 32, "width": 32}
    assert json.loads(json.dumps(settings)) == settings


def test_a_pipeline_and_a_folder_give_the_same(clip_folder, pictures):
    from transformers import pipeline

    requests = [rate(i, image) for i, image in enumerate(pictures)]
    live = resolve_backend(pipeline("zero-shot-image-classification", model=str(clip_folder)), batch_size=3)
    folder = resolve_backend(clip_folder, batch_size=3)
    assert isinstance(live, ClipZeroShotBackend) and isinstance(folder, ClipZeroShotBackend)
    expected = logits(folder, requests)
    for id, found in logits(live, requests).items():
        assert found == pytest.approx(expected[id], abs=1e-4)
    assert live.name == folder.name == str(clip_folder)


def test_stored_answers_belong_to_weights_texts_and_processing(clip_folder):
    from transformers import pipeline

    def identity(**options):
        pipe = pipeline("zero-shot-image-classification", model=str(clip_folder))
        parts = (pipe.model, pipe.tokenizer, pipe.image_processor)
        return ClipZeroShotBackend(*parts, name="a", batch_size=1, origin=Origin(fingerprint="f"), **options).identity()

    assert resolve_backend(pipeline("zero-shot-image-classification", model=str(clip_folder))).identity() is None
    first = resolve_backend(clip_folder, batch_size=2).identity()
    assert first == resolve_backend(clip_folder, batch_size=8).identity()
    assert json.loads(json.dumps(first)) == first
    assert identity() != identity(text_template="{word}")
    os.utime(clip_folder / "model.safetensors", ns=(1, 1))
    config = json.loads((clip_folder / "config.json").read_text())
    (clip_folder / "config.json").write_text(json.dumps({**config, "note": "other weights"}))
    assert resolve_backend(clip_folder).identity() != first


def test_optional_words_change_no_logit_and_are_given_where_their_texts_differ(clip, pictures):
    (alone,) = logits(backend(clip), [rate(0, pictures[0])]).values()
    (found,) = logits(backend(clip), [rate(0, pictures[0], optional_words=("high", "low", "good"))]).values()
    assert list(found) == ["good", "poor", "high", "low"]
    assert {word: found[word] for word in WORDS} == pytest.approx(alone, abs=1e-4)


def test_the_evaluator_takes_the_pipeline(clip_folder, photographs):
    from transformers import pipeline

    pipe = pipeline("zero-shot-image-classification", model=str(clip_folder))
    result = evaluator("q_bench/assessment").compute(pipe, photographs)
    assert result["n"] == 40 and -1 <= result["srcc"] <= 1
    with pytest.raises(ModelError, match="not text"):
        evaluator("q_bench/perception").compute(pipe)


def test_the_command_line_scores_a_folder_and_takes_a_second_run_from_the_store(clip_folder, tmp_path):
    results = []
    for run in ("first", "second"):
        arguments = ["run", "q_bench/assessment", "--dataset", "kadis700k", "--mini", "--model", str(clip_folder)]
        done = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / run)])
        assert done.exit_code == 0, done.output
        (task,) = read_results(tmp_path / run).tasks
        results.append(task)
    first, second = results
    assert first.scores["n"] == 200 and first.scores["temperature"] == 100 and not first.warnings
    assert first.settings["model"]["text_template"] == "a photo of {word} quality"
    assert first.timings["answers_from_store"] == 0 and second.timings["answers_from_store"] == 200
    assert (second.scores, second.settings) == (first.scores, first.settings)


def test_the_baseline_is_scored_on_the_seven_databases_and_averaged(clip_folder, tmp_path):
    arguments = [
        "run",
        "q_bench/assessment",
        "--mini",
        "--model",
        str(clip_folder),
        "--limit",
        "8",
        "--out",
        str(tmp_path),
    ]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    *databases, average = read_results(tmp_path).tasks
    assert len(databases) == 7 and average.dataset == "average" and average.scores["n"] == 56
    assert average.scores["plcc"] == pytest.approx(sum(task.scores["plcc"] for task in databases) / 7)
    assert "average" in done.output


def test_the_command_line_says_which_tasks_a_dual_encoder_cannot_run(clip_folder, tmp_path):
    model = ["--mini", "--model", str(clip_folder), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, ["run", "q_bench/perception", *model])
    assert done.exit_code != 0
    assert "gives logits of words, not text. Choose a task that needs only such logits" in done.output.replace(
        "\n", " "
    )
