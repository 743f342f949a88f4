"""MM21, the LICQA database: 129 pristine images compressed by ten codecs, 5,031 images, with opinion scores.

Quality Assessment of End-to-End Learned Image Compression: The Benchmark and Objective Measure (Li et al., ACM MM
2021), https://github.com/sherlockyy/LICQA. Higher is better (4 to 80). The scores are in CSV files without a header:
reference, image, bitrate, MOS. The repository splits the images in ten ways; the three files of any
`train_files/exp<n>/` together list all images, and `exp1` is read. The label file of the 2AFC paper uses the bitrate,
the third column, as score; here the score is the MOS, the fourth column.

`reference`, `distortion_type` and `distortion_level` are read from the file names, `<codec>/<reference>_<rate>.png`:
rate 1 is the lowest rate and so the highest level, which is 4, or 3 for HiFiC, the only codec with three rates. The
only split, `test`, has all images.
"""

import os
import re
from typing import Any

from eyechart.datasets_scripts.common.errors import MissingFileError
from eyechart.datasets_scripts.common.instructions import PASS_FOLDER, numbered_steps
from eyechart.datasets_scripts.common.paths import first_file
from eyechart.datasets_scripts.common.quality.database import QualityBuilder
from eyechart.datasets_scripts.common.quality.score_file_formats import ScoreFormat

LIST_FOLDERS = ("train_files/exp1", "exp1", "")
"""Where the three official files may be."""
OFFICIAL_FILES = ("train.csv", "val.csv", "test.csv")
CODECS = {
    "CAEntropyMSIM": 4,
    "FactMSE": 4,
    "FRICwRNN": 4,
    "HierarchMSE": 4,
    "HierarchMSIM": 4,
    "HiFiC": 3,
    "HyperMSE": 4,
    "JPEG": 4,
    "VVC": 4,
    "WebP": 4,
}
"""The codecs by the names of their folders, with the number of rates of each."""
# A crop's number, "_p1", follows the rate.
_NAME = re.compile(r"(?:.*/)?(?P<codec>[^/]+)/(?P<stem>[^/]+)_(?P<rate>\d)(?P<crop>_p\d+)?\.[^./]+")


def official_lists(data_dir: str) -> tuple[str, ...]:
    """Return the three official score files of a release's folder; () if it has none.

    Raises:
        MissingFileError: Only some of them exist.
    """
    for folder in LIST_FOLDERS:
        found = [first_file(os.path.join(data_dir, folder), [name]) for name in OFFICIAL_FILES]
        files = tuple(file for file in found if file is not None)
        if len(files) == len(OFFICIAL_FILES):
            return files
        if files:
            absent = [name for name, file in zip(OFFICIAL_FILES, found, strict=True) if file is None]
            reason = f"missing score file {' and '.join(absent)}; all of {', '.join(OFFICIAL_FILES)} are needed"
            raise MissingFileError(reason, path=os.path.join(data_dir, folder))
    return ()


class Mm21(QualityBuilder):
    """Loads the LICQA database."""

    DESCRIPTION = "Images compressed by traditional and learned codecs with mean opinion scores."
    HOMEPAGE = "https://github.com/sherlockyy/LICQA"
    LICENSE = "not stated"
    CITATION = """\
@inproceedings{li2021quality,
  title     = {Quality Assessment of End-to-End Learned Image Compression: The Benchmark and Objective Measure},
  author    = {Li, Yang and Wang, Shiqi and Zhang, Xinfeng and Wang, Shanshe and Ma, Siwei and Wang, Yue},
  booktitle = {ACM International Conference on Multimedia},
  year      = {2021}
}
"""
    FORMATS = (ScoreFormat(image="image", score="mos", all_columns=("reference", "image", "bitrate", "mos")),)
    SCORE_FILES = ("mos.csv",)
    IMAGE_FOLDERS = ("", "images")
    HOW_TO_GET = numbered_steps(
        "To get MM21 (LICQA)",
        f"Download train_files/ from {HOMEPAGE}, and the images through its links to Baidu or Google Drive",
        "Put train_files/ and the codecs' folders of images into one folder",
        PASS_FOLDER,
    )

    def _score_files(self, data_dir: str) -> tuple[str, ...]:
        files = official_lists(data_dir)
        if files:
            return files
        if first_file(data_dir, self.SCORE_FILES) is None:
            names = f"{', '.join(OFFICIAL_FILES)} (in train_files/exp1/), or {' or '.join(self.SCORE_FILES)}"
            raise MissingFileError(f"no score file; expected {names}\n{self.HOW_TO_GET}", path=data_dir)
        return super()._score_files(data_dir)

    def _facts(self, name: str, raw: dict[str, Any]) -> dict[str, Any]:
        match = _NAME.fullmatch(name)
        if match is None or match["codec"] not in CODECS:
            return {}
        rate, rates = int(match["rate"]), CODECS[match["codec"]]
        if not 1 <= rate <= rates:
            raise ValueError(f"image name {name!r} has rate {rate}; expected 1-{rates} for {match['codec']}")
        return {
            "reference": match["stem"] + (match["crop"] or ""),
            "distortion_type": match["codec"],
            "distortion_level": rates + 1 - rate,
        }
