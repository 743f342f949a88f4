"""Paired tests of two models on the same items, and the Holm adjustment over several tasks.

There is McNemar's test for correct and incorrect answers, and a paired bootstrap for SRCC and mean scores, whose
replicates are from `bootstrap` and `judging.replies`. The test of Pearson correlations is in `pearson`.

Sources: McNemar, Psychometrika, 1947; Holm, Scandinavian Journal of Statistics, 1979.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest
from scipy.stats import t as student_t

from eyechart.metrics.scoring.errors import InputError, UndefinedScoreError
from eyechart.metrics.scoring.inputs import FloatArray, check_lengths, check_numbers
from eyechart.metrics.scoring.statistics.intervals import FEW_UNITS, percentile_interval, student


@dataclass(frozen=True)
class PairedTest:
    """A comparison of two models on the same items.

    Attributes:
        difference: Score of the first model minus that of the second.
        p_value: Two-sided p-value.
        n: Number of items.
        interval: 95 % interval of the difference; nan if the test gives none.
    """

    difference: float
    p_value: float
    n: int
    interval: tuple[float, float] = (math.nan, math.nan)


def student_test(mean: float, deviation: float, n: int, units: float) -> PairedTest:
    """Student's t test of a mean difference from its standard deviation, with `units` - 1 degrees of freedom.

    Args:
        mean: The mean difference.
        deviation: Its standard deviation. If it is 0, all units have the same difference: there is no interval, and the
            p-value is that of the sign test, 2 / 2^units.
        n: Number of items.
        units: Number of independent units, at least 2.

    Examples:
        >>> found = student_test(0.1, 0.05, n=100, units=50)
        >>> round(found.p_value, 3), [round(end, 3) for end in found.interval]
        (0.051, [-0.0, 0.2])
    """
    if not deviation:
        return PairedTest(mean, 1.0 if mean == 0 else min(1.0, 2 * 0.5**units), n)
    margin = deviation * student(units)
    p_value = float(2 * student_t.sf(abs(mean) / deviation, units - 1))
    return PairedTest(mean, p_value, n, (mean - margin, mean + margin))


def mcnemar(first_correct: ArrayLike, second_correct: ArrayLike) -> PairedTest:
    """McNemar's test, in its exact form for any number of items.

    Only items count on which one model is correct and the other is not.

    Args:
        first_correct: Whether the first model answers each item correctly, shape (n,), booleans.
        second_correct: Whether the second model answers each item correctly, shape (n,).

    Returns:
        The difference and its p-value, which is 1 if no item counts.

    Raises:
        InputError: The lengths differ, there are no items, or a value is not a boolean.

    Examples:
        >>> found = mcnemar([True] * 9 + [False], [False] * 8 + [True, True])
        >>> round(found.p_value, 4), found.difference, found.n
        (0.0391, 0.7, 10)
    """
    first, second = _flags("first_correct", first_correct), _flags("second_correct", second_correct)
    n = check_lengths(first_correct=first, second_correct=second)
    only_first, only_second = int(np.sum(first & ~second)), int(np.sum(second & ~first))
    discordant = only_first + only_second
    p_value = float(binomtest(only_first, discordant).pvalue) if discordant else 1.0
    return PairedTest((only_first - only_second) / n, p_value, n)


def _flags(argument: str, values: ArrayLike) -> NDArray[np.bool_]:
    numbers = check_numbers(argument, values)
    allowed = (numbers == 0) | (numbers == 1)
    if not allowed.all():
        row = int(np.argmin(allowed))
        raise InputError(f"{argument}[{row}] is {numbers[row]:g}; allowed: True and False")
    return numbers == 1


def paired_bootstrap(difference: float, replicates: FloatArray, n: int, units: int | None = None) -> PairedTest:
    """Paired bootstrap test from replicates of a difference, each computed for both models on the same resampled items.

    The p-value is twice the share of replicates on the rarer side of 0. If all replicates are on one side, the number
    of replicates limits it (to 0.002 with 1,000), and no Holm adjustment over many models could be significant. In this
    case it is the p-value of Student's t, from the mean and standard deviation of the replicates, if this is smaller.

    Args:
        difference: The difference on the original items.
        replicates: Replicates of the difference, shape (resamples,); nan if undefined.
        n: Number of items.
        units: Number of resampled units, if that is not n.

    Returns:
        The difference, its interval and p-value; these two are nan with fewer than `FEW_UNITS` units.

    Raises:
        UndefinedScoreError: No replicate is defined.

    Examples:
        >>> replicates = np.arange(-1.0, 99.0) / 100
        >>> found = [paired_bootstrap(0.5, replicates + shift, n=50).p_value for shift in (0.0, 1.0)]
        >>> [round(p_value, 7) for p_value in found]
        [0.0594059, 4.7e-06]
    """
    if np.isnan(replicates).all():
        raise UndefinedScoreError("the score is undefined on every resample")
    resampled = n if units is None else units
    if resampled < FEW_UNITS:
        return PairedTest(difference, math.nan, n)
    interval, p_value = percentile_interval(replicates, resampled), _two_sided(replicates)
    # Equal replicates have no interval, and their standard deviation is not informative.
    if interval.kind == "bootstrap" and (np.nanmin(replicates) > 0 or np.nanmax(replicates) < 0):
        distance = abs(float(np.nanmean(replicates))) / float(np.nanstd(replicates))
        p_value = min(p_value, float(2 * student_t.sf(distance, resampled - 1)))
    return PairedTest(difference, p_value, n, (interval.low, interval.high))


def _two_sided(differences: FloatArray) -> float:
    """Twice the share of resamples on the rarer side of 0, with one added to the count and to the total."""
    defined = differences[~np.isnan(differences)]
    rarer = min(int(np.sum(defined <= 0)), int(np.sum(defined >= 0)))
    return min(1.0, 2 * (rarer + 1) / (len(defined) + 1))


def holm(p_values: ArrayLike) -> list[float]:
    """Holm-adjusted p-values, which control the probability of any false positive among all tests.

    Args:
        p_values: One per test, in [0, 1].

    Returns:
        Adjusted p-values in the order given, in [0, 1], none smaller than the original.

    Raises:
        InputError: There are no values, or a value is nan or not in [0, 1]. Leave out undefined tests.

    Examples:
        >>> [round(value, 3) for value in holm([0.01, 0.04, 0.03, 0.005])]
        [0.03, 0.06, 0.06, 0.02]
    """
    values = check_numbers("p_values", p_values)
    n = check_lengths(p_values=values)
    allowed = (values >= 0) & (values <= 1)
    if not allowed.all():
        row = int(np.argmin(allowed))
        raise InputError(f"p_values[{row}] is {values[row]:g}; a p-value must be between 0 and 1")
    order = np.argsort(values, kind="stable")
    adjusted = np.empty(n)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(values[order] * np.arange(n, 0, -1)))
    return [float(value) for value in adjusted]
