"""Calibration, against hand computations, the code of Guo et al., closed forms, properties and simulation."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.metrics.scoring.choices.calibration import (
    BINS,
    calibration_bins,
    calibration_interval,
    calibration_scores,
    expected_calibration_error,
    option_probabilities,
)
from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.statistics.intervals import wilson_interval
from eyechart.metrics.scoring.statistics.shares import Clusters

ITEMS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60)


def _interval(confidences, right, clusters=None, seed=0):
    n = len(confidences)
    return calibration_interval(confidences, right, clusters or Clusters.of(None, n), np.random.default_rng(seed), 200)


def _as_published(confidences, right):
    """`ECELoss` of github.com/gpleiss/temperature_scaling, the code of Guo et al., in NumPy."""
    bounds, found = np.linspace(0, 1, 16), 0.0
    for lower, upper in pairwise(bounds):
        in_bin = (confidences > lower) & (confidences <= upper)
        share = in_bin.mean()
        if share > 0:
            found += abs(confidences[in_bin].mean() - right[in_bin].mean()) * share
    return found


def test_probabilities_are_the_softmax():
    assert option_probabilities([math.log(6), math.log(3), 0.0]).tolist() == pytest.approx([0.6, 0.3, 0.1])
    assert option_probabilities([-2.0] * 4).tolist() == [0.25] * 4
    assert option_probabilities([7.0]).tolist() == [1.0]
    # A constant that all share has no effect, however large.
    assert option_probabilities([1e6, 1e6 + 1]).tolist() == pytest.approx(option_probabilities([0.0, 1.0]).tolist())
    for wrong in ([], [0.0, math.inf], [math.nan]):
        with pytest.raises(InputError, match="logits"):
            option_probabilities(wrong)


def test_the_error_by_hand():
    confidences, right = [0.95, 0.97, 0.99, 0.55, 0.58], [True, True, False, True, False]
    # Bins (14/15, 1] with gap 2/3 - 0.97, and (8/15, 9/15] with gap 0.5 - 0.565.
    assert expected_calibration_error(confidences, right) == pytest.approx(3 / 5 * (0.97 - 2 / 3) + 2 / 5 * 0.065)
    bins = calibration_bins(confidences, right)
    assert len(bins) == BINS and [one["n"] for one in bins if one["n"]] == [2, 3]
    assert bins[8] == pytest.approx({"low": 8 / 15, "high": 0.6, "n": 2, "confidence": 0.565, "accuracy": 0.5})
    assert math.isnan(bins[0]["accuracy"]) and math.isnan(bins[0]["confidence"])


def test_closed_forms():
    # Sure of all: the error is the error rate. Uniform: it is the distance to the accuracy.
    right = np.arange(100) < 70
    assert expected_calibration_error(np.ones(100), right) == pytest.approx(0.3)
    assert expected_calibration_error(np.full(100, 0.25), right) == pytest.approx(0.45)
    assert expected_calibration_error(np.full(100, 0.7), right) == pytest.approx(0, abs=1e-12)
    assert expected_calibration_error(np.ones(5), np.ones(5)) == 0
    assert expected_calibration_error(np.ones(5), np.zeros(5)) == 1


@given(ITEMS)
def test_the_error_is_that_of_the_published_code(items):
    confidences, right = (np.array(column, dtype=float) for column in zip(*items, strict=True))
    # Their first bin leaves out 0, which no highest probability is.
    confidences = np.maximum(confidences, 1e-9)
    assert expected_calibration_error(confidences, right) == pytest.approx(_as_published(confidences, right), abs=1e-12)


@given(ITEMS)
def test_it_is_at_least_the_whole_gap_and_does_not_depend_on_the_order(items):
    confidences, right = (np.array(column, dtype=float) for column in zip(*items, strict=True))
    found = expected_calibration_error(confidences, right)
    assert abs(float(np.mean(right - confidences))) - 1e-12 <= found <= 1
    assert expected_calibration_error(confidences[::-1], right[::-1]) == pytest.approx(found, abs=1e-12)
    counted = [one["n"] * abs(one["accuracy"] - one["confidence"]) for one in calibration_bins(confidences, right)]
    assert np.nansum(counted) / len(items) == pytest.approx(found, abs=1e-12)


@given(ITEMS.filter(lambda items: len(items) >= 20), st.integers(0, 5))
def test_the_interval_holds_the_error(items, seed):
    confidences, right = (np.array(column, dtype=float) for column in zip(*items, strict=True))
    found = _interval(confidences, right, seed=seed)
    assert found.kind == "calibration" and found.units == len(items)
    assert 0 <= found.low <= expected_calibration_error(confidences, right) + 1e-12
    assert expected_calibration_error(confidences, right) - 1e-12 <= found.high <= 1


def test_few_clusters_have_no_interval():
    confidences, right = np.linspace(0.3, 1, 60), np.arange(60) % 3 > 0
    few = Clusters.of([number % 19 for number in range(60)], 60)
    assert _interval(confidences, right, few).kind == "none" and _interval(confidences, right, few).units == 19
    assert _interval(confidences[:19], right[:19]).kind == "none"
    assert _interval(confidences, right, Clusters.of([number % 20 for number in range(60)], 60)).kind == "calibration"


def test_items_of_a_cluster_that_are_alike_say_less():
    confidences, right = np.repeat(np.linspace(0.4, 1, 60), 5), np.repeat(np.arange(60) % 3 > 0, 5)
    alone = _interval(confidences, right)
    shared = _interval(confidences, right, Clusters.of(np.repeat(np.arange(60), 5).tolist(), 300))
    assert shared.units == 60 and shared.high - shared.low > 1.5 * (alone.high - alone.low)


@pytest.mark.parametrize("n", [30, 100, 400])
def test_all_right_is_no_proof_of_calibration(n):
    """About Wilson's interval, where all resamples would give the same error."""
    found = _interval(np.ones(n), np.ones(n))
    assert found.low == 0 and found.high == pytest.approx(1 - wilson_interval(n, n)[0], rel=0.2)


