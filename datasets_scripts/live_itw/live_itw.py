"""LIVE-itw, the LIVE In the Wild Image Quality Challenge Database (Ghadiyaram and Bovik, https://arxiv.org/abs/1511.02919).

Photographs rated by crowd workers, 3.4 to 92.4 on 0-100. The release has three MAT files in `Data/`: names, scores and
standard deviations. The copy that is downloaded comes with Q-Bench's list, without standard deviations.

The raters were trained on the first seven images, `t1.bmp` to `t7.bmp` in `Images/trainingImages/`. Q-Bench includes
them: the configuration `default` has 1,169 images. `without_training` has the usual 1,162.
"""

import os
import re
from typing import Any

from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError
from eyechart.datasets_scripts.common.files.readers import Row
from eyechart.datasets_scripts.common.quality.database import QualityBuilder
from eyechart.datasets_scripts.common.quality.score_file_formats import FORMAT, ScoreFormat


class LiveItw(QualityBuilder):
    """Loads LIVE-itw from its MAT files or from a list."""

    def _read(self, path: str) -> list[Row]:
        folder, file = os.path.split(path)
        if not file.lower().endswith(".mat"):
            return super()._read(path)
        names = read_mat(path, "AllImages_release")
        scores, stds = (
            read_mat(os.path.join(folder, f"{variable}.mat"), variable)
            for variable in ("AllMOS_release", "AllStdDev_release")
        )
        if not len(names) == len(scores) == len(stds):
            reason = f"{len(names)} names, but {len(scores)} scores and {len(stds)} standard deviations"
            raise BadAnnotationError(reason, path=path)
        rows = zip(names, scores, stds, strict=True)
        layout = ScoreFormat(std="std")
        return [
            (number, {"image": name, "mos": score, "std": std, FORMAT: layout})
            for number, (name, score, std) in enumerate(rows, 1)
        ]

    def _is_part(self, name: str, raw: dict[str, Any], facts: dict[str, Any], split: str) -> bool:
        return self.config.name == "default" or re.fullmatch(r"t\d+\.bmp", name) is None


def read_mat(path: str, name: str) -> list[Any]:
    """Return a variable of a MAT file of version 4 or 5 as a flat list of its numbers, or of the texts of its cells."""
    from scipy.io import loadmat

    try:
        values = loadmat(path, variable_names=[name])[name].ravel()
        return [value.item() if getattr(value, "size", 0) == 1 else value for value in values]
    except FileNotFoundError as error:
        raise MissingFileError("the annotation file is missing", path=path) from error
    # SciPy raises whatever the damage led it to: ValueError, TypeError, zlib.error, IndexError, ...
    except Exception as error:
        hint = "Download the file again, or save it with MATLAB's save(..., '-v7') if it is of version 7.3"
        reason = f"variable {name!r} cannot be read: {type(error).__name__}: {error}. {hint}"
        raise BadAnnotationError(reason, path=path) from error
