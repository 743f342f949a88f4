"""LIVE-itw, the LIVE In the Wild Image Quality Challenge Database: photographs rated by crowd workers (0 to 100).

Massive Online Crowdsourced Study of Subjective and Objective Picture Quality (Ghadiyaram and Bovik, IEEE TIP 2016),
https://arxiv.org/abs/1511.02919. Higher is better. The release has three MAT files in `Data/`:
`AllImages_release.mat` (names), `AllMOS_release.mat` (3.4 to 92.4) and `AllStdDev_release.mat`.

The raters were trained on the first seven images, `t1.bmp` to `t7.bmp` in `Images/trainingImages/`. Q-Bench includes
them: the configuration `default` has 1,169 images. `without_training` has the usual 1,162. The only split, `test`, has
all images of a configuration.
"""

import os
import re
from typing import Any, ClassVar

from eyechart.datasets_scripts.common.builder import BenchmarkConfig
from eyechart.datasets_scripts.common.errors import BadAnnotationError
from eyechart.datasets_scripts.common.files.matlab import read_mat_numbers, read_mat_texts
from eyechart.datasets_scripts.common.files.readers import Row
from eyechart.datasets_scripts.common.instructions import PASS_FOLDER, numbered_steps
from eyechart.datasets_scripts.common.quality.database import QualityBuilder
from eyechart.datasets_scripts.common.quality.score_file_formats import FORMAT, ScoreFormat

_NAMES, _SCORES, _STDS = "AllImages_release", "AllMOS_release", "AllStdDev_release"
_MAT_FORMAT = ScoreFormat(image="name", score="mos", std="std")
_TRAINING_IMAGE = re.compile(r"t\d+\.bmp")


class LiveItw(QualityBuilder):
    """Loads LIVE-itw from its MAT files or from a list."""

    DESCRIPTION = "Photographs by mobile devices with crowd-sourced mean opinion scores."
    HOMEPAGE = "https://live.ece.utexas.edu/research/ChallengeDB/index.html"
    LICENSE = "free use with the copyright notice of The University of Texas at Austin"
    CITATION = """\
@article{ghadiyaram2016massive,
  title   = {Massive Online Crowdsourced Study of Subjective and Objective Picture Quality},
  author  = {Ghadiyaram, Deepti and Bovik, Alan C.},
  journal = {IEEE Transactions on Image Processing},
  volume  = {25},
  number  = {1},
  pages   = {372--387},
  year    = {2016}
}
"""
    BUILDER_CONFIGS: ClassVar[list[BenchmarkConfig]] = [
        BenchmarkConfig(name="default", description="All 1,169 images."),
        BenchmarkConfig(name="without_training", description="Without the seven images used to train the raters."),
    ]
    DEFAULT_CONFIG_NAME = "default"
    SCORE_FILES = (f"Data/{_NAMES}.mat", f"{_NAMES}.mat", "livec.json", "LIVE_Challenge.txt", "mos.csv")
    IMAGE_FOLDERS = ("Images", "Images/trainingImages", "", "images")
    HOW_TO_GET = numbered_steps(
        "To get LIVE-itw",
        f"Request the download at {HOMEPAGE}",
        "Unpack it to the folder ChallengeDB_release, which contains Data/ and Images/",
        PASS_FOLDER,
    )

    def _read(self, path: str) -> list[Row]:
        if not path.lower().endswith(".mat"):
            return super()._read(path)
        if os.path.basename(path) != f"{_NAMES}.mat":
            reason = f"name only {_NAMES}.mat; {_SCORES}.mat and {_STDS}.mat are read from the same folder"
            raise BadAnnotationError(reason, path=path)
        folder = os.path.dirname(path)
        columns: dict[str, list[Any]] = {"name": read_mat_texts(path, _NAMES)}
        for column, variable in (("mos", _SCORES), ("std", _STDS)):
            file = os.path.join(folder, f"{variable}.mat")
            columns[column] = read_mat_numbers(file, variable)
            if len(columns[column]) != len(columns["name"]):
                reason = f"{len(columns[column])} values, but {len(columns['name'])} names in {_NAMES}.mat"
                raise BadAnnotationError(reason, path=file)
        rows = (dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True))
        return [(number, row | {FORMAT: _MAT_FORMAT}) for number, row in enumerate(rows, 1)]

    def _is_part(self, name: str, raw: dict[str, Any], split: str) -> bool:
        return self.config.name == "default" or _TRAINING_IMAGE.fullmatch(name) is None
