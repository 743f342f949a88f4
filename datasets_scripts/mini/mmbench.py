"""Synthetic demo data of MMBench: one TSV for each configuration and split, with base64 images and the real columns.

`abilities.json` has a question about one fact of a picture for every leaf ability; if it needs world knowledge, a hint
states it. As in the real release, `en`, `cn` and `cc` have further passes, whose options rotate to the right and whose
image cell names another row; version 1.1 has none. Some questions have a last option that never moves, some list an
option twice, the tests of version 1.0 have no answers, and CCBench has fewer columns.
"""

import base64
import io
import json
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image, ImageDraw, ImageFont

from eyechart.datasets_scripts.common.choice.abilities import ABILITIES, RELEASED_L2
from eyechart.datasets_scripts.common.choice.passes import STRIDE, rotate, rotated_letter
from eyechart.datasets_scripts.common.files.image_cells import SHORT_CELL
from eyechart.datasets_scripts.mini import MINI_SEED
from eyechart.datasets_scripts.mini.scenes import SCENE_FACTS, Scene, distort, draw_scene

TREATMENTS: dict[str, dict[str, tuple[str, int] | None]] = {
    "style": {"plain": None, "grey": ("desaturation", 5), "mosaic": ("pixelation", 5)},
    "mood": {"plain": None, "dark": ("darkening", 4), "bright": ("over-exposure", 4)},
    "quality": {"good": None, "medium": ("blur", 3), "poor": ("blur", 5)},
    "motion": {"plain": None, "moved": ("motion blur", 5)},
}
"""Facts produced by a distortion (type and level), with their values."""
FACTS: dict[str, tuple[str, ...]] = {
    **SCENE_FACTS,
    "background": SCENE_FACTS["color"],
    "digit": ("0", "1", "4", "7"),
    "warmth": ("object", "ground", "equal"),
    **{fact: tuple(values) for fact, values in TREATMENTS.items()},
}
"""Facts to ask for, with their values. `shape` to `background` are fields of a scene; a digit is written onto it."""
NONE_OF_THESE = {"en": "None of these", "cn": "\u4ee5\u4e0a\u90fd\u4e0d\u662f"}
"""A last option that is never correct, by language."""
_TABLE = json.loads((Path(__file__).parent / "abilities.json").read_text("utf-8"))
QUESTIONS: dict[str, dict[str, Any]] = _TABLE["mmbench"]
"""By the name of the ability in the release: `fact`, and in `en` and `cn` question, options in the order of the fact's
values in `FACTS`, and any hint."""
# CCBench has no hints, so its categories reuse questions that need none.
_CCBENCH_QUESTIONS = {category: QUESTIONS[ability] for category, ability in _TABLE["ccbench"].items()}
_ROUNDS = {"dev": 3, "test": 1, "cc": 9}  # questions per ability
_COLUMNS = (
    *("index", "question", "hint", "A", "B", "C", "D", "answer"),
    *("category", "image", "source", "l2-category", "comment", "split"),
)
_LETTERS = "ABCD"

Rows = list[dict[str, Any]]


def write(folder: Path) -> None:
    """Write the release into `folder`."""
    for number, split in enumerate(("dev", "test")):
        for language, rows in _first_passes(split, number, 300 * number, QUESTIONS).items():
            name = f"MMBench_{split.upper()}_{language.upper()}"
            _write_table(folder / f"{name}.tsv", rows + _further_passes(rows), () if split == "dev" else ("answer",))
            _write_table(folder / f"{name}_V11.tsv", rows, ())
    rows = _first_passes("cc", 2, 0, _CCBENCH_QUESTIONS)["cn"]
    _write_table(folder / "CCBench.tsv", rows + _further_passes(rows), ("hint", "l2-category", "split"))


