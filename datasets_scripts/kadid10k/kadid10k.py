"""KADID-10k: 81 pristine images with 25 distortions at five levels, rated by crowd workers (1 to 5, higher is better).

KADID-10k: A Large-scale Artificially Distorted IQA Database (Lin, Hosu and Saupe, QoMEX 2019). The scores are in
`dmos.csv` with `dist_img`, `ref_img`, `dmos` and `var`. In spite of its name, `dmos` is higher for better images (1 to
4.93). In spite of its name, `var` is a standard deviation: only that is consistent with 30 integer ratings per image
(`I01_01_02.png`: mean 4.33 and 0.869). `reference`, `distortion_type` and `distortion_level` are read from the file
names, such as `I01_01_02.png`. The only split, `test`, has all 10,125 distorted images.
"""

from types import MappingProxyType
from typing import Any

from eyechart.datasets_scripts.common.instructions import PASS_FOLDER, numbered_steps
from eyechart.datasets_scripts.common.quality.database import QualityBuilder
from eyechart.datasets_scripts.common.quality.kadid import kadid_facts
from eyechart.datasets_scripts.common.quality.score_file_formats import ScoreFormat


class Kadid10k(QualityBuilder):
    """Loads KADID-10k."""

    DESCRIPTION = "Images with artificial distortions and crowd-sourced degradation scores."
    HOMEPAGE = "https://database.mmsp-kn.de/kadid-10k-database.html"
    LICENSE = "free for research"
    CITATION = """\
@inproceedings{lin2019kadid,
  title     = {{KADID-10k}: A Large-scale Artificially Distorted {IQA} Database},
  author    = {Lin, Hanhe and Hosu, Vlad and Saupe, Dietmar},
  booktitle = {International Conference on Quality of Multimedia Experience},
  pages     = {1--3},
  year      = {2019}
}
"""
    FORMATS = (ScoreFormat(image="dist_img", score="dmos", std="var"),)
    SCORE_FILES = ("dmos.csv", "kadid10k/dmos.csv", "kadid.json", "KADID-10k.txt", "mos.csv")
    IMAGE_FOLDERS = ("images", "kadid10k/images", "")
    DOWNLOADS = MappingProxyType({"images": "https://datasets.vqa.mmsp-kn.de/archives/kadid10k.zip"})
    HOW_TO_GET = numbered_steps(
        "To get KADID-10k by hand",
        f"Download kadid10k.zip from {HOMEPAGE}",
        "Unpack it to a folder with dmos.csv and images/",
        PASS_FOLDER,
    )

    def _facts(self, name: str, raw: dict[str, Any]) -> dict[str, Any]:
        return kadid_facts(name)
