"""Paired tests, PLCCs and power against published examples, SciPy, hand computations and simulations."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import false_discovery_control, norm, pearsonr
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
from eyechart.metrics.scoring.statistics.pearson import difference_and_error, plcc_difference, plcc_interval
from eyechart.metrics.scoring.statistics.power import PairedDesign, mcnemar_power
from eyechart.metrics.scoring.statistics.shares import Clusters, clustered_variance


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


def srcc_difference(first: Any, second: Any, y: Any, rng: np.random.Generator, resamples: int = 1000) -> PairedTest:
    seed = int(rng.integers(1 << 30))
    a, b = (bootstrap_correlations(x, y, np.random.default_rng(seed), resamples)[0] for x in (first, second))
    return paired_bootstrap(srcc(first, y) - srcc(second, y), a - b, len(y))


def test_false_positives_of_the_bootstrap() -> None:
    rng = np.random.default_rng(12)
    shared = rng.normal(size=(80, 60))
    first, second, y = (shared + scale * rng.normal(size=(80, 60)) for scale in (1.0, 1.0, 0.5))
    found = [srcc_difference(*rows, rng, resamples=200) for rows in zip(first, second, y, strict=True)]
    assert 0.01 < np.mean([result.p_value < 0.05 for result in found]) < 0.10


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


def test_coverage_of_a_difference_of_shares() -> None:
    """In 1,000 runs of 60 items that are right with 0.69 and 0.45."""
    rng, chances = np.random.default_rng(60), (0.69, 0.45)
    found = [mcnemar(*(rng.random(60) < chance for chance in chances)).interval for _ in range(1000)]
    assert 0.93 <= np.mean([low <= 0.24 <= high for low, high in found]) <= 0.97


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


def test_undefined_tests() -> None:
    with pytest.raises(InputError, match="second has 2 rows and first has 1"):
        mcnemar([True], [True, False])
    with pytest.raises(UndefinedScoreError, match="at least 3"):
        clustered_mean_difference([1, 0], [0, 0], Clusters(np.array([0, 1])))
    with pytest.raises(UndefinedScoreError, match="undefined on every resample"):
        paired_bootstrap(0.1, np.full(9, np.nan), 50)


RNG = np.random.default_rng


def leave_one_out(x, y):
    """Fisher's z without each item."""
    return np.array([math.atanh(pearsonr(np.delete(x, i), np.delete(y, i)).statistic) for i in range(len(x))])


@pytest.mark.parametrize("tail", ["normal", "heavy"])
def test_the_interval_is_the_jackknifes_on_fishers_z(tail):
    rng = RNG(3)
    x = rng.normal(size=50) if tail == "normal" else rng.standard_t(2, size=50)
    y = 1e6 + 7 * (x + rng.normal(size=50))
    z, n = leave_one_out(x, y), 50
    deviation = (z.std() ** 2 * (n - 1)) ** 0.5
    kurtosis = np.mean((z - z.mean()) ** 4) / z.var() ** 2
    reach = student_t.ppf(0.975, min(2 * n / (kurtosis - 1), n - 1)) * deviation
    middle = math.atanh(pearsonr(x, y).statistic)
    found = plcc_interval(x, y)
    assert (found.low, found.high) == pytest.approx((math.tanh(middle - reach), math.tanh(middle + reach)))
    assert found.kind == {"normal": "jackknife", "heavy": "jackknife-few"}[tail]


def test_the_interval_covers_on_data_that_are_not_normal():
    """1,000 runs, n = 100; the true PLCC is that of 2 million items."""
    rng = RNG(8)

    def drawn(shape):
        x = rng.normal(size=shape)
        y = 0.8 * x + 0.6 * rng.normal(size=shape)
        scale = np.sqrt(rng.chisquare(3, size=shape) / 3)
        return x / scale, y / scale

    true = np.corrcoef(*drawn(2_000_000))[0, 1]
    intervals = [plcc_interval(*rows) for rows in zip(*drawn((1000, 100)), strict=True)]
    assert 0.93 < np.mean([one.low <= true <= one.high for one in intervals]) < 0.98


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (range(19), [*range(18), 30]),
        ([1] * 30, range(30)),
        # Their mean differs from them by rounding.
        ([0.1] * 1666, range(1666)),
        # Without the first item, all predictions are equal.
        ([1, *[0] * 29], range(30)),
        (range(30), range(30)),
    ],
)
def test_when_there_is_no_interval(x, y):
    found = plcc_interval(x, y)
    assert found.kind == "none" and math.isnan(found.low) and math.isnan(found.high)


