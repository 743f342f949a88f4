"""What the tiny model is taught: conversations about procedural scenes, in the wording of the five protocols.

Open questions with a short answer come first, together with lettered ones whose answer stands in the text; lettered
questions about what is seen follow. Without the open ones a model of this size does not learn what a letter stands for.
"""

from dataclasses import dataclass, replace
from string import ascii_uppercase

import numpy as np
from PIL import Image

from eyechart.datasets_scripts.mini.distortions import DISTORTION_TYPES, LEVELS, distort
from eyechart.datasets_scripts.mini.questions import (
    CONCERNS,
    DISTORTION_OPTIONS,
    QUESTION_TYPES,
    Question,
    ask,
    quality,
    severity,
)
from eyechart.datasets_scripts.mini.scenes import Scene, draw_scene
from eyechart.evaluators.requests.types import IMAGE, Prompt
from eyechart.evaluators.tasks import aes_bench
from eyechart.evaluators.tasks.q_bench import ASSESSMENT, perception_prompt
from eyechart.evaluators.tasks.toolkit_prompts import vlmevalkit_prompt
from eyechart.evaluators.tasks.two_afc import paper_prompt, released_prompt
from eyechart.evaluators.tiny_vlm import IMAGE_SIZE

TRAINING_SEED = 10_000_000
HELD_OUT_SEED = 20_000_000


@dataclass(frozen=True)
class Sample:
    """One distorted scene."""

    scene: Scene
    image: Image.Image
    distortion_type: str
    level: int


@dataclass(frozen=True)
class Conversation:
    """One training example."""

    prompt: Prompt
    prefill: str
    """How the reply begins, given and not learnt; "" for none."""
    reply: str
    """What is learnt, with its leading blank."""
    answer: str = ""
    """The right option's text, where the reply is its letter; "" elsewhere."""


def draw_samples(seed: int, index: int, count: int = 1) -> list[Sample]:
    """One scene under `count` distortions. Equal arguments give equal samples; different seeds never share a scene."""
    rng = np.random.default_rng([seed, index])
    scene = draw_scene(rng, IMAGE_SIZE)
    samples = []
    for _ in range(count):
        kind, level = DISTORTION_TYPES[rng.integers(len(DISTORTION_TYPES))], int(rng.choice(LEVELS))
        samples.append(Sample(scene, distort(scene.image, kind, level, rng), kind, level))
    return samples


def converse(sample: Sample, rng: np.random.Generator, *, early: bool = False) -> Conversation:
    """A conversation about one image: a question, a rating or a description.

    Args:
        sample: The image and its facts.
        rng: Chooses kind and wording.
        early: In the first part of training, options are only asked for where the text gives the answer away: what an
            option letter stands for is learnt apart from seeing, and then meets it.
    """
    kinds = (_multiple_choice, _matching, _open_question, _rating, _description)
    shares = (0.0, 0.40, 0.42, 0.13, 0.05) if early else (0.46, 0.05, 0.28, 0.16, 0.05)
    return kinds[int(rng.choice(len(kinds), p=shares))](sample, rng)


def compare(first: Sample, second: Sample, rng: np.random.Generator) -> Conversation:
    """A conversation about two images of different level: which is better, asked in the wording of 2AFC or Q-Bench2."""
    first_better = first.level < second.level
    if rng.random() < 0.6:
        if rng.random() < 0.7:
            return Conversation(released_prompt({}), "", " A" if first_better else " B")
        return Conversation(paper_prompt({}), "", " The first image." if first_better else " The second image.")
    question = "Compared to the first image, how is the quality of the second image?"
    answer = "Worse" if first_better else "Better"
    if rng.random() < 0.5:
        return Conversation((IMAGE, IMAGE, f"\n{question}"), "", f" {answer}")
    options = ["Better", "Similar", "Worse"]
    order = [options[i] for i in rng.permutation(3)]
    asked = Question(question, tuple(order), answer, "how", "distortion")
    return _choice_prompt(asked, (IMAGE, IMAGE), rng)


