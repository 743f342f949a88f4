"""Power of paired comparisons: how many items detect a difference of two models, and which difference n items detect.

The power of McNemar's exact test is computed exactly, over the number of discordant items (binomial) and over which of
the models is correct on them (Duffy, "Asymptotic and exact power for the McNemar test", Biometrics, 1984). In all other
cases (clusters, pairs that share images, correlations, judged scores) it is the power of Student's t test, from the
noncentral t distribution. The variance is assumed to shrink as 1 / n: further items are like the known ones, with
clusters of the same size.

Several models are compared in pairs, with Holm's adjustment. A single real difference is then tested at nearly the 5 %
level divided by the number of pairs; a plan uses this level, so its power is at least the stated one.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom, nct
from scipy.stats import t as student_t

from eyechart.metrics.scoring.statistics.intervals import NORMAL

POWER = 0.8
LEVEL = 0.05
_MOST_ITEMS = 10_000_000
# Standard deviations that any test with many units detects.
_CERTAIN = 10.0


@dataclass(frozen=True)
class PairedDesign:
    """What is known about two models' answers to the same n items."""

    n: int
    units: float
    """Number of independent units among the items, one more than the test's degrees of freedom."""
    variance: float
    """For a mean, the variance of one item's difference; for a correlation, n times the variance of the difference."""
    discordant: float | None = None
    """For shares, the share of items on which only one of the models is correct; None for other scores."""
    design_effect: float = 1.0
    """Variance of the mean difference, divided by the variance for independent items."""
    least_units: int = 2
    """Minimum number of units for a test."""
    is_clustered: bool = False
    """Whether items share images; without, shares are compared by McNemar's exact test."""
    pairs: int = 1
    """Number of pairs of models whose tests are Holm-adjusted together."""

    def power(self, difference: float, n: int) -> float:
        """The probability that a test detects a true difference, in the unit of the score, on n >= 2 items.

        Examples:
            >>> design = PairedDesign(n=1000, units=1000, variance=0.1, discordant=0.1)
            >>> round(design.power(0.03, 1000), 3), round(design.power(0.03, 300), 3)
            (0.835, 0.304)
        """
        difference, level, variance, exact = abs(difference), LEVEL / self.pairs, self.variance, 1.0
        if self.discordant is not None:
            discordant = max(self.discordant, difference)
            exact = mcnemar_power(difference, discordant, n, level)
            # The variance of differences -1, 0 and 1 with this mean.
            variance = discordant - difference**2
            if not self.is_clustered:
                return exact
        units = self.units * n / self.n
        if units < self.least_units:
            return 0.0
        deviation = math.sqrt(variance * self.design_effect / n)
        if deviation == 0 and difference == 0:
            return level
        # If all units have the same difference, the test is a sign test over them.
        found = 1.0 if deviation else float(2 * 0.5**units <= level)
        bound = student_t.ppf(1 - level / 2, units - 1)
        if deviation and difference / deviation < _CERTAIN * bound / NORMAL:
            shift = difference / deviation
            # At large shifts, the other side is negligible, and SciPy's cdf is sometimes nan.
            found = float(nct.sf(bound, units - 1, shift) + np.nan_to_num(nct.cdf(-bound, units - 1, shift)))
        # A comparison of runs uses the larger of both p-values.
        return min(found, exact)

    def needed(self, difference: float, power: float = POWER) -> int | None:
        """The number of items that detect a difference, not 0, with this power; None if it is above ten million."""
        low, high = 1, 2
        while self.power(difference, high) < power:
            low, high = high, 2 * high
            if high > _MOST_ITEMS:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.power(difference, middle) >= power else (middle, high)
        return high

    def detectable(self, n: int, power: float = POWER) -> float | None:
        """The smallest true difference that n items detect with this power; None if no difference is large enough."""
        low, high = 0.0, 2.0 if self.discordant is None else self.discordant
        if self.power(high, n) < power:
            return None
        while high - low > 1e-6:
            middle = (low + high) / 2
            low, high = (low, middle) if self.power(middle, n) >= power else (middle, high)
        return high


def mcnemar_power(difference: float, discordant: float, n: int, level: float = LEVEL) -> float:
    """Power of McNemar's exact test of a difference of shares, of n items; `discordant` is at least the difference."""
    if discordant == 0:
        return 0.0
    spread = 8 * math.sqrt(n * discordant * (1 - discordant)) + 1
    counts = np.arange(max(0, math.floor(n * discordant - spread)), min(n, math.ceil(n * discordant + spread)) + 1)
    # The most wins of the rarer winner with a two-sided p-value of at most the level; -1 if 0 is too many.
    bound = binom.ppf(level / 2, counts, 0.5)
    bound = np.where(binom.cdf(bound, counts, 0.5) <= level / 2, bound, bound - 1)
    chance = (1 + abs(difference) / discordant) / 2
    found = binom.cdf(bound, counts, chance) + binom.sf(counts - bound - 1, counts, chance)
    return float(np.sum(binom.pmf(counts, n, discordant) * np.where(bound >= 0, found, 0.0)))
