"""MM21, the LICQA database (Li et al., ACM MM 2021): 129 pristine images compressed by ten codecs, 5,031 images.

`quality` is the MOS, 4 to 80, in CSV files without a header: reference, image, bitrate, MOS. The repository splits the
images in ten ways; the three files of any `train_files/exp<n>/` together list all images, and `exp1` is read. The label
file of the 2AFC paper uses the bitrate, the third column, as score.

`reference`, `distortion_type` and `distortion_level` are read from the file names, `<codec>/<reference>_<rate>.png`:
rate 1 is the lowest rate and so the highest level, which is 4, or 3 for HiFiC, the only codec with three rates.
"""

import re
from typing import Any

from eyechart.datasets_scripts.common.quality.database import QualityBuilder

# A crop's number, "_p1", follows the rate.
_NAME = re.compile(r"(?:.*/)?(?P<codec>[^/]+)/(?P<stem>[^/]+)_(?P<rate>[1-4])(?P<crop>_p\d+)?\.[^./]+")


class Mm21(QualityBuilder):
    """Loads the LICQA database."""

    def _facts(self, name: str) -> dict[str, Any]:
        match = _NAME.fullmatch(name)
        if match is None:
            return {}
        return {
            "reference": match["stem"] + (match["crop"] or ""),
            "distortion_type": match["codec"],
            "distortion_level": (4 if match["codec"] == "HiFiC" else 5) - int(match["rate"]),
        }
