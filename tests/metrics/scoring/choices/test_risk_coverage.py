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
from eyechart.metrics.scoring.statistics.intervals import wilson_interval
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
    assert found.kind == "wilson-clustered" and found.low < area_under_curve(confidences, right) < found.high
    assert area_interval(confidences, right, images, np.random.default_rng(1), 300).units == 40


def test_without_order_it_is_that_of_the_error_rate():
    right, own = np.arange(200) % 4 > 0, Clusters.of(None, 200)
    found = area_interval(np.full(200, 0.5), right, own, np.random.default_rng(0), 4000)
    assert (found.low, found.high) == pytest.approx(wilson_interval(50, 200), abs=0.005)


def test_few_wrong_answers_give_no_interval_of_the_area():
    for wrong, kind in ((0, "none"), (19, "none"), (20, "wilson-clustered"), (60, "constant")):
        found = area_interval(
            np.linspace(1, 0.3, 60), np.arange(60) >= wrong, Clusters.of(None, 60), np.random.default_rng(0), 30
        )
        assert found.kind == kind and math.isnan(found.low) == (kind != "wilson-clustered")
        assert found.units == (wrong if kind == "none" else 60)


def test_coverage_of_the_area():
    rng, held = np.random.default_rng(2), []
    big = rng.random(1_000_000)
    true = area_under_curve(big, rng.random(1_000_000) < big)
    for _ in range(150):
        confidences = rng.random(150)
        right = rng.random(150) < confidences
        found = area_interval(confidences, right, Clusters.of(None, 150), rng, 200)
        held.append(found.low <= true <= found.high)
    assert 0.9 < np.mean(held) < 0.99


def test_abstention_against_own_refusals():
    # The model answers half and is right in half of these; the most confident half are all right.
    answered, own = [True, True, False, False] * 10, [True, False, False, False] * 10
    confidences, right = [0.9, 0.2, 0.8, 0.1] * 10, [True, False, True, False] * 10
    found = abstention_scores(answered, own, confidences, right, Clusters.of(None, 40), np.random.default_rng(0), 300)
    assert (found["answer_rate"], found["own_accuracy"], found["by_probability"]) == (0.5, 0.5, 1.0)
    assert found["difference"] == 0.5 and found["difference_ci95"][0] < 0.5 < found["difference_ci95"][1]
    assert found["intervals"]["difference"] == {"kind": "bootstrap", "units": 40}


def test_a_model_that_refuses_everything_has_no_point():
    nothing = [False] * 30
    found = abstention_scores(
        nothing, nothing, [0.5] * 30, [True] * 30, Clusters.of(None, 30), np.random.default_rng(0), 30
    )
    assert found["answer_rate"] == 0 and found["intervals"]["difference"]["kind"] == "none"
    assert all(math.isnan(found[key]) for key in ("own_accuracy", "by_probability", "difference"))


def test_bad_input_is_named():
    for shares in ([0.0], [1.1], [-0.5]):
        with pytest.raises(InputError, match="coverages contains"):
            risk_coverage([0.5], [True], shares)
    with pytest.raises(InputError, match="right has 1 rows and confidences has 2"):
        area_under_curve([0.5, 0.6], [True])
    with pytest.raises(InputError, match="confidences is empty"):
        area_under_curve([], [])
