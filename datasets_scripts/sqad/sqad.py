"""SQAD with opinion scores: photographs by 29 smartphones and a `mos.csv`.

SQAD (Fang et al., ICCV 2023, https://github.com/aiff22/SQAD) has 3,017 photographs and scores cameras, not photographs.
The 2AFC paper (https://arxiv.org/abs/2402.01162) collected mean opinion scores for 100 of the photographs (7.7 to 77.7
on 0-100, higher is better). The script reads any folder with a `mos.csv` with the columns `image` and `mos`, and the
images next to it, in `SQAD/` or in `images/`. The only split, `test`, has all images.
"""

from eyechart.datasets_scripts.common.instructions import PASS_FOLDER, numbered_steps
from eyechart.datasets_scripts.common.quality.database import QualityBuilder


class Sqad(QualityBuilder):
    """Loads a folder of SQAD's photographs with a `mos.csv`."""

    DESCRIPTION = "Smartphone photographs of SQAD with mean opinion scores."
    HOMEPAGE = "https://github.com/aiff22/SQAD"
    LICENSE = "not stated"
    CITATION = """\
@inproceedings{fang2023sqad,
  title     = {{SQAD}: Automatic Smartphone Camera Quality Assessment and Benchmarking},
  author    = {Fang, Zilin and Ignatov, Andrey and Zamfir, Eduard and Timofte, Radu},
  booktitle = {IEEE/CVF International Conference on Computer Vision},
  pages     = {20532--20542},
  year      = {2023}
}
"""
    IMAGE_FOLDERS = ("", "SQAD", "sqad", "images")
    IMAGE_ARCHIVES = ("sqad.zip",)
    HOW_TO_GET = numbered_steps(
        "SQAD is published without opinion scores of its photographs. To get images with scores",
        "Download the 100 photographs that the 2AFC authors scored from https://github.com/h4nwei/2AFC-LMMs (images: "
        "data/SQAD, scores: 'SQAD' in data/Coarse_grained_mixed.json), or choose photographs from "
        f"{HOMEPAGE} (sqad.zip) and collect scores yourself",
        "Write the scores to mos.csv with the columns image,mos (higher is better)",
        "Put mos.csv and the images into one folder",
        PASS_FOLDER,
    )
