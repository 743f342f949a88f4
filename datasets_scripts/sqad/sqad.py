"""SQAD with opinion scores: photographs by 29 smartphones and a `mos.csv`.

SQAD (Fang et al., ICCV 2023, https://github.com/aiff22/SQAD) has 3,017 photographs and scores of cameras, but none of
photographs. The 2AFC paper (https://arxiv.org/abs/2402.01162) collected mean opinion scores for 100 of them (7.7 to
77.7 on 0-100, higher is better). The script reads any such folder: `mos.csv` with the columns `image` and `mos`, the
images beside it, in `SQAD/` or in `images/`. The one split, `test`, holds all images.
"""

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
    HOW_TO_GET = (
        "SQAD is published without opinion scores of its photographs. Get the 100 scored ones of the 2AFC authors from "
        "https://github.com/h4nwei/2AFC-LMMs (folder data/SQAD, scores under 'SQAD' in "
        f"data/Coarse_grained_mixed.json), or photographs from {HOMEPAGE} (sqad.zip) and scores of your own; put the "
        "images and a mos.csv with the columns image,mos (higher is better) into one folder and give that folder as "
        "data_dir."
    )
