"""The training data of the tiny model: all images, and batches of tokenized conversations about them."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from torch.utils.data import Dataset

from eyechart.evaluators.requests.types import IMAGE
from tests.tiny_vlm import corpus
from tests.tiny_vlm.architecture import IMAGE_TOKENS

if TYPE_CHECKING:
    from transformers import LlavaProcessor, PreTrainedTokenizerFast

SCENES, SAMPLES_PER_SCENE = 12_000, 4
ABILITY_SAMPLES, PAIRS = 24_000, 24_000
BATCH, BATCHES_AT_ONCE = 64, 4
PAIR_SHARE, ABILITY_SHARE, QUESTION_SHARE = 0.3, 0.3, 0.6
"""Shares of pairs among all conversations, of abilities among those about one image, and of questions among those about
a pair; the other conversations about pairs are 2AFC."""
EARLY_SHARE = 0.25
IGNORED = -100


@dataclass(frozen=True)
class Example:
    """One conversation as numbers."""

    images: list[int]
    """Indices of its images."""
    prompt: list[int]
    """Tokens of the prompt, which is given."""
    reply: list[int]
    """Tokens of the reply, which is learnt."""
    answer: int
    """A token that distinguishes the correct option from the others, if the reply is its letter; else `IGNORED`."""


@dataclass(frozen=True)
class Lessons:
    """The images that the conversations are about."""

    distorted: list[corpus.Sample]
    abilities: list[corpus.Sample]
    pairs: list[corpus.Pair]

    @property
    def samples(self) -> list[corpus.Sample]:
        """All images: distorted ones, those of abilities, then two of each pair."""
        return [*self.distorted, *self.abilities, *(sample for pair in self.pairs for sample in pair.samples)]


def draw_lessons(scale: float = 1.0) -> Lessons:
    """Draw all images, in as many processes as there are cores."""
    with ProcessPoolExecutor() as pool:
        scenes, abilities, pairs = (max(64, int(count * scale)) for count in (SCENES, ABILITY_SAMPLES, PAIRS))
        distorted = pool.map(
            partial(corpus.draw_samples, corpus.TRAINING_SEED, count=SAMPLES_PER_SCENE), range(scenes), chunksize=64
        )
        on_abilities = pool.map(
            partial(corpus.draw_ability_sample, corpus.TRAINING_SEED), range(abilities), chunksize=64
        )
        in_pairs = pool.map(partial(corpus.draw_pair, corpus.TRAINING_SEED), range(pairs), chunksize=64)
        return Lessons([sample for group in distorted for sample in group], list(on_abilities), list(in_pairs))


def corpus_texts(lessons: Lessons, count: int) -> Iterator[str]:
    """Conversations as text, for the tokenizer."""
    rng = np.random.default_rng([corpus.TRAINING_SEED, 1])
    for _ in range(count):
        talk, _ = _converse(lessons, rng, early=False)
        text = "".join("\n" if part is IMAGE else str(part) for part in talk.prompt)
        yield f"USER: {text}\nASSISTANT:{' ' * bool(talk.prefill)}{talk.prefill}{talk.reply}"


class Batches(Dataset[list[list[Example]]]):
    """The training batches, `BATCHES_AT_ONCE` per item; each item has its own random state in any process."""

    def __init__(self, lessons: Lessons, processor: "LlavaProcessor", steps: int) -> None:
        """Plan `steps` batches, rounded up to full items; the first `EARLY_SHARE` of them are early ones."""
        self.lessons, self.processor = lessons, processor
        self.items = -(-steps // BATCHES_AT_ONCE)

    def __len__(self) -> int:
        """The number of items."""
        return self.items

    def __getitem__(self, item: int) -> list[list[Example]]:
        """Batches in random order, each of examples of similar length, to reduce padding."""
        rng = np.random.default_rng([corpus.TRAINING_SEED, 3, item])
        early = item < EARLY_SHARE * self.items
        talks = [_converse(self.lessons, rng, early=early) for _ in range(BATCH * BATCHES_AT_ONCE)]
        examples = [tokenize(talk, images, self.processor) for talk, images in talks]
        examples.sort(key=lambda example: len(example.prompt) + len(example.reply))
        return [examples[BATCH * i : BATCH * (i + 1)] for i in rng.permutation(BATCHES_AT_ONCE)]


def tokenize(talk: corpus.Conversation, images: list[int], processor: "LlavaProcessor") -> Example:
    """A conversation as numbers, its prompt as the chat template renders it."""
    content = [{"type": "image"} if part is IMAGE else {"type": "text", "text": part} for part in talk.prompt]
    messages: list[dict[str, object]] = [{"role": "user", "content": content}]
    if talk.prefill:
        messages.append({"role": "assistant", "content": talk.prefill})
    tokenizer = processor.tokenizer
    prompt = tokenizer.apply_chat_template(
        messages, chat_template=processor.chat_template, add_generation_prompt=True, tokenize=False
    )
    prompt = prompt.replace("<image>", "<image>" * IMAGE_TOKENS)
    return Example(
        images=images,
        prompt=tokenizer.encode(prompt, add_special_tokens=False),
        reply=tokenizer.encode(f"{talk.reply}</s>", add_special_tokens=False),
        answer=_distinguishing_token(talk, tokenizer) if talk.answer else IGNORED,
    )


def _converse(lessons: Lessons, rng: np.random.Generator, *, early: bool) -> tuple[corpus.Conversation, list[int]]:
    """A conversation, and the indices of its images in `Lessons.samples`."""
    distorted, on_abilities = len(lessons.distorted), len(lessons.abilities)
    if rng.random() >= PAIR_SHARE:
        if rng.random() < ABILITY_SHARE:
            place = int(rng.integers(on_abilities))
            talk, images = corpus.converse_on_ability(lessons.abilities[place], rng, early=early), [distorted + place]
        else:
            place = int(rng.integers(distorted))
            talk, images = corpus.converse(lessons.distorted[place], rng, early=early), [place]
        return talk, images * talk.prompt.count(IMAGE)
    if rng.random() < QUESTION_SHARE:
        place = int(rng.integers(len(lessons.pairs)))
        talk = corpus.converse_on_pair(lessons.pairs[place], rng, early=early)
        first = distorted + on_abilities + 2 * place
        return talk, [first, first + 1] if IMAGE in talk.prompt else []
    one = other = int(rng.integers(distorted))
    while lessons.distorted[other].level == lessons.distorted[one].level:
        other = int(rng.integers(distorted))
    return corpus.compare(lessons.distorted[one], lessons.distorted[other], rng), [one, other]


def _distinguishing_token(talk: corpus.Conversation, tokenizer: "PreTrainedTokenizerFast") -> int:
    """The first token of the correct option that is in none of the others."""
    right, *wrong = (tokenizer.encode(f" {text}", add_special_tokens=False) for text in (talk.answer, *talk.wrong))
    elsewhere = {token for tokens in wrong for token in tokens}
    return next((token for token in right if token not in elsewhere), right[0])
