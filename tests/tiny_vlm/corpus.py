"""The training conversations of the tiny model: about procedural scenes, with the prompts of the five protocols.

Open questions with a short answer come first, together with multiple choice whose answer is in the text. Multiple
choice about the image follows. Without the open questions, a model of this size does not learn what a letter means.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from string import ascii_uppercase
from typing import Any

import numpy as np
from PIL import Image

from eyechart.datasets_scripts.mini.mmbench import FACTS, NONE_OF_THESE, QUESTIONS, TREATMENTS, draw_picture, shown
from eyechart.datasets_scripts.mini.q_bench import released_options
from eyechart.datasets_scripts.mini.questions import (
    AESTHETIC_TYPES,
    CONCERNS,
    DISTORTION_OPTIONS,
    PAIR_CONCERNS,
    QUALITY,
    QUESTION_TYPES,
    SEVERITY,
    Question,
    ask,
    ask_assessment,
    ask_empathy,
    ask_pair,
    interpretation_question,
)
from eyechart.datasets_scripts.mini.scenes import DISTORTION_TYPES, LEVELS, Look, draw_scene
from eyechart.evaluators.requests.types import IMAGE, Prompt
from eyechart.evaluators.tasks import aes_bench, mmbench
from eyechart.evaluators.tasks.prompts import vlmevalkit_prompt
from eyechart.evaluators.tasks.q_bench import ASSESSMENT, perception_prompt
from eyechart.evaluators.tasks.two_afc import paper_prompt, released_prompt
from tests.tiny_vlm.architecture import IMAGE_SIZE

ENGLISH_SHARE = 0.65
"""Share of English among the questions of MMBench's synthetic demo data; the others are in Chinese."""
TRAINING_SEED = 10_000_000
HELD_OUT_SEED = 20_000_000

_TREATED = [(fact, value) for fact, values in TREATMENTS.items() for value, treatment in values.items() if treatment]
_PLAIN_SHARE, _TREATED_SHARE = 0.65, 0.25  # the rest shows a digit


@dataclass(frozen=True, kw_only=True)
class Sample(Look):
    """One picture of a scene."""

    image: Image.Image
    digit: str = ""
    """The digit in the picture; "" for none."""


@dataclass(frozen=True)
class Pair:
    """Two pictures and a question about them, as Q-Bench2 asks it."""

    samples: tuple[Sample, Sample]
    asked: Question


def draw_samples(seed: int, index: int, count: int = 1) -> list[Sample]:
    """One scene under `count` distortions. Equal arguments give equal samples; different seeds never share a scene."""
    rng = np.random.default_rng([seed, index])
    scene = draw_scene(rng, IMAGE_SIZE)
    samples = []
    for _ in range(count):
        kind, level = DISTORTION_TYPES[rng.integers(len(DISTORTION_TYPES))], int(rng.choice(LEVELS))
        samples.append(_drawn(Look(scene, kind, level), rng))
    return samples


def draw_ability_sample(seed: int, index: int) -> Sample:
    """A picture as in MMBench's synthetic demo data: a pristine scene, a treated scene, or a scene with a digit."""
    rng = np.random.default_rng([seed, index, 1])
    scene = draw_scene(rng, IMAGE_SIZE)
    turn = rng.random()
    if turn < _PLAIN_SHARE:
        return Sample(scene, image=scene.image)
    if turn < _PLAIN_SHARE + _TREATED_SHARE:
        fact, value = _TREATED[rng.integers(len(_TREATED))]
        kind, level = TREATMENTS[fact][value] or ("", 0)
        return Sample(scene, kind, level, image=draw_picture(fact, value, scene, rng))
    digit = str(rng.choice(FACTS["digit"]))
    return Sample(scene, image=draw_picture("digit", digit, scene, rng), digit=digit)


