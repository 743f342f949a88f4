"""Procedural pictures with known facts, for synthetic demo data and for training the bundled tiny model.

A scene has a textured background, small grey clutter and one main object with a shape, a colour, a position and a size.
Every fact that a question asks about is a field of `Scene`.
"""

from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

SHAPES = ("circle", "square", "triangle", "star")
COLORS = {
    "red": (214, 40, 40),
    "green": (40, 160, 60),
    "blue": (40, 80, 210),
    "yellow": (238, 205, 40),
    "purple": (150, 50, 170),
}
POSITIONS = ("left", "center", "right")
SIZES = ("small", "medium", "large")
_RADII = {"small": 0.12, "medium": 0.2, "large": 0.29}
_CENTERS = {"left": 0.27, "center": 0.5, "right": 0.73}
# Shapes are drawn at twice the size and reduced, which gives them smooth edges.
_OVERSAMPLING = 2


@dataclass(frozen=True)
class Scene:
    """One pristine picture and its facts."""

    image: Image.Image
    """RGB, square."""
    shape: str
    """The main object's shape, one of `SHAPES`."""
    color: str
    """The main object's colour, a key of `COLORS`."""
    position: str
    """The main object's position, one of `POSITIONS`."""
    size: str
    """The main object's size, one of `SIZES`."""
    background: str
    """The background's colour, a key of `COLORS` other than `color`."""


def draw_scene(rng: np.random.Generator, size: int = 64) -> Scene:
    """Draw one scene.

    Args:
        rng: The only source of randomness: equal states give equal scenes.
        size: Width and height in pixels.
    """
    shape = str(rng.choice(SHAPES))
    color, background = (str(name) for name in rng.choice(list(COLORS), 2, replace=False))
    position, extent = str(rng.choice(POSITIONS)), str(rng.choice(SIZES))
    side = size * _OVERSAMPLING
    canvas = Image.fromarray(_background(background, side, rng))
    draw = ImageDraw.Draw(canvas)
    _clutter(draw, side, rng)
    x = side * (_CENTERS[position] + rng.uniform(-0.04, 0.04))
    y = side * rng.uniform(0.35, 0.65)
    radius = side * _RADII[extent] * rng.uniform(0.9, 1.1)
    _shape(draw, shape, (x, y), radius, _vary(COLORS[color], rng), rng)
    image = canvas.resize((size, size), Image.Resampling.LANCZOS)
    return Scene(image=image, shape=shape, color=color, position=position, size=extent, background=background)


def _vary(color: tuple[int, int, int], rng: np.random.Generator) -> tuple[int, int, int]:
    varied = np.clip(np.array(color) * rng.uniform(0.85, 1.1) + rng.uniform(-12, 12, 3), 0, 255)
    return tuple(int(v) for v in varied)  # type: ignore[return-value]


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
        if rng.random() < 0.5:
            length, angle = rng.uniform(0.05, 0.3) * side, rng.uniform(0, np.pi)
            end = (x + length * np.cos(angle), y + length * np.sin(angle))
            draw.line([(x, y), end], fill=_grey(rng), width=int(rng.integers(1, 4)))
        else:
            radius = rng.uniform(0.01, 0.035) * side
            draw.ellipse([x - radius, y - radius, x + radius, y + radius], fill=_grey(rng))


def _grey(rng: np.random.Generator) -> tuple[int, int, int]:
    value = int(rng.choice([rng.uniform(15, 70), rng.uniform(190, 245)]))
    return (value, value, value)


def _shape(
    draw: ImageDraw.ImageDraw,
    shape: str,
    center: tuple[float, float],
    radius: float,
    fill: tuple[int, int, int],
    rng: np.random.Generator,
) -> None:
    x, y = center
    outline = tuple(int(0.45 * v) for v in fill)
    if shape == "circle":
        draw.ellipse([x - radius, y - radius, x + radius, y + radius], fill=fill, outline=outline, width=3)
        return
    corners, offset = {"square": (4, np.pi / 4), "triangle": (3, -np.pi / 2), "star": (10, -np.pi / 2)}[shape]
    angles = offset + rng.uniform(-0.15, 0.15) + np.arange(corners) * 2 * np.pi / corners
    radii = np.where(np.arange(corners) % 2, 0.45, 1.0) if shape == "star" else np.full(corners, 1.1)
    points = [(x + radius * r * np.cos(a), y + radius * r * np.sin(a)) for a, r in zip(angles, radii, strict=True)]
    draw.polygon(points, fill=fill, outline=outline, width=3)