def _question(sample: Sample, rng: np.random.Generator) -> Question:
    # Distortions are what the benchmarks ask for most, and the hardest.
    kind = QUESTION_TYPES[int(rng.choice(3, p=[0.3, 0.4, 0.3]))]
    concern = CONCERNS[int(rng.choice(4, p=[0.4, 0.2, 0.2, 0.2]))]
    return ask(sample.scene, sample.distortion_type, sample.level, rng, question_type=kind, concern=concern)


def _multiple_choice(sample: Sample, rng: np.random.Generator) -> Conversation:
    return _choice_prompt(_question(sample, rng), (IMAGE,), rng)


def _choice_prompt(question: Question, images: Prompt, rng: np.random.Generator) -> Conversation:
    """The wordings of Q-Bench, MMBench and AesBench; now and then with a refusal option (QL-Bench)."""
    options = list(question.options)
    if rng.random() < 0.08:
        options.append("I don't know")
    reply = f" {ascii_uppercase[options.index(question.answer)]}"
    style = rng.random()
    if style < 0.8:
        ask_first, *_, choose = perception_prompt({"question": question.question, "options": options, "images": images})
        suffix = "\n#Answer:" if rng.random() < 0.1 else ""
        if len(images) > 1 or rng.random() < 0.3:
            return Conversation((*images, f"\n{question.question}{choose}{suffix}"), "", reply, question.answer)
        return Conversation((ask_first, *images, f"{choose}{suffix}"), "", reply, question.answer)
    row = {"question": question.question, "options": options}
    if style < 0.9:
        return Conversation((*images, vlmevalkit_prompt(row)[1]), "", reply, question.answer)
    return Conversation((aes_bench.choice_prompt(row)[0], *images), "", reply, question.answer)


def _matching(sample: Sample, rng: np.random.Generator) -> Conversation:
    """A question whose answer stands in the text, without an image: only the letter is to be found."""
    question = _question(sample, rng)
    stated = replace(question, question=f"{question.question} {question.answer}.")
    return _choice_prompt(stated, (), rng)


def _open_question(sample: Sample, rng: np.random.Generator) -> Conversation:
    question = _question(sample, rng)
    if rng.random() < 0.2:
        return Conversation((question.question + "\n", IMAGE), "#Answer:", f" {question.answer}")
    if rng.random() < 0.5:
        return Conversation((question.question + "\n", IMAGE), "", f" {question.answer}")
    return Conversation((IMAGE, f"\n{question.question}"), "", f" {question.answer}")


def _rating(sample: Sample, rng: np.random.Generator) -> Conversation:
    """A word whose odds follow the level, so that the two logits order the levels; or a number from 1 to 5."""
    if rng.random() < 0.15:
        text = "Score the quality of the image from 1 to 5, with 1 as lowest and 5 as highest."
        return Conversation((text + "\n", IMAGE), "", f" {6 - sample.level}")
    good = rng.random() < (0.95, 0.75, 0.5, 0.25, 0.05)[sample.level - 1]
    words = ("good", "fine", "high") if good else ("poor", "bad", "low")
    word = words[int(rng.choice(3, p=[0.7, 0.15, 0.15]))]
    protocol = ASSESSMENT.protocol
    prompt = protocol.prompt_of({})
    if rng.random() < 0.3:
        prompt = (IMAGE, "\nRate the quality of the image.")
    if rng.random() < 0.8:
        return Conversation(prompt, protocol.prefill, f" {word}")
    return Conversation(prompt, "", f" {word.capitalize()}")


def _description(sample: Sample, rng: np.random.Generator) -> Conversation:
    scene = sample.scene
    distortion = DISTORTION_OPTIONS[sample.distortion_type].lower()
    reply = (
        f" The image shows a {scene.size} {scene.color} {scene.shape} on a {scene.background} background, with "
        f"{severity(sample.level).lower()} {distortion}, so its quality is {quality(sample.level).lower()}."
    )
    texts = (
        "Describe the quality, aesthetics and other low-level appearance of the image in details.",
        "Describe this image.",
    )
    text = texts[int(rng.random() < 0.3)]
    if rng.random() < 0.5:
        return Conversation((IMAGE, f"\n{text}"), "", reply)
    return Conversation((text + "\n", IMAGE), "", reply)
