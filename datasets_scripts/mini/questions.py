"""Questions about a scene with a known distortion, in the types and concerns of LLVisionQA (Q-Bench, Sec. 2.2).

Types are yes-or-no, what and how; concerns are distortion, other, in-context distortion and in-context other. An
in-context question names the main object instead of the image.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from eyechart.datasets_scripts.mini.distortions import DISTORTION_TYPES
from eyechart.datasets_scripts.mini.scenes import COLORS, POSITIONS, SHAPES, SIZES, Scene

QUESTION_TYPES = ("yes-or-no", "what", "how")
CONCERNS = ("distortion", "other", "in-context distortion", "in-context other")

# The option text of each distortion type, as in Q-Bench's questions.
DISTORTION_OPTIONS = {
    "blur": "Out-of-focus blur",
    "motion blur": "Motion blur",
    "white noise": "White noise",
    "salt-and-pepper noise": "Salt-and-pepper noise",
    "JPEG compression": "Compression artifacts",
    "darkening": "Underexposure",
    "over-exposure": "Overexposure",
    "desaturation": "Faded colors",
    "low contrast": "Low contrast",
    "pixelation": "Pixelation",
}
SEVERITIES = ("Slight", "Moderate", "Severe")
QUALITIES = ("Good", "Medium", "Poor")
# Distortions that leave too little colour to ask about it.
_COLORLESS = ("desaturation", "over-exposure", "darkening", "low contrast")


@dataclass(frozen=True)
class Question:
    """One multiple-choice question."""

    question: str
    options: tuple[str, ...]
    """In the order they are shown."""
    answer: str
    """The text of the right option."""
    question_type: str
    """One of `QUESTION_TYPES`."""
    concern: str
    """One of `CONCERNS`."""


def ask(
    scene: Scene,
    distortion_type: str,
    level: int,
    rng: np.random.Generator,
    *,
    question_type: str,
    concern: str,
) -> Question:
    """Ask one question about a scene to which one distortion was applied.

    Args:
        scene: The pristine scene; "other" questions ask for its facts.
        distortion_type: One of `DISTORTION_TYPES`.
        level: 1 to 5.
        rng: Chooses the question, the wrong options and their order.
        question_type: One of `QUESTION_TYPES`. Yes-or-no questions have two options, what 3 or 4, how 3.
        concern: One of `CONCERNS`.
    """
    if concern in ("distortion", "in-context distortion"):
        subject = "image" if concern == "distortion" else scene.shape
        make: Callable[..., tuple[str, Sequence[str], str]] = _DISTORTION_QUESTIONS[question_type]
        text, options, answer = make(subject, distortion_type, level, rng)
    else:
        table = _GLOBAL_QUESTIONS if concern == "other" else _OBJECT_QUESTIONS
        text, options, answer = table[question_type](scene, distortion_type, rng)
    order = rng.permutation(len(options))
    return Question(text, tuple(options[i] for i in order), answer, question_type, concern)


def severity(level: int) -> str:
    """The word of `SEVERITIES` for a distortion level."""
    return SEVERITIES[0 if level <= 2 else 1 if level == 3 else 2]


def quality(level: int) -> str:
    """The word of `QUALITIES` for a distortion level."""
    return QUALITIES[0 if level <= 1 else 1 if level <= 3 else 2]


def choose(rng: np.random.Generator, values: Sequence[str]) -> str:
    """One of the values."""
    return values[int(rng.integers(len(values)))]


def with_wrong(answer: str, values: Sequence[str], count: int, rng: np.random.Generator) -> list[str]:
    """The answer and `count - 1` other values."""
    others = [value for value in values if value != answer]
    return [answer, *(others[i] for i in rng.permutation(len(others))[: count - 1])]


def yes_no(truth: str, values: Sequence[str], rng: np.random.Generator) -> tuple[str, str]:
    """The value to ask about, and the answer: yes and no are equally frequent."""
    if rng.random() < 0.5:
        return truth, "Yes"
    return choose(rng, [value for value in values if value != truth]), "No"


def _is_distorted(subject: str, kind: str, level: int, rng: np.random.Generator) -> tuple[str, list[str], str]:
    asked, answer = yes_no(kind, DISTORTION_TYPES, rng)
    return f"Is the {subject} degraded by {DISTORTION_OPTIONS[asked].lower()}?", ["Yes", "No"], answer


def _what_distortion(subject: str, kind: str, level: int, rng: np.random.Generator) -> tuple[str, list[str], str]:
    answer = DISTORTION_OPTIONS[kind]
    options = with_wrong(answer, list(DISTORTION_OPTIONS.values()), int(rng.integers(3, 5)), rng)
    return f"What distortion degrades the quality of the {subject}?", options, answer


def _how_distorted(subject: str, kind: str, level: int, rng: np.random.Generator) -> tuple[str, list[str], str]:
    if rng.random() < 0.5:
        return f"How severe is the distortion of the {subject}?", list(SEVERITIES), severity(level)
    return f"How is the quality of the {subject}?", list(QUALITIES), quality(level)


def _is_global(scene: Scene, kind: str, rng: np.random.Generator) -> tuple[str, list[str], str]:
    asked, answer = yes_no(scene.position, POSITIONS, rng)
    return f"Is the main object in the {asked} of the image?", ["Yes", "No"], answer


def _what_global(scene: Scene, kind: str, rng: np.random.Generator) -> tuple[str, list[str], str]:
    options = with_wrong(scene.shape.capitalize(), capitals(SHAPES), int(rng.integers(3, 5)), rng)
    return "What shape is the main object in the image?", options, scene.shape.capitalize()


def _how_global(scene: Scene, kind: str, rng: np.random.Generator) -> tuple[str, list[str], str]:
    return "How is the main object placed in the image?", capitals(POSITIONS), scene.position.capitalize()


def _is_object(scene: Scene, kind: str, rng: np.random.Generator) -> tuple[str, list[str], str]:
    if kind not in _COLORLESS and rng.random() < 0.5:
        asked, answer = yes_no(scene.color, list(COLORS), rng)
    else:
        asked, answer = yes_no(scene.size, SIZES, rng)
    return f"Is the {scene.shape} {asked}?", ["Yes", "No"], answer


def _what_object(scene: Scene, kind: str, rng: np.random.Generator) -> tuple[str, list[str], str]:
    if kind not in _COLORLESS:
        options = with_wrong(scene.color.capitalize(), capitals(COLORS), int(rng.integers(3, 5)), rng)
        return f"What color is the {scene.shape}?", options, scene.color.capitalize()
    return f"What is the position of the {scene.shape}?", capitals(POSITIONS), scene.position.capitalize()


def _how_object(scene: Scene, kind: str, rng: np.random.Generator) -> tuple[str, list[str], str]:
    return f"How large is the {scene.shape}?", capitals(SIZES), scene.size.capitalize()


def capitals(words: Sequence[str] | dict[str, tuple[int, int, int]]) -> list[str]:
    """The words with a capital letter each, as options are written."""
    return [word.capitalize() for word in words]


_DISTORTION_QUESTIONS = {"yes-or-no": _is_distorted, "what": _what_distortion, "how": _how_distorted}
_GLOBAL_QUESTIONS = {"yes-or-no": _is_global, "what": _what_global, "how": _how_global}
_OBJECT_QUESTIONS = {"yes-or-no": _is_object, "what": _what_object, "how": _how_object}
