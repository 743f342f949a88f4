"""Risk-coverage curves, against hand computations, closed forms and properties."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.metrics.scoring.choices.risk_coverage import (
    abstention_scores,
    area_interval,
    area_under_curve,
    risk_coverage,
)
from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.statistics.shares import Clusters

ITEMS = st.lists(st.tuples(st.sampled_from([0.3, 0.5, 0.7, 0.9, 1.0]), st.booleans()), min_size=1, max_size=60)


def _columns(items):
    return (np.array(column, dtype=float) for column in zip(*items, strict=True))


def test_the_curve_by_hand():
    confidences, right = [0.6, 0.9, 0.8, 0.7], [False, True, False, True]
    # From the most confident: right, wrong, right, wrong.
    found = risk_coverage(confidences, right, [0.25, 0.5, 0.75, 1.0, 0.375])
    assert found.tolist() == pytest.approx([0, 1 / 2, 1 / 3, 1 / 2, 0.5 / 1.5])
    assert area_under_curve(confidences, right) == pytest.approx((0 + 1 / 2 + 1 / 3 + 1 / 2) / 4)


def test_items_of_equal_confidence_count_with_their_mean_error():
    for right in ([True, False, True, False], [False, True, True, False]):
        # Half an error for each of the first two.
        assert risk_coverage([0.9, 0.9, 0.5, 0.4], right, [0.25, 0.5]).tolist() == pytest.approx([0.5, 0.5])


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_confidence_that_says_nothing_gives_the_error_rate(right):
    errors = 1 - np.mean(right)
    assert area_under_curve([0.5] * len(right), right) == pytest.approx(errors)
    assert risk_coverage([0.5] * len(right), right, [0.1, 0.7, 1.0]).tolist() == pytest.approx([errors] * 3)


@pytest.mark.parametrize(("n", "wrong"), [(10, 3), (4, 4), (7, 0)])
def test_the_best_order_has_the_closed_form(n, wrong):
    """All right answers first: the area is the sum of (i - r) / i over i > r, divided by n."""
    right = np.arange(n) < n - wrong
    best = sum((i - (n - wrong)) / i for i in range(n - wrong + 1, n + 1)) / n
    assert area_under_curve(np.linspace(1, 0.1, n), right) == pytest.approx(best)


@given(ITEMS)
def test_the_curve_ends_at_the_error_rate_and_sees_only_the_order(items):
    confidences, right = _columns(items)
    assert risk_coverage(confidences, right, [1.0])[0] == pytest.approx(1 - right.mean())
    shares = np.arange(1, len(items) + 1) / len(items)
    curve = risk_coverage(confidences, right, shares)
    assert curve.min() >= -1e-12 and curve.max() <= 1 + 1e-12
    assert area_under_curve(confidences, right) == pytest.approx(curve.mean())
    assert area_under_curve(confidences**3, right) == pytest.approx(curve.mean())
    assert area_under_curve(confidences[::-1], right[::-1]) == pytest.approx(curve.mean())


def test_the_interval_of_the_area():
    rng = np.random.default_rng(0)
    confidences = rng.random(200)
    right = rng.random(200) < confidences
    own, images = Clusters.of(None, 200), Clusters.of(np.repeat(np.arange(40), 5).tolist(), 200)
    found = area_interval(confidences, right, own, np.random.default_rng(1), 300)
    assert found.kind == "bootstrap" and found.low < area_under_curve(confidences, right) < found.high
    assert area_interval(confidences, right, images, np.random.default_rng(1), 300).units == 40
    assert area_interval(confidences, np.ones(200), own, np.random.default_rng(1), 30).kind == "constant"
    assert area_interval(confidences[:19], right[:19], own.select(range(19)), rng, 30).kind == "none"


def test_a_resample_of_the_area_repeats_items():
    """Replicates are areas of repeated items; their tails are those of Student's t with 39 degrees of freedom."""
    confidences, right, clusters = np.tile([0.9, 0.8], 20), np.tile([True, False], 20), Clusters.of(None, 40)
    found = area_interval(confidences, right, clusters, np.random.default_rng(2), 2000)
    again = np.random.default_rng(3)
    areas = []
    for _ in range(2000):
        rows = again.integers(0, 40, 40)
        areas.append(area_under_curve(confidences[rows], right[rows]))
    assert [found.low, found.high] == pytest.approx(np.quantile(areas, [0.0203, 0.9797]).tolist(), abs=0.02)


def test_abstention_against_own_refusals():
    # The model answers half and is right in half of these; the most confident half are all right.
    answered, own = [True, True, False, False] * 10, [True, False, False, False] * 10
    confidences, right = [0.9, 0.2, 0.8, 0.1] * 10, [True, False, True, False] * 10
    found = abstention_scores(answered, own, confidences, right, Clusters.of(None, 40), np.random.default_rng(0), 300)
    assert (found["answer_rate"], found["own_accuracy"], found["by_probability"]) == (0.5, 0.5, 1.0)
    assert found["difference"] == 0.5 and found["difference_ci95"][0] < 0.5 < found["difference_ci95"][1]
    assert found["interval"] == {"kind": "bootstrap", "units": 40}


def test_a_model_that_refuses_everything_has_no_point():
    nothing = [False] * 30
    found = abstention_scores(
        nothing, nothing, [0.5] * 30, [True] * 30, Clusters.of(None, 30), np.random.default_rng(0), 30
    )
    assert found["answer_rate"] == 0 and found["interval"]["kind"] == "none"
    assert all(math.isnan(found[key]) for key in ("own_accuracy", "by_probability", "difference"))


def test_bad_input_is_named():
    for shares in ([0.0], [1.1], [-0.5]):
        with pytest.raises(InputError, match="coverages has"):
            risk_coverage([0.5], [True], shares)
    with pytest.raises(InputError, match="right has 1 rows and confidences has 2"):
        area_under_curve([0.5, 0.6], [True])
    with pytest.raises(InputError, match="confidences is empty"):
        area_under_curve([], [])
