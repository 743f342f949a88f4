"""CGIQA-6K (Zhang et al., ACM TOMM 2024, https://arxiv.org/abs/2303.08050): 3,000 images of games and 3,000 of movies.

`quality` is 0.36 to 4.54. The two parts were rated under different instructions. Q-Bench therefore scores them
separately and averages the results (Sec. A.2.3): `subset` names the part, the configurations `game` and `movie` have
one each.
"""

from typing import Any

from eyechart.datasets_scripts.common.quality.database import QualityBuilder


class Cgiqa6k(QualityBuilder):
    """Loads CGIQA-6K, or one of its two parts."""

    def _is_part(self, name: str, raw: dict[str, Any], facts: dict[str, Any], split: str) -> bool:
        if not facts:
            raise ValueError(f"image name {name!r} must begin with game_ or movie_")
        return self.config.name in ("all", facts["subset"])
