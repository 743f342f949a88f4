"""Texts that are drawn at random: of the right distribution, and the same in every batch, order and way of running."""

import math
from collections import Counter
from dataclasses import FrozenInstanceError, replace
from types import SimpleNamespace

import pytest
import torch

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.backends.chat import ChatOptions, Sampling
from eyechart.evaluators.backends.local.backend import TransformersBackend
from eyechart.evaluators.backends.local.loading import LoadOptions, Origin
from eyechart.evaluators.backends.local.outputs import Job, TokenSampler, probabilities
from eyechart.evaluators.backends.local.reader import Chunk
from eyechart.evaluators.backends.local.rendering import ImageInputs, RenderedPrompt
from eyechart.evaluators.requests.types import IMAGE, Request
from tests.evaluators.backends import architectures
from tests.evaluators.backends.asked import answers, mixed_requests

LOGITS = torch.tensor([[math.log(share) for share in (0.1, 0.5, 0.15, 0.25)]])


def prompt(number, repeat=1):
    return SimpleNamespace(ids=[number], images=(), request=Request("", ("?",), (), repeat=repeat))


def backend(llava, sampling=None, batch_size=4, share=True):
    options = {"batch_size": batch_size, "share_prefixes": share, "origin": Origin(fingerprint="x")}
    return TransformersBackend(*llava, name="test", chat=ChatOptions(sampling=sampling), **options)


@pytest.fixture
def requests(make_picture):
    texts = ["What?", "What is the quality of the image? " * 3, "Rate " * 50]
    return [
        Request(str(i), (f"{texts[i % 3]}\n", IMAGE, " Answer."), (make_picture(i),), max_new_tokens=8)
        for i in range(6)
    ]


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        (Sampling(1.0), [0.1, 0.5, 0.15, 0.25]),
        # Square roots, and squares, of the probabilities.
        (Sampling(2.0), [share**0.5 / 1.9106356 for share in (0.1, 0.5, 0.15, 0.25)]),
        (Sampling(0.5), [share**2 / 0.345 for share in (0.1, 0.5, 0.15, 0.25)]),
        # 0.5 alone reaches 0.4; 0.5 and 0.25 reach 0.7; the third is needed from 0.75 on.
        (Sampling(1.0, 0.4), [0, 1, 0, 0]),
        (Sampling(1.0, 0.7), [0, 2 / 3, 0, 1 / 3]),
        (Sampling(1.0, 0.8), [0, 0.5 / 0.9, 0.15 / 0.9, 0.25 / 0.9]),
        (Sampling(1.0, 1e-9), [0, 1, 0, 0]),
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


def test_a_text_depends_on_its_question_the_repeat_and_the_seed_alone(llava, requests):
    sampling = Sampling(1.5, seed=3)
    texts = {key: response.text for key, response in answers(backend(llava, sampling), requests).items()}
    assert len(set(texts.values())) == len(requests)
    renamed = [replace(request, id=f"other {request.id}") for request in requests]
    for asked, batch_size in ((requests[::-1], 1), (requests[2:4], 4), (requests, 2), (renamed, 3)):
        again = answers(backend(llava, sampling, batch_size), asked)
        for (id, name), response in again.items():
            assert response.text == texts[id.removeprefix("other "), name]
    repeated = answers(backend(llava, sampling), [replace(request, repeat=2) for request in requests])
    reseeded = answers(backend(llava, replace(sampling, seed=4)), requests)
    for other in (repeated, reseeded):
        assert sum(other[key].text != text for key, text in texts.items()) >= 5


@pytest.mark.parametrize("name", ["llava", "qwen2_vl"])
def test_shared_and_whole_runs_draw_the_same_texts_and_logits_are_never_drawn(name):
    model = architectures.build(name)
    asked = mixed_requests()
    greedy = answers(backend(model), asked)
    sampling = Sampling(1.2, 0.95, seed=1)
    shared, plain = (answers(backend(model, sampling, 8, share), asked) for share in (True, False))
    texts = [key for key, response in greedy.items() if response.text is not None]
    assert [shared[key].text for key in texts] == [plain[key].text for key in texts]
    assert sum(shared[key].text != greedy[key].text for key in texts) > len(texts) / 2
    for key, response in greedy.items():
        if response.logits:
            assert shared[key].logits == pytest.approx(response.logits, abs=1e-4)
        if response.losses:
            totals = [loss.total for loss in response.losses]
            assert [loss.total for loss in shared[key].losses] == pytest.approx(totals)


@pytest.mark.parametrize("kind", [Sampling, ChatOptions, LoadOptions, Job, Chunk, RenderedPrompt, ImageInputs])
def test_what_threads_share_cannot_be_changed(kind):
    with pytest.raises(FrozenInstanceError):
        kind.__new__(kind).seed = 1


def test_sampling_is_part_of_settings_and_key_only_where_it_is_set(llava):
    greedy, drawn = backend(llava), backend(llava, Sampling(0.7))
    assert "sampling" not in greedy.settings() and greedy.settings()["decoding"] == "greedy"
    assert "sampling" not in greedy.identity() and not greedy.samples
    assert drawn.settings()["decoding"] == "sampling" and drawn.samples
    assert drawn.identity()["sampling"] == {"temperature": 0.7, "top_p": 1.0, "seed": 0}
    assert drawn.settings()["sampling"] == drawn.identity()["sampling"]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ((0.0,), "temperature=0.0 is not allowed; to sample replies it must be above 0"),
        *(((-1.0,), "temperature=-1.0"), ((math.inf,), "temperature=inf"), ((math.nan,), "temperature=nan")),
        ((1.0, 0.0), "top_p=0.0 is not allowed; it must be above 0 and at most 1"),
        *(((1.0, 1.1), "top_p=1.1"), ((1.0, math.nan), "top_p=nan"), ((1.0, 1.0, -1), "sampling_seed=-1")),
    ],
)
def test_values_that_cannot_be_are_refused(values, said):
    with pytest.raises(UsageError, match=said):
        Sampling(*values)
