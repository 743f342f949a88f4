"""KADIS-700k with opinion scores: a folder of distorted images and a `mos.csv`.

KADIS-700k (Lin, Hosu and Saupe, https://arxiv.org/abs/2001.08113) has 700,000 distorted images and was released without
opinion scores. The 2AFC paper (https://arxiv.org/abs/2402.01162) collected mean opinion scores for 100 of them (0-100,
higher is better). The script reads any folder with a `mos.csv` with the columns `image` and `mos`, and the images next
to it or in `images/`. `reference`, `distortion_type` and `distortion_level` are read from the file names, which end in
`_<type>_<level>`. The only split, `test`, has all images.
"""

from typing import Any

from eyechart.datasets_scripts.common.instructions import PASS_FOLDER, numbered_steps
from eyechart.datasets_scripts.common.quality.database import QualityBuilder
from eyechart.datasets_scripts.common.quality.kadid import kadid_facts


class Kadis700k(QualityBuilder):
    """Loads a folder of KADIS-700k images with a `mos.csv`."""

    DESCRIPTION = "Distorted images of KADIS-700k with mean opinion scores."
    HOMEPAGE = "https://database.mmsp-kn.de/kadid-10k-database.html"
    LICENSE = "free for research"
    CITATION = """\
@article{lin2020deepfl,
  title   = {{DeepFL-IQA}: Weak Supervision for Deep {IQA} Feature Learning},
  author  = {Lin, Hanhe and Hosu, Vlad and Saupe, Dietmar},
  journal = {arXiv preprint arXiv:2001.08113},
  year    = {2020}
}
"""
    HOW_TO_GET = numbered_steps(
        "KADIS-700k is published without opinion scores. To get images with scores",
        "Download the 100 images that the 2AFC authors scored from https://github.com/h4nwei/2AFC-LMMs (images: "
        "data/kadis700k, scores: 'kadis700k' in data/Coarse_grained_mixed.json), or choose images of KADIS-700k from "
        f"{HOMEPAGE} and collect scores yourself",
        "Write the scores to mos.csv with the columns image,mos (higher is better)",
        "Put mos.csv and the images into one folder",
        PASS_FOLDER,
    )

    def _facts(self, name: str, raw: dict[str, Any]) -> dict[str, Any]:
        return kadid_facts(name)
