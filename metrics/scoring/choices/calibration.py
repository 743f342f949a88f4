"""Calibration of a model's option probabilities: does its accuracy match its confidence?

Source: Guo et al., "On Calibration of Modern Neural Networks", arXiv 1706.04599, for the expected calibration error
(ECE, Eq. 2), estimated in `BINS` bins of equal width (Eq. 3).

ECE is a sum of absolute values, so chance makes it larger (Roelofs et al., arXiv 2012.08668). Even a perfectly
calibrated model has an ECE above 0 on a finite number of items: 0.03 on 1,500 items, 0.1 on 100. Bootstrap replicates
have this bias twice, and their percentiles almost never contain the true value of such a model. The interval therefore
bounds the error in both directions:

- The upper end assumes that chance added nothing. This is a bound because the sum of the gaps, each with its true sign,
  is at most the ECE.
- The lower end assumes that chance added as much as it can. In a bin whose gap is within `SURE` standard deviations of
  0, that is the absolute value of the gap's deviation. In the other bins, where the sign is known, it is the deviation
  itself (the directional derivative of Fang and Santos, arXiv 1404.3763).

The deviations of the gaps come from resampled clusters. In a bin with few answers, or with almost only correct answers,
resamples differ too little. There, normal noise raises their variance to that of a share with four more correct and
four more incorrect answers. If all answers are correct, the result is close to Wilson's interval.

Because both ends are bounds, the interval contains the ECE in more than 95 % of simulated runs, mostly in over 97 %
(`docs/coverage.md`). It is an interval for the ECE in these bins, which is at most the ECE without bins.

The arguments of the functions are described in `confidence`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from eyechart.metrics.scoring.choices.confidence import check_answers
from eyechart.metrics.scoring.choices.risk_coverage import area_interval, area_under_curve, risk_coverage
from eyechart.metrics.scoring.inputs import FloatArray, check_lengths, check_numbers
from eyechart.metrics.scoring.statistics.bootstrap import RESAMPLES, part_generator
from eyechart.metrics.scoring.statistics.intervals import Interval, listed_intervals, percentile_interval
from eyechart.metrics.scoring.statistics.resampling import resampled_counts
from eyechart.metrics.scoring.statistics.shares import Clusters

BINS = 15
"""Number of bins of equal width, as in Guo et al., Table 1."""
SURE = 3.0
"""Number of standard deviations from 0 above which the sign of a bin's gap counts as known."""
COVERAGES = tuple(step / 20 for step in range(1, 21))
"""Coverages (shares of answered items) at which the risk-coverage curve is reported."""
_EDGES = np.linspace(0, 1, BINS + 1)
_ADDED = 4


def option_probabilities(logits: ArrayLike) -> FloatArray:
    """Probabilities of a question's options, relative to each other.

    Args:
        logits: Logits of the options' letters, or negative losses of the options in nats, shape (k,), k at least 1.

    Returns:
        The softmax, shape (k,), which sums to 1.

    Raises:
        InputError: There are no options, or a logit is not finite.

    Examples:
        >>> option_probabilities([0.0, 0.0, -1000.0]).tolist()
        [0.5, 0.5, 0.0]
    """
    values = check_numbers("logits", logits)
    check_lengths(logits=values)
    return np.asarray(softmax(values), dtype=np.float64)


def expected_calibration_error(confidences: ArrayLike, right: ArrayLike) -> float:
    """Expected calibration error (Guo et al., Eq. 3).

    Returns:
        Mean gap between confidence and accuracy over the bins, weighted by their numbers of items, in [0, 1]; 0 is
        best. It is biased upwards; see the module's docstring.

    Examples:
        >>> round(expected_calibration_error([0.8, 0.8, 0.5, 0.5], [True, True, True, False]), 6)
        0.1
    """
    values, flags = check_answers(confidences, right)
    gaps = np.bincount(_bin_of(values), weights=flags - values, minlength=BINS)
    return float(np.abs(gaps).sum() / len(values))


def calibration_bins(confidences: ArrayLike, right: ArrayLike) -> list[dict[str, Any]]:
    """The bins of a reliability diagram (Guo et al., Fig. 1).

    Returns:
        For each of the `BINS` bins: its ends `low` (excluded) and `high`, `n`, and the mean `confidence` and `accuracy`
        of its items, nan for an empty bin.
    """
    values, flags = check_answers(confidences, right)
    place = _bin_of(values)
    counts = np.bincount(place, minlength=BINS)
    confidence, accuracy = (
        np.divide(np.bincount(place, sums, BINS), counts, out=np.full(BINS, np.nan), where=counts > 0)
        for sums in (values, flags)
    )
    return [
        {
            "low": float(_EDGES[number]),
            "high": float(_EDGES[number + 1]),
            "n": int(counts[number]),
            "confidence": float(confidence[number]),
            "accuracy": float(accuracy[number]),
        }
        for number in range(BINS)
    ]


