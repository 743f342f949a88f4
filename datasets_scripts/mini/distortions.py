"""Ten image distortions at five levels, for synthetic demo data and for training the bundled tiny model.

The types and the five-level scale follow the synthetic image-quality databases (KADID-10k, KADIS-700k); the strengths
are our own, chosen for images of about 64 x 64 pixels. For one image, one type and one random state, each level has a
strictly lower PSNR than the level before: a higher level has the same noise field, amplified, and a blur's frequency
response decreases monotonically.
"""

import io
from collections.abc import Callable

import numpy as np
from PIL import Image, ImageFilter

LEVELS = (1, 2, 3, 4, 5)

# 4:2:0 chroma and these qualities make blocking visible at 64 pixels.
_JPEG_QUALITIES = (45, 25, 14, 7, 3)
_BLUR_SIGMAS = (0.7, 1.1, 1.6, 2.4, 3.6)
_MOTION_SIGMAS = (1.1, 1.8, 2.8, 4.2, 6.5)
_NOISE_SIGMAS = (8, 15, 25, 40, 60)
_IMPULSE_SHARES = (0.01, 0.025, 0.055, 0.11, 0.2)
_DARK_FACTORS = (0.75, 0.58, 0.44, 0.32, 0.2)
_BRIGHT_GAINS = (1.35, 1.7, 2.2, 3.0, 4.2)
_GREY_SHARES = (0.35, 0.55, 0.72, 0.87, 1.0)
_CONTRAST_FACTORS = (0.7, 0.52, 0.38, 0.26, 0.15)
# (width, height): each block consists of complete blocks of the level below, so averaging can only lose more.
_BLOCK_SIZES = ((2, 2), (4, 2), (4, 4), (8, 4), (8, 8))
_DIRECTIONS = ((1, 0), (0, 1), (1, 1), (1, -1))


def distort(image: Image.Image, distortion_type: str, level: int, rng: np.random.Generator) -> Image.Image:
    """Apply one distortion to an image.

    Args:
        image: An RGB image.
        distortion_type: One of `DISTORTION_TYPES`.
        level: Strength, 1 (barely visible) to 5 (severe).
        rng: Source of the noise field, the motion direction and the like. The same state at two levels gives the same
            field.

    Returns:
        A new RGB image of the same size.
    """
    return _DISTORTIONS[distortion_type](image.convert("RGB"), level - 1, rng)


def _to_image(values: np.ndarray) -> Image.Image:
    return Image.fromarray(np.clip(np.rint(values), 0, 255).astype(np.uint8))


def _blur(image: Image.Image, i: int, rng: np.random.Generator) -> Image.Image:
    return image.filter(ImageFilter.GaussianBlur(_BLUR_SIGMAS[i]))


def _motion_blur(image: Image.Image, i: int, rng: np.random.Generator) -> Image.Image:
    # Gaussian weights along the line: a box's response oscillates, so a longer box could be closer to the original.
    dx, dy = _DIRECTIONS[rng.integers(len(_DIRECTIONS))]
    sigma = _MOTION_SIGMAS[i] / np.hypot(dx, dy)
    radius = int(np.ceil(3 * sigma))
    offsets = np.arange(-radius, radius + 1)
    weights = np.exp(-0.5 * (offsets / sigma) ** 2)
    weights /= weights.sum()
    pixels = np.asarray(image, np.float64)
    height, width = pixels.shape[:2]
    padded = np.pad(pixels, ((radius, radius), (radius, radius), (0, 0)), mode="symmetric")
    result = np.zeros_like(pixels)
    for offset, weight in zip(offsets, weights, strict=True):
        top, left = radius + offset * dy, radius + offset * dx
        result += weight * padded[top : top + height, left : left + width]
    return _to_image(result)


def _white_noise(image: Image.Image, i: int, rng: np.random.Generator) -> Image.Image:
    pixels = np.asarray(image, np.float64)
    return _to_image(pixels + _NOISE_SIGMAS[i] * rng.standard_normal(pixels.shape))


def _salt_and_pepper(image: Image.Image, i: int, rng: np.random.Generator) -> Image.Image:
    pixels = np.array(image)
    field = rng.random(pixels.shape[:2])
    white = rng.random(pixels.shape[:2]) < 0.5
    hit = field < _IMPULSE_SHARES[i]
    pixels[hit & white] = 255
    pixels[hit & ~white] = 0
    return Image.fromarray(pixels)


def _jpeg(image: Image.Image, i: int, rng: np.random.Generator) -> Image.Image:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=_JPEG_QUALITIES[i], subsampling="4:2:0")
    with Image.open(buffer) as decoded:
        return decoded.convert("RGB")


def _darkening(image: Image.Image, i: int, rng: np.random.Generator) -> Image.Image:
    return _to_image(np.asarray(image, np.float64) * _DARK_FACTORS[i])


def _over_exposure(image: Image.Image, i: int, rng: np.random.Generator) -> Image.Image:
    return _to_image(np.asarray(image, np.float64) * _BRIGHT_GAINS[i] + 4 * (i + 1))


def _desaturation(image: Image.Image, i: int, rng: np.random.Generator) -> Image.Image:
    pixels = np.asarray(image, np.float64)
    grey = np.asarray(image.convert("L"), np.float64)[..., None]
    return _to_image(pixels + _GREY_SHARES[i] * (grey - pixels))


def _low_contrast(image: Image.Image, i: int, rng: np.random.Generator) -> Image.Image:
    pixels = np.asarray(image, np.float64)
    mean = pixels.mean(axis=(0, 1))
    return _to_image(mean + _CONTRAST_FACTORS[i] * (pixels - mean))


def _pixelation(image: Image.Image, i: int, rng: np.random.Generator) -> Image.Image:
    width, height = _BLOCK_SIZES[i]
    columns, rows = -(-image.width // width), -(-image.height // height)
    pixels = np.asarray(image, np.float64)
    # Repeating the last row and column gives complete blocks for any image size.
    padded = np.pad(
        pixels, ((0, rows * height - image.height), (0, columns * width - image.width), (0, 0)), mode="edge"
    )
    means = padded.reshape(rows, height, columns, width, 3).mean(axis=(1, 3))
    return _to_image(means.repeat(height, axis=0).repeat(width, axis=1)[: image.height, : image.width])


_DISTORTIONS: dict[str, Callable[[Image.Image, int, np.random.Generator], Image.Image]] = {
    "blur": _blur,
    "motion blur": _motion_blur,
    "white noise": _white_noise,
    "salt-and-pepper noise": _salt_and_pepper,
    "JPEG compression": _jpeg,
    "darkening": _darkening,
    "over-exposure": _over_exposure,
    "desaturation": _desaturation,
    "low contrast": _low_contrast,
    "pixelation": _pixelation,
}
DISTORTION_TYPES: tuple[str, ...] = tuple(_DISTORTIONS)
