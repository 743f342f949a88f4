"""Procedural pictures with known facts and ten distortions, for synthetic demo data and the bundled model's training.

A scene has a textured background, small grey clutter and one main object. Distortion types and levels follow KADID-10k;
the strengths are our own, for 64 x 64 pixels: at equal random states, each level has a lower PSNR than the one before.
"""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

Color = tuple[int, int, int]
COLORS = {
    "red": (214, 40, 40),
    "green": (40, 160, 60),
    "blue": (40, 80, 210),
    "yellow": (238, 205, 40),
    "purple": (150, 50, 170),
}
SCENE_FACTS = {
    "shape": ("circle", "square", "triangle", "star"),
    "color": tuple(COLORS),
    "position": ("left", "center", "right"),
    "size": ("small", "medium", "large"),
}
LEVELS = (1, 2, 3, 4, 5)
_RADII = {"small": 0.12, "medium": 0.2, "large": 0.29}
_CENTERS = {"left": 0.27, "center": 0.5, "right": 0.73}
_STRENGTHS: dict[str, tuple[Any, ...]] = {
    "blur": (0.7, 1.1, 1.6, 2.4, 3.6),
    "motion blur": (1.1, 1.8, 2.8, 4.2, 6.5),
    "white noise": (8, 15, 25, 40, 60),
    "salt-and-pepper noise": (0.01, 0.025, 0.055, 0.11, 0.2),
    # With 4:2:0 chroma, these qualities make blocking visible at 64 pixels.
    "JPEG compression": (45, 25, 14, 7, 3),
    "darkening": (0.75, 0.58, 0.44, 0.32, 0.2),
    "over-exposure": (1.35, 1.7, 2.2, 3.0, 4.2),
    "desaturation": (0.35, 0.55, 0.72, 0.87, 1.0),
    "low contrast": (0.7, 0.52, 0.38, 0.26, 0.15),
    # (width, height): each block consists of complete blocks of the level below, so averaging can only lose more.
    "pixelation": ((2, 2), (4, 2), (4, 4), (8, 4), (8, 8)),
}
DISTORTION_TYPES = tuple(_STRENGTHS)


@dataclass(frozen=True)
class Scene:
    """One pristine picture, RGB and square, and its facts; `background` is a colour other than `color`."""

    image: Image.Image
    shape: str
    color: str
    position: str
    size: str
    background: str


@dataclass(frozen=True)
class Look:
    """A scene and its distortion: a type and a level from 1 (barely visible) to 5 (severe); "" and 0 for none."""

    scene: Scene
    distortion_type: str = ""
    level: int = 0

    def draw(self, rng: np.random.Generator) -> Image.Image:
        """Return the distorted picture."""
        return distort(self.scene.image, self.distortion_type, self.level, rng)


def draw_scene(rng: np.random.Generator, size: int = 64) -> Scene:
    """Draw one scene, `size` pixels wide and high; equal states of `rng` give equal scenes."""
    shape = str(rng.choice(SCENE_FACTS["shape"]))
    color, background = (str(name) for name in rng.choice(list(COLORS), 2, replace=False))
    position, extent = (str(rng.choice(SCENE_FACTS[fact])) for fact in ("position", "size"))
    side = 2 * size  # drawn at twice the size and reduced, which gives smooth edges
    canvas = Image.fromarray(_background(background, side, rng))
    draw = ImageDraw.Draw(canvas)
    _clutter(draw, side, rng)
    x = side * (_CENTERS[position] + rng.uniform(-0.04, 0.04))
    y = side * rng.uniform(0.35, 0.65)
    radius = side * _RADII[extent] * rng.uniform(0.9, 1.1)
    fill = np.clip(np.array(COLORS[color]) * rng.uniform(0.85, 1.1) + rng.uniform(-12, 12, 3), 0, 255)
    red, green, blue = (int(v) for v in fill)
    _shape(draw, shape, x, y, radius, (red, green, blue), rng)
    return Scene(canvas.resize((size, size), Image.Resampling.LANCZOS), shape, color, position, extent, background)


