"""A model of transformers as a backend: its answers, how it is loaded, sampling, and prompts on Llama's tokenizers."""

import copy
import json
import math
import shutil
import weakref
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from accelerate.hooks import ModelHook, add_hook_to_module
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AddedToken, GenerationConfig, LlavaProcessor, PreTrainedTokenizerFast, pipeline
from transformers.models.llava.image_processing_pil_llava import LlavaImageProcessorPil
from transformers.utils import is_torchvision_available

from eyechart.datasets_scripts.common.errors import BadImageError, UsageError
from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.backends import resolve_backend
from eyechart.evaluators.backends.chat import ChatOptions, Sampling
from eyechart.evaluators.backends.local import packed
from eyechart.evaluators.backends.local.backend import TransformersBackend
from eyechart.evaluators.backends.local.base import each_alone
from eyechart.evaluators.backends.local.loading import LoadOptions
from eyechart.evaluators.backends.local.outputs import TextReader, TokenSampler, probabilities
from eyechart.evaluators.backends.local.rendering import Renderer
from eyechart.evaluators.requests.errors import ModelError
from eyechart.evaluators.requests.types import IMAGE, Request
from eyechart.metrics.scoring.reasoning import LENGTH, STOP
from tests.evaluators.backends import architectures
from tests.evaluators.backends.architectures import answers, mixed_requests, picture

WORDS = ("good", "poor")
PREFILL = "The quality of the image is"


def ask(i, image, text="What is this?", **options):
    return Request(id=str(i), prompt=(f"{text}\n", IMAGE, "\nAnswer."), images=(image,), **options)


def backend(llava, batch_size=4, sampling=None, **options):
    return TransformersBackend(
        *llava, name="test", batch_size=batch_size, chat=ChatOptions(sampling=sampling), **options
    )


def texts(responses):
    return {response.request.id: response.text for response in responses}


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


def test_an_item_that_cannot_be_answered_does_not_take_its_batch_along(llava, make_picture, tmp_path):
    (tmp_path / "torn.png").write_bytes(b"\x89PNG\r\n\x1a\nrubbish")
    requests = [ask(i, make_picture(i), max_new_tokens=2) for i in range(3)]
    requests += [ask("bad", tmp_path / "torn.png"), ask("odd", make_picture(9), "What is <image> here?")]
    answers = {response.request.id: response for response in backend(llava).answer(requests)}
    assert isinstance(answers["bad"].error, BadImageError) and "the model failed on it" in str(answers["odd"].error)
    assert all(answers[str(i)].text is not None for i in range(3))


def test_decoding_is_greedy_whatever_the_models_folder_says(llava, make_picture, monkeypatch):
    model, processor = llava
    requests = [ask(i, make_picture(i), max_new_tokens=6) for i in range(3)]
    plain = texts(backend(llava).answer(requests))
    hostile = {"repetition_penalty": 5.0, "no_repeat_ngram_size": 1, "min_new_tokens": 6, "max_length": 3}
    hostile |= {"do_sample": True, "temperature": 9.0, "top_k": 3, "num_beams": 3, "return_dict_in_generate": True}
    tokens = {"pad_token_id": processor.tokenizer.pad_token_id, "eos_token_id": [processor.tokenizer.eos_token_id]}
    config = GenerationConfig(**hostile, **tokens)
    monkeypatch.setattr(model, "generation_config", config)
    assert texts(backend(llava).answer(requests)) == plain
    assert model.generation_config is config, "the user's model is as it was"


def test_logits_and_losses_that_are_no_numbers_are_errors_of_their_items(llava, make_picture, monkeypatch):
    model, _ = llava
    with torch.no_grad():
        broken = torch.nn.Parameter(model.lm_head.weight * float("nan"))
    monkeypatch.setitem(model.lm_head._parameters, "weight", broken)
    asked = [ask("logits", make_picture(0), words=WORDS), ask("losses", make_picture(0), continuations=WORDS)]
    reasons = [str(response.error) for response in backend(llava).answer(asked)]
    assert "logits of good, poor are [nan, nan]" in reasons[0]
    assert "losses of the continuations are [nan, nan]" in reasons[1]


def test_a_model_that_is_loaded_has_packed_weights_and_gives_the_same_answers(llava_folder, make_picture, monkeypatch):
    asked = [ask(0, make_picture(0)), ask(1, make_picture(1), prefill=PREFILL, words=WORDS)]
    plain = resolve_backend(llava_folder)
    monkeypatch.setattr(packed, "_LEAST", 1)
    faster = resolve_backend(llava_folder)
    assert any(isinstance(layer, packed.PackedLinear) for layer in faster._model.modules())
    assert faster.identity() == plain.identity() and faster.settings() == plain.settings()
    (text, logits), (expected, close) = (list(backend.answer(asked)) for backend in (faster, plain))
    assert text.text == expected.text
    assert logits.logits == pytest.approx(close.logits, abs=1e-4)


