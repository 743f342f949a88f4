"""95 % intervals of shares, and of means between two ends, of items in clusters, such as questions about one image.

Answers about one image depend on each other, so n of them carry less information than n answers about n images. The
variance of their share is estimated from sums over clusters (Liang and Zeger, Biometrika, 1986; Miller, "Adding Error
Bars to Evals", arXiv 2411.00640, Sec. 2.2) with the correction CR2, which makes it unbiased for independent items, and
Satterthwaite's degrees of freedom (Bell and McCaffrey, Survey Methodology, 2002). It is never taken to be smaller than
the variance for independent items. The variance for independent items, divided by the estimated variance, gives an
effective number of items (Kish). The interval is Wilson's at this number, with Student's t in place of the normal
quantile (Korn and Graubard, Survey Methodology, 1998).

If a share is near 0 or 1, its estimated variance depends on few clusters: those with the rarer answer, correct or
incorrect. So there are at most `RARE` times as many degrees of freedom as clusters with it, minus one. The interval is
never wider than if each cluster were a single item, all of whose answers agree. G clusters of different sizes m count
as (sum of m)^2 / (sum of m^2) clusters.

A mean of numbers between two ends, such as a judge's scores from 0 to 2, is taken as a share of the way from the lower
end to the upper one. Near an end, it varies more in one direction, which a bootstrap of few items does not show.

Coverage by simulation: `docs/coverage.md`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.metrics.scoring.errors import InputError, UndefinedScoreError
from eyechart.metrics.scoring.inputs import FloatArray, check_lengths, check_numbers, map_groups
from eyechart.metrics.scoring.statistics.intervals import (
    FEW_UNITS,
    Interval,
    listed_intervals,
    student,
    wilson_of_share,
)

RARE = 1.5
"""Degrees of freedom for each cluster with the rarer answer; chosen by simulation."""
# Rounding errors make equal sums of scores differ by less than this share of the scale.
_EQUAL = 1e-12


@dataclass(frozen=True)
class Clusters:
    """Which items belong together."""

    numbers: NDArray[np.int64]
    """Number of each item's cluster, counted from 0, shape (n,)."""
    are_known: bool = True
    """False if the cluster of some items is not known; each such item counts as a cluster."""

    @classmethod
    def of(cls, names: Sequence[str | float | None] | None, n: int) -> "Clusters":
        """Clusters from a name for each of n items, None or nan if it is not known; without names, all are independent.

        Raises `InputError` if there are not n names, or one is neither a string nor a number.
        """
        if names is None:
            return cls(np.arange(n))
        if isinstance(names, str) or not hasattr(names, "__len__"):
            raise InputError(f"clusters must be a list with one value per row; it is {names!r:.60}")
        check_lengths(predictions=range(n), clusters=names)
        number: dict[Any, int] = {}
        found, unknown = [], 0
        for row, name in enumerate(names):
            if name is not None and not isinstance(name, str | Real):
                allowed = "it must be a string, a number, or None if it is not known"
                raise InputError(f"clusters[{row}] is {name!r:.60}; {allowed}")
            # Tables use nan for missing values.
            is_unknown = name is None or name != name
            unknown += is_unknown
            found.append(number.setdefault((row,) if is_unknown else name, len(number)))
        return cls(np.array(found, dtype=np.int64), are_known=not unknown)

    @property
    def n_clusters(self) -> int:
        """Number of different clusters."""
        return len(np.unique(self.numbers))

    @property
    def effective(self) -> float:
        """Effective number of clusters of equal size: (sum of sizes)^2 / (sum of squared sizes)."""
        sizes = np.bincount(self.numbers)
        return len(self.numbers) ** 2 / float(sizes @ sizes)

    def check_for_test(self) -> None:
        """Raise `UndefinedScoreError` if there are fewer than 3 clusters, or their sizes make them count as fewer."""
        if self.effective < 3:
            raise UndefinedScoreError(
                f"a test over clusters needs at least 3 of about equal size; there are {self.n_clusters}"
            )

    def select(self, rows: ArrayLike) -> "Clusters":
        """Clusters of some of the items."""
        index = np.asarray(rows)
        return Clusters(self.numbers[index] if index.size else self.numbers[:0], self.are_known)


