"""Intervals against SciPy, published values and hand computations."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from eyechart.metrics.scoring.statistics.bootstrap import bootstrap_correlations, bootstrap_ratios
from eyechart.metrics.scoring.statistics.intervals import (
    FEW_UNITS,
    KINDS,
    Interval,
    listed_intervals,
    mean_interval,
    percentile_interval,
    student,
    wilson_interval,
    wilson_of_share,
)


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    # Newcombe (1998), Table I: the score method without continuity correction.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_against_published_values(successes: int, n: int, low: float, high: float) -> None:
    assert wilson_interval(successes, n) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 500), st.data())
def test_wilson_against_scipy(n: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, n))
    expected = stats.binomtest(successes, n).proportion_ci(method="wilson")
    low, high = wilson_interval(successes, n)
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert 0 <= low <= successes / n <= high <= 1


def test_interval_agrees_with_scipy() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    y = x + rng.normal(size=300)
    ours = percentile_interval(bootstrap_correlations(x, y, np.random.default_rng(1), resamples=4000)[0], 300)
    theirs = stats.bootstrap(
        (x, y),
        lambda a, b: stats.spearmanr(a, b).statistic,
        paired=True,
        vectorized=False,
        n_resamples=2000,
        method="percentile",
        random_state=np.random.default_rng(2),
    ).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.015)
    assert (ours.kind, ours.units) == ("bootstrap", 300)


def _means(values: np.ndarray, resamples: int) -> np.ndarray:
    """Bootstrap replicates of a mean."""
    return bootstrap_ratios(values[:, None], np.ones((len(values), 1)), np.random.default_rng(1), resamples)[:, 0]


def test_mean_of_known_spread() -> None:
    values = np.random.default_rng(0).normal(size=400)
    found = percentile_interval(_means(values, resamples=4000), 400)
    half = 1.96 * values.std() / 20
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.01)


@pytest.mark.parametrize("n", [20, 40, 1000])
def test_tails_of_few_units_are_those_of_students_t(n: int) -> None:
    replicates = np.random.default_rng(0).normal(size=2000)
    tail = stats.norm.cdf(stats.t.ppf(0.025, n - 1) * math.sqrt(n / (n - 1)))
    found = percentile_interval(replicates, n)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(replicates, [tail, 1 - tail])), rel=1e-12)
    low, high = np.quantile(replicates, [0.025, 0.975])
    assert found.low < low and high < found.high


@pytest.mark.parametrize(
    ("replicates", "units"),
    [
        ([math.nan, math.nan], 100),
        ([], 100),
        ([0.1, 0.2, 0.3], FEW_UNITS - 1),
        ([0.1, 0.2, 0.3], 0),
        ([0.5, math.nan, 0.5], 100),
        ([0.1 + 0.2, 0.3], 100),
    ],
)
def test_no_interval(replicates: list[float], units: int) -> None:
    found = percentile_interval(np.array(replicates), units)
    assert math.isnan(found.low) and math.isnan(found.high)
    assert (found.kind, found.units) == ("none", units)


@given(st.integers(1, 500), st.data())
def test_an_effective_number_that_is_whole_gives_wilsons_interval(n: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, n))
    assert wilson_of_share(successes / n, float(n)) == wilson_interval(successes, n)


@given(st.floats(0, 1), st.floats(0.5, 1e6), st.floats(1.01, 10))
def test_fewer_items_never_narrow(share: float, n: float, factor: float) -> None:
    few, many = wilson_of_share(share, n), wilson_of_share(share, n * factor)
    assert few[1] - few[0] >= many[1] - many[0] - 1e-12
    assert 0 <= few[0] <= share + 1e-12 and share - 1e-12 <= few[1] <= 1


def test_students_quantile() -> None:
    assert [student(n) for n in (2, 40, 1000)] == pytest.approx([stats.t.ppf(0.975, n - 1) for n in (2, 40, 1000)])


def test_intervals_in_results() -> None:
    found = {"score": Interval(0.25, 0.5, "wilson-clustered", 60).scaled(100), "mean": Interval.undefined(3)}
    listed = listed_intervals(found)
    assert listed["score_ci95"] == [25.0, 50.0] and all(map(math.isnan, listed["mean_ci95"]))
    assert listed["intervals"] == {
        "score": {"kind": "wilson-clustered", "units": 60},
        "mean": {"kind": "none", "units": 3},
    }
    assert {one.kind for one in found.values()} <= set(KINDS)


def test_the_interval_of_a_mean_covers_it() -> None:
    """Of the mean of three shares on different items, in 2,000 simulated runs."""
    rng = np.random.default_rng(0)
    sizes, shares = np.array([40, 80, 200]), np.array([0.6, 0.8, 0.5])
    hits = 0
    for right in rng.binomial(sizes, shares, size=(2000, 3)):
        parts = [
            Interval(*wilson_interval(k, n), "wilson", n) for k, n in zip(right.tolist(), sizes.tolist(), strict=True)
        ]
        found = mean_interval((right / sizes).tolist(), parts)
        hits += found.low <= shares.mean() <= found.high
    assert found.units == 320 and 0.93 < hits / 2000 < 0.97


def test_the_mean_has_no_interval_where_a_part_has_none() -> None:
    parts = [Interval(0.1, 0.3, "bootstrap", 30), Interval.undefined(5)]
    found = mean_interval([0.2, 0.4], parts)
    assert found.kind == "none" and found.units == 35
