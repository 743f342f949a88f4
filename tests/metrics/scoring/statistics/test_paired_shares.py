"""Intervals of differences of paired shares: by hand, at their ends, and their coverage in simulations."""

import math

import numpy as np
import pytest
from scipy.stats import norm, t

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.statistics.paired_shares import paired_share_interval
from eyechart.metrics.scoring.statistics.shares import Clusters


def by_hand(gained: float, lost: float, n: float, quantile: float) -> tuple[float, float]:
    """Of numbers of items that only one of the two has right, with one more of either."""
    one, other = (gained + 1) / (n + 2), (lost + 1) / (n + 2)
    reach = quantile * math.sqrt((one + other - (one - other) ** 2) / (n + 2))
    return one - other - reach, one - other + reach


def flags(both: int, gained: int, lost: int, neither: int) -> tuple[list[bool], list[bool]]:
    first = [True] * (both + gained) + [False] * (lost + neither)
    return first, [True] * both + [False] * gained + [True] * lost + [False] * neither


@pytest.mark.parametrize("counts", [(10, 12, 5, 13), (0, 1, 0, 0), (40, 0, 0, 0), (3, 0, 7, 2)])
def test_independent_items_by_hand(counts: tuple[int, int, int, int]) -> None:
    found = paired_share_interval(*flags(*counts))
    low, high = by_hand(counts[1], counts[2], sum(counts), norm.ppf(0.975))
    assert (found.low, found.high) == pytest.approx((max(-1, low), min(1, high)))
    assert (found.kind, found.units) == ("paired", sum(counts))


def test_the_other_way_round_is_the_mirrored_interval() -> None:
    first, second = flags(10, 12, 5, 13)
    found, turned = paired_share_interval(first, second), paired_share_interval(second, first)
    assert (found.low, found.high) == pytest.approx((-turned.high, -turned.low))


def test_copies_of_items_count_once() -> None:
    first, second = (np.repeat(side, 3) for side in flags(20, 15, 5, 20))
    found = paired_share_interval(first, second, Clusters(np.repeat(np.arange(60), 3)))
    assert (found.low, found.high) == pytest.approx(by_hand(15, 5, 60, norm.ppf(0.975)))
    assert (found.kind, found.units) == ("paired-by-cluster", 60)


def test_clusters_by_hand() -> None:
    """20 images with three questions, one of them alike in all."""
    numbers = np.repeat(np.arange(20), 3)
    first = np.random.default_rng(4).random(60) < 0.7
    second = np.where(numbers % 2, first, np.arange(60) % 3 == 0)
    gap = first.astype(float) - second
    sums = np.bincount(numbers, gap - gap.mean())
    n = 60 * gap.var() / max(np.sum(sums**2) * 20 / 19 / 60, gap.var())
    found = paired_share_interval(first, second, Clusters(numbers))
    shares = [n * np.mean(gap == sign) for sign in (1, -1)]
    assert (found.low, found.high) == pytest.approx(by_hand(*shares, n, t.ppf(0.975, 19)))
    assert (found.kind, found.units) == ("paired-clustered", 20)


def test_items_that_are_all_alike_count_as_the_clusters() -> None:
    same = np.ones(120, dtype=bool)
    found = paired_share_interval(same, same, Clusters(np.repeat(np.arange(60), 2)))
    assert (found.low, found.high) == pytest.approx(by_hand(0, 0, 60, norm.ppf(0.975)))
    assert found.kind == "paired-by-cluster"


def test_bad_input() -> None:
    unread = Clusters.of([None, None], 2)
    assert paired_share_interval([True, False], [True, True], unread).kind == "paired-unread"
    one = paired_share_interval([True], [False], Clusters.of(["a"], 1))
    assert one.low < 0 < one.high == 1.0
    with pytest.raises(InputError, match="second"):
        paired_share_interval([True], [])
    with pytest.raises(InputError, match="empty"):
        paired_share_interval([], [])


@pytest.mark.parametrize(
    ("n_clusters", "size", "spread"),
    [(60, 1, 0.0), (300, 1, 0.0), (60, 3, 0.0), (60, 3, 1.5), (300, 3, 1.5), (100, 10, 1.5)],
)
def test_coverage(n_clusters: int, size: int, spread: float) -> None:
    """Two ways that are right with a probability of the image's own, in 1,000 runs."""
    rng = np.random.default_rng(n_clusters + size)
    runs, n = 1000, n_clusters * size
    clusters = Clusters(np.repeat(np.arange(n_clusters), size))

    def rates(images: np.ndarray) -> list[np.ndarray]:
        return [1 / (1 + np.exp(-place - spread * images[..., way])) for way, place in enumerate((0.8, -0.2))]

    truth = float(np.subtract(*(side.mean() for side in rates(rng.normal(size=(400_000, 2))))))
    covered = 0
    for _ in range(runs):
        first, second = (rng.random(n) < np.repeat(side, size) for side in rates(rng.normal(size=(n_clusters, 2))))
        found = paired_share_interval(first, second, clusters)
        covered += found.low <= truth <= found.high
    assert 0.93 <= covered / runs <= 0.97
