"""Every way of running requests gives the answers of running each alone, on real architectures."""

import functools
import threading
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from transformers import DynamicCache

from eyechart.evaluators.backends.local import engine, packed
from eyechart.evaluators.backends.local.backend import TransformersBackend
from eyechart.evaluators.backends.local.engine import Node, shared_prefixes
from eyechart.evaluators.backends.local.reader import ImageFeatures, _smallest_window
from eyechart.evaluators.backends.local.rendering import RenderedPrompt
from eyechart.evaluators.requests.types import IMAGE, Answer, Request
from tests.evaluators.backends import architectures
from tests.evaluators.backends.architectures import answers, mixed_requests, picture


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
def test_all_ways_agree(name, requests, each_alone, monkeypatch):
    """One at a time, in batches, and, with packed weights, sharing prefixes."""
    model, processor = architectures.build(name)
    alone = each_alone(name)
    assert not [response.error for response in alone.values() if response.error]
    replies = {key: text for key, text in texts(alone).items() if text is not None}
    assert len(set(replies.values())) > len(replies) / 4, "the answers must differ for the comparison to mean something"
    monkeypatch.setattr(packed, "_LEAST", 1)
    for batch_size, share in ((8, False), (16, True)):
        if share:
            before = model.num_parameters()
            packed.pack(model)
            assert model.num_parameters() == before
            assert sum(type(layer) is packed.PackedLinear for layer in model.modules()) > 10
        backend = TransformersBackend(model, processor, name=name, batch_size=batch_size, share_prefixes=share)
        assert_equal(answers(backend, requests), alone)
        assert backend.settings()["prefix_sharing"] == ("on" if share else "off: switched off")


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
    requests = requests[:8]
    model, processor = architectures.build("llava")
    backend = TransformersBackend(model, processor, name="llava", batch_size=8)
    inner = model.model.language_model.forward

    def small(*arguments, inputs_embeds=None, **options):
        if len(inputs_embeds) > 2:
            raise RuntimeError("CUDA out of memory. Tried to allocate 1 GiB")
        return inner(*arguments, inputs_embeds=inputs_embeds, **options)

    monkeypatch.setattr(model.model.language_model, "forward", small)
    responses = answers(backend, requests)
    assert backend.settings()["batch_size"] == 2
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
    pair = Request("pair losses", (IMAGE, IMAGE), (picture(0), picture(1)), continuations=("a",))
    asked = [*mixed_requests()[8:], pair]
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
def test_equal_beginnings_are_shared(prompts, expected):
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
