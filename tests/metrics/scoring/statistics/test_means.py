"""Intervals of means between two ends: by hand, at an end, and their coverage in simulations."""

import math

import numpy as np
import pytest
from scipy import stats

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.statistics.intervals import wilson_of_share
from eyechart.metrics.scoring.statistics.means import bounded_mean_interval
from eyechart.metrics.scoring.statistics.shares import Clusters


def test_independent_numbers_by_hand():
    values = np.random.default_rng(0).choice([1.0, 2.0, 4.5, 5.0], 50)
    parts = (values - 1) / 4
    share, variance = parts.mean(), parts.var(ddof=1) / 50
    rarer = 1 - parts
    freedom = min(49, 1.5 * rarer.sum() ** 2 / np.sum(rarer**2) - 1)
    n, t = share * (1 - share) / variance, stats.t.ppf(0.975, freedom)
    centre = (share + t**2 / (2 * n)) / (1 + t**2 / n)
    half = t / (1 + t**2 / n) * math.sqrt(share * (1 - share) / n + t**2 / (4 * n**2))
    found = bounded_mean_interval(values, (1, 5))
    assert (found.low, found.high) == pytest.approx((1 + 4 * (centre - half), 1 + 4 * (centre + half)))
    assert (found.kind, found.units) == ("bounded", 50)


def test_the_mirrored_numbers_have_the_mirrored_interval():
    values = np.random.default_rng(1).uniform(0, 2, 40)
    found, turned = bounded_mean_interval(values, (0, 2)), bounded_mean_interval(2 - values, (0, 2))
    assert (found.low, found.high) == pytest.approx((2 - turned.high, 2 - turned.low))


def test_numbers_at_the_ends_are_never_wider_than_right_and_wrong_answers():
    values = np.arange(60) < 58
    found, (low, high) = bounded_mean_interval(2 * values, (0, 2)), wilson_of_share(58 / 60, 60)
    assert (found.low, found.high) == pytest.approx((2 * low, 2 * high))


def test_clusters_of_equal_numbers_count_once():
    values = np.random.default_rng(2).choice([0.0, 1.0, 1.5, 2.0], 40)
    alone = bounded_mean_interval(values, (0, 2))
    found = bounded_mean_interval(np.repeat(values, 3), (0, 2), Clusters(np.repeat(np.arange(40), 3)))
    assert (found.low, found.high) == pytest.approx((alone.low, alone.high))
    assert (found.kind, found.units) == ("bounded-clustered", 40)
    unread = bounded_mean_interval(values, (0, 2), Clusters.of([None] * 40, 40))
    assert (unread.low, unread.kind) == (alone.low, "bounded-unread")


@pytest.mark.parametrize(
    ("values", "kind"), [([0.5, 1.0] * 9, "none"), ([2.0] * 30, "constant"), ([0.1 + 0.2, 0.3] * 15, "constant")]
)
def test_when_there_is_no_interval(values, kind):
    found = bounded_mean_interval(values, (0, 2))
    assert found.kind == kind and math.isnan(found.low) and math.isnan(found.high)


def test_bad_input():
    with pytest.raises(InputError, match=r"values\[1\] is nan"):
        bounded_mean_interval([1.0, math.nan], (0, 2))


@pytest.mark.parametrize("n", [60, 100, 300, 500])
@pytest.mark.parametrize("shares", [(0.9, 0.06, 0.04), (0.2, 0.4, 0.4), (0.03, 0.07, 0.9)])
def test_means_near_an_end_are_covered(n, shares):
    """A judge's scores in five rounds, of which four in five repeat the image's own; means 0.14, 1.2 and 1.87."""
    rng, hits = np.random.default_rng(n), 0
    truth = shares[1] + 2 * shares[2]
    for _ in range(600):
        own, other = rng.choice(3, p=shares, size=(n, 1)), rng.choice(3, p=shares, size=(n, 5))
        found = bounded_mean_interval(np.where(rng.random((n, 5)) < 0.8, own, other).mean(axis=1), (0, 2))
        hits += found.low <= truth <= found.high
    assert 0.92 <= hits / 600 <= 0.98
