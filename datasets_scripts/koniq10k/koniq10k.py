"""KonIQ-10k: 10,073 photographs with authentic distortions, rated by crowd workers.

KonIQ-10k: An Ecologically Valid Database for Deep Learning of Blind Image Quality Assessment,
https://arxiv.org/abs/1910.06180. Two official score files are read; if both are present, the first one is used:

- `koniq10k_distributions_sets.csv`: shares `c1` ... `c5` of the ratings 1 (bad) to 5 (excellent), `MOS` (z-scored,
  about 0-100), `SD` of the ratings and `set`, from which the splits `official_train` (7,058), `official_validation`
  (1,000) and `official_test` (2,015) are read;
- `koniq10k_scores_and_distributions.csv`: counts `c1` ... `c5`, `SD` and `MOS_zscore`.

With both, `quality` is the mean rating, 1-5, as Q-Bench uses it (1.10 to 4.31), and `released_score` the z-scored MOS;
the two rank images almost equally (SRCC 0.992). With Q-Bench's list or any other list without the ratings, both columns
are the score of the list. Images are read from `1024x768/` if it exists, else from `512x384/`. The split `test` has all
images.
"""

from types import MappingProxyType
from typing import Any

from eyechart.datasets_scripts.common.builder import Annotation
from eyechart.datasets_scripts.common.errors import unknown_name
from eyechart.datasets_scripts.common.files.readers import clean_text, first_csv_fields
from eyechart.datasets_scripts.common.instructions import PASS_FOLDER, numbered_steps
from eyechart.datasets_scripts.common.quality.database import QualityBuilder
from eyechart.datasets_scripts.common.quality.score_file_formats import ScoreFormat

RATINGS = ("c1", "c2", "c3", "c4", "c5")
"""Columns of the ratings 1 to 5: counts or shares."""
OFFICIAL_SETS = MappingProxyType(
    {"training": "official_train", "validation": "official_validation", "test": "official_test"}
)
"""The split of each value of the column `set`."""


class Koniq10k(QualityBuilder):
    """Loads KonIQ-10k, with its official splits if the score file names them."""

    DESCRIPTION = "Photographs with authentic distortions and crowd-sourced mean opinion scores."
    HOMEPAGE = "https://database.mmsp-kn.de/koniq-10k-database.html"
    LICENSE = "mit (scores); the photographs keep the licences of their authors"
    CITATION = """\
@article{hosu2020koniq,
  title   = {{KonIQ-10k}: An Ecologically Valid Database for Deep Learning of Blind Image Quality Assessment},
  author  = {Hosu, Vlad and Lin, Hanhe and Sziranyi, Tamas and Saupe, Dietmar},
  journal = {IEEE Transactions on Image Processing},
  volume  = {29},
  pages   = {4041--4056},
  year    = {2020}
}
"""
    SPLITS = ("test", *OFFICIAL_SETS.values())
    FORMATS = (
        ScoreFormat(image="image_name", score="MOS_zscore", std="SD", ratings=RATINGS),
        ScoreFormat(image="image_name", score="MOS", std="SD", ratings=RATINGS),
        ScoreFormat(image="image_name", score="MOS", ratings=RATINGS),
        ScoreFormat(image="image_name", score="MOS"),
    )
    SCORE_FILES = (
        "koniq10k_distributions_sets.csv",
        "koniq10k_scores_and_distributions.csv",
        "koniq10k_scores_and_distributions/koniq10k_scores_and_distributions.csv",
        "koniq.json",
        "KonIQ-10k.txt",
        "mos.csv",
    )
    IMAGE_FOLDERS = ("1024x768", "koniq10k_1024x768", "512x384", "koniq10k_512x384", "", "images")
    IMAGE_ARCHIVES = ("koniq10k_1024x768.zip", "koniq10k_512x384.zip")
    DOWNLOADS = MappingProxyType(
        {
            "scores": (
                "https://raw.githubusercontent.com/subpic/koniq/1c271570ac83aeb6aa8e7ff25449f3299b0d2e53/metadata/"
                "koniq10k_distributions_sets.csv"
            ),
            "images": "https://datasets.vqa.mmsp-kn.de/archives/koniq10k_1024x768.zip",
        }
    )
    HOW_TO_GET = numbered_steps(
        "To get KonIQ-10k by hand",
        f"Download koniq10k_1024x768.zip from {HOMEPAGE}, and koniq10k_distributions_sets.csv from "
        "https://github.com/subpic/koniq (folder metadata)",
        "Put the CSV and the unpacked 1024x768/ into one folder",
        PASS_FOLDER,
    )

    def _splits(self, files: tuple[str, ...], data_dir: str) -> list[Annotation]:
        (whole,) = super()._splits(files, data_dir)
        # Only text files have a header line; Q-Bench's list has no sets.
        if files[0].lower().endswith(".json") or "set" not in first_csv_fields(files[0]):
            return [whole]
        return [Annotation(split, files, whole.image_folders) for split in self.SPLITS]

    def _is_part(self, name: str, raw: dict[str, Any], split: str) -> bool:
        if "set" not in raw:
            return True
        part = clean_text(raw["set"])
        if part not in OFFICIAL_SETS:
            raise unknown_name("set", part, OFFICIAL_SETS)
        return split in ("test", OFFICIAL_SETS[part])
