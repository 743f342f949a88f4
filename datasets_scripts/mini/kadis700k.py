"""The mini release of KADIS-700k with scores: images named `<content>_<type>_<level>.png` beside a `mos.csv`.

Four contents, ten distortions and five levels. A score falls by 18 a level, from 82 to 10, with a jitter of at most 4,
so that levels stay apart and higher is better, as in the real scores.
"""

import csv
from pathlib import Path

import numpy as np

from eyechart.datasets_scripts.mini import MINI_SEED
from eyechart.datasets_scripts.mini.distortions import LEVELS
from eyechart.datasets_scripts.mini.distortions import distort
from eyechart.datasets_scripts.mini.scenes import draw_scene

CONTENTS = 4
TYPE_CODES = {
    "blur": 1,
    "motion blur": 3,
    "white noise": 11,
    "salt-and-pepper noise": 13,
    "JPEG compression": 10,
    "darkening": 17,
    "over-exposure": 16,
    "desaturation": 7,
    "low contrast": 25,
    "pixelation": 21,
}
"""KADID's code of each distortion type that is drawn here."""
_STREAM = 2
_JITTER = 4.0


def write(folder: Path) -> None:
    """Write the release into `folder`."""
    rows = []
    for content in range(CONTENTS):
        pristine = draw_scene(np.random.default_rng([MINI_SEED, _STREAM, content])).image
        for distortion, code in sorted(TYPE_CODES.items(), key=lambda item: item[1]):
            for level in LEVELS:
                # One state for all levels: the same noise field and direction, only stronger.
                field = np.random.default_rng([MINI_SEED, _STREAM, content, code])
                jitter = np.random.default_rng([MINI_SEED, _STREAM, content, code, level]).uniform(-_JITTER, _JITTER)
                name = f"mini-{content + 1}_{code:02d}_{level:02d}.png"
                distort(pristine, distortion, level, field).save(folder / name)
                rows.append((name, f"{100 - 18 * level + jitter:.4f}"))
    with open(folder / "mos.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("image", "mos"), *rows])