def share_interval(right: ArrayLike, clusters: Clusters | None = None) -> Interval:
    """Interval for the share of correct answers, within [0, 1]; items are independent without clusters.

    `right` says whether each item is correct, shape (n,), or has a number from 0 to 1 for partly correct items. Such
    numbers vary less, so the interval is rather too wide.

    Examples:
        >>> share_interval([True] * 8 + [False] * 2).rounded()
        (0.4902, 0.9433)
        >>> share_interval([True] * 8 + [False] * 2, Clusters.of(["a", "b"] * 5, 10)).rounded()
        (0.2231, 0.9824)
    """
    values = np.asarray(right, dtype=np.float64)
    n = len(values)
    if n == 0:
        return Interval.undefined(0)
    clusters = clusters or Clusters(np.arange(n))
    share = float(values.mean())
    if clusters.n_clusters == n:
        return _interval(wilson_of_share(share, n), clusters)
    by_cluster = wilson_of_share(share, clusters.effective)
    if clusters.n_clusters == 1 or share in (0, 1):
        return _interval(by_cluster, clusters)
    variance, freedom = clustered_variance(values, clusters.numbers)
    # It can be far too small if correct and incorrect answers balance out within images.
    effective = share * (1 - share) / max(variance, share * (1 - share) / n)
    freedom = min(freedom, _rare_freedom(values, share, clusters))
    return _interval(_narrower(wilson_of_share(share, effective, student(freedom + 1)), by_cluster), clusters)


def bounded_mean_interval(values: ArrayLike, limits: tuple[float, float], clusters: Clusters | None = None) -> Interval:
    """Interval of a mean of numbers, shape (n,), between two ends, within these.

    It is of kind "none" with fewer than `FEW_UNITS` units, or if all numbers are equal.

    Examples:
        >>> bounded_mean_interval([2.0] * 50 + [1.2] * 10, (0, 2)).rounded()
        (1.7578, 1.9286)
    """
    (low, high), numbers = limits, np.asarray(values, dtype=np.float64)
    clusters = clusters or Clusters(np.arange(len(numbers)))
    if clusters.n_clusters < FEW_UNITS or np.ptp(numbers) < _EQUAL * (high - low):
        return Interval.undefined(clusters.n_clusters)
    parts = (numbers - low) / (high - low)
    share, ends = float(parts.mean()), (0.0, 1.0)
    variance, freedom = clustered_variance(parts, clusters.numbers)
    if variance:
        freedom = min(freedom, _rare_freedom(parts, share, clusters))
        ends = wilson_of_share(share, share * (1 - share) / variance, student(freedom + 1))
    least, most = _narrower(ends, wilson_of_share(share, clusters.effective))
    return _interval((low + (high - low) * least, low + (high - low) * most), clusters)


def _interval(ends: tuple[float, float], clusters: Clusters) -> Interval:
    kind = "wilson" if clusters.are_known else "wilson-unread"
    units = clusters.n_clusters
    return Interval(*ends, kind if units == len(clusters.numbers) else "wilson-clustered", units)


