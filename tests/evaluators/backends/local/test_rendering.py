"""Prompts, words and continuations on tokenizers that write a blank at the beginning of a word, as Llama's does."""

from types import SimpleNamespace

import pytest
import torch
from PIL import Image
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import LlavaProcessor, PreTrainedTokenizerFast
from transformers.models.llava.image_processing_pil_llava import LlavaImageProcessorPil

from eyechart.datasets_scripts.common.errors import ModelError
from eyechart.evaluators.backends.local.backend import TransformersBackend, _image_token_id
from eyechart.evaluators.backends.local.rendering import Renderer, is_downscaled
from eyechart.evaluators.requests.types import IMAGE, Request
from tests.evaluators.backends import architectures
from tests.evaluators.backends.asked import picture

PREFILL = "The quality of the image is"


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


def ask(**options) -> Request:
    return Request("1", ("Rate ", IMAGE), (picture(0),), **options)


def tokens(rendering: Renderer, ids: list[int]) -> list[str]:
    return rendering._processor.tokenizer.convert_ids_to_tokens(ids)


def first_tokens(rendering: Renderer, **asked) -> list[str]:
    return tokens(rendering, list(rendering.first_tokens(ask(**asked)).values()))


@pytest.mark.parametrize("before", ["", "{{- bos_token -}}"], ids=["added", "written"])
def test_there_is_one_first_token_whoever_writes_it(before):
    rendering = renderer(before=before)
    (prompt,) = rendering.prompts(ask(), [picture(0)], ("key",), [16])
    names = tokens(rendering, prompt.ids)
    assert names[0] == "<s>" and names.count("<s>") == 1
    assert names[prompt.begins[0] : prompt.ends[0]] == ["<image>"] * 16
    assert names[-1].endswith(":")


@pytest.mark.parametrize("before", ["", "{{- bos_token -}}"], ids=["added", "written"])
def test_words_have_the_blank_that_they_have_in_context(before):
    rendering = renderer(before=before)
    assert first_tokens(rendering, prefill=PREFILL, words=("good", "poor")) == ["▁good", "▁poor"]
    # Behind a line break there is none, and here words are several tokens then.
    assert first_tokens(rendering, prefill=f"{PREFILL}\n", words=("good", "noise")) == ["goo", "no"]
    assert first_tokens(rendering, words=("good", "poor")) == ["▁good", "▁poor"]


def test_optional_words_without_a_first_token_of_their_own_are_left_out():
    rendering = renderer()
    asked = ask(prefill=PREFILL, words=("good", "poor"), optional_words=("noise", "goods", "goods?"))
    expected = rendering.first_tokens(ask(prefill=PREFILL, words=("good", "poor", "noise")))
    assert rendering.first_tokens(asked) == expected


@pytest.mark.parametrize(("after", "words", "named"), [("{{- ' ' -}}", "good poor", "good"), ("", "good bad", "bad")])
def test_a_word_that_melts_into_a_blank_or_that_the_tokenizer_drops_is_refused_and_named(after, words, named):
    rendering = renderer(after=after)
    rendering._processor.tokenizer.backend_tokenizer.normalizer = normalizers.Replace(Regex(" ?bad"), "")
    message = f"tokens of '{named}' cannot be separated from those of the text before it"
    with pytest.raises(ModelError, match=message):
        rendering.first_tokens(ask(words=tuple(words.split())))
    with pytest.raises(ModelError, match=message):
        rendering.prompts(ask(continuations=(named,)), [picture(0)], ("key",), [16])


def test_a_model_may_have_no_token_for_images():
    rendering = renderer()
    rendering._image_token_id = _image_token_id(SimpleNamespace())
    rendering.check_template()
    (prompt,) = rendering.prompts(ask(), [picture(0)], ("key",), [0])
    assert len(prompt.ids) > 16 and not prompt.is_placed


