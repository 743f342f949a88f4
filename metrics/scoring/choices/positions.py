"""Position bias of choices: recall by position and its spread.

Recall at a position is the share of correct answers when the correct option is at this position. Its spread is RStd of
Zheng et al., "Large Language Models Are Not Robust Multiple Choice Selectors" (ICLR 2024,
https://arxiv.org/abs/2309.03882): the standard deviation over positions, as computed by `numpy.std` (`debias_pride.py`
of https://github.com/chujiezheng/LLM-MCQ-Bias). Departure: in that paper, all questions have the same number of
options. Here they do not, and questions with few options are easier to guess and have no late positions, which would
spread recall without any position bias. So the spread is computed among questions with the same number of options, and
then averaged over these numbers.

Chance spreads recall too. For independent rows, this spread follows from the share of correct answers. Rows of one
cluster, such as the passes of a question or questions about one image, spread recall more if their correct options are
at the same position, and less if they are at different positions. The variance by chance is therefore multiplied by a
factor: the variance estimated from sums over clusters, divided by the variance estimated from single rows. With few
clusters, the factor is at least 1.
"""

import math
from collections.abc import Sequence
from string import ascii_uppercase
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.metrics.scoring.statistics.intervals import FEW_UNITS
from eyechart.metrics.scoring.statistics.shares import Clusters


def position_bias(
    correct: ArrayLike, references: Sequence[str], n_options: Sequence[int], clusters: Clusters
) -> dict[str, Any]:
    """The key `position_bias` of scores, whose letters are also positions; `n_options` has the options of each row.

    Returns `recall`, for each letter the share of correct answers when the correct option has this letter, in [0, 1];
    `spread`, the standard deviation of recall over positions, in [0, 0.5], 0 without a preference; and
    `spread_by_chance`, an estimate of the root mean square of the spread over repeated draws of rows, if recall is the
    same at all positions and different clusters are independent. If rows have different numbers of options, both are
    means over these numbers, weighted by their rows. An empty dict without rows, or if all rows with the same number of
    options have their correct options at one position.

    Examples:
        >>> rows = Clusters.of(None, 4)
        >>> found = position_bias([True, True, False, False], ["A", "A", "B", "B"], [2] * 4, rows)["position_bias"]
        >>> found["recall"], found["spread"], round(found["spread_by_chance"], 3)
        ({'A': 1.0, 'B': 0.0}, 0.5, 0.25)
    """
    flags, sizes = np.asarray(correct, dtype=np.float64), np.asarray(n_options)
    places = np.array([ascii_uppercase.index(letter) for letter in references], dtype=np.int64)
    alike = [np.flatnonzero(sizes == size) for size in np.unique(sizes)]
    parts = [_spread(flags[rows], places[rows], clusters.select(rows)) for rows in alike]
    known = [part for part in parts if part is not None]
    if not known:
        return {}
    counts, right = np.bincount(places), np.bincount(places, weights=flags)
    weights = [n for n, _, _ in known]
    found = {
        "recall": {ascii_uppercase[place]: float(right[place] / counts[place]) for place in np.flatnonzero(counts)},
        "spread": float(np.average([spread for _, spread, _ in known], weights=weights)),
        "spread_by_chance": float(np.average([chance for _, _, chance in known], weights=weights)),
    }
    return {"position_bias": found}


def _spread(
    flags: NDArray[np.float64], places: NDArray[np.int64], clusters: Clusters
) -> tuple[int, float, float] | None:
    """Number of rows, spread of recall, and the root mean square of the spread by chance; None for one position."""
    occurring, columns, counts = np.unique(places, return_inverse=True, return_counts=True)
    k = len(occurring)
    if k < 2:
        return None
    share = float(flags.mean())
    # The mean variance among k independent recalls of variance share (1 - share) / n each.
    variance = share * (1 - share) * (k - 1) / k**2 * float((1 / counts).sum())
    # What each row adds to the recall at its position, minus the share of correct answers.
    parts = (flags - share) / counts[columns]
    n_clusters, independent = clusters.n_clusters, float(parts @ parts) * (k - 1) / k**2
    if n_clusters < len(parts) and independent:
        sums = np.zeros((n_clusters, k))
        np.add.at(sums, (np.unique(clusters.numbers, return_inverse=True)[1], columns), parts)
        effect = float(sums.var(axis=1).sum()) / independent
        variance *= effect if n_clusters >= FEW_UNITS else max(effect, 1.0)
    recall = np.bincount(columns, weights=flags) / counts
    return len(flags), float(np.std(recall)), math.sqrt(variance)