def calibration_interval(
    confidences: ArrayLike, right: ArrayLike, clusters: Clusters, rng: np.random.Generator, resamples: int = RESAMPLES
) -> Interval:
    """Interval for the expected calibration error that accounts for its bias; see the module's docstring.

    Returns:
        The interval within [0, 1], of kind "calibration", or of kind "none" with too few clusters. It always contains
        the measured ECE.
    """
    values, flags = check_answers(confidences, right)
    place, cluster = _bin_of(values), np.unique(clusters.numbers, return_inverse=True)[1]
    n, n_clusters = len(values), int(cluster.max()) + 1
    sums = np.zeros((n_clusters, BINS))
    np.add.at(sums, (cluster, place), flags - values)
    sizes = np.bincount(cluster).astype(np.float64)
    gaps = sums.sum(axis=0) / n
    counts = np.array(list(resampled_counts(n_clusters, rng, resamples)))
    # einsum: see `bootstrap`.
    drawn = np.einsum("rc,cb->rb", counts, sums, optimize=False) / np.einsum("rc,c->r", counts, sizes)[:, None]
    deviations = drawn - gaps
    variances = deviations.var(axis=0)
    least = _least_variances(flags, place, cluster)
    deviations += rng.normal(size=deviations.shape) * np.sqrt(np.maximum(least - variances, 0))
    is_sure = np.abs(gaps) > SURE * np.sqrt(np.maximum(variances, least))
    signed = np.where(gaps < 0, -1, 1) * deviations
    most = percentile_interval(np.where(is_sure, signed, np.abs(deviations)).sum(axis=1), n_clusters)
    fewest = percentile_interval(signed.sum(axis=1), n_clusters)
    if most.kind == "none":
        return most
    error = float(np.abs(gaps).sum())
    return Interval(max(error - most.high, 0.0), min(error - fewest.low, 1.0), "calibration", n_clusters)


def calibration_scores(
    confidences: ArrayLike, right: ArrayLike, clusters: Sequence[str | float | None] | None = None, seed: int = 0
) -> dict[str, Any]:
    """Calibration of a run, with intervals.

    Args:
        confidences: See `confidence`.
        right: See `confidence`.
        clusters: Cluster of each item, such as its image; None if all items are independent.
        seed: Seed of the bootstrap.

    Returns:
        `ece` and `aurc` in [0, 1] (0 is best), with `ece_ci95`, `aurc_ci95` and `intervals`; `accuracy` and the mean
        `confidence`, in [0, 1]; `n`; `bins`, see `calibration_bins`; and `risk_coverage`, a list of `coverage` and
        `risk`.

    Raises:
        InputError: See `confidence`; or `seed` is not a whole number of at least 0.

    Examples:
        >>> found = calibration_scores([0.9] * 10, [True] * 8 + [False] * 2)
        >>> round(found["ece"], 6), found["aurc"], found["intervals"]["ece"]
        (0.1, 0.2, {'kind': 'none', 'units': 10})
    """
    values, flags = check_answers(confidences, right)
    groups = Clusters.of(clusters, len(values))
    intervals = {
        "ece": calibration_interval(values, flags, groups, part_generator(seed, "ece")),
        "aurc": area_interval(values, flags, groups, part_generator(seed, "aurc")),
    }
    risks = risk_coverage(values, flags, COVERAGES)
    return {
        "ece": expected_calibration_error(values, flags),
        "aurc": area_under_curve(values, flags),
        **listed_intervals(intervals),
        "accuracy": float(flags.mean()),
        "confidence": float(values.mean()),
        "n": len(values),
        "bins": calibration_bins(values, flags),
        "risk_coverage": [
            {"coverage": share, "risk": float(risk)} for share, risk in zip(COVERAGES, risks, strict=True)
        ],
    }


def _bin_of(confidences: FloatArray) -> NDArray[np.int64]:
    """The bin of each item; a bin includes its upper end."""
    return np.digitize(confidences, _EDGES[1:-1], right=True).astype(np.int64)


def _least_variances(right: FloatArray, place: NDArray[np.int64], cluster: NDArray[np.int64]) -> FloatArray:
    """Lower bound of each bin's variance: that of a share of clusters with `_ADDED` more answers of either kind."""
    items = np.bincount(place, minlength=BINS)
    there = np.maximum(np.bincount(np.unique(np.stack([place, cluster]), axis=1)[0], minlength=BINS), 1)
    accuracy = np.bincount(place, right, BINS) / np.maximum(items, 1)
    share = (accuracy * there + _ADDED) / (there + 2 * _ADDED)
    return np.asarray((items / len(right)) ** 2 * share * (1 - share) / there)
