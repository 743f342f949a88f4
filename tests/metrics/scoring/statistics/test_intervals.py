import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from eyechart.metrics.scoring.errors import InputError, UndefinedScoreError
from eyechart.metrics.scoring.statistics.intervals import (
    bootstrap_correlations,
    bootstrap_mean,
    bootstrap_ratios,
    interval_or_nan,
    part_generator,
    percentile_interval,
    wilson_interval,
)
from eyechart.metrics.scoring.statistics.resampling import resampled_counts


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    # Newcombe (1998), Table I: the score method without continuity correction.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_against_published_values(successes: int, n: int, low: float, high: float) -> None:
    assert wilson_interval(successes, n) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 500), st.data())
def test_wilson_against_scipy(n: int, data: st.DataObject) -> None:
    successes, level = data.draw(st.integers(0, n)), data.draw(st.sampled_from([0.5, 0.95, 0.99]))
    expected = stats.binomtest(successes, n).proportion_ci(confidence_level=level, method="wilson")
    low, high = wilson_interval(successes, n, level)
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert 0 <= low <= successes / n <= high <= 1


@pytest.mark.parametrize(("successes", "n"), [(1, 0), (3, 2), (-1, 2)])
def test_wilson_bad_input(successes: int, n: int) -> None:
    with pytest.raises(InputError, match=f"successes={successes}, n={n}"):
        wilson_interval(successes, n)


@pytest.mark.parametrize("ties", [False, True])
def test_correlations_equal_resampling_and_ranking_anew(ties: bool) -> None:
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(2, 60))
    y += x
    if ties:
        x, y = np.round(x, 0), np.round(y, 1)
    found_s, found_p = bootstrap_correlations(x, y, np.random.default_rng(9), resamples=50)
    order = np.argsort(x, kind="stable")
    for counts, s, p in zip(resampled_counts(60, np.random.default_rng(9), 50), found_s, found_p, strict=True):
        items = np.repeat(order, counts.astype(int))
        assert s == pytest.approx(stats.spearmanr(x[items], y[items]).statistic, abs=1e-9)
        assert p == pytest.approx(stats.pearsonr(x[items], y[items]).statistic, abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12), st.integers(0, 2**32 - 1))
def test_replicates_are_bounded_or_nan(pairs: list[tuple[int, int]], seed: int) -> None:
    x, y = np.array(pairs, dtype=float).T
    for replicates in bootstrap_correlations(x, y, np.random.default_rng(seed), resamples=20):
        defined = replicates[~np.isnan(replicates)]
        assert np.all(np.abs(defined) <= 1 + 1e-12)


def test_ranking_of_its_own() -> None:
    x = np.arange(30.0)
    srcc, plcc = bootstrap_correlations(x, x, np.random.default_rng(0), resamples=10, ranking=-x)
    assert srcc == pytest.approx(-1) and plcc == pytest.approx(1)


def test_interval_agrees_with_scipy() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    y = x + rng.normal(size=300)
    ours = percentile_interval(bootstrap_correlations(x, y, np.random.default_rng(1), resamples=4000)[0])
    theirs = stats.bootstrap(
        (x, y),
        lambda a, b: stats.spearmanr(a, b).statistic,
        paired=True,
        vectorized=False,
        n_resamples=2000,
        method="percentile",
        random_state=np.random.default_rng(2),
    ).confidence_interval
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.015)


def test_large_input_in_bounded_memory() -> None:
    # A matrix of all draws would take 8 GB here.
    found = bootstrap_correlations(np.arange(1e6), np.arange(1e6), np.random.default_rng(0), resamples=3)
    assert found[0] == pytest.approx(1)


def test_mean_of_known_spread() -> None:
    values = np.random.default_rng(0).normal(size=400)
    low, high = percentile_interval(bootstrap_mean(values, np.random.default_rng(1), resamples=4000))
    half = 1.96 * values.std() / 20
    assert (low, high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.01)


def test_interval_of_nothing() -> None:
    with pytest.raises(UndefinedScoreError, match="undefined on every resample"):
        percentile_interval(np.array([np.nan, np.nan]))
    assert np.isnan(interval_or_nan(np.array([np.nan]))).all()
    assert interval_or_nan(np.array([0.5, np.nan, 0.5])) == [0.5, 0.5]


def test_ratios_equal_resampling_anew() -> None:
    rng = np.random.default_rng(2)
    below = rng.integers(0, 3, size=(8, 2))
    above = below * rng.random((8, 2))
    found = bootstrap_ratios(above, below, np.random.default_rng(4), resamples=30)
    for counts, ratios in zip(resampled_counts(8, np.random.default_rng(4), 30), found, strict=True):
        items = np.repeat(np.arange(8), counts.astype(int))
        assert ratios == pytest.approx(above[items].sum(axis=0) / below[items].sum(axis=0))


def test_ratios_with_one_denominator_each_are_means() -> None:
    values = np.random.default_rng(0).normal(size=50)
    ratios = bootstrap_ratios(values[:, None], np.ones((50, 1)), np.random.default_rng(1), resamples=20)
    assert ratios[:, 0] == pytest.approx(bootstrap_mean(values, np.random.default_rng(1), resamples=20))


def test_a_part_draws_by_seed_and_name_alone() -> None:
    draws = [part_generator(seed, part).random() for seed, part in [(0, "a"), (0, "a"), (0, "b"), (1, "a")]]
    assert draws[0] == draws[1] and len(set(draws)) == 3


@pytest.mark.parametrize("seed", [-1, 0.5, None, True])
def test_bad_seed(seed: object) -> None:
    with pytest.raises(InputError, match=f"seed is {seed!r}; it must be a whole number of at least 0"):
        part_generator(seed, "overall")  # type: ignore[arg-type]
