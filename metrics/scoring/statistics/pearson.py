"""The interval of a PLCC and the paired test of two PLCCs. Neither assumes normal data.

The interval is the jackknife's on Fisher's z, tanh(z ± t s), where s comes from z without each item (Efron, "The
Jackknife, the Bootstrap and Other Resampling Plans", 1982, Ch. 3). The degrees of freedom of Student's t are
Satterthwaite's for the variance of n contributions of kurtosis k, 2 n / (k - 1): if few items decide the correlation,
as outliers do, the interval is wide. If extreme errors are so rare that no item shows one, it is too narrow.

The test swaps the two models' scores of random items. Models of equal quality could be swapped on every item without a
difference. Both models' scores are centred, and divided by their mean absolute deviation, before they are swapped. The
statistic is the difference divided by its standard error (from the influence function, Devlin, Gnanadesikan and
Kettenring, Biometrika, 1975), so that the test also holds for models of equal PLCC whose errors differ in other ways
(DiCiccio and Romano, "Robust Permutation Tests for Correlation", JASA, 2017). Its 5 % bound also gives the interval of
the difference, so interval and p-value always agree.

Coverage and error rates by simulation: `docs/coverage.md`.
"""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student_t

from eyechart.metrics.scoring.inputs import FloatArray, scaled
from eyechart.metrics.scoring.quality.correlation import plcc
from eyechart.metrics.scoring.statistics.bootstrap import RESAMPLES
from eyechart.metrics.scoring.statistics.intervals import FEW_UNITS, LEVEL, Interval, student
from eyechart.metrics.scoring.statistics.paired import PairedTest, student_test

# Below this many degrees of freedom, a few items decide a PLCC.
_FEW_DECIDE = 10
_EQUAL = 1e-12
# Numbers in a block of swapped scores, few enough for the processor's cache.
_BLOCK = 1 << 17


def plcc_interval(predictions: ArrayLike, references: ArrayLike) -> Interval:
    """Jackknife interval of a PLCC of scores with opinion scores, shape (n,) each.

    It is of kind "jackknife", or "jackknife-few" if a few items decide the PLCC; or of kind "none" with fewer than
    `FEW_UNITS` items, or if the PLCC is undefined, also without one of them, or the same without any of them.

    Examples:
        >>> x = np.arange(40.0)
        >>> plcc_interval(x, x + 9 * np.sin(x)).rounded()
        (0.8059, 0.9171)
    """
    given = [np.asarray(of, dtype=np.float64) for of in (predictions, references)]
    n = len(given[0])
    # The mean of equal numbers may differ from them by rounding, which standardising would make a spread of.
    if n < FEW_UNITS or any(of.min() == of.max() for of in given):
        return Interval.undefined(n)
    x, y = (_standardised(scaled(of)[0]) for of in given)
    with np.errstate(all="ignore"):
        # Without item i, the mean of the others changes, and so do the sums of products.
        part = n / (n - 1)
        without = (x @ y - part * x * y) / np.sqrt((n - part * x * x) * (n - part * y * y))
        if np.ptp(without) < _EQUAL:
            return Interval.undefined(n)
        transformed = np.arctanh(without)
        squares = (transformed - transformed.mean()) ** 2
        deviation = math.sqrt((n - 1) / n * squares.sum())
        kurtosis = n * float(squares @ squares) / float(squares.sum()) ** 2
    if not math.isfinite(deviation):
        return Interval.undefined(n)
    # At most n - 1; contributions of equal size have a kurtosis of 1.
    freedom = 2 * n / max(kurtosis - 1, 2 * n / (n - 1))
    middle, reach = math.atanh(float(x @ y) / n), student(freedom + 1) * deviation
    kind = "jackknife" if freedom >= _FEW_DECIDE else "jackknife-few"
    return Interval(math.tanh(middle - reach), math.tanh(middle + reach), kind, n)


def plcc_difference(
    first: ArrayLike, second: ArrayLike, references: ArrayLike, rng: np.random.Generator, swaps: int = RESAMPLES - 1
) -> PairedTest:
    """Permutation test of the difference of two models' PLCCs, which swaps the models on random items.

    The p-value is the share of swapped data, the original among them, that differ at least as much. If no other data
    differ as much, it is the p-value of Student's t with the statistic scaled to the test's 5 % bound, if that is
    smaller. With fewer than `FEW_UNITS` items, there is no p-value and no interval. Errors are those of `plcc`.
    """
    difference, n = plcc(first, references) - plcc(second, references), len(np.asarray(references))
    if n < FEW_UNITS:
        return PairedTest(difference, math.nan, n)
    x, y = (_of_equal_spread(scaled(np.asarray(column, dtype=np.float64))[0]) for column in (first, second))
    z = _standardised(scaled(np.asarray(references, dtype=np.float64))[0])
    own, deviation = difference_and_error(x, y, z)
    if deviation < _EQUAL:
        return student_test(difference if abs(difference) > _EQUAL else 0.0, 0.0, n, n)
    statistic = abs(float(own / deviation))
    found = np.empty(swaps)
    rows = max(1, _BLOCK // n)
    for begin in range(0, swaps, rows):
        is_swapped = rng.integers(0, 2, (min(rows, swaps - begin), n), dtype=np.int8) == 1
        swapped, error = difference_and_error(np.where(is_swapped, y, x), np.where(is_swapped, x, y), z)
        found[begin : begin + rows] = np.abs(swapped) / np.maximum(error, _EQUAL)
    p_value = (1 + float(np.sum(found >= statistic - _EQUAL))) / (swaps + 1)
    rank = max(1, round((1 - LEVEL) * (swaps + 1)) - 1)
    bound = float(np.sort(found)[-rank])
    if found.max() < statistic:
        p_value = min(p_value, float(2 * student_t.sf(statistic * student(n) / bound, n - 1)))
    reach = bound * float(deviation)
    return PairedTest(difference, p_value, n, (max(-2.0, difference - reach), min(2.0, difference + reach)))


def _standardised(values: FloatArray) -> FloatArray:
    """Values with mean 0 and variance 1, along the last axis; nan if they are constant."""
    centred = values - values.mean(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return centred / np.sqrt(np.mean(centred**2, axis=-1, keepdims=True))


def _of_equal_spread(values: FloatArray) -> FloatArray:
    """Values with mean 0 and mean absolute deviation 1, which single outliers change less than the variance."""
    centred = values - values.mean()
    return centred / np.mean(np.abs(centred))


def difference_and_error(x: FloatArray, y: FloatArray, z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The difference of the PLCCs of x and y, shape (..., n), with standardised z, and its standard error."""
    x, y = _standardised(x), _standardised(y)
    of_x, of_y = (np.mean(column * z, axis=-1, keepdims=True) for column in (x, y))
    influence = (x - y) * z - (of_x * (x * x + z * z) - of_y * (y * y + z * z)) / 2
    error = np.sqrt(np.mean(influence**2, axis=-1) / (z.shape[-1] - 1))
    return (of_x - of_y)[..., 0], error
