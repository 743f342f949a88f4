"""How far a picture is from its original."""

import numpy as np


def psnr(image, reference):
    """Peak signal-to-noise ratio of two 8-bit images of equal size, in dB; inf for equal images."""
    error = np.mean((np.asarray(image, np.float64) - np.asarray(reference, np.float64)) ** 2)
    return float("inf") if error == 0 else float(10 * np.log10(255**2 / error))
