"""KADID-10k (Lin, Hosu and Saupe, QoMEX 2019): 81 pristine images with 25 distortions at five levels, 10,125 images.

The names of the columns of `dmos.csv` mislead: `dmos` (1 to 4.93) is higher for better images, and `var` is a standard
deviation: only that is consistent with 30 integer ratings per image (`I01_01_02.png`: mean 4.33 and 0.869).
"""

from eyechart.datasets_scripts.common.quality.database import QualityBuilder


class Kadid10k(QualityBuilder):
    """Loads KADID-10k."""
