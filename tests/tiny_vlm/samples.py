"""The pictures that the tiny model is trained and measured on, each with the facts about it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from PIL import Image

from eyechart.datasets_scripts.mini.mmbench import FACTS, TREATMENTS, draw_picture, shown
from eyechart.datasets_scripts.mini.questions import PAIR_CONCERNS, QUESTION_TYPES, Question, ask_pair
from eyechart.datasets_scripts.mini.scenes import DISTORTION_TYPES, LEVELS, Look, draw_scene
from tests.tiny_vlm.architecture import IMAGE_SIZE

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