def test_only_plain_layers_with_weights_of_their_own_are_packed(monkeypatch):
    class Special(torch.nn.Linear):
        pass

    monkeypatch.setattr(packed, "_LEAST", 1)
    plain, hooked, special, half, tied = (
        kind(4, 4) for kind in (*[torch.nn.Linear] * 2, Special, *[torch.nn.Linear] * 2)
    )
    add_hook_to_module(hooked, ModelHook())
    table = torch.nn.Embedding(4, 4)
    tied.weight = table.weight
    packed.pack(torch.nn.ModuleList([plain, hooked, special, half.bfloat16(), tied, table]))
    assert [layer.weight.is_mkldnn for layer in (plain, hooked, special, half, tied)] == [True, *[False] * 4]
    given = torch.ones(1, 4)
    with torch.inference_mode():
        assert hooked(given).shape == plain(given).shape == (1, 4)


def test_a_pipeline_is_used_as_it_is(llava_folder, make_picture):
    pipe = pipeline("image-text-to-text", model=str(llava_folder))
    model, direct = resolve_backend(pipe), resolve_backend(llava_folder)
    asked = [ask(i, make_picture(i), max_new_tokens=4) for i in range(3)]
    assert texts(model.answer(asked)) == texts(direct.answer(asked)) and direct.settings()["decoding"] == "greedy"


def without_template(folder):
    (folder / "chat_template.jinja").unlink()
    return folder


def with_file(name, content):
    return lambda folder: (folder / name).write_text(content) and folder


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
    with pytest.raises(UsageError, match="device='cpu' and device_map='auto' cannot be combined"):
        LoadOptions(device="cpu", device_map="auto")
    monkeypatch.setattr(llava[0].config, "is_encoder_decoder", True)
    with pytest.raises(ModelError, match="model 'test' is an encoder-decoder"):
        backend(llava)


def test_a_tokenizer_without_a_padding_token_is_used(llava_folder, make_picture):
    config = json.loads((llava_folder / "tokenizer_config.json").read_text())
    del config["pad_token"]
    (llava_folder / "tokenizer_config.json").write_text(json.dumps(config))
    requests = [ask(0, make_picture(0), max_new_tokens=2), ask(1, make_picture(1), "long " * 9, max_new_tokens=2)]
    assert all(response.text is not None for response in resolve_backend(llava_folder).answer(requests))


def reply(llava, image, length, *, sharing=True):
    (response,) = backend(llava, share_prefixes=sharing).answer([ask(1, image, max_new_tokens=length)])
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
    assert reply((model, opening), image, 3).text.startswith("<think>")
    assert "<think>" not in reply(llava, image, 3).text


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
    assert TextReader(llava[0].generation_config, tokenizer).answer(ids, 99).text.replace(" ", "") == text


OWN_CODE = "from transformers import LlavaForConditionalGeneration as Llava\nclass Own(Llava):\n    pass\n"


@pytest.mark.skipif(is_torchvision_available(), reason="torchvision is installed, so nothing is missing")
def test_a_model_whose_processor_needs_torchvision_is_answered_with_the_command_that_installs_it(tmp_path):
    architectures.build("qwen2_vl")[0].save_pretrained(tmp_path)
    for name in ("tokenizer.json", "chat_template.jinja"):
        shutil.copy(tiny_vlm.folder() / name, tmp_path)
    processor = {"image_processor_type": "Qwen2VLImageProcessor", "processor_class": "Qwen2VLProcessor"}
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(processor))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))
    # The torchvision of torch 2.13 is 0.28; without dependencies, pip leaves torch as it is.
    minor = int(torch.__version__.split(".")[1]) + 15
    with pytest.raises(ModelError, match=rf"needs torchvision.*pip install --no-deps 'torchvision==0\.{minor}\.\*'"):
        resolve_backend(tmp_path)


