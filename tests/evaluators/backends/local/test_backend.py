import json

import pytest
import torch
from PIL import Image

from eyechart.datasets_scripts.common.errors import BadImageError, ModelError, UsageError
from eyechart.evaluators.backends import resolve_backend
from eyechart.evaluators.backends.local.backend import TransformersBackend
from eyechart.evaluators.requests.types import IMAGE, Request

WORDS = ("good", "poor")
PREFILL = "The quality of the image is"


def ask(i, image, text="What is this?", **options):
    return Request(id=str(i), prompt=(f"{text}\n", IMAGE, "\nAnswer."), images=(image,), **options)


def rate(i, image, text="Rate the quality of the image."):
    return Request(id=f"r{i}", prompt=(f"{text}\n", IMAGE), images=(image,), prefill=PREFILL, words=WORDS)


def backend(llava, batch_size=4):
    model, processor = llava
    return TransformersBackend(model, processor, name="test", batch_size=batch_size)


def by_id(responses):
    return {response.request.id: response for response in responses}


@pytest.fixture
def mixed(make_picture):
    """Prompts of 5 to 300 words on images of several sizes, one and two images."""
    texts = ["What?", "What is the quality of the image? " * 3, "Rate " * 100, "degrades the image " * 30]
    requests = [ask(i, make_picture(i, 40 + 13 * (i % 4)), texts[i % 4], max_new_tokens=6) for i in range(10)]
    requests += [rate(i, make_picture(50 + i), texts[i % 4]) for i in range(10)]
    pair = (make_picture(90), make_picture(91, 80))
    requests.append(Request("pair", ("first ", IMAGE, " second ", IMAGE, " Which?"), pair, max_new_tokens=6))
    return requests


def test_batches_give_the_answers_of_single_requests(llava, mixed):
    single = by_id(backend(llava, 1).answer(mixed))
    batched = by_id(backend(llava, 8).answer(mixed))
    assert set(single) == set(batched) == {request.id for request in mixed}
    texts = {id: response.text for id, response in single.items() if response.text is not None}
    assert {id: batched[id].text for id in texts} == texts
    assert len(set(texts.values())) > 3, "the answers must differ for the comparison to mean something"
    for id, response in single.items():
        if response.logits:
            assert batched[id].logits == pytest.approx(response.logits, abs=1e-4)


def test_logits_are_those_of_a_plain_forward_pass_on_a_hand_written_prompt(llava, make_picture):
    model, processor = llava
    image = make_picture(3, 64)
    response = next(iter(backend(llava).answer([rate(0, image)])))
    prompt = f"USER: Rate the quality of the image.\n<image>\nASSISTANT: {PREFILL}"
    inputs = processor(text=prompt, images=image, return_tensors="pt")
    with torch.no_grad():
        logits = model(**inputs).logits[0, -1]
    for word in WORDS:
        token = processor.tokenizer.encode(f" {word}")
        assert len(token) == 1
        assert response.logits[word] == pytest.approx(logits[token[0]].item(), abs=1e-5)


