"""LIVE-FB (also FLIVE): 39,810 photographs from other datasets, rated by crowd workers (0 to 100, higher is better).

From Patches to Pictures (PaQ-2-PiQ): Mapping the Perceptual Space of Picture Quality (Ying et al., CVPR 2020),
https://arxiv.org/abs/1912.10088. The scores are in `labels_image.csv` with `name` and `mos` (0 to 94.3; more than 90 %
are above 60). Names begin with a folder of `database/`: `voc_emotic_ava/`, `blur_dataset/` or `EE371R/`. The only
split, `test`, has all images.
"""

from eyechart.datasets_scripts.common.instructions import numbered_steps
from eyechart.datasets_scripts.common.quality.database import QualityBuilder
from eyechart.datasets_scripts.common.quality.score_file_formats import ScoreFormat


class LiveFb(QualityBuilder):
    """Loads the images of LIVE-FB (not its patches)."""

    DESCRIPTION = "Photographs from several datasets with crowd-sourced mean opinion scores."
    HOMEPAGE = "https://github.com/niu-haoran/FLIVE_Database"
    LICENSE = "cc-by-nc-sa-4.0 (scores)"
    CITATION = """\
@inproceedings{ying2020patches,
  title     = {From Patches to Pictures ({PaQ-2-PiQ}): Mapping the Perceptual Space of Picture Quality},
  author    = {Ying, Zhenqiang and Niu, Haoran and Gupta, Praful and Mahajan, Dhruv and Ghadiyaram, Deepti and
               Bovik, Alan},
  booktitle = {IEEE Conference on Computer Vision and Pattern Recognition},
  pages     = {3575--3585},
  year      = {2020}
}
"""
    FORMATS = (ScoreFormat(image="name", score="mos"),)
    SCORE_FILES = ("database/labels_image.csv", "labels_image.csv", "flive.json", "mos.csv")
    IMAGE_FOLDERS = ("database", "", "images")
    HOW_TO_GET = numbered_steps(
        "To get LIVE-FB, whose images are not distributed directly",
        f"Get the repository {HOMEPAGE} and run its notebook database_prep.ipynb, which collects the images from "
        "PASCAL VOC, EMOTIC, AVA and a blur detection dataset into database/",
        "Put labels_image.csv into database/ or next to it",
        "Pass the folder that contains database/ as data_dir (command line: --data-dir)",
    )