def test_options_reach_the_model_and_its_settings(llava_folder, make_picture, monkeypatch):
    options = LoadOptions(dtype="bfloat16", device_map="cpu", attention="eager")
    backend = resolve_backend(llava_folder, options=options)
    (response,) = backend.answer([Request("1", ("What? ", IMAGE), (make_picture(1),), max_new_tokens=2)])
    assert response.error is None
    settings = backend.settings()
    assert (settings["dtype"], settings["attention"], settings["device"]) == ("bfloat16", "eager", "cpu")
    assert settings["quantization"] is None and settings["prefix_sharing"] == "on"
    assert settings["image_sizes"]["size"] == {"shortest_edge": 32} and json.loads(json.dumps(settings)) == settings
    identity = backend.identity()
    assert resolve_backend(llava_folder).identity() != identity
    # As accelerate leaves it where there is more than one device: no part of an answer, other than quantization.
    monkeypatch.setattr(backend._model, "hf_device_map", {"model": 0, "lm_head": "cpu"}, raising=False)
    assert backend.settings()["device_map"] == {"model": "0", "lm_head": "cpu"} and backend.identity() == identity
    monkeypatch.setattr(backend._model.config, "quantization_config", {"quant_method": "gptq"}, raising=False)
    assert backend.settings()["quantization"] == "gptq" and backend.identity() != identity


def test_code_of_a_models_own_is_run_only_if_asked_for_and_told(llava_folder, tmp_path, monkeypatch):
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.syspath_prepend(tmp_path / "modules")
    (llava_folder / "own.py").write_text(OWN_CODE)
    config = json.loads((llava_folder / "config.json").read_text())
    config["auto_map"] = {"AutoModelForImageTextToText": "own.Own"}
    (llava_folder / "config.json").write_text(json.dumps(config))
    settings = resolve_backend(llava_folder).settings()
    assert (settings["architecture"], settings["trust_remote_code"]) == ("LlavaForConditionalGeneration", False)
    settings = resolve_backend(llava_folder, options=LoadOptions(trust_remote_code=True)).settings()
    assert (settings["architecture"], settings["trust_remote_code"]) == ("Own", True)


def test_what_a_failed_run_held_is_freed_before_the_next():
    held = []

    def run(items):
        assert not [reference for reference in held if reference() is not None]
        large = set(items)
        held.append(weakref.ref(large))
        raise ValueError("no")

    assert [item for item, _ in each_alone(["a", "b"], run)] == ["a", "b"] and len(held) == 3


LOGITS = torch.tensor([[math.log(share) for share in (0.1, 0.5, 0.15, 0.25)]])


def prompt(number, repeat=1):
    return SimpleNamespace(ids=[number], images=(), request=Request("", ("?",), (), repeat=repeat))


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        (Sampling(1.0), [0.1, 0.5, 0.15, 0.25]),
        # Squares of the probabilities.
        (Sampling(0.5), [share**2 / 0.345 for share in (0.1, 0.5, 0.15, 0.25)]),
        # 0.5 alone reaches 0.4; the third is needed from 0.75 on.
        (Sampling(1.0, 0.4), [0, 1, 0, 0]),
        (Sampling(1.0, 0.8), [0, 0.5 / 0.9, 0.15 / 0.9, 0.25 / 0.9]),
    ],
    ids=str,
)
def test_tokens_are_drawn_as_computed_by_hand(sampling, expected):
    shares = probabilities(LOGITS, sampling)[0]
    assert (shares / shares.sum()).tolist() == pytest.approx(expected, abs=1e-6)
    sampler = TokenSampler(sampling, [prompt(number) for number in range(5000)])
    counts = Counter(sampler.next_tokens(LOGITS.expand(5000, -1), range(5000)))
    for token, share in enumerate(expected):
        # Five standard deviations of a binomial share.
        assert counts[token] / 5000 == pytest.approx(share, abs=5 * math.sqrt(share * (1 - share) / 5000) + 1e-9)


def test_a_text_depends_on_its_question_the_repeat_and_the_seed_alone(llava, make_picture):
    questions = ["What?", "What is the quality of the image? " * 3, "Rate " * 50]
    requests = [ask(i, make_picture(i), questions[i % 3], max_new_tokens=8) for i in range(6)]
    sampling = Sampling(1.5, seed=3)
    drawn = {key: response.text for key, response in answers(backend(llava, 4, sampling), requests).items()}
    assert len(set(drawn.values())) == len(requests)
    renamed = [replace(request, id=f"other {request.id}") for request in requests]
    for asked, batch_size in ((requests[2:4], 1), (renamed[::-1], 3)):
        again = answers(backend(llava, batch_size, sampling), asked)
        for (id, name), response in again.items():
            assert response.text == drawn[id.removeprefix("other "), name]
    repeated = answers(backend(llava, 4, sampling), [replace(request, repeat=2) for request in requests])
    reseeded = answers(backend(llava, 4, replace(sampling, seed=4)), requests)
    for other in (repeated, reseeded):
        assert sum(other[key].text != text for key, text in drawn.items()) >= 5


