"""The drawn pictures show what they say, and every distortion gets worse with its level."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies
from PIL import Image, ImageDraw

from eyechart.datasets_scripts.mini import scenes
from eyechart.datasets_scripts.mini.scenes import DISTORTION_TYPES, LEVELS, Look, distort, draw_scene

every_type = pytest.mark.parametrize("kind", DISTORTION_TYPES)
seeds = strategies.integers(0, 2**31)


@pytest.mark.parametrize(
    ("shape", "area"),
    [
        ("circle", math.pi),
        ("square", 2 * 1.1**2),
        ("triangle", 3 * math.sqrt(3) / 4 * 1.1**2),
        ("star", 5 * 0.45 * math.sin(math.pi / 5)),
    ],
)
def test_a_shape_has_its_area(shape: str, area: float) -> None:
    radius = 40
    for seed in range(8):
        canvas = Image.new("RGB", (128, 128))
        rng = np.random.default_rng(seed)
        scenes._shape(ImageDraw.Draw(canvas), shape, 64, 64, radius, (200, 100, 50), rng)
        # Outlines lie on the edge, half of them outside.
        assert np.asarray(canvas).any(axis=2).sum() / radius**2 == pytest.approx(area, rel=0.08), seed


def test_scenes_repeat_by_seed_and_vary_between_seeds() -> None:
    assert draw_scene(np.random.default_rng(4)).image.tobytes() == draw_scene(np.random.default_rng(4)).image.tobytes()
    drawn = [draw_scene(np.random.default_rng(i), size=32) for i in range(200)]
    assert len({scene.image.tobytes() for scene in drawn}) == 200
    assert {scene.image.size for scene in drawn} == {(32, 32)}
    for fact, values in (*scenes.SCENE_FACTS.items(), ("background", scenes.COLORS)):
        assert {getattr(scene, fact) for scene in drawn} == set(values)
    assert all(scene.color != scene.background for scene in drawn)


def psnr(image: Image.Image, reference: Image.Image) -> float:
    """Peak signal-to-noise ratio of two 8-bit images, in dB."""
    error = np.mean((np.asarray(image, np.float64) - np.asarray(reference, np.float64)) ** 2)
    return float(10 * np.log10(255**2 / error)) if error else np.inf


@every_type
@settings(max_examples=60, deadline=None)
@given(scene_seed=seeds, noise_seed=seeds)
def test_every_level_lowers_the_psnr(kind: str, scene_seed: int, noise_seed: int) -> None:
    scene = draw_scene(np.random.default_rng(scene_seed))
    values = [psnr(Look(scene, kind, level).draw(np.random.default_rng(noise_seed)), scene.image) for level in LEVELS]
    assert np.isfinite(values).all()
    assert all(lower < higher for higher, lower in pairwise(values)), values


@every_type
def test_equal_states_give_equal_images_and_the_input_is_untouched(kind: str) -> None:
    image = draw_scene(np.random.default_rng(1)).image
    before = image.tobytes()
    first = distort(image, kind, 3, np.random.default_rng(5))
    assert first.tobytes() == distort(image, kind, 3, np.random.default_rng(5)).tobytes()
    assert image.tobytes() == before
    assert (first.mode, first.size) == ("RGB", image.size)


@every_type
@pytest.mark.parametrize("size", [(1, 1), (7, 3), (65, 40)])
def test_images_of_any_size_and_mode(kind: str, size: tuple[int, int]) -> None:
    assert distort(Image.new("L", size, 90), kind, 5, np.random.default_rng(0)).size == size
