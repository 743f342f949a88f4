"""AGIQA-3K (Li et al., TCSVT 2023, https://arxiv.org/abs/2306.04717): 2,982 images by six text-to-image generators.

`quality` is `mos_quality` of `data.csv`, 0 to 4.49. How well an image fits its prompt (`mos_align`) is not read.
"""

from eyechart.datasets_scripts.common.quality.database import QualityBuilder


class Agiqa3k(QualityBuilder):
    """Loads AGIQA-3K's quality scores."""
