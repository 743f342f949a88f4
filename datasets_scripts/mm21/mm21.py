"""MM21, the LICQA database: 129 pristine images compressed by ten codecs, 5,031 images, with opinion scores.

Quality Assessment of End-to-End Learned Image Compression: The Benchmark and Objective Measure (Li et al., ACM MM
2021), https://github.com/sherlockyy/LICQA. Higher is better (4 to 80). The scores are CSV files without a header:
reference, image, bitrate, MOS. The repository splits them in ten ways; the three files of any `train_files/exp<n>/`
hold all images, and `exp1` is read. The label file of the 2AFC paper gives the bitrate, the third column, as score;
here it is the MOS, the fourth.

File names, `<codec>/<reference>_<rate>.png`, fill `reference`, `distortion_type` and `distortion_level`: rate 1 is the
lowest, hence the highest level, which is 4, or 3 for HiFiC, the one codec with three rates. The one split, `test`,
holds all images.
"""

import os
import re
from typing import Any

from eyechart.datasets_scripts.common.errors import MissingFileError
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
"""The codecs, as the folders call them, with the number of rates at which each was run."""
# A crop's number, "_p1", follows the rate.
_NAME = re.compile(r"(?:.*/)?(?P<codec>[^/]+)/(?P<stem>[^/]+)_(?P<rate>\d)(?P<crop>_p\d+)?\.[^./]+")


def official_lists(data_dir: str) -> tuple[str, ...]:
    """Return the three official score files of a release's folder; nothing where there are none.

    Raises:
        MissingFileError: Only some of them are there.
    """
    for folder in LIST_FOLDERS:
        found = [first_file(os.path.join(data_dir, folder), [name]) for name in OFFICIAL_FILES]
        files = tuple(file for file in found if file is not None)
        if len(files) == len(OFFICIAL_FILES):
            return files
        if files:
            reason = f"the images are spread over {', '.join(OFFICIAL_FILES)}, of which only {len(files)} are there"
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
    HOW_TO_GET = (
        f"LICQA comes from {HOMEPAGE}, which links to Baidu and Google Drive: put the folders of the codecs and "
        "train_files/ of that repository into one folder and give that folder as data_dir."
    )

    def _score_files(self, data_dir: str) -> tuple[str, ...]:
        files = official_lists(data_dir)
        if files:
            return files
        if first_file(data_dir, self.SCORE_FILES) is None:
            names = " or ".join((", ".join(OFFICIAL_FILES), *self.SCORE_FILES))
            raise MissingFileError(f"the folder holds no {names}. {self.HOW_TO_GET}", path=data_dir)
        return super()._score_files(data_dir)

    def _facts(self, name: str, raw: dict[str, Any]) -> dict[str, Any]:
        match = _NAME.fullmatch(name)
        if match is None or match["codec"] not in CODECS:
            return {}
        rate, rates = int(match["rate"]), CODECS[match["codec"]]
        if not 1 <= rate <= rates:
            raise ValueError(f"image name {name!r} ends in rate {rate}; {match['codec']} has rates 1-{rates}")
        return {
            "reference": match["stem"] + (match["crop"] or ""),
            "distortion_type": match["codec"],
            "distortion_level": rates + 1 - rate,
        }