@pytest.mark.parametrize("n", [100, 600])
@pytest.mark.parametrize(("true", "shrinkage"), [(0.0, 1.0), (0.1225, 0.7)])
def test_coverage(n, true, shrinkage):
    """Calibrated, where percentiles of replicates would never hold 0, and overconfident."""
    rng, held = np.random.default_rng(n), []
    for _ in range(100):
        confidences = 0.25 + 0.75 * rng.beta(1.2, 1.0, n)
        found = _interval(confidences, rng.random(n) < 0.25 + shrinkage * (confidences - 0.25), seed=n)
        held.append(found.low <= true <= found.high)
    assert np.mean(held) > 0.93


def test_scores_of_a_run():
    confidences, right = np.tile([0.9, 0.6], 50), np.tile([True, True, True, False], 25)
    found = calibration_scores(confidences, right, [number // 2 for number in range(100)])
    assert (found["accuracy"], found["confidence"], found["n"]) == pytest.approx((0.75, 0.75, 100))
    assert found["ece"] == pytest.approx(0.1)
    assert found["intervals"] == {
        "ece": {"kind": "calibration", "units": 50},
        "aurc": {"kind": "wilson-clustered", "units": 50},
    }
    assert found["ece_ci95"][0] < 0.1 < found["ece_ci95"][1] and found["aurc_ci95"][0] < found["aurc"]
    assert [point["coverage"] for point in found["risk_coverage"]][::10] == pytest.approx([0.05, 0.55])
    assert found["risk_coverage"][9]["risk"] == 0 and found["risk_coverage"][-1]["risk"] == pytest.approx(0.25)
    np.testing.assert_equal(calibration_scores(confidences, right, [number // 2 for number in range(100)]), found)


@pytest.mark.parametrize(
    ("confidences", "right", "message"),
    [
        ([], [], "confidences is empty"),
        ([0.5], [True, False], "right has 2 rows and confidences has 1"),
        ([0.5, 1.2], [True, False], r"confidences\[1\] is 1.2; .* between 0 and 1"),
        ([math.nan], [True], "confidences"),
        ([-0.1], [True], r"confidences\[0\] is -0.1"),
    ],
)
def test_bad_input_is_named(confidences, right, message):
    for compute in (expected_calibration_error, calibration_bins, calibration_scores):
        with pytest.raises(InputError, match=message):
            compute(confidences, right)
