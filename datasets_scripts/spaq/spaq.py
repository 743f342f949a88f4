"""SPAQ: 11,125 smartphone photographs, rated in a laboratory on a scale of 0 to 100 (higher is better).

Perceptual Quality Assessment of Smartphone Photography (Fang et al., CVPR 2020), https://github.com/h4nwei/SPAQ. The
scores are the column `MOS` (2 to 96) of `Annotations/MOS and Image attribute scores.xlsx`; its ratings of brightness,
colorfulness, contrast, noisiness and sharpness are not read. Images are read from `TestImage/`. The copies with a
shorter side of 512 pixels, `TestImage_512/*.png`, have other file names: to use them, a score list has to contain those
names. The only split, `test`, has all images.
"""

from eyechart.datasets_scripts.common.instructions import PASS_FOLDER, numbered_steps
from eyechart.datasets_scripts.common.quality.database import QualityBuilder
from eyechart.datasets_scripts.common.quality.score_file_formats import ScoreFormat

_WORKBOOK = "MOS and Image attribute scores.xlsx"


class Spaq(QualityBuilder):
    """Loads SPAQ from its workbook or from a list."""

    DESCRIPTION = "Smartphone photographs with mean opinion scores."
    HOMEPAGE = "https://github.com/h4nwei/SPAQ"
    LICENSE = "not stated"
    CITATION = """\
@inproceedings{fang2020perceptual,
  title     = {Perceptual Quality Assessment of Smartphone Photography},
  author    = {Fang, Yuming and Zhu, Hanwei and Zeng, Yan and Ma, Kede and Wang, Zhou},
  booktitle = {IEEE Conference on Computer Vision and Pattern Recognition},
  pages     = {3677--3686},
  year      = {2020}
}
"""
    FORMATS = (
        ScoreFormat(image="Image name", score="MOS", sheet=""),
        ScoreFormat(image="Image name", score="MOS"),
    )
    SCORE_FILES = (f"Annotations/{_WORKBOOK}", _WORKBOOK, "spaq.json", "SPAQ.txt", "mos.csv")
    IMAGE_FOLDERS = ("TestImage", "TestImage_512", "", "images")
    HOW_TO_GET = numbered_steps(
        "To get SPAQ",
        f"Download SPAQ from the links to Baidu Yun or Google Drive at {HOMEPAGE}",
        f"Put Annotations/ (with '{_WORKBOOK}') and TestImage/ into one folder",
        PASS_FOLDER,
    )
