"""Bootstrap replicates against resampling anew with SciPy, and the same numbers in any number of threads."""

from threading import Barrier

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.statistics.bootstrap import (
    bootstrap,
    bootstrap_correlations,
    bootstrap_ratios,
    part_generator,
)

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
    below = rng.integers(1, 3, size=(8, 2))
    above = below * rng.random((8, 2))
    found = bootstrap_ratios(above, below, np.random.default_rng(4), resamples=30)
    for items, ratios in zip(resampled(8, 4, 30), found, strict=True):
        assert ratios == pytest.approx(above[items].sum(axis=0) / below[items].sum(axis=0))


def test_a_part_draws_by_seed_and_name_alone() -> None:
    draws = [part_generator(seed, part).random() for seed, part in [(0, "a"), (0, "a"), (0, "b"), (1, "a")]]
    assert draws[0] == draws[1] and len(set(draws)) == 3


@pytest.mark.parametrize("seed", [-1, 0.5, None, True])
def test_bad_seed(seed: object) -> None:
    with pytest.raises(InputError, match=f"seed is {seed!r}; it must be a whole number of at least 0"):
        part_generator(seed, "overall")  # type: ignore[arg-type]


@pytest.mark.parametrize("cores", [None, 1, 2, 64])
@pytest.mark.parametrize("n", [1, 40, MANY])
def test_scores_are_in_the_order_of_the_draws(monkeypatch: pytest.MonkeyPatch, cores: int | None, n: int) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    rng = np.random.default_rng(5)
    found = bootstrap(totals, 2, n, rng, 101)
    draws = resampled(n, 5, 101)
    assert np.array_equal(found, [np.full(101, n), draws.sum(axis=1)])
    other = np.random.default_rng(5)
    other.integers(0, n, size=draws.shape)
    assert rng.random() == other.random()


def test_correlations_are_the_same_for_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = np.random.default_rng(6).normal(size=(2, MANY))
    found = []
    for cores in (1, 2, 4):
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        found.append(bootstrap_correlations(x, np.round(x + y, 1), np.random.default_rng(7), resamples=50))
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])


def test_blocks_are_scored_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of four blocks waits for the three others, which one thread would never reach."""
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    together = Barrier(4, timeout=20)

    def score(block: np.ndarray) -> np.ndarray:
        together.wait()
        return totals(block)

    found = bootstrap(score, 2, MANY, np.random.default_rng(8), 16)
    assert np.all(found[0] == MANY)


def test_an_error_in_a_thread_is_raised() -> None:
    def score(block: np.ndarray) -> np.ndarray:
        raise ZeroDivisionError("in a thread")

    with pytest.raises(ZeroDivisionError, match="in a thread"):
        bootstrap(score, 2, MANY, np.random.default_rng(9), 30)
