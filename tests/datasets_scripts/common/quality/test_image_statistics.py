import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.common.quality.image_statistics import colorfulness, spatial_information

rgb = arrays(np.uint8, st.tuples(st.integers(3, 6), st.integers(3, 6), st.just(3)))


def grey(values: list[list[float]]) -> np.ndarray:
    return np.repeat(np.array(values, np.float64)[..., None], 3, axis=2)


@pytest.mark.parametrize(
    ("pixels", "expected"),
    [
        # Inside a 4 x 4 image lie four pixels. The bright corner of the 3 x 3 around the first one weighs 1 in both
        # directions: gradient (-9, -9). The other three do not see it.
        ([[9, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]], math.sqrt(162) * math.sqrt(3) / 4),
        # A ramp has the same gradient everywhere: 8 times its slope.
        ([[0, 7, 14, 21]] * 4, 0),
        # A horizontal edge between rows 1 and 2 of five: gradients 4 * 10, 4 * 10, 0.
        ([[0] * 3, [0] * 3, [10] * 3, [10] * 3, [10] * 3], np.std([40, 40, 0])),
        ([[5, 5, 5]] * 3, 0),
    ],
)
def test_spatial_information_by_hand(pixels: list[list[float]], expected: float) -> None:
    assert spatial_information(grey(pixels)) == pytest.approx(expected, abs=1e-9)


def test_spatial_information_weighs_the_colors_as_luma_does() -> None:
    edge = np.zeros((3, 6, 3))
    for channel, weight in enumerate((0.299, 0.587, 0.114)):
        pixels = edge.copy()
        pixels[:, 3:, channel] = 100
        # Gradients of the four inner columns: 0, 4 * step, 4 * step, 0.
        assert spatial_information(pixels) == pytest.approx(2 * 100 * weight)


@pytest.mark.parametrize(
    ("pixels", "expected"),
    [
        # rg = 255, yb = 127.5: no spread, 0.3 times the length of the mean.
        ([[255, 0, 0]], 0.3 * math.hypot(255, 127.5)),
        ([[0, 0, 255]], 0.3 * 255),
        # Red and green: rg = 100 and -100, yb = 50 and 50.
        ([[100, 0, 0], [0, 100, 0]], 100 + 0.3 * 50),
        # Red and blue: rg = 100 and 0, yb = 50 and -100; deviations 50 and 75, means 50 and -25.
        ([[100, 0, 0], [0, 0, 100]], math.hypot(50, 75) + 0.3 * math.hypot(50, 25)),
        ([[7, 7, 7], [90, 90, 90]], 0),
    ],
)
def test_colorfulness_by_hand(pixels: list[list[float]], expected: float) -> None:
    assert colorfulness(np.array([pixels], np.float64)) == pytest.approx(expected)


@settings(max_examples=40, deadline=None)
@given(rgb)
def test_turning_and_brightening_change_neither(pixels: np.ndarray) -> None:
    half = pixels // 2
    for measure in (spatial_information, colorfulness):
        assert measure(half) >= 0
        assert measure(half + np.uint8(100)) == pytest.approx(measure(half), abs=1e-6)
        assert measure(np.rot90(half)) == pytest.approx(measure(half), abs=1e-6)


@pytest.mark.parametrize("shape", [(3, 3), (3, 3, 4), (2, 9, 3), (9, 2, 3)])
def test_shapes_that_hold_no_inner_pixel_or_no_color(shape: tuple[int, ...]) -> None:
    with pytest.raises(UsageError, match=r"pixels must be RGB of shape \(height >= 3, width >= 3, 3\), found"):
        spatial_information(np.zeros(shape))


def test_colorfulness_takes_single_pixels_but_no_grey_arrays() -> None:
    assert colorfulness(np.zeros((1, 1, 3))) == 0
    with pytest.raises(UsageError, match=r"found \(3, 3\)"):
        colorfulness(np.zeros((3, 3)))
