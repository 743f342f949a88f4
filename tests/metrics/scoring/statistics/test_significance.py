"""Paired tests against published examples, SciPy and simulations of their false-positive rate."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control, pearsonr, spearmanr
from scipy.stats import t as student_t

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.quality.correlation import srcc
from eyechart.metrics.scoring.statistics.bootstrap import bootstrap_plcc_columns, bootstrap_srcc_columns
from eyechart.metrics.scoring.statistics.resampling import resampled_counts
from eyechart.metrics.scoring.statistics.significance import PairedTest, holm, mcnemar, paired_bootstrap


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
    a, b = bootstrap_srcc_columns([first, second], y, rng, resamples)
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


@pytest.mark.parametrize(
    ("bootstrap", "correlation"), [(bootstrap_srcc_columns, spearmanr), (bootstrap_plcc_columns, pearsonr)]
)
def test_replicates_are_correlations_of_the_resampled_items(bootstrap, correlation) -> None:
    rng = np.random.default_rng(5)
    *columns, y = rng.integers(0, 12, size=(4, 40)).astype(float)
    found = bootstrap(columns, y, np.random.default_rng(8), resamples=20)
    for index, counts in enumerate(resampled_counts(40, np.random.default_rng(8), 20)):
        rows = np.repeat(np.arange(40), counts.astype(int))
        expected = [correlation(x[rows], y[rows]).statistic for x in columns]
        np.testing.assert_allclose(found[:, index], expected, atol=1e-12)


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
    found = [paired_bootstrap(shift, centred + shift, n=40).p_value for shift in (-6.0, 6.0)]
    assert found[0] == found[1] == pytest.approx(2 * student_t.sf(6.0, 39))
    assert paired_bootstrap(50.0, np.arange(1.0, 101.0), n=40).p_value == pytest.approx(2 / 101)
    # A replicate on the other side, or replicates that are all equal, leave it to counting.
    assert paired_bootstrap(6.0, np.append(centred + 6.0, -0.1), n=40).p_value == pytest.approx(4 / 1002)
    assert paired_bootstrap(1.0, np.ones(1000), n=40).p_value == pytest.approx(2 / 1001)


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


BAD_INPUT = [
    (lambda: mcnemar([True], [True, False]), InputError, r"second_correct has 2 rows and first_correct has 1"),
    (lambda: mcnemar([], []), InputError, "first_correct is empty"),
    (lambda: mcnemar([0, 2], [0, 1]), InputError, r"first_correct\[1\] is 2; allowed: True and False"),
    (lambda: holm([]), InputError, "p_values is empty"),
    (lambda: holm([0.1, 1.5]), InputError, r"p_values\[1\] is 1.5"),
    (lambda: holm([0.1, float("nan")]), InputError, r"p_values\[1\] is nan"),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD_INPUT)
def test_bad_input(call, error, message) -> None:
    with pytest.raises(error, match=message):
        call()
