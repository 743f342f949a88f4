"""Prompts, words and continuations on tokenizers that write a blank at the beginning of a word, as Llama's does."""

from dataclasses import dataclass
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import LlavaProcessor, PreTrainedTokenizerFast
from transformers.models.llava.image_processing_pil_llava import LlavaImageProcessorPil

from eyechart.evaluators.backends.local.backend import TransformersBackend, _image_token_id
from eyechart.evaluators.backends.local.engine import Node, shared_prefixes
from eyechart.evaluators.backends.local.image_groups import Preparer, PromptRenderer
from eyechart.evaluators.backends.local.rendering import ImageInputs, RenderedPrompt, Renderer
from eyechart.evaluators.requests.errors import ModelError
from eyechart.evaluators.requests.types import IMAGE, Request
from tests.evaluators.backends import architectures
from tests.evaluators.backends.architectures import picture

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


@pytest.mark.parametrize(
    ("name", "fits", "reduced"),
    [
        # Squares of 32 pixels.
        *(("llava", (32, 40), (33, 40)), ("gemma3", (32, 32), (32, 33))),
        # Grids of tiles, of which one is chosen by the image's shape.
        ("llava_next", (64, 64), (64, 65)),
        # Tiles of 32 pixels, of an image that is made 64 pixels long.
        ("idefics3", (64, 20), (65, 20)),
        # As many tokens as pixels allow, here 64 by 64.
        ("qwen2_vl", (64, 64), (80, 80)),
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


IMAGE_TOKEN = 0
SIZE = 40


def prompt(*parts: str | list[int], request: Request | None = None, scored: int = 0) -> RenderedPrompt:
    """A sequence of images, which are given by a letter, and text tokens."""
    ids: list[int] = []
    images, begins, ends = [], [], []
    for part in parts:
        if isinstance(part, str):
            images.append(part)
            begins.append(len(ids))
            ids += [IMAGE_TOKEN] * SIZE
            ends.append(len(ids))
        else:
            ids += part
    asked = request or Request("", (), ())
    return RenderedPrompt(asked, "", "", ids, None, tuple(images), tuple(begins), tuple(ends), scored)


def root(children: list[Node], leaves: list[int]) -> Node:
    return Node(leaves=leaves, children=children)


LONG = list(range(100, 150))


@pytest.mark.parametrize(
    ("prompts", "expected"),
    [
        ([], root([], [])),
        ([prompt("a", [1])], root([], [0])),
        # Rotations of a question: image and question once.
        ([prompt("a", [1, 2, 3]), prompt("a", [1, 2, 4])], root([Node(0, 0, SIZE + 2, [0, 1])], [])),
        # Another image, or another text before it, shares nothing.
        ([prompt("a", [1, 2]), prompt("b", [1, 2])], root([], [0, 1])),
        ([prompt([7], "a", [1]), prompt([8], "a", [1])], root([], [0, 1])),
        # Equal sequences keep the token that tells what comes next.
        ([prompt("a", [1, 2]), prompt("a", [1, 2])], root([Node(0, 0, SIZE + 1, [0, 1])], [])),
        # Pairs that begin with one image share it, and not the first tokens of others.
        ([prompt("a", [1], "b", [2]), prompt("a", [1], "c", [2])], root([Node(0, 0, SIZE + 1, [0, 1])], [])),
        # Some of the pairs share both images.
        (
            [prompt("a", "b", [1]), prompt("a", "c", [1]), prompt("a", "b", [2])],
            root([Node(0, 0, SIZE, [1], [Node(0, SIZE, 2 * SIZE, [0, 2])])], []),
        ),
        # All of them do.
        ([prompt("a", "b", [1]), prompt("a", "b", [2])], root([Node(0, 0, 2 * SIZE, [0, 1])], [])),
        # Few tokens of a longer prefix do not pay for a pass of their own.
        ([prompt("a", "b", [1]), prompt("a", [1])], root([Node(0, 0, SIZE, [0, 1])], [])),
        # An image at the very end cannot be cut, and without text before it nothing is left to share.
        ([prompt("a"), prompt("a")], root([], [0, 1])),
        ([prompt(LONG[:31], "a"), prompt(LONG[:31], "a")], root([], [0, 1])),
        ([prompt(LONG[:32], "a"), prompt(LONG[:32], "a")], root([Node(0, 0, 32, [0, 1])], [])),
    ],
)
def test_what_is_shared(prompts, expected):
    assert shared_prefixes(prompts) == expected


def test_continuations_of_a_prompt_share_it_with_and_without_an_image():
    first, second = (Request(name, (), (), continuations=("x", "y")) for name in "12")
    pairs = [(request, last) for request in (first, second) for last in (1, 2)]
    prompts = [prompt(LONG, [last], request=request, scored=1) for request, last in pairs]
    assert shared_prefixes(prompts) == root([Node(0, 0, 49, [0, 1]), Node(2, 0, 49, [2, 3])], [])
    prompts = [prompt("a", [int(request.id), *LONG], [last], request=request, scored=1) for request, last in pairs]
    # Few tokens pay for a pass only where several share them.
    short = [prompt(LONG[:17], [last], request=first, scored=1) for last in (1, 2, 3)]
    assert shared_prefixes(short) == root([Node(0, 0, 16, [0, 1, 2])], [])
    assert shared_prefixes(short[:2]) == root([], [0, 1])
    questions = [Node(0, SIZE, 90, [0, 1]), Node(2, SIZE, 90, [2, 3])]
    assert shared_prefixes(prompts) == root([Node(0, 0, SIZE, [], questions)], [])


TEXT = st.lists(st.integers(1, 3), max_size=3)
IMAGES = st.lists(st.tuples(st.sampled_from("ab"), TEXT), max_size=3)
PROMPTS = st.lists(st.tuples(TEXT, IMAGES, st.lists(st.integers(1, 3), min_size=1)))


@given(PROMPTS)
def test_every_sequence_is_run_once_and_on_its_own_tokens(drawn):
    prompts = [prompt(before, *(part for image in images for part in image), last) for before, images, last in drawn]
    tree = shared_prefixes(prompts)

    def check(node: Node, before: int, prefix: list[int]) -> None:
        assert node.start == before and node.end >= before
        prefix = prefix + prompts[node.first].ids[node.start : node.end]
        for index in node.sequences():
            sequence = prompts[index]
            assert sequence.ids[: len(prefix)] == prefix and node.end <= len(sequence.ids) - sequence.needed_logits
            inside = [key for key, end in zip(sequence.images, sequence.ends, strict=True) if end <= node.end]
            assert inside == list(prompts[node.first].images[: len(inside)])
            assert not any(begin < node.end < end for begin, end in zip(sequence.begins, sequence.ends, strict=True))
        for child in node.children:
            check(child, node.end, prefix)

    if prompts:
        check(tree, 0, [])
    assert sorted(tree.sequences()) == list(range(len(prompts)))


@dataclass
class Renderer_of_image_groups(PromptRenderer):
    """Renders every image to this number of pixels, of four bytes each."""

    pixels: int

    def image(self, image):
        return ImageInputs({"pixel_values": torch.zeros(1).expand(self.pixels)}, 4, False)

    def prompts(self, request, images, keys, sizes):
        return [RenderedPrompt(request, "", "", [1], None, keys, (0,), (1,))]


def test_windows_hold_so_many_sequences_and_end_early_when_their_pixels_fill_the_memory(make_picture):
    def sizes(count, least, pixels):
        images = [make_picture(number) if number % 4 else b"" for number in range(count)]
        requests = [Request(str(number), (IMAGE, "?"), (image,)) for number, image in enumerate(images)]
        windows = Preparer(lambda: Renderer_of_image_groups(pixels), workers=2).windows(requests, least)
        return [(len(window.prompts), len(window.failed)) for window in windows]

    assert sizes(10, 4, 1) == [(3, 1), (3, 1), (1, 1)]
    assert sizes(6, 100, 2**27) == [(3, 1), (1, 1)]
