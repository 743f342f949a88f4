"""Two numbers that describe an image's content: spatial information and colourfulness.

The 2AFC paper (https://arxiv.org/abs/2402.01162, Sec. III-B) balances its samples in both, after Winkler, "Analysis of
Public Image and Video Databases for Quality Assessment", 2012.
"""

import numpy as np

from eyechart.datasets_scripts.common.errors import UsageError

_LUMA_WEIGHTS = (0.299, 0.587, 0.114)
"""Weights of red, green and blue in luma, ITU-R BT.601."""


def spatial_information(pixels: np.ndarray) -> float:
    """Spatial information (SI) of one image: the spread of its edge strength.

    ITU-T Recommendation P.910, "Spatial perceptual information measurement": the standard deviation over all pixels of
    the length of luma's Sobel gradient. The outermost pixels, where the filter would exceed the image, are ignored.

    Args:
        pixels: RGB, (height, width, 3) with height and width of at least 3, 0 to 255.

    Returns:
        0 (no edges, or equally strong ones everywhere) up to about 500; 0.299 R + 0.587 G + 0.114 B is luma.

    Raises:
        UsageError: Not an RGB array of at least 3 x 3 pixels.

    Examples:
        >>> step = np.zeros((3, 6, 3))
        >>> step[:, 3:] = 1
        >>> round(spatial_information(step), 6)
        2.0
    """
    red, green, blue = _channels(pixels, 3)
    luma = _LUMA_WEIGHTS[0] * red + _LUMA_WEIGHTS[1] * green + _LUMA_WEIGHTS[2] * blue
    return float(np.sqrt(_sobel(luma) ** 2 + _sobel(luma.T).T ** 2).std())


def colorfulness(pixels: np.ndarray) -> float:
    """Colourfulness of one image, the metric M3 of Hasler and Suesstrunk, "Measuring colourfulness in natural images".

    With rg = R - G and yb = (R + G) / 2 - B: sqrt(var(rg) + var(yb)) + 0.3 sqrt(mean(rg)^2 + mean(yb)^2).

    Args:
        pixels: RGB, (height, width, 3), 0 to 255.

    Returns:
        0 (grey) or more; the authors' observers called about 15 slightly, 45 averagely and 109 extremely colourful.

    Raises:
        UsageError: Not an RGB array.

    Examples:
        >>> round(colorfulness(np.full((1, 1, 3), [255, 0, 0])), 3)
        85.53
    """
    red, green, blue = _channels(pixels, 1)
    opponents = (red - green, (red + green) / 2 - blue)
    spread = np.sqrt(sum(channel.var() for channel in opponents))
    offset = np.sqrt(sum(channel.mean() ** 2 for channel in opponents))
    return float(spread + 0.3 * offset)


def _sobel(luma: np.ndarray) -> np.ndarray:
    """Filter an image with Sobel's kernel for horizontal changes; the result has two rows and two columns fewer."""
    change = luma[:, 2:] - luma[:, :-2]
    return change[:-2] + 2 * change[1:-1] + change[2:]


def _channels(pixels: np.ndarray, least: int) -> list[np.ndarray]:
    shape = np.shape(pixels)
    if len(shape) != 3 or shape[2] != 3 or min(shape[:2]) < least:
        raise UsageError(f"pixels must be RGB of shape (height >= {least}, width >= {least}, 3), found {shape}")
    return [np.asarray(pixels)[..., channel].astype(np.float64) for channel in range(3)]
