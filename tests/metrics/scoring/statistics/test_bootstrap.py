"""Bootstrap replicates against resampling anew with SciPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.statistics.bootstrap import bootstrap_correlations, bootstrap_ratios, part_generator
from eyechart.metrics.scoring.statistics.resampling import resampled_counts


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


def test_large_input_in_bounded_memory() -> None:
    # A matrix of all draws would take 8 GB here.
    found = bootstrap_correlations(np.arange(1e6), np.arange(1e6), np.random.default_rng(0), resamples=3)
    assert found[0] == pytest.approx(1)


def test_ratios_equal_resampling_anew() -> None:
    rng = np.random.default_rng(2)
    below = rng.integers(0, 3, size=(8, 2))
    above = below * rng.random((8, 2))
    found = bootstrap_ratios(above, below, np.random.default_rng(4), resamples=30)
    for counts, ratios in zip(resampled_counts(8, np.random.default_rng(4), 30), found, strict=True):
        items = np.repeat(np.arange(8), counts.astype(int))
        assert ratios == pytest.approx(above[items].sum(axis=0) / below[items].sum(axis=0))


def test_a_part_draws_by_seed_and_name_alone() -> None:
    draws = [part_generator(seed, part).random() for seed, part in [(0, "a"), (0, "a"), (0, "b"), (1, "a")]]
    assert draws[0] == draws[1] and len(set(draws)) == 3


@pytest.mark.parametrize("seed", [-1, 0.5, None, True])
def test_bad_seed(seed: object) -> None:
    with pytest.raises(InputError, match=f"seed is {seed!r}; it must be a whole number of at least 0"):
        part_generator(seed, "overall")  # type: ignore[arg-type]
