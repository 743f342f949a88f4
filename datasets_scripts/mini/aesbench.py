"""Synthetic demo data of AesBench: `AesBench_evaluation.json` with answers, and `images/`.

The aesthetic level depends on the distortion: high if it is barely visible, low if it is strong. Question types, image
sources (shown by the names) and levels occur in all combinations.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any
from uuid import UUID

import numpy as np

from eyechart.datasets_scripts.mini import MINI_SEED
from eyechart.datasets_scripts.mini.distortions import DISTORTION_TYPES, LEVELS, distort
from eyechart.datasets_scripts.mini.lldescribe import describe
from eyechart.datasets_scripts.mini.questions import (
    CONCERNS,
    DISTORTION_OPTIONS,
    Question,
    ask,
    quality,
    with_wrong,
    yes_no,
)
from eyechart.datasets_scripts.mini.scenes import Scene, draw_scene

ITEMS = 72
"""Number of images, each with all four questions."""
QUESTION_TYPES = ("yes-or-no", "what", "how", "why")
FEELINGS = {"red": "excitement", "green": "freshness", "blue": "calm", "yellow": "joy", "purple": "mystery"}
"""The feeling that a background of each colour is taken to evoke."""
_STREAM = 11
_IMAGES = "images"
_AESTHETICS = {"Good": "High", "Medium": "Medium", "Poor": "Low"}


def write(folder: Path) -> None:
    """Write the release into `folder`."""
    (folder / _IMAGES).mkdir()
    entries = dict(_write_item(folder / _IMAGES, index) for index in range(ITEMS))
    text = json.dumps(entries, ensure_ascii=False, indent=1)
    (folder / "AesBench_evaluation.json").write_text(text + "\n", encoding="utf-8", newline="\n")


def _write_item(images: Path, index: int) -> tuple[str, dict[str, Any]]:
    rng = np.random.default_rng([MINI_SEED, _STREAM, index])
    scene = draw_scene(rng)
    distortion = DISTORTION_TYPES[index % len(DISTORTION_TYPES)]
    level = LEVELS[(index + index // len(DISTORTION_TYPES)) % len(LEVELS)]
    kind = QUESTION_TYPES[(index + index // 4) % 4]
    name = _name(index, rng)
    distort(scene.image, distortion, level, rng).save(images / name)
    asked = ask_perception(scene, distortion, level, rng, question_type=kind, concern=CONCERNS[index % len(CONCERNS)])
    return name, {
        "AesP": _released(asked),
        "AesE": _released(ask_empathy(scene, rng, question_type=kind)),
        "AesA1": _released(ask_assessment(level)),
        "AesI": {"Question": interpretation_question(level), "Answer": describe(scene, distortion, level)},
    }


def ask_perception(
    scene: Scene, distortion_type: str, level: int, rng: np.random.Generator, *, question_type: str, concern: str
) -> Question:
    """Ask what `questions.ask` asks, or why the image looks as it does; `question_type` is one of `QUESTION_TYPES`."""
    if question_type != "why":
        return ask(scene, distortion_type, level, rng, question_type=question_type, concern=concern)
    reasons = {other: f"Because of {option.lower()}" for other, option in DISTORTION_OPTIONS.items()}
    options = with_wrong(reasons[distortion_type], list(reasons.values()), 4, rng)
    text = "Why is the aesthetic perception of the image affected?"
    return Question(text, _shuffled(options, rng), reasons[distortion_type], question_type, concern)


def ask_empathy(scene: Scene, rng: np.random.Generator, *, question_type: str) -> Question:
    """Ask for the feeling that the background evokes; `question_type` is one of `QUESTION_TYPES`."""
    color, feeling = scene.background, FEELINGS[scene.background]
    if question_type == "yes-or-no":
        asked, answer = yes_no(color, list(FEELINGS), rng)
        text = f"Does the image evoke {FEELINGS[asked]} by its {asked} background?"
        return Question(text, ("Yes", "No"), answer, question_type, "other")
    text, wording = {
        "what": ("What does the background of the image evoke?", "{feeling}, as {color} does"),
        "how": ("How does the image evoke aesthetic emotions?", "By the {feeling} of its {color} background"),
        "why": (f"Why does the image evoke {feeling}?", "Because its background is {color}"),
    }[question_type]
    texts = {other: wording.format(color=other, feeling=FEELINGS[other]) for other in FEELINGS}
    texts = {other: text[0].upper() + text[1:] for other, text in texts.items()}
    options = with_wrong(texts[color], list(texts.values()), int(rng.integers(3, 5)), rng)
    return Question(text, _shuffled(options, rng), texts[color], question_type, "other")


def ask_assessment(level: int) -> Question:
    """Ask for the aesthetic level of an image whose distortion has this level."""
    text = "How is the aesthetic quality of this image?"
    return Question(text, tuple(_AESTHETICS.values()), _AESTHETICS[quality(level)], "how", "distortion")


def interpretation_question(level: int) -> str:
    """The request for reasons, which states the aesthetic level of an image whose distortion has this level."""
    stated = _AESTHETICS[quality(level)].lower()
    return (
        f"This is an image with {stated} aesthetics, please explain the reasons that are related to the aesthetic "
        "quality."
    )


def released_options(options: Sequence[str]) -> str:
    """The options as one string, as in the release; the fourth option lacks its blank, as some released ones do."""
    return "\n".join(_lines(options))


def _name(index: int, rng: np.random.Generator) -> str:
    """The name of a natural, an artistic or an AI-generated image, or a name that shows no source."""
    identifier = str(UUID(bytes=rng.bytes(16), version=4)).replace("-", "_")
    return (f"spaq_{index:05d}.png", f"baid_{index}.png", f"{identifier}.png", f"{10_000 + index}.png")[index % 4]


def _shuffled(options: Sequence[str], rng: np.random.Generator) -> tuple[str, ...]:
    return tuple(options[place] for place in rng.permutation(len(options)))


def _lines(options: Sequence[str]) -> list[str]:
    return [f"{ascii_uppercase[place]}){' ' if place < 3 else ''}{option}" for place, option in enumerate(options)]


def _released(asked: Question) -> dict[str, str]:
    right = _lines(asked.options)[asked.options.index(asked.answer)]
    return {"Question": asked.question, "Options": released_options(asked.options), "Answer": right}
