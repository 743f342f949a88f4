"""Synthetic demo data of Q-Bench2's pairs: `q-bench2-a1-dev.jsonl`, `q-bench2-a1-test.jsonl`, `all_single_images/`.

All combinations of question type and concern are equally frequent. As in the real release, `img_path` names a file with
both images side by side, and the test file has no answers; no other file has them.
"""

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from eyechart.datasets_scripts.mini import MINI_SEED
from eyechart.datasets_scripts.mini.distortions import distort
from eyechart.datasets_scripts.mini.pair_questions import PAIR_CONCERNS, ask_pair
from eyechart.datasets_scripts.mini.questions import QUESTION_TYPES

ITEMS = {"dev": 96, "test": 24}
"""Number of questions in each split."""
_STREAM = 3
_IMAGES = "all_single_images"


def write(folder: Path) -> None:
    """Write the release into `folder`."""
    (folder / _IMAGES).mkdir()
    for number, (split, count) in enumerate(ITEMS.items()):
        rows = [_write_item(folder / _IMAGES, split, number, index) for index in range(count)]
        if split == "test":
            for row in rows:
                del row["correct_ans"], row["correct_choice"]
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
        (folder / f"q-bench2-a1-{split}.jsonl").write_text("".join(lines), encoding="utf-8", newline="\n")


def _write_item(images: Path, split: str, number: int, index: int) -> dict[str, Any]:
    rng = np.random.default_rng([MINI_SEED, _STREAM, number, index])
    combinations = list(product(range(len(QUESTION_TYPES)), range(len(PAIR_CONCERNS))))
    type_code, concern_code = combinations[index % len(combinations)]
    asked = ask_pair(rng, question_type=QUESTION_TYPES[type_code], concern=PAIR_CONCERNS[concern_code])
    names = [f"mini_{split}_{index:04d}_{place}.png" for place in (1, 2)]
    for name, look in zip(names, asked.looks, strict=True):
        distort(look.scene.image, look.distortion_type, look.level, rng).save(images / name)
    return {
        "type": type_code,
        "concern": concern_code,
        "question": asked.question,
        "img_path": f"llvisionqa_compare_{split}\\{'_cat_'.join(names)}.jpg",
        "candidates": list(asked.options),
        "correct_ans": asked.answer,
        "correct_choice": "ABCD"[asked.options.index(asked.answer)],
    }