def distort(image: Image.Image, distortion_type: str, level: int, rng: np.random.Generator) -> Image.Image:
    """Apply one of `DISTORTION_TYPES` at one of `LEVELS` to an image; equal states of `rng` give equal noise fields."""
    image = image.convert("RGB")
    strength = _STRENGTHS[distortion_type][level - 1]
    pixels = np.asarray(image, np.float64)
    match distortion_type:
        case "blur":
            return image.filter(ImageFilter.GaussianBlur(strength))
        case "motion blur":
            pixels = _blur_along_line(pixels, strength, rng)
        case "white noise":
            pixels = pixels + strength * rng.standard_normal(pixels.shape)
        case "salt-and-pepper noise":
            field, white = rng.random((*pixels.shape[:2], 1)), rng.random((*pixels.shape[:2], 1)) < 0.5
            pixels = np.where(field < strength, 255 * white, pixels)
        case "JPEG compression":
            buffer = io.BytesIO()
            image.save(buffer, "JPEG", quality=strength, subsampling="4:2:0")
            return Image.open(buffer).convert("RGB")
        case "darkening":
            pixels = pixels * strength
        case "over-exposure":
            pixels = pixels * strength + 4 * level
        case "desaturation":
            pixels = pixels + strength * (np.asarray(image.convert("L"), np.float64)[..., None] - pixels)
        case "low contrast":
            mean = pixels.mean(axis=(0, 1))
            pixels = mean + strength * (pixels - mean)
        case "pixelation":
            (width, height), (rows, columns) = strength, pixels.shape[:2]
            # Repeating the last row and column gives complete blocks for any image size.
            padded = np.pad(pixels, ((0, -rows % height), (0, -columns % width), (0, 0)), mode="edge")
            means = padded.reshape(-1, height, padded.shape[1] // width, width, 3).mean(axis=(1, 3))
            pixels = means.repeat(height, axis=0).repeat(width, axis=1)[:rows, :columns]
    return Image.fromarray(np.clip(np.rint(pixels), 0, 255).astype(np.uint8))


def save(image: Image.Image, path: Path) -> None:
    """Write a picture; at this size, JPEG's default settings would be a visible distortion."""
    path.parent.mkdir(parents=True, exist_ok=True)
    options: dict[str, Any] = {"quality": 95, "subsampling": "4:4:4"} if path.suffix == ".jpg" else {}
    image.save(path, **options)


def _blur_along_line(pixels: np.ndarray, sigma: float, rng: np.random.Generator) -> np.ndarray:
    # Gaussian weights along the line: a box's response oscillates, so a longer box could be closer to the original.
    dx, dy = ((1, 0), (0, 1), (1, 1), (1, -1))[rng.integers(4)]
    sigma /= np.hypot(dx, dy)
    radius = int(np.ceil(3 * sigma))
    offsets = np.arange(-radius, radius + 1)
    weights = np.exp(-0.5 * (offsets / sigma) ** 2)
    height, width = pixels.shape[:2]
    padded = np.pad(pixels, ((radius, radius), (radius, radius), (0, 0)), mode="symmetric")
    result = np.zeros_like(pixels)
    for offset, weight in zip(offsets, weights / weights.sum(), strict=True):
        top, left = radius + offset * dy, radius + offset * dx
        result += weight * padded[top : top + height, left : left + width]
    return result


def _background(name: str, side: int, rng: np.random.Generator) -> np.ndarray:
    """A gradient from the colour to a lighter tint of it, with coarse patches and a fine regular texture."""
    color = np.array(COLORS[name], np.float64)
    tint = color + (255 - color) * rng.uniform(0.35, 0.6)
    yy, xx = np.mgrid[0:side, 0:side] / side
    angle = rng.uniform(0, 2 * np.pi)
    ramp = (np.cos(angle) * (xx - 0.5) + np.sin(angle) * (yy - 0.5)) / np.sqrt(2) + 0.5
    coarse = Image.fromarray(rng.uniform(-0.25, 0.25, (6, 6)).astype(np.float32))
    ramp = np.clip(ramp + np.asarray(coarse.resize((side, side), Image.Resampling.BICUBIC)), 0, 1)
    direction = rng.uniform(0, np.pi)
    phase = (np.cos(direction) * xx + np.sin(direction) * yy) * rng.uniform(8, 20) * 2 * np.pi
    fine = rng.uniform(8, 20) * np.sign(np.sin(phase))
    # One channel after the other is twice as fast as all three at once.
    channels = [c * (1 - ramp) + t * ramp + fine for c, t in zip(color, tint, strict=True)]
    return np.stack([np.clip(channel, 0, 255).astype(np.uint8) for channel in channels], axis=-1)


def _clutter(draw: ImageDraw.ImageDraw, side: int, rng: np.random.Generator) -> None:
    for _ in range(rng.integers(6, 13)):
        x, y = rng.uniform(0, side, 2)
        is_line = rng.random() < 0.5
        length = (rng.uniform(0.05, 0.3) if is_line else rng.uniform(0.01, 0.035)) * side
        angle = rng.uniform(0, np.pi) if is_line else 0
        grey = int(rng.choice([rng.uniform(15, 70), rng.uniform(190, 245)]))
        if is_line:
            end = (x + length * np.cos(angle), y + length * np.sin(angle))
            draw.line([(x, y), end], fill=(grey, grey, grey), width=int(rng.integers(1, 4)))
        else:
            draw.ellipse([x - length, y - length, x + length, y + length], fill=(grey, grey, grey))


def _shape(
    draw: ImageDraw.ImageDraw, shape: str, x: float, y: float, radius: float, fill: Color, rng: np.random.Generator
) -> None:
    outline = tuple(int(0.45 * v) for v in fill)
    if shape == "circle":
        draw.ellipse([x - radius, y - radius, x + radius, y + radius], fill=fill, outline=outline, width=3)
        return
    corners, offset = {"square": (4, np.pi / 4), "triangle": (3, -np.pi / 2), "star": (10, -np.pi / 2)}[shape]
    angles = offset + rng.uniform(-0.15, 0.15) + np.arange(corners) * 2 * np.pi / corners
    radii = np.where(np.arange(corners) % 2, 0.45, 1.0) if shape == "star" else np.full(corners, 1.1)
    points = [(x + radius * r * np.cos(a), y + radius * r * np.sin(a)) for a, r in zip(angles, radii, strict=True)]
    draw.polygon(points, fill=fill, outline=outline, width=3)
