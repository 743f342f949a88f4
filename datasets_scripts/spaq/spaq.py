"""SPAQ (Fang et al., CVPR 2020): 11,125 smartphone photographs, rated in a laboratory; `quality` is 2 to 96 on 0-100.

The further columns of its workbook (brightness, sharpness, ...) are not read. The copies with a shorter side of 512
pixels, `TestImage_512/*.png`, have other file names: to use them, a score list has to contain those names.
"""

from eyechart.datasets_scripts.common.quality.database import QualityBuilder


class Spaq(QualityBuilder):
    """Loads SPAQ from its workbook or from a list."""
