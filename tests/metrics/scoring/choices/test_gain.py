"""Multimodal gain and leak, by hand."""

import pytest

from eyechart.metrics.score_check import misfits
from eyechart.metrics.scores import GAIN, specs_in
from eyechart.metrics.scoring.choices.gain import multimodal_gain
from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.statistics.intervals import wilson_interval
from eyechart.metrics.scoring.statistics.shares import Clusters


def test_by_hand_with_options_of_different_numbers() -> None:
    found = multimodal_gain([True] * 6 + [False] * 2, [True] * 3 + [False] * 5, [0.5] * 4 + [0.25] * 4)
    assert (found["gain"], found["blind_score"], found["random_guess"]) == (0.375, 0.375, 0.375)
    assert (found["leak"], found["n"]) == (0.0, 8)
    low, high = wilson_interval(3, 8)
    assert found["leak_ci95"] == pytest.approx([low - 0.375, high - 0.375])


def test_a_model_that_ignores_the_images_gains_exactly_nothing() -> None:
    right = [number % 3 == 0 for number in range(50)]
    found = multimodal_gain(right, right, [0.3] * 50)
    assert found["gain"] == 0.0 and found["gain_ci95"][0] == -found["gain_ci95"][1] < 0


def test_a_model_that_is_misled_by_the_images_loses() -> None:
    found = multimodal_gain([False] * 40, [True] * 40, [0.25] * 40)
    assert (found["gain"], found["leak"]) == (-1.0, 0.75)
    assert found["gain_ci95"][0] == -1.0


def test_the_table_declares_what_it_returns() -> None:
    found = multimodal_gain([True, False], [False, False], [0.5, 0.5], Clusters.of(["a", "a"], 2))
    assert list(misfits(found)) == []
    assert {one.key for one in specs_in(found) if one.in_table} == {"blind_score", "gain", "leak"}
    assert all(GAIN in one.modules and one.bounds(found) for one in specs_in(found) if one.in_table)
    assert found["intervals"]["gain"] == {"kind": "paired-by-cluster", "units": 1}


def test_bad_input() -> None:
    with pytest.raises(InputError, match="blind"):
        multimodal_gain([True], [], [0.5])
    with pytest.raises(InputError, match="empty"):
        multimodal_gain([], [], [])