def draw_pair(seed: int, index: int) -> Pair:
    """Two pictures and a question about them; question types and concerns alternate."""
    rng = np.random.default_rng([seed, index, 2])
    kind, concern = QUESTION_TYPES[index % 3], PAIR_CONCERNS[index // 3 % len(PAIR_CONCERNS)]
    looks, asked = ask_pair(rng, kind, concern)
    return Pair((_drawn(looks[0], rng), _drawn(looks[1], rng)), asked)


def _drawn(look: Look, rng: np.random.Generator) -> Sample:
    return Sample(look.scene, look.distortion_type, look.level, image=look.draw(rng))


def known_facts(sample: Sample) -> Mapping[str, str]:
    """What MMBench's demo data can ask about a picture: values by the names of `FACTS`."""
    if sample.level:
        treatment = sample.distortion_type, sample.level
        return {fact: value for fact, value in _TREATED if TREATMENTS[fact][value] == treatment}
    if sample.digit:
        return {"digit": sample.digit}
    untreated = {fact: value for fact, values in TREATMENTS.items() for value, how in values.items() if not how}
    by_itself = [fact for fact in FACTS if fact != "digit" and fact not in TREATMENTS]
    return {**untreated, **{fact: shown(fact, sample.scene) for fact in by_itself}}


@dataclass(frozen=True)
class Conversation:
    """One training example."""

    prompt: Prompt
    prefill: str
    """Beginning of the reply, which is given and not learnt; "" for none."""
    reply: str
    """The text that is learnt, with its leading space."""
    answer: str = ""
    """The text of the correct option if the reply is its letter; else ""."""
    wrong: tuple[str, ...] = ()
    """The texts of the other options if the reply is a letter."""


def converse(sample: Sample, rng: np.random.Generator, *, early: bool = False) -> Conversation:
    """A conversation about one distorted image: a question, a rating or a description.

    Args:
        sample: The image and its facts.
        rng: Chooses kind and prompt.
        early: Whether this is the first part of training, in which multiple choice has the answer in its text: the
            model learns what a letter stands for before it has to use the image.
    """
    kinds = (_multiple_choice, _aesthetics, _matching, _open_question, _rating, _description)
    shares = (0.0, 0.0, 0.40, 0.42, 0.13, 0.05) if early else (0.37, 0.14, 0.05, 0.23, 0.15, 0.06)
    return kinds[int(rng.choice(len(kinds), p=shares))](sample, rng)


def converse_on_ability(sample: Sample, rng: np.random.Generator, *, early: bool = False) -> Conversation:
    """A question of MMBench's demo data about a picture from `draw_ability_sample`; `early` as for `converse`."""
    row, answer = ask_ability(sample, rng)
    if rng.random() < (0.5 if early else 0.2):
        return Conversation(mmbench.open_prompt(row), "", f" {answer}")
    if early:
        stated = {**row, "question": f"{row['question']} {answer}."}
        return _lettered(vlmevalkit_prompt(stated)[1:], row["options"], answer)
    return _lettered(vlmevalkit_prompt(row), row["options"], answer)


def ask_ability(
    sample: Sample, rng: np.random.Generator, english_share: float = ENGLISH_SHARE
) -> tuple[dict[str, Any], str]:
    """Question, hint and options of MMBench's demo data for a picture, as in a row, and the correct option's text."""
    facts = known_facts(sample)
    names = [name for name, asked in QUESTIONS.items() if asked["fact"] in facts]
    # Questions about treatments also fit a pristine scene; they are asked less often, for balance.
    weights = np.array([0.4 if QUESTIONS[name]["fact"] in TREATMENTS else 1.0 for name in names])
    asked = QUESTIONS[names[int(rng.choice(len(names), p=weights / weights.sum()))]]
    language = "en" if rng.random() < english_share else "cn"
    values, texts = FACTS[asked["fact"]], asked[language]["options"]
    answer = texts[values.index(facts[asked["fact"]])]
    others = [option for option in texts if option != answer]
    count = min(int(rng.integers(2, 5)), len(values))
    shown = [answer, *(others[i] for i in rng.permutation(len(others))[: count - 1])]
    options = [shown[i] for i in rng.permutation(count)]
    if count == 3 and rng.random() < 0.15:
        options.append(NONE_OF_THESE[language])
    return {"hint": "", **asked[language], "options": options}, answer


def compare(first: Sample, second: Sample, rng: np.random.Generator) -> Conversation:
    """Which of two images with different levels is better, with the prompts of 2AFC."""
    first_better = first.level < second.level
    if rng.random() < 0.7:
        return Conversation(released_prompt({}), "", " A" if first_better else " B")
    return Conversation(paper_prompt({}), "", " The first image." if first_better else " The second image.")


def converse_on_pair(pair: Pair, rng: np.random.Generator, *, early: bool = False) -> Conversation:
    """The question that belongs to two images; without its options in half of the `early` ones and some of the rest."""
    asked = pair.asked
    if rng.random() < (0.6 if early else 0.15):
        return Conversation((f"{asked.question} ", IMAGE, IMAGE), "", f" {asked.answer}")
    if early:
        return _choice_prompt(_stated(asked), (), rng)
    return _choice_prompt(asked, (IMAGE, IMAGE), rng)


def _question(sample: Sample, rng: np.random.Generator) -> Question:
    # The benchmarks ask most often about distortions, which are also the hardest.
    kind = QUESTION_TYPES[int(rng.choice(3, p=[0.3, 0.4, 0.3]))]
    concern = CONCERNS[int(rng.choice(4, p=[0.4, 0.2, 0.2, 0.2]))]
    return ask(sample, rng, kind, concern)


def _multiple_choice(sample: Sample, rng: np.random.Generator) -> Conversation:
    return _choice_prompt(_question(sample, rng), (IMAGE,), rng)


def _choice_prompt(question: Question, images: Prompt, rng: np.random.Generator) -> Conversation:
    """The prompts of Q-Bench, MMBench and AesBench, sometimes with a refusal option (QL-Bench)."""
    options = list(question.options)
    if rng.random() < 0.08:
        options.append("I don't know")
    style = rng.random()
    if style < 0.8:
        row = {"question": question.question, "options": options}
        ask_first, _, choose = perception_prompt(row)
        suffix = "\n#Answer:" if rng.random() < 0.1 else ""
        if rng.random() < 0.2:
            prompt: Prompt = (*images, f"\n{question.question}{choose}{suffix}")
        else:
            prompt = (ask_first, *images, f"{choose}{suffix}")
    elif style < 0.9:
        prompt = (*images, vlmevalkit_prompt({"question": question.question, "options": options})[1])
    else:
        prompt = (aes_bench.choice_prompt({"question": question.question, "options": options})[0], *images)
    return _lettered(prompt, options, question.answer)


def _lettered(prompt: Prompt, options: list[str], answer: str) -> Conversation:
    right = options.index(answer)
    return Conversation(prompt, "", f" {ascii_uppercase[right]}", answer, tuple(options[:right] + options[right + 1 :]))


def _aesthetics(sample: Sample, rng: np.random.Generator) -> Conversation:
    """The four questions of AesBench, the options as the release writes them."""
    kind = AESTHETIC_TYPES[int(rng.integers(4))]
    turn = rng.random()
    if turn < 0.1:
        prompt = aes_bench.interpretation_prompt({"question": interpretation_question(sample.level)})
        return Conversation(prompt, "", _described(sample))
    make_prompt = aes_bench.choice_prompt
    if turn < 0.4:
        asked = ask_assessment(sample.level)
        make_prompt = aes_bench.assessment_prompt
    elif turn < 0.65:
        asked = ask_empathy(sample.scene, rng, kind)
    else:
        asked = ask(sample, rng, kind, CONCERNS[int(rng.integers(len(CONCERNS)))])
    options = [asked.options[i] for i in rng.permutation(len(asked.options))]
    row = {"question": asked.question, "options": options, "released_options": released_options(options)}
    prompt = make_prompt(row)
    return _lettered(prompt, options, asked.answer)


def _matching(sample: Sample, rng: np.random.Generator) -> Conversation:
    """A question without an image whose answer is in the text: the model only has to find the letter."""
    return _choice_prompt(_stated(_question(sample, rng)), (), rng)


def _stated(question: Question) -> Question:
    return replace(question, question=f"{question.question} {question.answer}.")


def _open_question(sample: Sample, rng: np.random.Generator) -> Conversation:
    question = _question(sample, rng)
    if rng.random() < 0.2:
        return Conversation((question.question + "\n", IMAGE), "#Answer:", f" {question.answer}")
    if rng.random() < 0.5:
        return Conversation((question.question + "\n", IMAGE), "", f" {question.answer}")
    return Conversation((IMAGE, f"\n{question.question}"), "", f" {question.answer}")


def _rating(sample: Sample, rng: np.random.Generator) -> Conversation:
    """A word whose odds depend on the level, so that the two logits rank the levels; or a number from 1 to 5."""
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
    reply = _described(sample)
    texts = (
        "Describe the quality, aesthetics and other low-level appearance of the image in details.",
        "Describe this image.",
    )
    text = texts[int(rng.random() < 0.3)]
    if rng.random() < 0.5:
        return Conversation((IMAGE, f"\n{text}"), "", reply)
    return Conversation((text + "\n", IMAGE), "", reply)


def _described(sample: Sample) -> str:
    scene = sample.scene
    distortion = DISTORTION_OPTIONS[sample.distortion_type].lower()
    return (
        f" The image shows a {scene.size} {scene.color} {scene.shape} on a {scene.background} background, with "
        f"{SEVERITY[sample.level].lower()} {distortion}, so its quality is {QUALITY[sample.level].lower()}."
    )
