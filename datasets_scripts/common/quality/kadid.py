"""The distortion codes in the file names of KADID-10k and KADIS-700k: `<content>_<type>_<level>`.

Both databases come from the same authors and share the 25 distortions at five levels:
https://database.mmsp-kn.de/kadid-10k-database.html
"""

import os
import re
from typing import Any

KADID_DISTORTIONS = (
    "Gaussian blur",
    "lens blur",
    "motion blur",
    "color diffusion",
    "color shift",
    "color quantization",
    "color saturation 1",
    "color saturation 2",
    "JPEG2000 compression",
    "JPEG compression",
    "white noise",
    "white noise in color component",
    "impulse noise",
    "multiplicative noise",
    "denoise",
    "brighten",
    "darken",
    "mean shift",
    "jitter",
    "non-eccentricity patch",
    "pixelate",
    "quantization",
    "color block",
    "high sharpen",
    "contrast change",
)
"""Readable names of types 1 to 25, in order."""
KADID_LEVELS = (1, 2, 3, 4, 5)
_NAME = re.compile(r"(?P<content>.+)_(?P<type>\d\d)_(?P<level>\d\d)")


def kadid_facts(name: str) -> dict[str, Any]:
    """Read content, distortion type and level from a file name.

    Returns:
        `reference`, `distortion_type` and `distortion_level`; empty if the name does not end in `_<type>_<level>`.

    Raises:
        ValueError: The type is not 1 to 25, or the level not 1 to 5.

    Examples:
        >>> kadid_facts("I01_10_03.png")
        {'reference': 'I01', 'distortion_type': 'JPEG compression', 'distortion_level': 3}
    """
    match = _NAME.fullmatch(os.path.splitext(os.path.basename(name))[0])
    if match is None:
        return {}
    code, level = int(match["type"]), int(match["level"])
    if not 1 <= code <= len(KADID_DISTORTIONS) or level not in KADID_LEVELS:
        raise ValueError(f"image name {name!r} has type {code} and level {level}; expected types 1-25 and levels 1-5")
    return {
        "reference": match["content"],
        "distortion_type": KADID_DISTORTIONS[code - 1],
        "distortion_level": level,
    }