def test_text_is_that_of_plain_greedy_generation(llava, make_picture):
    model, processor = llava
    image = make_picture(4, 64)
    response = next(iter(backend(llava).answer([ask(0, image, max_new_tokens=8)])))
    inputs = processor(text="USER: What is this?\n<image>\nAnswer.\nASSISTANT:", images=image, return_tensors="pt")
    output = model.generate(**inputs, do_sample=False, max_new_tokens=8)
    expected = processor.tokenizer.decode(output[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    assert response.text == expected.strip()


def test_the_order_of_images_reaches_the_model(llava, make_picture):
    first, second = make_picture(1, 64), make_picture(2, 64)
    prompt = ("first ", IMAGE, " second ", IMAGE, " Rate")
    requests = [
        Request("ab", prompt, (first, second), prefill=PREFILL, words=WORDS),
        Request("ba", prompt, (second, first), prefill=PREFILL, words=WORDS),
    ]
    answers = by_id(backend(llava).answer(requests))
    assert answers["ab"].logits != pytest.approx(answers["ba"].logits, abs=1e-4)


def test_words_of_one_first_token_are_refused_and_named(llava, make_picture):
    request = Request("x", ("Rate\n", IMAGE), (make_picture(0),), prefill=PREFILL, words=("zzz", "zzy"))
    with pytest.raises(ModelError, match="'zzz' and 'zzy' begin with the same token"):
        list(backend(llava).answer([request]))


def test_bad_images_become_error_responses_and_the_rest_is_answered(llava, make_picture, tmp_path):
    (tmp_path / "torn.png").write_bytes(b"\x89PNG\r\n\x1a\nrubbish")
    requests = [ask(i, make_picture(i), max_new_tokens=2) for i in range(3)]
    requests.append(ask("bad", tmp_path / "torn.png"))
    answers = by_id(backend(llava).answer(requests))
    assert isinstance(answers["bad"].error, BadImageError)
    assert all(answers[str(i)].text is not None for i in range(3))


@pytest.mark.parametrize(
    "hostile",
    [
        {"repetition_penalty": 5.0},
        {"no_repeat_ngram_size": 1},
        {"min_new_tokens": 6},
        {"do_sample": True, "temperature": 9.0, "top_k": 3},
        {"num_beams": 3},
        {"return_dict_in_generate": True, "output_scores": True},
        {"max_length": 3},
    ],
    ids=str,
)
def test_decoding_is_greedy_whatever_the_models_folder_says(llava, make_picture, monkeypatch, hostile):
    from transformers import GenerationConfig

    model, processor = llava
    requests = [ask(i, make_picture(i), max_new_tokens=6) for i in range(3)]
    plain = {id: response.text for id, response in by_id(backend(llava).answer(requests)).items()}
    tokens = {"pad_token_id": processor.tokenizer.pad_token_id, "eos_token_id": [processor.tokenizer.eos_token_id]}
    own = GenerationConfig(**hostile, **tokens)
    monkeypatch.setattr(model, "generation_config", own)
    again = {id: response.text for id, response in by_id(backend(llava).answer(requests)).items()}
    assert again == plain
    assert model.generation_config is own, "the user's model is as it was"


def test_an_item_that_the_model_cannot_take_does_not_take_its_batch_along(llava, make_picture):
    requests = [ask(i, make_picture(i), max_new_tokens=2) for i in range(3)]
    requests.append(ask("odd", make_picture(9), "What is <image> here?", max_new_tokens=2))
    answers = by_id(backend(llava, 4).answer(requests))
    assert "the model failed on it" in str(answers["odd"].error)
    assert all(answers[str(i)].text is not None for i in range(3))


def test_logits_that_are_no_numbers_are_errors_of_their_items(llava, make_picture, monkeypatch):
    model, _ = llava
    with torch.no_grad():
        broken = torch.nn.Parameter(model.lm_head.weight * float("nan"))
    monkeypatch.setitem(model.lm_head._parameters, "weight", broken)
    answers = by_id(backend(llava).answer([rate(0, make_picture(0))]))
    assert "logits of good, poor are [nan, nan]" in str(answers["r0"].error)


def test_a_tokenizer_without_a_padding_token_is_used(llava_folder, make_picture):
    config = json.loads((llava_folder / "tokenizer_config.json").read_text())
    del config["pad_token"]
    (llava_folder / "tokenizer_config.json").write_text(json.dumps(config))
    requests = [ask(0, make_picture(0), max_new_tokens=2), ask(1, make_picture(1), "long " * 9, max_new_tokens=2)]
    assert all(response.text is not None for response in resolve_backend(llava_folder).answer(requests))


def test_responses_hold_the_prompt_as_the_model_saw_it(llava, make_picture):
    (response,) = backend(llava).answer([rate(0, make_picture(0))])
    assert response.rendered_prompt == f"USER: Rate the quality of the image.\n<image>\nASSISTANT: {PREFILL}"


def test_settings_name_what_can_change_an_answer(llava, make_picture):
    model = backend(llava)
    requests = [ask(0, make_picture(0, 200), max_new_tokens=1), ask(1, make_picture(1, 64), max_new_tokens=1)]
    downscaled = {id: response.images_downscaled for id, response in by_id(model.answer(requests)).items()}
    assert downscaled == {"0": 1, "1": 0}
    settings = model.settings()
    assert settings["dtype"] == "float32"
    assert settings["decoding"] == "greedy"
    assert settings["image_sizes"]["size"] == {"shortest_edge": 64}
    assert settings["prefix_sharing"] == "on"
    assert json.loads(json.dumps(settings)) == settings


def test_a_pipeline_is_used_as_it_is(llava_folder, make_picture):
    from transformers import pipeline

    pipe = pipeline("image-text-to-text", model=str(llava_folder))
    model = resolve_backend(pipe)
    direct = resolve_backend(llava_folder)
    requests = [ask(i, make_picture(i), max_new_tokens=4) for i in range(3)]
    texts = {id: response.text for id, response in by_id(model.answer(requests)).items()}
    assert texts == {id: response.text for id, response in by_id(direct.answer(requests)).items()}


def test_a_pipeline_for_another_task_is_refused():
    class Pipe:
        task = "text-generation"
        model = None

    with pytest.raises(ModelError, match="'text-generation'; expected 'image-text-to-text'"):
        resolve_backend(Pipe())


def test_a_model_without_chat_template_is_refused(llava_folder):
    (llava_folder / "chat_template.jinja").unlink()
    with pytest.raises(ModelError, match=r"no chat template.*--model-arg chat_template=FILE"):
        resolve_backend(llava_folder)


def test_a_model_of_unknown_architecture_is_refused(llava_folder):
    config = json.loads((llava_folder / "config.json").read_text())
    (llava_folder / "config.json").write_text(json.dumps({**config, "model_type": "llama_vision_nine"}))
    with pytest.raises(ModelError, match=r"transformers does not know the architecture.*llama_vision_nine"):
        resolve_backend(llava_folder)


def test_a_text_model_is_refused(tmp_path):
    from transformers import LlamaConfig

    LlamaConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=1).save_pretrained(tmp_path)
    with pytest.raises(
        ModelError, match=r"type 'llama', which is not supported\. Supported are image-text-to-text models"
    ):
        resolve_backend(tmp_path)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ModelError, match="nowhere' does not exist"):
        resolve_backend(tmp_path / "nowhere")
    with pytest.raises(ModelError, match="'someone/something' cannot be found"):
        resolve_backend("someone/something")


def test_a_folder_with_torn_weights_is_named(llava_folder):
    (llava_folder / "model.safetensors").write_bytes(b"rubbish")
    with pytest.raises(ModelError, match="cannot be loaded"):
        resolve_backend(llava_folder)


def test_what_is_no_model_is_refused(llava):
    with pytest.raises(UsageError, match="model_or_pipeline=3 is not supported"):
        resolve_backend(3)
    with pytest.raises(UsageError, match="batch_size=0"):
        backend(llava, 0)


def test_images_of_any_mode_are_answered(llava, make_picture):
    requests = [ask(mode, make_picture(1).convert(mode), max_new_tokens=1) for mode in ("L", "RGBA", "P", "1", "CMYK")]
    requests.append(ask("small", Image.new("RGB", (1, 1)), max_new_tokens=1))
    assert len(list(backend(llava).answer(requests))) == 6
