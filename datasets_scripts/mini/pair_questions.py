"""Questions about two distorted scenes, in the question types of Q-Bench2's pairs.

Half of the questions compare the two images, and half ask about both, about distortions or other properties, as in the
paper (https://arxiv.org/abs/2402.07116). The release's codes of these groups are not documented; here a code is the
position in `PAIR_CONCERNS`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from eyechart.datasets_scripts.mini.distortions import DISTORTION_TYPES, LEVELS
from eyechart.datasets_scripts.mini.questions import (
    DISTORTION_OPTIONS,
    SEVERITIES,
    choose,
    severity,
    with_wrong,
    yes_no,
)
from eyechart.datasets_scripts.mini.scenes import POSITIONS, SHAPES, SIZES, Scene, draw_scene

PAIR_CONCERNS = ("compared distortion", "compared other", "joint distortion", "joint other")


@dataclass(frozen=True)
class Look:
    """A scene and its distortion."""

    scene: Scene
    distortion_type: str
    level: int


@dataclass(frozen=True)
class PairQuestion:
    """One multiple-choice question and the two images that it is about."""

    looks: tuple[Look, Look]
    question: str
    options: tuple[str, ...]
    """In the order they are shown."""
    answer: str
    """The text of the right option."""


def ask_pair(rng: np.random.Generator, *, question_type: str, concern: str) -> PairQuestion:
    """Draw two images and a question about them.

    Args:
        rng: Draws the images, the question, the wrong options and their order.
        question_type: One of `QUESTION_TYPES`. Yes-or-no questions have two options, what 3 or 4, how 3.
        concern: One of `PAIR_CONCERNS`.
    """
    first, second, text, options, answer = _QUESTIONS[concern][question_type](rng)
    order = rng.permutation(len(options))
    return PairQuestion((first, second), text, tuple(options[i] for i in order), answer)


Asked = tuple[Look, Look, str, list[str], str]


def _look(rng: np.random.Generator, scene: Scene | None = None) -> Look:
    return Look(scene or draw_scene(rng), choose(rng, DISTORTION_TYPES), int(rng.choice(LEVELS)))


def _two_levels(rng: np.random.Generator) -> tuple[Look, Look]:
    """One scene under one distortion at two levels."""
    look = _look(rng)
    first, second = (int(level) for level in rng.choice(LEVELS, 2, replace=False))
    return Look(look.scene, look.distortion_type, first), Look(look.scene, look.distortion_type, second)


def _is_better(rng: np.random.Generator) -> Asked:
    first, second = _two_levels(rng)
    answer = "Yes" if first.level < second.level else "No"
    return first, second, "Is the first image of better quality than the second image?", ["Yes", "No"], answer


def _what_only_second(rng: np.random.Generator) -> Asked:
    first = _look(rng)
    others = [kind for kind in DISTORTION_TYPES if kind != first.distortion_type]
    second = Look(first.scene, choose(rng, others), int(rng.choice(LEVELS)))
    answer = DISTORTION_OPTIONS[second.distortion_type]
    options = with_wrong(answer, list(DISTORTION_OPTIONS.values()), int(rng.integers(3, 5)), rng)
    return first, second, "Which distortion does the second image have, but not the first image?", options, answer


def _how_better(rng: np.random.Generator) -> Asked:
    first, second = _two_levels(rng)
    if rng.random() < 0.2:
        second = first
    answer = "Similar" if first == second else "Worse" if first.level < second.level else "Better"
    text = "Compared to the first image, how is the quality of the second image?"
    return first, second, text, ["Better", "Similar", "Worse"], answer


def _is_larger(rng: np.random.Generator) -> Asked:
    first, second = _look(rng), _look(rng)
    larger = SIZES.index(first.scene.size) > SIZES.index(second.scene.size)
    text = "Is the main object of the first image larger than that of the second image?"
    return first, second, text, ["Yes", "No"], "Yes" if larger else "No"


def _what_second(rng: np.random.Generator) -> Asked:
    first, second = _look(rng), _look(rng)
    answer = second.scene.shape.capitalize()
    options = with_wrong(answer, [shape.capitalize() for shape in SHAPES], int(rng.integers(3, 5)), rng)
    return first, second, "What shape is the main object of the second image?", options, answer


def _how_large(rng: np.random.Generator) -> Asked:
    first, second = _look(rng), _look(rng)
    difference = SIZES.index(second.scene.size) - SIZES.index(first.scene.size)
    answer = "Similar" if difference == 0 else "Larger" if difference > 0 else "Smaller"
    text = "Compared to the first image, how large is the main object of the second image?"
    return first, second, text, ["Larger", "Similar", "Smaller"], answer


def _are_both_distorted(rng: np.random.Generator) -> Asked:
    first = _look(rng)
    second = Look(draw_scene(rng), first.distortion_type, int(rng.choice(LEVELS)))
    asked, answer = yes_no(first.distortion_type, DISTORTION_TYPES, rng)
    return first, second, f"Are both images degraded by {DISTORTION_OPTIONS[asked].lower()}?", ["Yes", "No"], answer


def _what_both(rng: np.random.Generator) -> Asked:
    first = _look(rng)
    second = Look(draw_scene(rng), first.distortion_type, int(rng.choice(LEVELS)))
    answer = DISTORTION_OPTIONS[first.distortion_type]
    options = with_wrong(answer, list(DISTORTION_OPTIONS.values()), int(rng.integers(3, 5)), rng)
    return first, second, "Which distortion do both images have?", options, answer


def _how_severe_both(rng: np.random.Generator) -> Asked:
    first = _look(rng)
    second = Look(draw_scene(rng), choose(rng, DISTORTION_TYPES), first.level)
    return first, second, "How severe are the distortions of both images?", list(SEVERITIES), severity(first.level)


def _are_both_shapes(rng: np.random.Generator) -> Asked:
    first = _look(rng)
    second = _look(rng, first.scene if rng.random() < 0.5 else None)
    both = first.scene.shape == second.scene.shape
    text = f"Is the main object a {first.scene.shape} in both images?"
    return first, second, text, ["Yes", "No"], "Yes" if both else "No"


def _what_shape_both(rng: np.random.Generator) -> Asked:
    first = _look(rng)
    answer = first.scene.shape.capitalize()
    options = with_wrong(answer, [shape.capitalize() for shape in SHAPES], int(rng.integers(3, 5)), rng)
    return first, _look(rng, first.scene), "What shape is the main object of both images?", options, answer


def _how_placed_both(rng: np.random.Generator) -> Asked:
    first = _look(rng)
    options = [position.capitalize() for position in POSITIONS]
    text = "How is the main object placed in both images?"
    return first, _look(rng, first.scene), text, options, first.scene.position.capitalize()


_QUESTIONS: dict[str, dict[str, Callable[[np.random.Generator], Asked]]] = {
    "compared distortion": {"yes-or-no": _is_better, "what": _what_only_second, "how": _how_better},
    "compared other": {"yes-or-no": _is_larger, "what": _what_second, "how": _how_large},
    "joint distortion": {"yes-or-no": _are_both_distorted, "what": _what_both, "how": _how_severe_both},
    "joint other": {"yes-or-no": _are_both_shapes, "what": _what_shape_both, "how": _how_placed_both},
}
