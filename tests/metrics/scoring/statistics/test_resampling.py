from threading import Barrier

import numpy as np
import pytest

from eyechart.metrics.scoring.statistics.bootstrap import bootstrap_correlations
from eyechart.metrics.scoring.statistics.resampling import resampled_counts, score_resamples

# More than from which threads are used.
MANY = 20_000


def totals(block: np.ndarray) -> np.ndarray:
    """Sum of each resample's counts, and the same weighted by the items' numbers."""
    return np.stack([block.sum(axis=1), block @ np.arange(block.shape[1])])


def test_counts_are_reproducible_and_sum_to_n() -> None:
    first = list(resampled_counts(50, np.random.default_rng(3), 20))
    again = list(resampled_counts(50, np.random.default_rng(3), 20))
    assert len(first) == 20
    assert all(counts.sum() == 50 for counts in first)
    assert np.array_equal(first, again)


@pytest.mark.parametrize(("n", "resamples"), [(1, 3), (7, 5000), (MANY, 30)])
def test_counts_are_those_of_all_draws_at_once(n: int, resamples: int) -> None:
    draws = np.random.default_rng(4).integers(0, n, size=(resamples, n))
    found = resampled_counts(n, np.random.default_rng(4), resamples)
    assert all(np.array_equal(np.bincount(row, minlength=n), counts) for row, counts in zip(draws, found, strict=True))


@pytest.mark.parametrize("cores", [None, 1, 2, 64])
@pytest.mark.parametrize("n", [40, MANY])
def test_scores_are_in_the_order_of_the_draws(monkeypatch: pytest.MonkeyPatch, cores: int | None, n: int) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    rng, other = np.random.default_rng(5), np.random.default_rng(5)
    found = score_resamples(totals, n, rng, 101)
    counts = np.array(list(resampled_counts(n, other, 101)))
    assert np.array_equal(found, totals(counts))
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

    found = score_resamples(score, MANY, np.random.default_rng(8), 16)
    assert np.all(found[0] == MANY)


def test_an_error_in_a_thread_is_raised() -> None:
    def score(block: np.ndarray) -> np.ndarray:
        raise ZeroDivisionError("in a thread")

    with pytest.raises(ZeroDivisionError, match="in a thread"):
        score_resamples(score, MANY, np.random.default_rng(9), 30)
