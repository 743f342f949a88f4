"""What a model would gain by answering only when it is confident: the risk-coverage curve.

Source: Geifman and El-Yaniv, "Selective Classification for Deep Neural Networks", arXiv 1705.08500, Sec. 2. If only the
most confident items are answered, the coverage is the share of answered items, and the risk is the error rate among
them. The area under the curve (AURC) is the mean of the risks at the coverages 1/n, 2/n, ..., 1. Items of equal
confidence have no order: each counts with their mean error.

The arguments of the functions are described in `confidence`; only the order of the confidences matters.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from eyechart.metrics.scoring.choices.confidence import check_answers
from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.inputs import FloatArray, check_lengths, check_numbers
from eyechart.metrics.scoring.statistics.bootstrap import RESAMPLES
from eyechart.metrics.scoring.statistics.intervals import (
    FEW_UNITS,
    Interval,
    listed_intervals,
    percentile_interval,
    student,
    wilson_of_share,
)
from eyechart.metrics.scoring.statistics.resampling import resampled_counts
from eyechart.metrics.scoring.statistics.shares import Clusters

# Rounding errors make the variance of equal areas at most this.
_EQUAL = 1e-20


def risk_coverage(confidences: ArrayLike, right: ArrayLike, coverages: ArrayLike) -> FloatArray:
    """Error rates among the most confident items.

    Args:
        confidences: See `confidence`.
        right: See `confidence`.
        coverages: Shares of answered items, above 0 and at most 1, shape (k,). If a share is not a whole number of
            items, the last item counts in part.

    Returns:
        Shape (k,), in [0, 1]; 0 is best.

    Raises:
        InputError: See `confidence`; or a coverage is not in (0, 1].

    Examples:
        >>> risk_coverage([0.9, 0.8, 0.7, 0.7], [True, True, True, False], [0.5, 0.75, 1.0]).round(4).tolist()
        [0.0, 0.1667, 0.25]
    """
    errors = _sorted_errors(confidences, right)
    shares = check_numbers("coverages", coverages)
    allowed = (shares > 0) & (shares <= 1)
    if not allowed.all():
        raise InputError(f"coverages contains {shares[np.argmin(allowed)]:g}; a coverage must be above 0 and at most 1")
    n = len(errors)
    total = np.concatenate([[0.0], np.cumsum(errors)])
    return np.asarray(np.interp(shares * n, np.arange(n + 1), total) / (shares * n))


def area_under_curve(confidences: ArrayLike, right: ArrayLike) -> float:
    """Area under the risk-coverage curve (AURC).

    Returns:
        In [0, 1]; 0 is best. If confidence says nothing about correctness, it is the error rate.

    Examples:
        >>> round(area_under_curve([0.9, 0.8, 0.7], [True, True, False]), 4)
        0.1111
    """
    return _area(_sorted_errors(confidences, right))


def area_interval(
    confidences: ArrayLike, right: ArrayLike, clusters: Clusters, rng: np.random.Generator, resamples: int = RESAMPLES
) -> Interval:
    """Wilson interval for the area, at the effective number of items, which is estimated from resampled clusters.

    Returns:
        The interval. It is of kind "none" if fewer than `FEW_UNITS` clusters have an incorrect answer: the area depends
        on the incorrect answers, and with fewer the coverage of intervals falls as low as 70 %. It is of kind
        "constant" if all resamples give the same area.
    """
    values, flags = check_answers(confidences, right)
    order = np.argsort(-values, kind="stable")
    values, errors = values[order], 1 - flags[order]
    cluster = np.unique(clusters.numbers, return_inverse=True)[1][order]
    n_clusters, n_wrong = int(cluster.max()) + 1, len(np.unique(cluster[errors > 0]))
    if n_wrong < FEW_UNITS:
        return Interval.undefined(n_wrong)
    replicates = []
    for counts in resampled_counts(n_clusters, rng, resamples):
        rows = np.repeat(np.arange(len(values)), counts[cluster].astype(np.intp))
        replicates.append(_area(_level_ties(values[rows], errors[rows])))
    area, variance = _area(_level_ties(values, errors)), float(np.var(replicates))
    if variance < _EQUAL:
        return Interval(math.nan, math.nan, "constant", n_clusters)
    ends = wilson_of_share(area, area * (1 - area) / variance, student(n_clusters))
    return Interval(*ends, "wilson-clustered", n_clusters)


def abstention_scores(
    answered: ArrayLike,
    answered_right: ArrayLike,
    confidences: ArrayLike,
    right: ArrayLike,
    clusters: Clusters,
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
) -> dict[str, Any]:
    """Compare a model's own refusals with abstaining by its probabilities, at the same answer rate.

    Args:
        answered: Whether the model itself answered each question, shape (n,).
        answered_right: Whether it answered the question correctly, shape (n,).
        confidences: Confidence of the most probable answer to each question, even if the model refused the question;
            see `confidence`.
        right: Whether the most probable answer is correct.
        clusters: See `confidence`.
        rng: See `confidence`.
        resamples: See `confidence`.

    Returns:
        `answer_rate`; `own_accuracy`, the accuracy on the questions that the model answered; `by_probability`, the
        accuracy of the most confident answers at the same answer rate; all in [0, 1]. `difference` is `by_probability`
        minus `own_accuracy`, with `difference_ci95` and `intervals`. If the model answered no
        question, all values except `answer_rate` are nan.
    """
    own, own_right = (np.asarray(column, dtype=np.float64) for column in (answered, answered_right))
    values, flags = check_answers(confidences, right)
    check_lengths(answered=own, answered_right=own_right, confidences=values, right=flags)
    cluster = np.unique(clusters.numbers, return_inverse=True)[1]
    n_clusters = int(cluster.max()) + 1

    def compare(rows: Any) -> tuple[float, float]:
        rate = float(own[rows].mean())
        if not rate:
            return float("nan"), float("nan")
        return float(own_right[rows].mean()) / rate, 1 - float(risk_coverage(values[rows], flags[rows], [rate])[0])

    everything = np.arange(len(own))
    own_accuracy, by_probability = compare(everything)
    interval = Interval.undefined(n_clusters)
    if own.any():
        drawn = [
            compare(np.repeat(everything, counts[cluster].astype(np.intp)))
            for counts in resampled_counts(n_clusters, rng, resamples)
        ]
        interval = percentile_interval(np.array([other - one for one, other in drawn]), n_clusters)
    return {
        "answer_rate": float(own.mean()),
        "own_accuracy": own_accuracy,
        "by_probability": by_probability,
        "difference": by_probability - own_accuracy,
        **listed_intervals({"difference": interval}),
    }


def _sorted_errors(confidences: ArrayLike, right: ArrayLike) -> FloatArray:
    """Errors, sorted from the most to the least confident item."""
    values, flags = check_answers(confidences, right)
    order = np.argsort(-values, kind="stable")
    return _level_ties(values[order], 1 - flags[order])


def _level_ties(confidences: FloatArray, errors: FloatArray) -> FloatArray:
    """Errors of sorted items, where items of equal confidence get their mean error."""
    starts = np.flatnonzero(np.concatenate([[True], confidences[1:] != confidences[:-1]]))
    sizes = np.diff(np.append(starts, len(errors)))
    return np.asarray(np.repeat(np.add.reduceat(errors, starts) / sizes, sizes))


def _area(errors: FloatArray) -> float:
    return float(np.mean(np.cumsum(errors) / np.arange(1, len(errors) + 1)))
