"""LIVE-itw, the LIVE In the Wild Image Quality Challenge Database (Ghadiyaram and Bovik, https://arxiv.org/abs/1511.02919).

Photographs rated by crowd workers, 3.4 to 92.4 on 0-100. The release has three MAT files in `Data/`: names, scores and
standard deviations. The copy that is downloaded comes with Q-Bench's list, without standard deviations.

The raters were trained on the first seven images, `t1.bmp` to `t7.bmp` in `Images/trainingImages/`. Q-Bench includes
them: the configuration `default` has 1,169 images. `without_training` has the usual 1,162.
"""

import os
import re
from typing import Any, ClassVar

from eyechart.datasets_scripts.common.builder import BenchmarkConfig
from eyechart.datasets_scripts.common.errors import BadAnnotationError
from eyechart.datasets_scripts.common.files.matlab import read_mat_numbers, read_mat_texts
from eyechart.datasets_scripts.common.files.readers import Row
from eyechart.datasets_scripts.common.quality.database import QualityBuilder
from eyechart.datasets_scripts.common.quality.score_file_formats import FORMAT, ScoreFormat

_NAMES, _SCORES, _STDS = "AllImages_release", "AllMOS_release", "AllStdDev_release"


class LiveItw(QualityBuilder):
    """Loads LIVE-itw from its MAT files or from a list."""

    BUILDER_CONFIGS: ClassVar[list[BenchmarkConfig]] = [
        BenchmarkConfig(name="default", description="All 1,169 images."),
        BenchmarkConfig(name="without_training", description="Without the seven images used to train the raters."),
    ]
    DEFAULT_CONFIG_NAME = "default"

    def _read(self, path: str) -> list[Row]:
        folder, file = os.path.split(path)
        if not file.lower().endswith(".mat"):
            return super()._read(path)
        names = read_mat_texts(path, _NAMES)
        scores, stds = (read_mat_numbers(os.path.join(folder, f"{key}.mat"), key) for key in (_SCORES, _STDS))
        if not len(names) == len(scores) == len(stds):
            reason = f"{len(names)} names, but {len(scores)} scores and {len(stds)} standard deviations"
            raise BadAnnotationError(reason, path=path)
        shared: dict[str, Any] = {FORMAT: ScoreFormat(std="std")}
        rows = zip(names, scores, stds, strict=True)
        return [(n, {"image": name, "mos": score, "std": std} | shared) for n, (name, score, std) in enumerate(rows, 1)]

    def _is_part(self, name: str, raw: dict[str, Any], facts: dict[str, Any], split: str) -> bool:
        return self.config.name == "default" or re.fullmatch(r"t\d+\.bmp", name) is None
