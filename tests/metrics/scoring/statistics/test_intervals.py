"""Intervals and the bootstrap against SciPy, published values and hand computations."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from eyechart.metrics.scoring.statistics.bootstrap import (
    bootstrap,
    bootstrap_correlations,
    bootstrap_ratios,
    part_generator,
)
from eyechart.metrics.scoring.statistics.intervals import (
    FEW_UNITS,
    KINDS,
    Interval,
    listed_intervals,
    mean_interval,
    percentile_interval,
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
        n_resamples=1000,
        method="percentile",
        random_state=np.random.default_rng(2),
    ).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.015)
    assert (ours.kind, ours.units) == ("bootstrap", 300)


@pytest.mark.parametrize("n", [20, 1000])
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
        ([0.1, 0.2, 0.3], FEW_UNITS - 1),
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


# More than from which threads are used.
MANY = 20_000


def resampled(n: int, seed: int, resamples: int) -> np.ndarray:
    """The items of each resample."""
    return np.random.default_rng(seed).integers(0, n, size=(resamples, n))


def totals(block: np.ndarray) -> np.ndarray:
    """Sum of each resample's counts, and the same weighted by the items' numbers."""
    return np.stack([block.sum(axis=1), block @ np.arange(block.shape[1])])


@pytest.mark.parametrize("ties", [False, True])
def test_correlations_equal_resampling_and_ranking_anew(ties: bool) -> None:
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(2, 60))
    y += x
    if ties:
        x, y = np.round(x, 0), np.round(y, 1)
    found_s, found_p = bootstrap_correlations(x, y, np.random.default_rng(9), resamples=50)
    for items, s, p in zip(resampled(60, 9, 50), found_s, found_p, strict=True):
        assert s == pytest.approx(stats.spearmanr(x[items], y[items]).statistic, abs=1e-9)
        assert p == pytest.approx(stats.pearsonr(x[items], y[items]).statistic, abs=1e-9)


def test_one_correlation_has_the_same_replicates_as_both() -> None:
    x, y = np.random.default_rng(3).normal(size=(2, 30))
    both = bootstrap_correlations(x, y, np.random.default_rng(0), resamples=10)
    for kind, expected in zip(("spearman", "pearson"), both, strict=True):
        assert np.array_equal(bootstrap_correlations(x, y, np.random.default_rng(0), 10, [kind]), [expected])


def test_large_input_in_bounded_memory() -> None:
    # A matrix of all draws would take 8 GB here.
    found = bootstrap_correlations(np.arange(1e6), np.arange(1e6), np.random.default_rng(0), resamples=3)
    assert found[0] == pytest.approx(1)


def test_ratios_equal_resampling_anew() -> None:
    rng = np.random.default_rng(2)
    below = rng.integers(1, 3, size=(8, 2))
    above = below * rng.random((8, 2))
    found = bootstrap_ratios(above, below, np.random.default_rng(4), resamples=30)
    for items, ratios in zip(resampled(8, 4, 30), found, strict=True):
        assert ratios == pytest.approx(above[items].sum(axis=0) / below[items].sum(axis=0))


def test_a_part_draws_by_seed_and_name_alone() -> None:
    draws = [part_generator(seed, part).random() for seed, part in [(0, "a"), (0, "a"), (0, "b"), (1, "a")]]
    assert draws[0] == draws[1] and len(set(draws)) == 3


@pytest.mark.parametrize(("cores", "n"), [(None, 1), (1, 40), (1, MANY), (64, MANY)])
def test_scores_are_in_the_order_of_the_draws(monkeypatch: pytest.MonkeyPatch, cores: int | None, n: int) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    rng = np.random.default_rng(5)
    found = bootstrap(totals, 2, n, rng, 101)
    draws = resampled(n, 5, 101)
    assert np.array_equal(found, [np.full(101, n), draws.sum(axis=1)])
    other = np.random.default_rng(5)
    other.integers(0, n, size=draws.shape)
    assert rng.random() == other.random()