def models(kind, runs, n):
    """Opinion scores and the scores of two equally good models, shape (runs, n) each."""
    rng = RNG(12)
    quality = rng.normal(size=(runs, n))
    errors = {
        "normal": lambda: rng.normal(size=quality.shape),
        "t3": lambda: rng.standard_t(3, size=quality.shape) / 3**0.5,
        "growing": lambda: rng.normal(size=quality.shape) * np.exp(0.7 * quality),
    }
    return quality, quality + 0.8 * errors[kind](), 3 * (quality + 0.8 * errors[kind]()) - 5


def test_equal_models_differ_in_about_5_percent_of_runs():
    """500 runs, n = 60, errors that grow; Williams' test, which assumes normal data, rejects 25 to 45 % of them."""
    quality, first, second = models("growing", 500, 60)
    found = [plcc_difference(*rows, RNG(4), swaps=199) for rows in zip(first, second, quality, strict=True)]
    assert 0.025 <= np.mean([one.p_value < 0.05 for one in found]) <= 0.085


def test_the_p_value_is_below_5_percent_exactly_if_the_interval_excludes_zero():
    quality, first, second = models("t3", 200, 40)
    shift = np.linspace(0, 2, 200)[:, None]
    for rows in zip(first + shift * RNG(2).normal(size=first.shape), second, quality, strict=True):
        found = plcc_difference(*rows, RNG(4), swaps=199)
        assert (found.p_value < 0.05) == (not found.interval[0] <= 0 <= found.interval[1])


def test_the_standard_error_is_that_of_numerical_derivatives():
    """The derivatives of the difference by the weight of each item."""
    quality, first, second = (rows[0] for rows in models("growing", 1, 50))

    def difference(weights):
        def correlation(x):
            cov = np.cov(x, quality, aweights=weights, ddof=0)
            return cov[0, 1] / math.sqrt(cov[0, 0] * cov[1, 1])

        return correlation(first) - correlation(second)

    step = 1e-5
    influence = [(difference(1 + step * row) - difference(1 - step * row)) / (2 * step) for row in np.eye(50)]
    expected = difference(np.ones(50)), math.sqrt(50 / 49 * np.sum(np.square(influence)))
    z = (quality - quality.mean()) / quality.std()
    assert np.array(difference_and_error(first, second, z)) == pytest.approx(expected, rel=1e-6)


def test_scale_order_and_extremes():
    quality, first, second = (rows[0] for rows in models("normal", 1, 60))
    found, turned = plcc_difference(first, second, quality, RNG(1)), plcc_difference(second, first, quality, RNG(1))
    assert turned.difference == -found.difference and turned.p_value == pytest.approx(found.p_value, abs=0.03)
    scaled = plcc_difference(1e200 * first, 1e-200 * second, quality, RNG(1))
    assert scaled.p_value == found.p_value
    certain = plcc_difference(quality + 0.01 * first, -quality + 0.1 * second, quality, RNG(1))
    assert certain.p_value < 1e-20 and certain.interval[1] <= 2
    same = plcc_difference(first, 2 * first + 1, quality, RNG(1))
    assert same.p_value == 1 and math.isnan(same.interval[0])
    assert math.isnan(plcc_difference(first[:19], second[:19], quality[:19], RNG(1)).p_value)


RUNS = 20_000


@pytest.mark.parametrize(("difference", "discordant", "n"), [(0.2, 0.3, 50), (0.03, 0.1, 900)])
def test_mcnemars_power_is_that_of_simulated_runs(difference: float, discordant: float, n: int) -> None:
    rng = np.random.default_rng(0)
    sides = ((discordant + difference) / 2, (discordant - difference) / 2)
    first, second, _ = rng.multinomial(n, (*sides, 1 - discordant), RUNS).T
    p_values = np.minimum(1, 2 * stats.binom.cdf(np.minimum(first, second), first + second, 0.5))
    assert mcnemar_power(difference, discordant, n) == pytest.approx(np.mean(p_values <= 0.05), abs=0.01)


def test_by_hand() -> None:
    # Six items tell the models apart, and all must go the same way: 2 / 64 is below 5 %, 2 (1 + 6) / 64 is above.
    assert mcnemar_power(1.0, 1.0, 6) == 1.0
    assert mcnemar_power(0.0, 1.0, 6) == pytest.approx(2 / 64)
    assert mcnemar_power(0.5, 1.0, 6) == pytest.approx(0.75**6 + 0.25**6)
    # Five cannot.
    assert mcnemar_power(1.0, 1.0, 5) == 0.0 and mcnemar_power(0.0, 0.0, 100) == 0.0


