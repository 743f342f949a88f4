from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies
from PIL import Image

from eyechart.datasets_scripts.mini.distortions import DISTORTION_TYPES, LEVELS, distort
from eyechart.datasets_scripts.mini.scenes import draw_scene
from tests.datasets_scripts.mini.psnr import psnr

seeds = strategies.integers(0, 2**31)


def test_there_are_ten_types_and_five_levels():
    assert len(set(DISTORTION_TYPES)) == 10
    assert LEVELS == (1, 2, 3, 4, 5)


@pytest.mark.parametrize("kind", DISTORTION_TYPES)
@settings(max_examples=60, deadline=None)
@given(scene_seed=seeds, noise_seed=seeds)
def test_every_level_lowers_the_psnr(kind, scene_seed, noise_seed):
    image = draw_scene(np.random.default_rng(scene_seed)).image
    values = [psnr(distort(image, kind, level, np.random.default_rng(noise_seed)), image) for level in LEVELS]
    assert np.isfinite(values).all()
    assert all(lower < higher for higher, lower in pairwise(values)), values


@pytest.mark.parametrize("kind", DISTORTION_TYPES)
def test_equal_states_give_equal_images_and_the_input_is_untouched(kind):
    image = draw_scene(np.random.default_rng(1)).image
    before = image.tobytes()
    first = distort(image, kind, 3, np.random.default_rng(5))
    assert first.tobytes() == distort(image, kind, 3, np.random.default_rng(5)).tobytes()
    assert image.tobytes() == before
    assert (first.mode, first.size) == ("RGB", image.size)


@pytest.mark.parametrize("kind", DISTORTION_TYPES)
@pytest.mark.parametrize("size", [(1, 1), (7, 3), (65, 40)])
def test_images_of_any_size_and_mode(kind, size):
    image = Image.new("L", size, 90)
    assert distort(image, kind, 5, np.random.default_rng(0)).size == size


def test_psnr_is_the_textbook_value():
    black, grey = Image.new("RGB", (4, 4)), Image.new("RGB", (4, 4), (10, 10, 10))
    assert psnr(grey, black) == pytest.approx(20 * np.log10(255 / 10))
    assert psnr(black, black) == np.inf
