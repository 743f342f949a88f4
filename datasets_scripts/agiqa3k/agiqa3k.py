"""AGIQA-3K: 2,982 images by six text-to-image generators, rated from 0 to 5 (higher is better).

AGIQA-3K: An Open Database for AI-Generated Image Quality Assessment (Li et al., IEEE TCSVT 2023),
https://arxiv.org/abs/2306.04717. The scores are in `data.csv`: `mos_quality` (0 to 4.49) with `std_quality`. The second
score, how well an image fits its prompt (`mos_align`), is not read. The only split, `test`, has all images.
"""

from eyechart.datasets_scripts.common.instructions import PASS_FOLDER, numbered_steps
from eyechart.datasets_scripts.common.quality.database import QualityBuilder
from eyechart.datasets_scripts.common.quality.score_file_formats import ScoreFormat


class Agiqa3k(QualityBuilder):
    """Loads AGIQA-3K's quality scores."""

    DESCRIPTION = "AI-generated images with mean opinion scores of their quality."
    HOMEPAGE = "https://github.com/lcysyzxdxc/AGIQA-3k-Database"
    LICENSE = "mit"
    CITATION = """\
@article{li2023agiqa,
  title   = {{AGIQA-3K}: An Open Database for {AI}-Generated Image Quality Assessment},
  author  = {Li, Chunyi and Zhang, Zicheng and Wu, Haoning and Sun, Wei and Min, Xiongkuo and Liu, Xiaohong and
             Zhai, Guangtao and Lin, Weisi},
  journal = {IEEE Transactions on Circuits and Systems for Video Technology},
  year    = {2023}
}
"""
    FORMATS = (ScoreFormat(image="name", score="mos_quality", std="std_quality"),)
    SCORE_FILES = ("data.csv", "agi.json", "mos.csv")
    IMAGE_FOLDERS = ("database", "", "images", "AGIQA-3K")
    HOW_TO_GET = numbered_steps(
        "To get AGIQA-3K",
        f"Download data.csv from {HOMEPAGE}, and the images through its links to Baidu or Google Drive",
        "Put data.csv into a folder, and the images next to it or into images/ in that folder",
        PASS_FOLDER,
    )
