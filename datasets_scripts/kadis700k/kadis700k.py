"""KADIS-700k (Lin, Hosu and Saupe, https://arxiv.org/abs/2001.08113): 700,000 distorted images without opinion scores.

The 2AFC paper (https://arxiv.org/abs/2402.01162) collected scores of 100 of them (8.3 to 77.6 on 0-100). Any folder of
its images with a `mos.csv` is read.
"""

from eyechart.datasets_scripts.common.quality.database import QualityBuilder


class Kadis700k(QualityBuilder):
    """Loads a folder of KADIS-700k's images with a `mos.csv`."""
