"""Paired tests against published examples, SciPy and simulations of their error rates; places by these tests."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control, norm
from scipy.stats import t as student_t
from statsmodels.regression.linear_model import OLS

from eyechart.metrics.scoring.errors import InputError, UndefinedScoreError
from eyechart.metrics.scoring.quality.correlation import srcc
from eyechart.metrics.scoring.statistics.bootstrap import bootstrap_correlations
from eyechart.metrics.scoring.statistics.intervals import student
from eyechart.metrics.scoring.statistics.paired import (
    PairedTest,
    clustered_mean_difference,
    holm,
    mcnemar,
    paired_bootstrap,
    places,
)
from eyechart.metrics.scoring.statistics.shares import Clusters


def test_mcnemar_against_a_hand_computation() -> None:
    """Two against eight: 2 (1 + 10 + 45) / 2^10."""
    found = mcnemar([True] * 2 + [False] * 8 + [True] * 5, [False] * 2 + [True] * 8 + [True] * 5)
    assert found.p_value == pytest.approx(112 / 1024)
    assert found.n == 15
    assert found.difference == pytest.approx(-6 / 15)


def test_mcnemar_agrees_with_its_large_sample_form() -> None:
    """Approval ratings of Agresti, Categorical Data Analysis, Sec. 10.1: 150 and 86 discordant answers, z = -4.17."""
    first = np.repeat([True, True, False, False], [794, 150, 86, 570])
    second = np.repeat([True, False, True, False], [794, 150, 86, 570])
    found = mcnemar(first, second)
    assert found.difference == pytest.approx(0.04, abs=0.005)
    assert 2e-5 < found.p_value < 5e-5


def test_mcnemar_without_a_difference() -> None:
    assert mcnemar([True, False], [True, False]).p_value == 1.0


def srcc_difference(first: Any, second: Any, y: Any, rng: np.random.Generator, resamples: int = 1000) -> PairedTest:
    seed = int(rng.integers(1 << 30))
    a, b = (bootstrap_correlations(x, y, np.random.default_rng(seed), resamples)[0] for x in (first, second))
    return paired_bootstrap(srcc(first, y) - srcc(second, y), a - b, len(y))


def test_false_positives_of_the_bootstrap() -> None:
    rng = np.random.default_rng(12)
    shared = rng.normal(size=(300, 100))
    first, second, y = (shared + scale * rng.normal(size=(300, 100)) for scale in (1.0, 1.0, 0.5))
    found = [srcc_difference(*rows, rng, resamples=200) for rows in zip(first, second, y, strict=True)]
    assert 0.01 < np.mean([result.p_value < 0.05 for result in found]) < 0.10


def test_false_positives_of_mcnemar() -> None:
    """An exact test errs on the safe side."""
    rng = np.random.default_rng(13)
    first, second = rng.random((2, 2000, 100)) < 0.6
    rate = np.mean([mcnemar(*rows).p_value < 0.05 for rows in zip(first, second, strict=True)])
    assert 0.01 < rate < 0.05


def test_the_bootstrap_finds_a_difference_and_none() -> None:
    rng = np.random.default_rng(6)
    y = rng.normal(size=300)
    good, bad = y + 0.3 * rng.normal(size=300), y + 2 * rng.normal(size=300)
    found = srcc_difference(good, bad, y, np.random.default_rng(0))
    assert found.p_value < 1e-12
    assert found.interval[0] < found.difference < found.interval[1]
    same = srcc_difference(good, good, y, np.random.default_rng(0))
    assert (same.difference, same.p_value) == (0.0, 1.0) and np.isnan(same.interval).all()


def test_the_bootstrap_beyond_what_its_resamples_resolve() -> None:
    """Where all replicates lie on one side, the p-value is Student's of their mean and deviation, if smaller."""
    normal = np.random.default_rng(14).normal(size=1000)
    centred = (normal - normal.mean()) / normal.std()
    found = [paired_bootstrap(shift, centred + shift, 40).p_value for shift in (-6.0, 6.0)]
    assert found[0] == found[1] == pytest.approx(2 * student_t.sf(6.0, 39))
    assert paired_bootstrap(50.0, np.arange(1.0, 101.0), 40).p_value == pytest.approx(2 / 101)
    # A replicate on the other side, or replicates that are all equal, leave it to counting.
    assert paired_bootstrap(6.0, np.append(centred + 6.0, -0.1), 40).p_value == pytest.approx(4 / 1002)
    assert paired_bootstrap(1.0, np.ones(1000), 40).p_value == pytest.approx(2 / 1001)


def test_holm_against_a_hand_computation() -> None:
    """0.005 * 4, 0.01 * 3, 0.03 * 2, and 0.04 no smaller than the one before."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holm_lies_between_no_correction_and_bonferroni(values: list[float]) -> None:
    adjusted = holm(values)
    for before, after in zip(values, adjusted, strict=True):
        assert before <= after <= min(1.0, before * len(values)) + 1e-12
    # It controls more than the false discovery rate, so it never adjusts less.
    assert np.all(np.array(adjusted) >= false_discovery_control(values) - 1e-12)


def by_hand(gained: float, lost: float, n: float) -> tuple[float, float]:
    """Bonett and Price's interval, of numbers of items that only one of the two has right, with one more of either."""
    one, other = (gained + 1) / (n + 2), (lost + 1) / (n + 2)
    reach = norm.ppf(0.975) * math.sqrt((one + other - (one - other) ** 2) / (n + 2))
    return max(-1, one - other - reach), min(1, one - other + reach)


