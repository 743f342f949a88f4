"""The procedural pictures show what they say."""

import math

import numpy as np
import pytest
from PIL import Image, ImageDraw

from eyechart.datasets_scripts.mini import scenes


@pytest.mark.parametrize(
    ("shape", "area"),
    [
        ("circle", math.pi),
        ("square", 2 * 1.1**2),
        ("triangle", 3 * math.sqrt(3) / 4 * 1.1**2),
        ("star", 5 * 0.45 * math.sin(math.pi / 5)),
    ],
)
def test_a_shape_has_its_area(shape, area):
    radius = 40
    for seed in range(8):
        canvas = Image.new("RGB", (128, 128))
        rng = np.random.default_rng(seed)
        scenes._shape(ImageDraw.Draw(canvas), shape, (64, 64), radius, (200, 100, 50), rng)
        drawn = np.asarray(canvas).any(axis=2).sum()
        # Outlines lie on the edge, half of them outside.
        assert drawn / radius**2 == pytest.approx(area, rel=0.08), seed
