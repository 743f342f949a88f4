"""Synthetic demo data of image quality databases, each in its real file layout.

Every content is one scene with ten distortions at five levels. The score falls by 18 per level, from 82 to 10. A jitter
of at most 4 imitates the raters' disagreement; it is too small to mix up the levels.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.io import savemat

from eyechart.datasets_scripts.mini import MINI_SEED
from eyechart.datasets_scripts.mini.scenes import LEVELS, Scene, distort, draw_scene, save

TYPES = {
    "blur": (1, "FactMSE"),
    "motion blur": (3, "HyperMSE"),
    "desaturation": (7, "HierarchMSE"),
    "JPEG compression": (10, "JPEG"),
    "white noise": (11, "HierarchMSIM"),
    "salt-and-pepper noise": (13, "CAEntropyMSIM"),
    "over-exposure": (16, "WebP"),
    "darkening": (17, "VVC"),
    "pixelation": (21, "FRICwRNN"),
    "low contrast": (25, "HiFiC"),
}
"""KADID's code of each distortion type, in the order of the codes, and the codec of MM21 in its place."""
CSIQ_TYPES = {"white noise": "AWGN", "JPEG compression": "JPEG", "blur": "BLUR", "low contrast": "contrast"}
"""CSIQ's names of the types that it has, too."""
_RATES = {"low contrast": 3}  # of the other codecs: 4
Row = Sequence[Any]
_SPAQ_COLUMNS = ("Image name", "MOS", "Brightness", "Colorfulness", "Contrast", "Noisiness", "Sharpness")
_KONIQ_COLUMNS = ("image_name", "c1", "c2", "c3", "c4", "c5", "c_total", "MOS", "SD", "set")
_AGIQA_COLUMNS = ("name", "prompt", "adj1", "adj2", "style", "mos_quality", "std_quality", "mos_align", "std_align")
_CSIQ_COLUMNS = (None, None, None, "image", "dst_idx", "dst_type", "dst_lev", "dmos_std", "dmos")
_CSIQ_HEAD = [("CSIQ", *[None] * 8), [None] * 9, [None] * 9, _CSIQ_COLUMNS]


class Layout(NamedTuple):
    """What is common to all images of one database; `_entry` has the rest."""

    stream: int  # seeds scenes and scores
    contents: Sequence[int]  # the scenes, in the order of the score file
    folder: str  # to which image names are relative
    score_file: str
    head: Sequence[Row] = ()  # of the score file


LAYOUTS = {
    "agiqa3k": Layout(20, (1, 2, 3), "images", "data.csv", [_AGIQA_COLUMNS]),
    "cgiqa6k": Layout(21, (1, 2, 3, 4), "database", "mos.csv", [("Image", "MOS")]),
    "csiq": Layout(22, (1, 2, 3), "dst_imgs", "csiq.DMOS.xlsx", _CSIQ_HEAD),
    "kadid10k": Layout(23, (1, 2, 3), "images", "dmos.csv", [("dist_img", "ref_img", "dmos", "var")]),
    "kadis700k": Layout(2, (1, 2, 3, 4), "", "mos.csv", [("image", "mos")]),
    "koniq10k": Layout(24, (1, 2, 3), "1024x768", "koniq10k_distributions_sets.csv", [_KONIQ_COLUMNS]),
    "live_fb": Layout(25, (1, 2, 3), "database", "database/labels_image.csv", [("name", "mos")]),
    # The images used to train the raters come first, as in the release.
    "live_itw": Layout(26, (4, 1, 2, 3), "Images", "Data/{}_release.mat"),
    "mm21": Layout(27, (1, 2, 3, 4), "", "train_files/exp1/train.csv"),
    "spaq": Layout(28, (1, 2, 3), "TestImage", "Annotations/MOS and Image attribute scores.xlsx", [_SPAQ_COLUMNS]),
    "sqad": Layout(29, (1, 2, 3), "", "mos.csv", [("image", "mos")]),
}
"""The layout of every database by the name of its dataset."""


@dataclass(frozen=True)
class Shot:
    """One distorted picture and its opinion score; `stream` is the number of a database, `content` counts from 1."""

    stream: int
    content: int
    distortion: str
    level: int

    @property
    def seed(self) -> list[int]:
        """Seed of the jitter; without the level, of noise field and direction, which only get stronger."""
        return [MINI_SEED, self.stream, self.content - 1, TYPES[self.distortion][0], self.level]

    @property
    def score(self) -> float:
        """Mean opinion on 0 (worst) to 100 (best)."""
        return float(100 - 18 * self.level + np.random.default_rng(self.seed).uniform(-4, 4))

    def save(self, path: Path) -> None:
        """Write the distorted picture."""
        scene, field = scene_of(self.stream, self.content), np.random.default_rng(self.seed[:-1])
        save(distort(scene.image, self.distortion, self.level, field), path)


@cache
def scene_of(stream: int, content: int) -> Scene:
    """Return the scene of a content."""
    return draw_scene(np.random.default_rng([MINI_SEED, stream, content - 1]))