@pytest.mark.parametrize("n", [3, 51, 300])
def test_the_power_of_correlations_grows_with_the_difference(n: int) -> None:
    """At every difference, also where SciPy's noncentral t is nan on the side that counts next to nothing."""
    design = PairedDesign(n=n, units=n, variance=float(n))
    found = [design.power(difference, n) for difference in np.arange(0, 12, 0.02)]
    assert np.all(np.diff(found) > -1e-9) and found[0] == pytest.approx(0.05) and found[-1] > 0.94
    least = design.detectable(n)
    assert least is None or design.power(least, n) == pytest.approx(0.8, abs=1e-5)


@pytest.mark.parametrize("sizes", [[4] * 12, [1] * 60 + [10] * 4])
def test_the_power_of_few_clusters_is_that_of_simulated_runs(sizes: list[int]) -> None:
    """Clusters of equal size, and clusters whose sizes differ."""
    rng = np.random.default_rng(3)
    numbers = np.repeat(np.arange(len(sizes)), sizes)
    clusters, n = Clusters(numbers), len(numbers)
    shares = np.array([0.6, 0.1, 0.3])
    values = np.array([1, -1, 0])
    found = 0
    for _ in range(2000):
        of_cluster, own = rng.choice(3, p=shares, size=len(sizes))[numbers], rng.choice(3, p=shares, size=n)
        drawn = values[np.where(rng.random(n) < 0.5, of_cluster, own)]
        tests = clustered_mean_difference(drawn > 0, drawn < 0, clusters), mcnemar(drawn > 0, drawn < 0)
        found += max(test.p_value for test in tests) <= 0.05
    within = float(np.sum(np.square(sizes)) - n) / n * 0.25
    _, freedom = clustered_variance(np.zeros(n), numbers)
    design = PairedDesign(n, freedom + 1, 0.45, 0.7, 1 + within, is_clustered=True)
    assert design.power(0.5, n) == pytest.approx(found / 2000, abs=0.05)


def test_the_power_of_a_mean_is_that_of_a_t_test() -> None:
    design = PairedDesign(n=30, units=30, variance=4.0)
    bound, shift = stats.t.ppf(0.975, 29), 1.0 / math.sqrt(4 / 30)
    expected = stats.nct.sf(bound, 29, shift) + stats.nct.cdf(-bound, 29, shift)
    assert design.power(1.0, 30) == pytest.approx(expected)
    # Equal in every item: the test's own level, and no other difference can be missed.
    same = PairedDesign(n=30, units=30, variance=0.0)
    assert (same.power(0.0, 30), same.power(0.1, 30)) == (0.05, 1.0)
    # Differences of 1 in 25 % of the items and of -1 in 5 % have the variance 0.3 - 0.2 ** 2.
    shares = PairedDesign(200, 100, 0.0, 0.3, 1.7, is_clustered=True).power(0.2, 200)
    assert shares == PairedDesign(200, 100, 0.26, design_effect=1.7).power(0.2, 200) < 1
    rng = np.random.default_rng(0)
    draws = rng.normal(1.0, 2.0, (RUNS, 30))
    assert design.power(1.0, 30) == pytest.approx(np.mean(stats.ttest_1samp(draws, 0, axis=1).pvalue <= 0.05), abs=0.01)


@pytest.mark.parametrize("design", [PairedDesign(500, 100, 0.2, 0.2, 1.7), PairedDesign(500, 500, 0.5)])
def test_items_needed_and_differences_shown_are_inverse(design: PairedDesign) -> None:
    needed = design.needed(0.06)
    assert needed is not None
    assert design.power(0.06, needed) >= 0.8 > design.power(0.06, needed - 1)
    shown = design.detectable(needed)
    assert shown == pytest.approx(0.06, rel=0.02)
    assert design.needed(0.06, 0.9) > needed > design.needed(0.08)


def test_no_difference_can_be_shown_of_equal_models_or_few_items() -> None:
    alike = PairedDesign(500, 500, 0.0, 0.0)
    assert alike.detectable(500) is None
    assert PairedDesign(500, 500, 0.2, 0.2).detectable(5) is None
    assert PairedDesign(500, 500, 0.2, 0.2).needed(1e-5) is None