def test_shared_and_whole_runs_draw_the_same_texts_and_logits_are_never_drawn(llava):
    asked = mixed_requests()
    greedy, sampling = answers(backend(llava, 8), asked), Sampling(1.2, 0.95, seed=1)
    shared, plain = (answers(backend(llava, 8, sampling, share_prefixes=share), asked) for share in (True, False))
    replies = [key for key, response in greedy.items() if response.text is not None]
    assert [shared[key].text for key in replies] == [plain[key].text for key in replies]
    assert sum(shared[key].text != greedy[key].text for key in replies) > len(replies) / 2
    for key, response in greedy.items():
        if response.logits:
            assert shared[key].logits == pytest.approx(response.logits, abs=1e-4)
        if response.losses:
            totals = [loss.total for loss in response.losses]
            assert [loss.total for loss in shared[key].losses] == pytest.approx(totals)


def renderer(*, before: str = "", after: str = "") -> Renderer:
    """On a tokenizer that adds <s> itself; the chat template writes `before` in front and `after` at the end."""
    inner = Tokenizer(models.BPE(unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    inner.decoder = decoders.Metaspace()
    special = ["<unk>", "<s>", "</s>", "<image>"]
    letters = list("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:?\n")
    texts = [*architectures.TEXTS, *["is good good poor"] * 20]
    options = {"special_tokens": special, "initial_alphabet": letters, "show_progress": False}
    inner.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=600, **options))
    inner.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    names = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "</s>"}
    images = {"extra_special_tokens": {"image_token": "<image>"}}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, **names, **images)
    template = before + architectures.template("<image>") + after
    image_processor = LlavaImageProcessorPil(**architectures.CROPPED)
    processor = LlavaProcessor(image_processor, tokenizer, chat_template=template, **architectures.LLAVA)
    return Renderer(processor, tokenizer.convert_tokens_to_ids("<image>"), name="test")


def ask_about(**options) -> Request:
    return Request("1", ("Rate ", IMAGE), (picture(0),), **options)


def tokens(rendering: Renderer, ids: list[int]) -> list[str]:
    return rendering._processor.tokenizer.convert_ids_to_tokens(ids)


def first_tokens(rendering: Renderer, **asked) -> list[str]:
    return tokens(rendering, list(rendering.first_tokens(ask_about(**asked)).values()))


@pytest.mark.parametrize("before", ["", "{{- bos_token -}}"], ids=["added", "written"])
def test_there_is_one_first_token_whoever_writes_it_and_words_have_the_blank_of_their_context(before):
    rendering = renderer(before=before)
    (prompt,) = rendering.prompts(ask_about(), ("key",), {"key": picture(0)}, {})
    names = tokens(rendering, prompt.ids)
    assert names[0] == "<s>" and names.count("<s>") == 1 and names[-1].endswith(":")
    assert names[prompt.begins[0] : prompt.ends[0]] == ["<image>"] * 16
    assert first_tokens(rendering, prefill=PREFILL, words=("good", "poor")) == ["▁good", "▁poor"]
    # Behind a line break the words have no blank before them, and several tokens.
    assert first_tokens(rendering, prefill=f"{PREFILL}\n", words=("good", "noise")) == ["goo", "no"]
    assert first_tokens(rendering, words=("good", "poor")) == ["▁good", "▁poor"]


@pytest.mark.parametrize(("after", "words", "named"), [("{{- ' ' -}}", "good poor", "good"), ("", "good bad", "bad")])
def test_a_word_that_melts_into_a_blank_or_that_the_tokenizer_drops_is_refused_and_named(after, words, named):
    rendering = renderer(after=after)
    rendering._processor.tokenizer.backend_tokenizer.normalizer = normalizers.Replace(Regex(" ?bad"), "")
    message = f"tokens of '{named}' cannot be separated from those of the text before it"
    with pytest.raises(ModelError, match=message):
        rendering.first_tokens(ask_about(words=tuple(words.split())))
    with pytest.raises(ModelError, match=message):
        rendering.prompts(ask_about(continuations=(named,)), ("key",), {"key": picture(0)}, {})


def test_continuations_are_scored_by_their_own_tokens():
    rendering = renderer(before="{{- bos_token -}}")
    asked = ask_about(prefill=PREFILL, continuations=("good", "poor, fair"))
    first, second = rendering.prompts(asked, ("key",), {"key": picture(0)}, {})
    assert tokens(rendering, first.ids[-first.scored :]) == ["▁good"]
    assert "".join(tokens(rendering, second.ids[-second.scored :])) == "▁poor,▁fair"
    assert first.ids[: -first.scored] == second.ids[: -second.scored]
