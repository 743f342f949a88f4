"""Synthetic demo data of LLVisionQA: `llvisionqa_dev.json`, `llvisionqa_test.json` and `images_llvisionqa/`.

All combinations of question type and concern are equally frequent. As in the real release, the test file has no
answers; no other file has them.
"""

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from eyechart.datasets_scripts.mini import MINI_SEED
from eyechart.datasets_scripts.mini.distortions import DISTORTION_TYPES, LEVELS, distort
from eyechart.datasets_scripts.mini.questions import CONCERNS, QUESTION_TYPES, ask
from eyechart.datasets_scripts.mini.scenes import draw_scene

ITEMS = {"dev": 180, "test": 72}
"""Number of questions in each split."""
_STREAM = 1
_IMAGES = "images_llvisionqa"


def write(folder: Path) -> None:
    """Write the release into `folder`."""
    (folder / _IMAGES).mkdir()
    for number, (split, count) in enumerate(ITEMS.items()):
        rows = [_write_item(folder / _IMAGES, split, number, index) for index in range(count)]
        if split == "test":
            for row in rows:
                del row["correct_ans"]
        text = json.dumps(rows, ensure_ascii=False, indent=1)
        (folder / f"llvisionqa_{split}.json").write_text(text + "\n", encoding="utf-8", newline="\n")


def _write_item(images: Path, split: str, number: int, index: int) -> dict[str, Any]:
    rng = np.random.default_rng([MINI_SEED, _STREAM, number, index])
    combinations = list(product(range(len(QUESTION_TYPES)), range(len(CONCERNS))))
    type_code, concern_code = combinations[index % len(combinations)]
    scene = draw_scene(rng)
    distortion = DISTORTION_TYPES[int(rng.integers(len(DISTORTION_TYPES)))]
    level = LEVELS[int(rng.integers(len(LEVELS)))]
    kinds = {"question_type": QUESTION_TYPES[type_code], "concern": CONCERNS[concern_code]}
    asked = ask(scene, distortion, level, rng, **kinds)
    name = f"mini_{split}_{index:04d}.png"
    distort(scene.image, distortion, level, rng).save(images / name)
    return {
        "type": type_code,
        "concern": concern_code,
        "question": asked.question,
        "img_path": name,
        "candidates": list(asked.options),
        "correct_ans": asked.answer,
    }
