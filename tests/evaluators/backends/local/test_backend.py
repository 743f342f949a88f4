import copy
import functools
import json
from types import SimpleNamespace

import pytest
import torch
from PIL import Image
from transformers import AddedToken, GenerationConfig, pipeline

from eyechart.datasets_scripts.common.errors import BadImageError, ModelError, UsageError
from eyechart.evaluators.backends import resolve_backend
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.backends.local.backend import TransformersBackend
from eyechart.evaluators.backends.local.outputs import TextReader
from eyechart.evaluators.requests.types import IMAGE, Request
from eyechart.metrics.scoring.reasoning import LENGTH, STOP

WORDS = ("good", "poor")
PREFILL = "The quality of the image is"


def ask(i, image, text="What is this?", **options):
    return Request(id=str(i), prompt=(f"{text}\n", IMAGE, "\nAnswer."), images=(image,), **options)


def backend(llava, batch_size=4):
    return TransformersBackend(*llava, name="test", batch_size=batch_size)


def by_id(responses):
    return {response.request.id: response for response in responses}


def test_logits_are_those_of_plain_forward_passes_with_images_in_their_order(llava, make_picture):
    model, processor = llava
    first, second = make_picture(3, 64), make_picture(2, 64)
    observed = []
    for images in ((first,), (first, second), (second, first)):
        asked = ("Rate the quality of", *[" image ", IMAGE] * len(images))
        (response,) = backend(llava).answer([Request("x", asked, images, prefill=PREFILL, words=WORDS)])
        prompt = f"USER: Rate the quality of{' image <image>' * len(images)}\nASSISTANT: {PREFILL}"
        assert response.rendered_prompt == prompt
        inputs = processor(text=prompt, images=list(images), return_tensors="pt")
        with torch.no_grad():
            logits = model(**inputs).logits[0, -1]
        for word in WORDS:
            (token,) = processor.tokenizer.encode(f" {word}")
            assert response.logits[word] == pytest.approx(logits[token].item(), abs=1e-5)
        observed.append(response.logits)
    assert observed[1] != pytest.approx(observed[2], abs=1e-4)


def test_text_is_that_of_plain_greedy_generation(llava, make_picture):
    model, processor = llava
    image = make_picture(4, 64)
    response = next(iter(backend(llava).answer([ask(0, image, max_new_tokens=8)])))
    inputs = processor(text="USER: What is this?\n<image>\nAnswer.\nASSISTANT:", images=image, return_tensors="pt")
    output = model.generate(**inputs, do_sample=False, max_new_tokens=8)
    expected = processor.tokenizer.decode(output[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    assert response.text == expected.strip()


def test_words_of_one_first_token_are_refused_and_named(llava, make_picture):
    request = Request("x", ("Rate\n", IMAGE), (make_picture(0),), prefill=PREFILL, words=("zzz", "zzy", "zzx"))
    with pytest.raises(ModelError, match="'zzz' and 'zzy' begin with the same token"):
        list(backend(llava).answer([request]))


def test_an_item_that_cannot_be_answered_does_not_take_its_batch_along(llava, make_picture, tmp_path):
    (tmp_path / "torn.png").write_bytes(b"\x89PNG\r\n\x1a\nrubbish")
    requests = [ask(i, make_picture(i), max_new_tokens=2) for i in range(3)]
    requests += [ask("bad", tmp_path / "torn.png"), ask("odd", make_picture(9), "What is <image> here?")]
    answers = by_id(backend(llava).answer(requests))
    assert isinstance(answers["bad"].error, BadImageError) and "the model failed on it" in str(answers["odd"].error)
    assert all(answers[str(i)].text is not None for i in range(3))


@pytest.mark.parametrize(
    "hostile",
    [
        *({"repetition_penalty": 5.0}, {"no_repeat_ngram_size": 1}, {"min_new_tokens": 6}, {"num_beams": 3}),
        {"do_sample": True, "temperature": 9.0, "top_k": 3},
        *({"return_dict_in_generate": True, "output_scores": True}, {"max_length": 3}),
    ],
    ids=str,
)
def test_decoding_is_greedy_whatever_the_models_folder_says(llava, make_picture, monkeypatch, hostile):
    model, processor = llava
    requests = [ask(i, make_picture(i), max_new_tokens=6) for i in range(3)]
    plain = {id: response.text for id, response in by_id(backend(llava).answer(requests)).items()}
    tokens = {"pad_token_id": processor.tokenizer.pad_token_id, "eos_token_id": [processor.tokenizer.eos_token_id]}
    config = GenerationConfig(**hostile, **tokens)
    monkeypatch.setattr(model, "generation_config", config)
    again = {id: response.text for id, response in by_id(backend(llava).answer(requests)).items()}
    assert again == plain
    assert model.generation_config is config, "the user's model is as it was"


def test_logits_and_losses_that_are_no_numbers_are_errors_of_their_items(llava, make_picture, monkeypatch):
    model, _ = llava
    with torch.no_grad():
        broken = torch.nn.Parameter(model.lm_head.weight * float("nan"))
    monkeypatch.setitem(model.lm_head._parameters, "weight", broken)
    asked = [ask("logits", make_picture(0), words=WORDS), ask("losses", make_picture(0), continuations=WORDS)]
    answers = by_id(backend(llava).answer(asked))
    assert "logits of good, poor are [nan, nan]" in str(answers["logits"].error)
    assert "losses of the continuations are [nan, nan]" in str(answers["losses"].error)


def test_a_pipeline_is_used_as_it_is(llava_folder, make_picture):
    model, direct = (
        resolve_backend(pipeline("image-text-to-text", model=str(llava_folder))),
        resolve_backend(llava_folder),
    )
    asked = [ask(i, make_picture(i), max_new_tokens=4) for i in range(3)]
    texts, expected = ({r.request.id: r.text for r in each.answer(asked)} for each in (model, direct))
    assert texts == expected and direct.settings()["decoding"] == "greedy"


def test_images_of_any_mode_are_answered(llava, make_picture):
    requests = [ask(mode, make_picture(1).convert(mode), max_new_tokens=1) for mode in ("L", "RGBA", "P", "1", "CMYK")]
    requests.append(ask("small", Image.new("RGB", (1, 1)), max_new_tokens=1))
    assert len(list(backend(llava).answer(requests))) == 6


def without_template(folder):
    (folder / "chat_template.jinja").unlink()
    return folder


def with_file(name, content):
    def change(folder):
        (folder / name).write_text(content)
        return folder

    return change


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (without_template, r"not have a chat template.*--model-arg chat_template=FILE"),
        (with_file("config.json", '{"model_type": "llama_vision_nine"}'), "not know the architecture.*vision_nine"),
        (with_file("config.json", '{"model_type": "llama"}'), "'llama', which is not supported. Supported are image-"),
        (with_file("model.safetensors", "rubbish"), "cannot be loaded"),
        (lambda folder: folder / "nowhere", "nowhere' does not exist"),
        (lambda _: "someone/something", "'someone/something' cannot be found"),
        (lambda _: SimpleNamespace(task="text-generation", model=None), "'text-generation'; expected 'image-text-to-"),
    ],
)
def test_models_that_cannot_be_used_are_refused(llava_folder, model, reason):
    with pytest.raises(ModelError, match=reason):
        resolve_backend(model(llava_folder))