def flags(both: int, gained: int, lost: int, neither: int) -> tuple[list[bool], list[bool]]:
    first = [True] * (both + gained) + [False] * (lost + neither)
    return first, [True] * both + [False] * gained + [True] * lost + [False] * neither


@pytest.mark.parametrize("counts", [(10, 12, 5, 13), (0, 1, 0, 0), (40, 0, 0, 0), (3, 0, 7, 2)])
def test_the_interval_of_a_difference_of_shares_by_hand(counts: tuple[int, int, int, int]) -> None:
    first, second = flags(*counts)
    low, high = mcnemar(first, second).interval
    assert (low, high) == pytest.approx(by_hand(counts[1], counts[2], sum(counts)))
    assert mcnemar(second, first).interval == pytest.approx((-high, -low))


@pytest.mark.parametrize("n", [60, 300])
def test_coverage_of_a_difference_of_shares(n: int) -> None:
    """In 1,000 runs of items that are right with 0.69 and 0.45."""
    rng, chances = np.random.default_rng(n), (0.69, 0.45)
    found = [mcnemar(*(rng.random(n) < chance for chance in chances)).interval for _ in range(1000)]
    assert 0.93 <= np.mean([low <= 0.24 <= high for low, high in found]) <= 0.97


@pytest.mark.parametrize(("images", "questions"), [(25, 4), (20, 10)])
def test_few_clusters_detect_a_difference(images: int, questions: int) -> None:
    """At least half as often as a test that knows the correlation."""
    rng, found = np.random.default_rng(2), []
    numbers = np.repeat(np.arange(images), questions)
    for _ in range(300):
        ease = rng.normal(size=images)[numbers]
        right = [rng.random(len(numbers)) < 1 / (1 + np.exp(-(place + ease))) for place in (1.4, 0.4)]
        found.append(clustered_mean_difference(*right, Clusters(numbers)))
    differences = np.array([one.difference for one in found])
    oracle = np.mean(np.abs(differences) > 1.96 * differences.std())
    assert oracle > 0.5 and np.mean([one.p_value < 0.05 for one in found]) > oracle / 2


def test_a_difference_over_clusters_is_that_of_statsmodels() -> None:
    rng, clusters = np.random.default_rng(0), Clusters(np.repeat(np.arange(70), 4))
    effects = rng.normal(size=(2, 70)).repeat(4, axis=1)
    first, second = effects + rng.normal(size=(2, 280)) > -0.3
    found = clustered_mean_difference(first, second, clusters)
    gaps = first.astype(float) - second
    options = {"groups": clusters.numbers, "df_correction": True}
    fitted = OLS(gaps, np.ones(len(gaps))).fit(cov_type="cluster", cov_kwds=options, use_t=True)
    assert found.difference == pytest.approx(gaps.mean())
    assert found.p_value == pytest.approx(fitted.pvalues[0], rel=1e-10)
    assert found.interval == pytest.approx(tuple(fitted.conf_int()[0]), rel=1e-10)


def test_a_difference_of_items_that_are_all_alike() -> None:
    clusters = Clusters(np.arange(60) // 3)
    same = clustered_mean_difference([1, 0, 1] * 20, [1, 0, 1] * 20, clusters)
    whole = clustered_mean_difference([1] * 60, [0] * 60, clusters)
    alike = clustered_mean_difference([1, 0, 0] * 20, [0] * 60, clusters)
    assert (same.difference, same.p_value) == (0.0, 1.0) and (whole.difference, whole.p_value) == (1.0, 2 * 0.5**20)
    assert all(map(math.isnan, (*same.interval, *whole.interval)))
    # The variance of 60 independent items, of which a third differ, with the degrees of freedom of 20 clusters.
    assert alike.interval[1] - alike.difference == pytest.approx(student(20) * math.sqrt(2 / 9 / 60))


def test_places_count_the_models_that_are_better_beyond_chance() -> None:
    # a and b are not told apart, nor b and c, but a and c are.
    p_values = np.array([[1, 0.4, 0.001, 0.001], [0.4, 1, 0.2, 0.01], [0.001, 0.2, 1, 0.04], [0.001, 0.01, 0.04, 1]])
    assert places([0.9, 0.8, 0.7, 0.5], p_values) == [1, 1, 2, 4]
    order = [2, 0, 3, 1]
    assert places(np.array([0.9, 0.8, 0.7, 0.5])[order], p_values[np.ix_(order, order)]) == [2, 1, 4, 1]
    assert places([0.9, 0.1], [[1, np.nan], [np.nan, 1]]) == [1, 1]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: mcnemar([True], [True, False]), InputError, "second has 2 rows and first has 1"),
        (lambda: mcnemar([], []), InputError, "first is empty"),
        (
            lambda: clustered_mean_difference([1, 0], [0, 0], Clusters(np.array([0, 1]))),
            UndefinedScoreError,
            "at least 3 of about equal size; there are 2",
        ),
        (lambda: paired_bootstrap(0.1, np.full(9, np.nan), 50), UndefinedScoreError, "undefined on every resample"),
    ],
)
def test_bad_input(call, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
