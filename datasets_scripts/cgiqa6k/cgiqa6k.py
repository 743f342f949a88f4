"""CGIQA-6K: 3,000 images of games and 3,000 of movies, rated in a laboratory (0 to 5, higher is better).

Subjective and Objective Quality Assessment for in-the-Wild Computer Graphics Images (Zhang et al., ACM TOMM 2024),
https://arxiv.org/abs/2303.08050. The scores are in `mos.csv` with `Image` and `MOS` (0.36 to 4.54), the images are in
`database/`. `game_0000` to `game_2999` and `movie_0000` to `movie_2999` were rated under different instructions.
Q-Bench therefore scores the two parts separately and averages the results (Sec. A.2.3): `subset` names the part, and
the configurations `game` and `movie` have one part each. The only split, `test`, has all images of a configuration.
"""

from typing import Any, ClassVar

from eyechart.datasets_scripts.common.builder import BenchmarkConfig
from eyechart.datasets_scripts.common.instructions import PASS_FOLDER, numbered_steps
from eyechart.datasets_scripts.common.quality.database import QualityBuilder
from eyechart.datasets_scripts.common.quality.score_file_formats import ScoreFormat

PARTS = ("game", "movie")
"""The two kinds of images; names begin with one of them and an underscore."""


class Cgiqa6k(QualityBuilder):
    """Loads CGIQA-6K, or one of its two parts."""

    DESCRIPTION = "Computer graphics images from games and movies with mean opinion scores."
    HOMEPAGE = "https://github.com/zzc-1998/CGIQA6K"
    LICENSE = "not stated"
    CITATION = """\
@article{zhang2024subjective,
  title   = {Subjective and Objective Quality Assessment for in-the-Wild Computer Graphics Images},
  author  = {Zhang, Zicheng and Sun, Wei and Zhou, Yingjie and Jia, Jun and Zhang, Zhichao and Liu, Jing and
             Min, Xiongkuo and Zhai, Guangtao},
  journal = {ACM Transactions on Multimedia Computing, Communications, and Applications},
  year    = {2024}
}
"""
    BUILDER_CONFIGS: ClassVar[list[BenchmarkConfig]] = [
        BenchmarkConfig(name="all", description="Games and movies."),
        BenchmarkConfig(name="game", description="The images of games."),
        BenchmarkConfig(name="movie", description="The images of movies."),
    ]
    DEFAULT_CONFIG_NAME = "all"
    FORMATS = (ScoreFormat(image="Image", score="MOS"),)
    SCORE_FILES = ("mos.csv", "cgi.json")
    IMAGE_FOLDERS = ("database", "", "images")
    HOW_TO_GET = numbered_steps(
        "To get CGIQA-6K",
        f"Download CGIQA-6K from the OneDrive link at {HOMEPAGE}",
        "Put mos.csv and database/ into one folder",
        PASS_FOLDER,
    )

    def _is_part(self, name: str, raw: dict[str, Any], split: str) -> bool:
        return self.config.name in ("all", _part_of(name))

    def _facts(self, name: str, raw: dict[str, Any]) -> dict[str, Any]:
        return {"subset": _part_of(name)}


def _part_of(name: str) -> str:
    part = name.rpartition("/")[2].partition("_")[0]
    if part not in PARTS:
        raise ValueError(f"image name {name!r} must begin with {' or '.join(f'{part}_' for part in PARTS)}")
    return part
