"""The pictures that the tiny model is trained and measured on, each with the facts about it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from PIL import Image

from eyechart.datasets_scripts.mini.ability_questions import FACTS, TREATMENTS, draw_picture, shown
from eyechart.datasets_scripts.mini.distortions import DISTORTION_TYPES, LEVELS, distort
from eyechart.datasets_scripts.mini.pair_questions import PAIR_CONCERNS, PairQuestion, ask_pair
from eyechart.datasets_scripts.mini.questions import QUESTION_TYPES
from eyechart.datasets_scripts.mini.scenes import Scene, draw_scene
from tests.tiny_vlm.architecture import IMAGE_SIZE

TRAINING_SEED = 10_000_000
HELD_OUT_SEED = 20_000_000

_TREATED = [(fact, value) for fact, values in TREATMENTS.items() for value, treatment in values.items() if treatment]
_PLAIN_SHARE, _TREATED_SHARE = 0.65, 0.25  # the rest shows a digit


@dataclass(frozen=True)
class Sample:
    """One picture of a scene."""

    scene: Scene
    image: Image.Image
    distortion_type: str = ""
    """One of `DISTORTION_TYPES`; "" for none."""
    level: int = 0
    """1 to 5; 0 for no distortion."""
    digit: str = ""
    """The digit in the picture; "" for none."""


@dataclass(frozen=True)
class Pair:
    """Two pictures and a question about them, as Q-Bench2 asks it."""

    samples: tuple[Sample, Sample]
    asked: PairQuestion


def draw_samples(seed: int, index: int, count: int = 1) -> list[Sample]:
    """One scene under `count` distortions. Equal arguments give equal samples; different seeds never share a scene."""
    rng = np.random.default_rng([seed, index])
    scene = draw_scene(rng, IMAGE_SIZE)
    samples = []
    for _ in range(count):
        kind, level = DISTORTION_TYPES[rng.integers(len(DISTORTION_TYPES))], int(rng.choice(LEVELS))
        samples.append(Sample(scene, distort(scene.image, kind, level, rng), kind, level))
    return samples


def draw_ability_sample(seed: int, index: int) -> Sample:
    """A picture as in MMBench's synthetic demo data: a pristine scene, a treated scene, or a scene with a digit."""
    rng = np.random.default_rng([seed, index, 1])
    scene = draw_scene(rng, IMAGE_SIZE)
    turn = rng.random()
    if turn < _PLAIN_SHARE:
        return Sample(scene, scene.image)
    if turn < _PLAIN_SHARE + _TREATED_SHARE:
        fact, value = _TREATED[rng.integers(len(_TREATED))]
        kind, level = TREATMENTS[fact][value] or ("", 0)
        return Sample(scene, draw_picture(fact, value, scene, rng), kind, level)
    digit = str(rng.choice(FACTS["digit"]))
    return Sample(scene, draw_picture("digit", digit, scene, rng), digit=digit)


def draw_pair(seed: int, index: int) -> Pair:
    """Two pictures and a question about them; question types and concerns alternate."""
    rng = np.random.default_rng([seed, index, 2])
    kind, concern = QUESTION_TYPES[index % 3], PAIR_CONCERNS[index // 3 % len(PAIR_CONCERNS)]
    asked = ask_pair(rng, question_type=kind, concern=concern)
    first, second = (
        Sample(
            look.scene,
            distort(look.scene.image, look.distortion_type, look.level, rng),
            look.distortion_type,
            look.level,
        )
        for look in asked.looks
    )
    return Pair((first, second), asked)


def known_facts(sample: Sample) -> Mapping[str, str]:
    """What `ability_questions` can ask about a picture: values by the names of `FACTS`."""
    if sample.level:
        treatment = sample.distortion_type, sample.level
        return {fact: value for fact, value in _TREATED if TREATMENTS[fact][value] == treatment}
    if sample.digit:
        return {"digit": sample.digit}
    untreated = {fact: value for fact, values in TREATMENTS.items() for value, how in values.items() if not how}
    by_itself = [fact for fact in FACTS if fact != "digit" and fact not in TREATMENTS]
    return {**untreated, **{fact: shown(fact, sample.scene) for fact in by_itself}}