def test_the_tokens_of_an_image_are_counted():
    for size in (15, 17):
        with pytest.raises(ValueError, match=f"16 image tokens, but its images need {size}"):
            renderer().prompts(ask(), [picture(0)], ("key",), [size])


def test_continuations_are_scored_by_their_own_tokens():
    rendering = renderer(before="{{- bos_token -}}")
    asked = ask(prefill=PREFILL, continuations=("good", "poor, fair"))
    first, second = rendering.prompts(asked, [picture(0)], ("key",), [16])
    assert tokens(rendering, first.ids[-first.scored :]) == ["▁good"]
    assert "".join(tokens(rendering, second.ids[-second.scored :])) == "▁poor,▁fair"
    assert first.ids[: -first.scored] == second.ids[: -second.scored]


def test_a_text_of_no_tokens_is_refused():
    with pytest.raises(ValueError, match="request '1' has max_new_tokens=0"):
        ask(max_new_tokens=0)
    assert ask(max_new_tokens=0, words=("good", "poor")).words


@pytest.mark.parametrize(
    ("name", "fits", "reduced"),
    [
        # Squares of 32 pixels.
        ("llava", (32, 40), (33, 40)),
        *(("gemma3", (32, 32), (32, 33)), ("gemma3", (31, 31), (33, 32))),
        # Grids of tiles, of which one is chosen by the image's shape.
        *(("llava_next", (64, 64), (64, 65)), ("llava_next", (60, 64), (65, 64))),
        # Tiles of 32 pixels, of an image that is made 64 pixels long.
        ("idefics3", (64, 20), (65, 20)),
        # As many tokens as pixels allow, here 64 by 64.
        *(("qwen2_vl", (64, 64), (80, 80)), ("qwen2_vl", (24, 24), (80, 80))),
    ],
)
def test_reduced_images_are_counted(name, fits, reduced):
    backend = TransformersBackend(*architectures.build(name), name=name, batch_size=4)
    sizes = {"fits": (fits,), "reduced": (reduced,), "both": (fits, reduced), "twice": (reduced, reduced)}
    asked = [
        Request(id, (IMAGE,) * len(shown), tuple(Image.new("RGB", size) for size in shown), max_new_tokens=1)
        for id, shown in sizes.items()
    ]
    counts = {response.request.id: response.images_downscaled for response in backend.answer(asked)}
    assert counts == {"fits": 0, "reduced": 1, "both": 1, "twice": 2}


SHORTER = {"do_resize": True, "size": {"shortest_edge": 32}}
TILES = {"do_image_splitting": False, "size": {"longest_edge": 64}, "max_image_size": {"longest_edge": 32}}
ONE = (1, 3, 32, 32)


@pytest.mark.parametrize(
    ("settings", "pixels", "reduced"),
    [
        *((SHORTER, ONE, True), ({**SHORTER, "do_resize": False}, ONE, False)),
        # The pixels are those of no or two images, of a part, of tiles, or missing.
        *((SHORTER, shape, None) for shape in ((0, *ONE[1:]), (2, *ONE[1:]), ONE[1:], (1, *ONE), None)),
        # A size that does not show how large the image becomes.
        *(({**SHORTER, "size": {name: 32}}, ONE, None) for name in ("longest_edge", "height", "width")),
        ({**SHORTER, "size": {"shortest_edge": 32, "longest_edge": 64}}, ONE, None),
        *((TILES, None, True), ({**TILES, "do_image_splitting": True}, None, False)),
        ({**SHORTER, "do_image_splitting": True}, ONE, True),
    ],
)
def test_a_reduced_image_is_seen_by_settings_and_pixels(settings, pixels, reduced):
    inputs = {} if pixels is None else {"pixel_values": torch.zeros(pixels)}
    image_processor = SimpleNamespace(to_dict=lambda: settings)
    assert is_downscaled(Image.new("RGB", (33, 40)), inputs, image_processor) is reduced
