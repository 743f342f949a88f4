"""LIVE-FB, also FLIVE (Ying et al., CVPR 2020, https://arxiv.org/abs/1912.10088): 39,810 images, without their patches.

`quality` is 0 to 94.3, for more than 90 % of the images above 60. Names begin with a folder of `database/`:
`voc_emotic_ava/`, `blur_dataset/` or `EE371R/`.
"""

from eyechart.datasets_scripts.common.quality.database import QualityBuilder


class LiveFb(QualityBuilder):
    """Loads the images of LIVE-FB."""
