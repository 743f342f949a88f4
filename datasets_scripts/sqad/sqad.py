"""SQAD (Fang et al., ICCV 2023): 3,017 photographs by 29 smartphones, with scores of cameras, not of photographs.

The 2AFC paper (https://arxiv.org/abs/2402.01162) collected scores of 100 of the photographs (7.7 to 77.7 on 0-100). Any
folder of its photographs with a `mos.csv` is read.
"""

from eyechart.datasets_scripts.common.quality.database import QualityBuilder


class Sqad(QualityBuilder):
    """Loads a folder of SQAD's photographs with a `mos.csv`."""