def _narrower(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return min(one, other, key=lambda ends: ends[1] - ends[0])


def _rare_freedom(values: FloatArray, share: float, clusters: Clusters) -> float:
    """The most degrees of freedom that the clusters with the rarer answer allow, at least 1."""
    rarer = np.bincount(clusters.numbers, weights=values if share < 0.5 else 1 - values)
    return max(1.0, RARE * float(rarer.sum() ** 2 / (rarer @ rarer)) - 1)


def clustered_variance(values: FloatArray, clusters: NDArray[np.int64]) -> tuple[float, float]:
    """Cluster-robust variance of a mean, CR2, and Satterthwaite's degrees of freedom for independent items.

    There are at least two clusters, whose number each item has.
    """
    (sums,), others, freedom = cluster_sums(values[None], clusters)
    return float(np.sum(sums**2 / others)) / len(values) ** 4, freedom


def cluster_sums(values: ArrayLike, clusters: NDArray[np.int64]) -> tuple[FloatArray, FloatArray, float]:
    """Sums over clusters of n times the deviations of values, shape (k, n), from their means: shape (k, clusters).

    Also the share of the items outside of each cluster, and Satterthwaite's degrees of freedom.
    """
    rows = np.asarray(values, dtype=np.float64)
    n = rows.shape[1]
    _, numbers = np.unique(clusters, return_inverse=True)
    sizes = np.bincount(numbers)
    others = 1 - sizes / n
    # Multiplied by n, whole numbers stay whole, so the variance of equal clusters is exactly 0.
    sums: FloatArray = np.stack([np.bincount(numbers, weights=n * row - row.sum()) for row in rows])
    squares, products = sizes**2, sizes**2 / others
    between = (products.sum() ** 2 - products @ products) / n**2
    return sums, others, n**2 / float(squares.sum() + between)


def balanced_interval(first: ArrayLike, second: ArrayLike, of_first: Clusters, of_second: Clusters) -> Interval:
    """Interval for the mean of two shares of different items, such as balanced accuracy.

    It combines the distances of the shares from the ends of their intervals, with the correlation due to common
    clusters, whose numbers both sides share (Zou and Donner, Statistics in Medicine, 2008, Eq. 6). If there are common
    clusters, but no variation to estimate the correlation from, it is taken to be 1, its maximum. A negative
    correlation is taken to be 0, because at -1 the interval would be a point.
    """
    clusters = of_first, of_second
    sides = [np.asarray(side, dtype=np.float64) for side in (first, second)]
    names = [set(own.numbers.tolist()) for own in clusters]
    units = len(names[0] | names[1])
    if not all(len(side) for side in sides):
        return Interval.undefined(units)
    one, other = (share_interval(side, own) for side, own in zip(sides, clusters, strict=True))
    shares = [float(side.mean()) for side in sides]
    size = 1 + max(int(own.numbers.max()) for own in clusters)
    sums = [
        # Multiplied by n, as in `clustered_variance`.
        np.bincount(own.numbers, weights=len(side) * side - side.sum(), minlength=size)
        for side, own in zip(sides, clusters, strict=True)
    ]
    spread = math.sqrt(float(sums[0] @ sums[0]) * float(sums[1] @ sums[1]))
    correlation = 0.0
    if not names[0].isdisjoint(names[1]):
        correlation = max(float(sums[0] @ sums[1]) / spread, 0.0) if spread > 0 else 1.0
    middle = sum(shares) / 2

    def reach(one: float, other: float) -> float:
        return math.sqrt(max(one**2 + other**2 + 2 * correlation * one * other, 0.0)) / 2

    low = middle - reach(shares[0] - one.low, shares[1] - other.low)
    high = middle + reach(one.high - shares[0], other.high - shares[1])
    return Interval(low, high, "mean", units)


def own_scores(
    values: Sequence[float],
    limits: tuple[float, float],
    groups: Mapping[str, Sequence[str]] | None = None,
    clusters: Sequence[str | None] | None = None,
) -> dict[str, Any]:
    """Mean of own scores, shape (n,), overall and by group, with its 95 % interval.

    The interval is Wilson's if the limits are 0 and 1 and there are no other numbers, else `bounded_mean_interval`.

    Examples:
        >>> found = own_scores([1, 1, 0, 1], (0, 1), {"camera": ["old", "old", "old", "new"]})
        >>> found["own_score"], [round(end, 3) for end in found["own_score_ci95"]], found["by_camera"]["new"]["n"]
        (0.75, [0.301, 0.954], 1)
    """
    numbers = check_numbers("values", values)
    shared = Clusters.of(clusters, check_lengths(values=numbers))

    def part(where: str, rows: Sequence[int]) -> dict[str, Any]:
        own, together = numbers[list(rows)], shared.select(rows)
        if tuple(limits) == (0, 1) and set(own.tolist()) <= {0, 1}:
            interval = share_interval(own, together)
        else:
            interval = bounded_mean_interval(own, limits, together)
        return {"own_score": float(own.mean()), **listed_intervals({"own_score": interval}), "n": len(own)}

    whole = part("overall", range(len(numbers)))
    return {**whole, **map_groups(groups or {}, part), "own_score_range": list(limits)}
