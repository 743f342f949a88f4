"""The mini release of AesBench: `AesBench_evaluation.json` with answers, and `images/`.

The aesthetic level is that of the distortion: high where it is barely visible, low where it is strong. Question types,
image sources (given by the names) and levels meet each other.
"""

import json
from pathlib import Path
from string import ascii_uppercase
from typing import Any
from uuid import UUID

import numpy as np

from eyechart.datasets_scripts.mini import MINI_SEED
from eyechart.datasets_scripts.mini.distortions import DISTORTION_TYPES, LEVELS, distort
from eyechart.datasets_scripts.mini.lldescribe import describe
from eyechart.datasets_scripts.mini.questions import CONCERNS, DISTORTION_OPTIONS, ask, quality, with_wrong, yes_no
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
    aesthetics = _AESTHETICS[quality(level)]
    interpreted = (
        f"This is an image with {aesthetics.lower()} aesthetics, please explain the reasons that are related to "
    )
    return name, {
        "AesP": _perception(scene, distortion, level, kind, index, rng),
        "AesE": _empathy(scene, kind, rng),
        "AesA1": _choice("How is the aesthetic quality of this image?", list(_AESTHETICS.values()), aesthetics),
        "AesI": {
            "Question": interpreted + "the aesthetic quality.",
            "Answer": describe(scene, distortion, level),
        },
    }


def _name(index: int, rng: np.random.Generator) -> str:
    """A name as a natural, an artistic or an AI-generated image has it, or one that tells nothing."""
    identifier = str(UUID(bytes=rng.bytes(16), version=4)).replace("-", "_")
    return (f"spaq_{index:05d}.png", f"baid_{index}.png", f"{identifier}.png", f"{10_000 + index}.png")[index % 4]


def _perception(
    scene: Scene, distortion: str, level: int, kind: str, index: int, rng: np.random.Generator
) -> dict[str, str]:
    if kind != "why":
        asked = ask(scene, distortion, level, rng, question_type=kind, concern=CONCERNS[index % len(CONCERNS)])
        return _choice(asked.question, list(asked.options), asked.answer)
    reasons = {other: f"Because of {option.lower()}" for other, option in DISTORTION_OPTIONS.items()}
    options = with_wrong(reasons[distortion], list(reasons.values()), 4, rng)
    options = [options[place] for place in rng.permutation(len(options))]
    return _choice("Why is the aesthetic perception of the image affected?", options, reasons[distortion])


def _empathy(scene: Scene, kind: str, rng: np.random.Generator) -> dict[str, str]:
    color, feeling = scene.background, FEELINGS[scene.background]
    if kind == "yes-or-no":
        asked, answer = yes_no(color, list(FEELINGS), rng)
        return _choice(f"Does the image evoke {FEELINGS[asked]} by its {asked} background?", ["Yes", "No"], answer)
    question, wording = {
        "what": ("What does the background of the image evoke?", "{feeling}, as {color} does"),
        "how": ("How does the image evoke aesthetic emotions?", "By the {feeling} of its {color} background"),
        "why": (f"Why does the image evoke {feeling}?", "Because its background is {color}"),
    }[kind]
    texts = {other: wording.format(color=other, feeling=FEELINGS[other]) for other in FEELINGS}
    texts = {other: text[0].upper() + text[1:] for other, text in texts.items()}
    options = with_wrong(texts[color], list(texts.values()), int(rng.integers(3, 5)), rng)
    options = [options[place] for place in rng.permutation(len(options))]
    return _choice(question, options, texts[color])


def _choice(question: str, options: list[str], answer: str) -> dict[str, str]:
    """Write a question as the release does, where the blank of a fourth option is missing."""
    lines = [f"{ascii_uppercase[place]}){' ' if place < 3 else ''}{option}" for place, option in enumerate(options)]
    right = options.index(answer)
    return {"Question": question, "Options": "\n".join(lines), "Answer": lines[right]}
