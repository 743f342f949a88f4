"""Synthetic demo data of MMBench: one TSV for each configuration and split, with base64 images and the real columns.

There are questions for every leaf ability, with two to four options. `en`, `cn` and `cc` have further passes after the
first ones, version 1.1 has none. In further passes, and in some first passes, the image cell names another row. As in
the real release, the options rotate to the right, some questions have a last option that never moves and one pass
fewer, some list an option twice, the tests of version 1.0 have no answers, and CCBench has fewer columns.
"""

import base64
import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from eyechart.datasets_scripts.common.choice.abilities import ABILITIES, RELEASED_L2
from eyechart.datasets_scripts.common.choice.passes import STRIDE, rotate, rotated_letter
from eyechart.datasets_scripts.common.files.base64_images import SHORT_CELL
from eyechart.datasets_scripts.mini import MINI_SEED
from eyechart.datasets_scripts.mini.ability_questions import (
    CCBENCH_QUESTIONS,
    FACTS,
    NONE_OF_THESE,
    QUESTIONS,
    TREATMENTS,
    AbilityQuestion,
    draw_picture,
    draw_truth,
)
from eyechart.datasets_scripts.mini.scenes import Scene, draw_scene

ROUNDS = {"dev": 3, "test": 1, "cc": 9}
"""Number of questions per ability in each part."""
FIRST_INDEX = {"dev": 0, "test": 300, "cc": 0}
_STREAM = 10
_COLUMNS = [
    *("index", "question", "hint", "A", "B", "C", "D", "answer"),
    *("category", "image", "source", "l2-category", "comment", "split"),
]
_LETTERS = "ABCD"


@dataclass(frozen=True)
class _Item:
    """One question before it is written in a language."""

    index: int
    category: str
    asked: AbilityQuestion
    values: tuple[str, ...]
    """The values of the fact that are options, in the order shown."""
    answer: str
    """The letter of the true value."""
    image: str
    """Base64, or the index of the row with the image."""
    has_fixed_last: bool
    """Whether an additional option is last in every pass."""


def write(folder: Path) -> None:
    """Write the release into `folder`."""
    for number, split in enumerate(("dev", "test")):
        items = _items(split, number, QUESTIONS)
        for language in ("en", "cn"):
            for version in ("", "_V11"):
                rows = [_row(item, language, split) for item in items]
                rows = rows if version else rows + _rotated(rows)
                has_answers = split == "dev" or version
                columns = [column for column in _COLUMNS if column != "answer" or has_answers]
                _write_table(folder / f"MMBench_{split.upper()}_{language.upper()}{version}.tsv", columns, rows)
    rows = [_row(item, "cn", "cc") for item in _items("cc", 2, CCBENCH_QUESTIONS)]
    columns = [column for column in _COLUMNS if column not in ("hint", "l2-category", "split")]
    _write_table(folder / "CCBench.tsv", columns, rows + _rotated(rows))


def _items(part: str, number: int, questions: Mapping[str, AbilityQuestion]) -> list[_Item]:
    items: list[_Item] = []
    plain: tuple[int, Scene] | None = None
    for turn in range(ROUNDS[part]):
        for place, (category, asked) in enumerate(questions.items()):
            rng = np.random.default_rng([MINI_SEED, _STREAM, number, turn, place])
            index = FIRST_INDEX[part] + len(items)
            scene = draw_scene(rng)
            is_plain = asked.fact not in TREATMENTS and asked.fact != "digit"
            image = ""
            if is_plain and plain is not None and place % 4 == 3:
                image, scene = str(plain[0]), plain[1]
            truth = draw_truth(asked.fact, scene, rng)
            count = min((4, 2, 4, 3)[(turn + place) % 4], len(FACTS[asked.fact]))
            # The correct letter cycles through the options.
            right = len(items) // 2 % count
            values = [str(value) for value in rng.permutation(FACTS[asked.fact]) if value != truth][: count - 1]
            values.insert(right, truth)
            if count == 4 and turn == 0 and place in (2, 4, 6):
                # One question lists a wrong option twice, the others the correct one.
                values[right - 1] = values[right - 2] if place == 4 else truth
            image = image or _encoded(draw_picture(asked.fact, truth, scene, rng))
            has_fixed_last = count == 3 and place % 8 == 3
            items.append(_Item(index, category, asked, tuple(values), _LETTERS[right], image, has_fixed_last))
            if is_plain and len(image) > SHORT_CELL:
                plain = index, scene
    return items


def _encoded(image: Image.Image) -> str:
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def _row(item: _Item, language: str, split: str) -> dict[str, Any]:
    wording = item.asked.en if language == "en" else item.asked.cn
    options = [wording.options[FACTS[item.asked.fact].index(value)] for value in item.values]
    if item.has_fixed_last:
        options.append(NONE_OF_THESE[language])
    return {
        "turning": len(item.values),
        "index": item.index,
        "question": wording.question,
        "hint": wording.hint,
        **dict(zip(_LETTERS, options, strict=False)),
        "answer": item.answer,
        "category": item.category,
        "image": item.image,
        "source": "drawn",
        "l2-category": RELEASED_L2[ABILITIES[item.category].l2_category] if item.category in ABILITIES else "",
        "split": split,
    }


def _rotated(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rotated = []
    for row in rows:
        # The options that rotate from pass to pass.
        shown = _LETTERS[: row["turning"]]
        image = row["index"] if len(row["image"]) > SHORT_CELL else row["image"]
        for places in range(1, len(shown)):
            options = dict(zip(shown, rotate([row[letter] for letter in shown], places), strict=True))
            answer = rotated_letter(row["answer"], places, len(shown))
            index = row["index"] + places * STRIDE
            rotated.append({**row, **options, "index": index, "answer": answer, "image": image})
    return rotated


def _write_table(path: Path, columns: list[str], rows: list[dict[str, Any]]) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="", extrasaction="ignore", delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