def write(name: str, folder: Path) -> None:
    """Write a database's synthetic demo data into `folder`."""
    layout, rows = LAYOUTS[name], []
    for shot in shots(name):
        image, reference, row = _entry(name, shot)
        shot.save(folder / layout.folder / image)
        if reference and not (folder / reference).exists():
            save(scene_of(layout.stream, shot.content).image, folder / reference)
        rows.append(row)
    path = folder / layout.score_file
    path.parent.mkdir(parents=True, exist_ok=True)
    if name == "live_itw":
        names, scores, deviations = zip(*rows, strict=True)
        columns = {"AllImages": np.array(names, object)[:, None], "AllMOS": [scores], "AllStdDev": [deviations]}
        for column, values in columns.items():
            savemat(str(path).format(column), {f"{column}_release": values})
    elif name == "mm21":
        write_licqa(folder, rows, (78, 117, 156))
    elif path.suffix == ".xlsx":
        sheet = "all_by_image" if name == "csiq" else "Sheet1"
        pd.DataFrame([*layout.head, *rows]).to_excel(path, sheet_name=sheet, header=False, index=False)
    else:
        line_end = "\r\n" if name in ("agiqa3k", "live_fb") else "\n"
        pd.DataFrame([*layout.head, *rows]).to_csv(path, header=False, index=False, lineterminator=line_end)


def shots(name: str) -> Iterator[Shot]:
    """Yield the images of a database's demo data in the order of its score file."""
    for content, (number, kind), level in product(LAYOUTS[name].contents, enumerate(TYPES), LEVELS):
        # In live_itw, content 4 are seven training images; in mm21, there are as many levels as the codec has rates.
        is_left_out = name == "live_itw" and content == 4 and (level != 3 or number >= 7)
        if not is_left_out and not (name == "mm21" and level > _RATES.get(kind, 4)):
            yield Shot(LAYOUTS[name].stream, content, kind, level)


def write_licqa(folder: Path, rows: Sequence[Row], ends: Sequence[int]) -> None:
    """Write MM21's three lists, which end before the given rows."""
    lists = folder / "train_files" / "exp1"
    lists.mkdir(parents=True, exist_ok=True)
    for part, start, end in zip(("train", "val", "test"), (0, *ends), ends, strict=False):
        pd.DataFrame(rows[start:end]).to_csv(lists / f"{part}.csv", header=False, index=False, lineterminator="\n")


def _entry(name: str, shot: Shot) -> tuple[str, str, Row]:
    """The name of an image, the path of its pristine image if the database has it, and its row of the score file."""
    content, kind, level, score = shot.content, shot.distortion, shot.level, shot.score
    (code, codec), index = TYPES[kind], list(TYPES).index(kind)
    number, digits, reference = 5 * index + level - 1, f"{content}{code:02d}{level:02d}", ""
    rng = np.random.default_rng([*shot.seed, 1])
    row: Row
    match name:
        case "agiqa3k":
            scene, std = scene_of(shot.stream, content), rng.uniform(0.3, 0.9)
            image = f"{('AttnGAN', 'glide', 'midjourney')[content - 1]}_normal_{number:03d}.jpg"
            prompt = f"{scene.size} {scene.color} {scene.shape}"
            row = image, prompt, "", "", "abstract style", 5 * score / 100, std, 2.5, 0.7
        case "cgiqa6k":
            image = f"{'game' if content <= 2 else 'movie'}_{50 * (1 - content % 2) + number:04d}.jpg"
            row = image, f"{5 * score / 100:.2f} "
        case "csiq":
            # Types that CSIQ does not have are next to the folders of those that it has; the sheet calls AWGN noise.
            csiq_type = CSIQ_TYPES.get(kind, kind.replace(" ", "_"))
            # One of the references is a number in the sheet.
            scene_name = 1600 if content == 1 else f"mini{content}"
            image = f"{csiq_type.lower() + '/' if kind in CSIQ_TYPES else ''}{scene_name}.{csiq_type}.{level}.png"
            reference, in_sheet = f"src_imgs/{scene_name}.png", csiq_type.lower().replace("awgn", "noise")
            scores = rng.uniform(0.02, 0.15), 1 - score / 100
            row = None, None, None, scene_name, index + 1, in_sheet, level, *scores
        case "kadid10k":
            image, reference = f"I{content:02d}_{code:02d}_{level:02d}.png", f"images/I{content:02d}.png"
            row = image, f"I{content:02d}.png", f"{1 + 4 * score / 100:.2f}", f"{rng.uniform(0.4, 1):.3f}"
        case "kadis700k":
            image = f"mini-{content}_{code:02d}_{level:02d}.png"
            row = image, f"{score:.4f}"
        case "koniq10k":
            ratings = np.clip(np.rint(1 + 4 * score / 100 + 0.6 * rng.standard_normal(100)), 1, 5)
            shares = [float(np.mean(ratings == rating)) for rating in range(1, 6)]
            image, part = f"{digits}.jpg", ("training", "validation", "test")[content - 1]
            row = image, *shares, 100, 4 + 85 * score / 100, float(np.std(ratings, ddof=1)), part
        case "live_fb":
            image = f"{'blur_dataset/' if content == 3 else 'voc_emotic_ava/AVA__'}{digits}.jpg"
            row = image, 94 * score / 100
        case "live_itw":
            image = f"trainingImages/t{index + 1}.bmp" if content == 4 else f"{digits}.bmp"
            row = Path(image).name, 93 * score / 100, rng.uniform(10, 25)
        case "mm21":
            reference = f"source/mini-{content}_p1.png"
            image = f"{codec}/mini-{content}_{_RATES.get(kind, 4) + 1 - level}_p1.png"
            row = reference, image, f"{1.6 / 2**level:.3f}", f"{score:.3f}"
        case "spaq":
            image = f"{digits}.jpg"
            row = image, *[round(score, 2)] * 6
        case _:
            image = f"IMG_{digits}.jpg"
            row = image, f"{score:.4f}"
    return image, reference, row
