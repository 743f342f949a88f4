"""Interval and paired test of PLCCs against direct computations, and their error rates on data that are not normal."""

import math

import numpy as np
import pytest
from scipy.stats import pearsonr
from scipy.stats import t as student_t

from eyechart.metrics.scoring.errors import InputError, UndefinedScoreError
from eyechart.metrics.scoring.statistics.pearson import difference_and_error, plcc_difference, plcc_interval

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


@pytest.mark.parametrize("draw", ["normal", "t3", "lognormal", "binary"])
def test_the_interval_covers_on_data_that_are_not_normal(draw):
    """1,000 runs, n = 100; the true PLCC is that of 2 million items."""
    rng = RNG(8)

    def drawn(shape):
        x = rng.normal(size=shape)
        y = 0.8 * x + 0.6 * rng.normal(size=shape)
        scale = np.sqrt(rng.chisquare(3, size=shape) / 3)
        return {"normal": (x, y), "t3": (x / scale, y / scale), "lognormal": (np.exp(x), np.exp(y))}.get(
            draw, (x, (y > 0.5).astype(float))
        )

    true = np.corrcoef(*drawn(2_000_000))[0, 1]
    intervals = [plcc_interval(*rows) for rows in zip(*drawn((1000, 100)), strict=True)]
    assert 0.93 < np.mean([one.low <= true <= one.high for one in intervals]) < 0.98


def test_contributions_of_equal_size_have_the_most_degrees_of_freedom():
    """Without a correlation, two values of each contribute alike: the kurtosis is 1, up to rounding."""
    found = plcc_interval([0, 0, 1, 1] * 10, [0, 1, 0, 1] * 10)
    z = leave_one_out(np.tile([0, 0, 1, 1], 10), np.tile([0, 1, 0, 1], 10))
    reach = student_t.ppf(0.975, 39) * (z.std() ** 2 * 39) ** 0.5
    assert (found.low, found.high) == pytest.approx((-math.tanh(reach), math.tanh(reach)))


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (range(19), [*range(18), 30]),
        ([1] * 30, range(30)),
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

    def noise():
        errors = {
            "normal": lambda: rng.normal(size=quality.shape),
            "t3": lambda: rng.standard_t(3, size=quality.shape) / 3**0.5,
            "lognormal": lambda: (rng.lognormal(size=quality.shape) - 1.65) / 2.16,
            "growing": lambda: rng.normal(size=quality.shape) * np.exp(0.7 * quality),
        }
        return errors[kind]()

    return quality, quality + 0.8 * noise(), 3 * (quality + 0.8 * noise()) - 5


@pytest.mark.parametrize("kind", ["normal", "t3", "lognormal", "growing"])
def test_equal_models_differ_in_about_5_percent_of_runs(kind):
    """500 runs, n = 60; Williams' test, which assumes normal data, rejects 25 to 45 % of the last three."""
    quality, first, second = models(kind, 500, 60)
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


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        (([1, 2], [1, 2, 3], [1, 2]), InputError, "rows"),
        (([1, math.nan], [1, 2], [1, 2]), InputError, "is nan"),
        (([1, 1], [1, 2], [1, 2]), UndefinedScoreError, "all 2 predictions are equal"),
    ],
)
def test_bad_input(columns, error, message):
    with pytest.raises(error, match=message):
        plcc_difference(*columns, RNG(0))
