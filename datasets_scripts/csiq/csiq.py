"""CSIQ: 30 pristine images with six distortions at up to five levels, 866 images, rated in a laboratory.

Most Apparent Distortion: Full-Reference Image Quality Assessment and the Role of Strategy (Larson and Chandler, JEI
2010). CSIQ publishes DMOS on a scale of 0 (no difference) to 1 (worst), where lower is better; `released_score` is the
DMOS and `quality` is 1 - DMOS. Score files that are read:

- `csiq.DMOS.xlsx`, sheet `all_by_image`, headings in row 4: `image` (the reference; one of them is the number 1600),
  `dst_type`, `dst_lev`, `dmos_std`, `dmos`;
- `csiq_label.txt`: file name and DMOS, separated by a blank;
- lists of file names (`image` or `img_path`) with `dmos` or `gt_score`, which are DMOS as well; only the `mos` of a
  plain `image,mos` CSV is read as higher is better.

`reference`, `distortion_type` and `distortion_level` are read from the file names, `<reference>.<type>.<level>.png`.
Images are in `dst_imgs/` or in its folders by type. The only split, `test`, has all images.
"""

import re
from types import MappingProxyType
from typing import Any

from eyechart.datasets_scripts.common.files.readers import text_field
from eyechart.datasets_scripts.common.instructions import PASS_FOLDER, numbered_steps
from eyechart.datasets_scripts.common.quality.database import QualityBuilder
from eyechart.datasets_scripts.common.quality.score_file_formats import FORMAT, ScoreFormat

DISTORTIONS = {
    "AWGN": "white noise",
    "JPEG": "JPEG compression",
    "jpeg2000": "JPEG2000 compression",
    "fnoise": "pink noise",
    "BLUR": "Gaussian blur",
    "contrast": "contrast decrement",
}
"""Readable names of the types in file names; a type that is not listed keeps its name."""
WORST = 1.0
"""DMOS of the worst image."""
_TYPE, _LEVEL = "dst_type", "dst_lev"
_SHEET_FORMAT = ScoreFormat(
    "image", "dmos", "dmos_std", further=(_TYPE, _LEVEL), worst=WORST, sheet="all_by_image", header_row=4
)
_FILE_TYPES = {"noise": "AWGN", "jpeg": "JPEG", "jpeg 2000": "jpeg2000", "blur": "BLUR"}
_NAME = re.compile(r"(?P<reference>[^.]+)\.(?P<type>[^.]+)\.(?P<level>\d)\.[^.]+")
_FOLDERS = tuple(dict.fromkeys(name for code in DISTORTIONS for name in (code.lower(), code)))


class Csiq(QualityBuilder):
    """Loads CSIQ from its workbook or from a list; `quality` is turned to higher is better."""

    DESCRIPTION = "Images with artificial distortions and differential mean opinion scores."
    HOMEPAGE = "https://s2.smu.edu/~eclarson/csiq.html"
    LICENSE = "not stated"
    CITATION = """\
@article{larson2010most,
  title   = {Most Apparent Distortion: Full-Reference Image Quality Assessment and the Role of Strategy},
  author  = {Larson, Eric C. and Chandler, Damon M.},
  journal = {Journal of Electronic Imaging},
  volume  = {19},
  number  = {1},
  pages   = {011006},
  year    = {2010}
}
"""
    WORST = WORST
    FORMATS = (
        _SHEET_FORMAT,
        ScoreFormat(image="image", score="dmos", worst=WORST, all_columns=("image", "dmos"), delimiter=" "),
        ScoreFormat(image="image", score="dmos", worst=WORST),
    )
    SCORE_FILES = ("csiq.DMOS.xlsx", "csiq_label.txt", "csiq.json", "CSIQ.txt", "mos.csv")
    IMAGE_FOLDERS = ("dst_imgs", *(f"dst_imgs/{name}" for name in _FOLDERS), "dst_imgs_all", "", *_FOLDERS, "images")
    IMAGE_ARCHIVES = ("dst_imgs.zip",)
    DOWNLOADS = MappingProxyType(
        {
            "scores": "https://s2.smu.edu/~eclarson/csiq/csiq.DMOS.xlsx",
            "images": "https://s2.smu.edu/~eclarson/csiq/dst_imgs.zip",
        }
    )
    HOW_TO_GET = numbered_steps(
        "To get CSIQ by hand",
        f"Download csiq.DMOS.xlsx and dst_imgs.zip from {HOMEPAGE}",
        "Put csiq.DMOS.xlsx and the unpacked dst_imgs/ into one folder",
        PASS_FOLDER,
    )

    def _image_name(self, raw: dict[str, Any], *, path: str, number: int) -> str:
        column = raw[FORMAT].image
        if _TYPE not in raw or _NAME.fullmatch(str(raw[column])):
            return super()._image_name(raw, path=path, number=number)
        # The reference 1600 and the levels are numbers.
        key = (column, _TYPE, _LEVEL)
        cells = {name: f"{raw[name]:g}" if isinstance(raw[name], int | float) else raw[name] for name in key}
        reference, kind, level = (text_field(cells, name, path=path, number=number) for name in key)
        return f"{reference.lower()}.{_FILE_TYPES.get(kind, kind)}.{level}.png"

    def _facts(self, name: str, raw: dict[str, Any]) -> dict[str, Any]:
        match = _NAME.fullmatch(name.rpartition("/")[2])
        if match is None:
            return {}
        return {
            "reference": match["reference"],
            "distortion_type": DISTORTIONS.get(match["type"], match["type"]),
            "distortion_level": int(match["level"]),
        }