def shown(fact: str, scene: Scene) -> str:
    """The value of a fact that is visible in a pristine scene."""
    if fact == "warmth":
        warm = [color in ("red", "yellow") for color in (scene.color, scene.background)]
        return "equal" if warm[0] == warm[1] else "object" if warm[0] else "ground"
    return str(getattr(scene, fact))


def draw_picture(fact: str, truth: str, scene: Scene, rng: np.random.Generator) -> Image.Image:
    """The picture of a scene in which a fact has the value `truth`."""
    treatment = TREATMENTS.get(fact, {}).get(truth)
    if treatment is not None:
        return distort(scene.image, *treatment, rng)
    if fact == "digit":
        image = scene.image.copy()
        font = ImageFont.load_default(30)
        ImageDraw.Draw(image).text((8, 24), truth, fill="white", stroke_fill="black", stroke_width=3, font=font)
        return image
    return scene.image


def _first_passes(part: str, number: int, first: int, questions: Mapping[str, dict[str, Any]]) -> dict[str, Rows]:
    """Draw the questions of a part, whose indices begin with `first`; return the rows in each language."""
    rows: dict[str, Rows] = {"en": [], "cn": []}
    plain: tuple[int, Scene] | None = None
    turns = product(range(_ROUNDS[part]), enumerate(questions.items()))
    for index, (turn, (place, (category, asked))) in enumerate(turns, start=first):
        rng = np.random.default_rng([MINI_SEED, 10, number, turn, place])
        fact, scene, image = asked["fact"], draw_scene(rng), ""
        is_plain = fact not in TREATMENTS and fact != "digit"
        if is_plain and plain is not None and place % 4 == 3:
            image, scene = str(plain[0]), plain[1]
        truth = shown(fact, scene) if is_plain else str(rng.choice(FACTS[fact]))
        count = min((4, 2, 4, 3)[(turn + place) % 4], len(FACTS[fact]))
        # The correct letter cycles through the options.
        right = (index - first) // 2 % count
        values = [str(value) for value in rng.permutation(FACTS[fact]) if value != truth][: count - 1]
        values.insert(right, truth)
        if count == 4 and turn == 0 and place in (2, 4, 6):
            # One question lists a wrong option twice, the others the correct one.
            values[right - 1] = values[right - 2] if place == 4 else truth
        if not image:
            buffer = io.BytesIO()
            draw_picture(fact, truth, scene, rng).save(buffer, "PNG")
            image = base64.b64encode(buffer.getvalue()).decode("ascii")
            plain = (index, scene) if is_plain else plain
        for language in rows:
            options = [asked[language]["options"][FACTS[fact].index(value)] for value in values]
            if count == 3 and place % 8 == 3:
                options.append(NONE_OF_THESE[language])
            l2_category = RELEASED_L2[ABILITIES[category].l2_category] if category in ABILITIES else ""
            row = {**asked[language], **dict(zip(_LETTERS, options, strict=False)), "turning": count, "index": index}
            row |= {"answer": _LETTERS[right], "category": category, "l2-category": l2_category, "image": image}
            rows[language].append({**row, "source": "drawn", "split": part})
    return rows


def _further_passes(rows: Rows) -> Rows:
    """Rotate the options that turn from pass to pass; the image is that of the first pass."""
    further = []
    for row in rows:
        letters = _LETTERS[: row["turning"]]
        image = row["index"] if len(row["image"]) > SHORT_CELL else row["image"]
        for places in range(1, len(letters)):
            options = dict(zip(letters, rotate([row[letter] for letter in letters], places), strict=True))
            answer = rotated_letter(row["answer"], places, len(letters))
            index = row["index"] + places * STRIDE
            further.append({**row, **options, "index": index, "answer": answer, "image": image})
    return further


def _write_table(path: Path, rows: Rows, without: tuple[str, ...]) -> None:
    columns = [column for column in _COLUMNS if column not in without]
    pd.DataFrame(rows, columns=columns).to_csv(path, sep="\t", index=False, lineterminator="\n")