def test_what_is_no_model_is_refused(llava, monkeypatch):
    for wrong, shown in ((3, "3"), (llava[0], "LlavaForConditionalGeneration")):
        with pytest.raises(UsageError, match=f"model_or_pipeline={shown} is not supported"):
            resolve_backend(wrong)
    with pytest.raises(UsageError, match="batch_size=0"):
        backend(llava, 0)
    monkeypatch.setattr(llava[0].config, "is_encoder_decoder", True)
    with pytest.raises(ModelError, match="model 'test' is an encoder-decoder"):
        backend(llava)


def test_a_function_may_have_attributes_like_a_model():
    function = functools.partial(len)
    function.model = function.config = "mine"
    assert isinstance(resolve_backend(function), FunctionBackend)


def test_a_tokenizer_without_a_padding_token_is_used(llava_folder, make_picture):
    config = json.loads((llava_folder / "tokenizer_config.json").read_text())
    del config["pad_token"]
    (llava_folder / "tokenizer_config.json").write_text(json.dumps(config))
    requests = [ask(0, make_picture(0), max_new_tokens=2), ask(1, make_picture(1), "long " * 9, max_new_tokens=2)]
    assert all(response.text is not None for response in resolve_backend(llava_folder).answer(requests))


def reply(llava, image, length, *, sharing):
    replying = TransformersBackend(*llava, name="test", batch_size=2, share_prefixes=sharing)
    request = Request("1", ("What is this?\n", IMAGE), (image,), max_new_tokens=length)
    (response,) = replying.answer([request])
    return response


def with_end(llava, tokens):
    """The same model, for which other tokens end a text."""
    model, processor = llava
    ending = copy.copy(model)
    ending.generation_config = copy.deepcopy(model.generation_config)
    ending.generation_config.eos_token_id = tokens
    return ending, processor


@pytest.mark.parametrize("sharing", [True, False])
def test_a_reply_that_ends_by_itself_is_told_from_one_that_was_cut(llava, make_picture, sharing):
    image = make_picture(3)
    cut = reply(with_end(llava, None), image, 6, sharing=sharing)
    assert cut.finish_reason == LENGTH
    every_token = list(range(llava[0].config.text_config.vocab_size))
    ended = reply(with_end(llava, every_token), image, 6, sharing=sharing)
    assert (ended.text, ended.finish_reason) == ("", STOP)


def test_a_reply_to_a_template_that_opens_reasoning_begins_inside(llava, make_picture):
    model, processor = llava
    opening = copy.copy(processor)
    opening.chat_template = processor.chat_template + "{% if add_generation_prompt %}<think>\n{% endif %}"
    image = make_picture(3)
    assert reply((model, opening), image, 3, sharing=True).text.startswith("<think>")
    assert "<think>" not in reply(llava, image, 3, sharing=True).text


@pytest.mark.parametrize(
    ("special", "first", "last", "text"),
    [
        (["[THINK]", "[/THINK]", "[IMG]"], "[THINK]", "[/THINK]", "[THINK]so[/THINK]"),
        (["<|channel|>", "<|message|>", "<|end|>"], "<|channel|>", "<|end|>", "<|channel|>so<|end|>"),
        # Without channels it ends a text and marks nothing.
        (["<|end|>"], "<|end|>", "<|end|>", "so"),
    ],
)
def test_special_tokens_that_mark_reasoning_stay_in_the_text(llava, special, first, last, text):
    tokenizer = copy.deepcopy(llava[1].tokenizer)
    tokenizer.add_tokens([AddedToken(name, special=True) for name in special], special_tokens=True)
    ids = [tokenizer.convert_tokens_to_ids(first), *tokenizer(" so", add_special_tokens=False).input_ids]
    ids += [tokenizer.convert_tokens_to_ids(last), tokenizer.pad_token_id]
    assert TextReader(llava[0], tokenizer).answer(ids, 99).text.replace(" ", "") == text
