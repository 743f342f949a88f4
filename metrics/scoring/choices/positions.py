"""Position bias of choices: recall by position, flip rate, position-free accuracy.

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

Position-free accuracy follows the paper's permutation-based debiasing, which averages the model's prediction for each
option's content over the orders and takes the highest. For replies in text form, each pass has one vote, and the
content with the most votes wins. If m contents have equally many votes, a correct one among them counts 1/m, the
average result of a random draw.
"""

import math
from collections import Counter
from collections.abc import Sequence
from string import ascii_uppercase
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.metrics.scoring.inputs import check_lengths
from eyechart.metrics.scoring.statistics.intervals import FEW_UNITS
from eyechart.metrics.scoring.statistics.shares import Clusters


def position_bias(
    correct: ArrayLike, references: Sequence[str], n_options: Sequence[int], clusters: Clusters | None = None
) -> dict[str, Any]:
    """Recall by position and its spread, as the key `position_bias` of scores.

    Args:
        correct: Whether each row is correct, shape (n,).
        references: Letters of the correct options, which are also their positions.
        n_options: Number of options of each row.
        clusters: Which rows belong together; None if they are independent.

    Returns:
        A dict with the key `position_bias`. It has `recall`, for each letter the share of correct answers when the
        correct option has this letter, in [0, 1]; `spread`, the standard deviation of recall over positions, in
        [0, 0.5], 0 without a preference; and `spread_by_chance`, an estimate of the root mean square of the spread over
        repeated draws of rows, if recall is the same at all positions and different clusters are independent. A spread
        up to `spread_by_chance` is no evidence of a preference. If rows have different numbers of options, both are
        means over these numbers, weighted by their rows. The dict is empty without rows, or if all rows with the same
        number of options have their correct options at one position.

    Raises:
        InputError: The lengths differ.

    Examples:
        >>> found = position_bias([True, True, False, False], ["A", "A", "B", "B"], [2] * 4)["position_bias"]
        >>> found["recall"], found["spread"], round(found["spread_by_chance"], 3)
        ({'A': 1.0, 'B': 0.0}, 0.5, 0.25)
    """
    flags, sizes = np.asarray(correct, dtype=np.float64), np.asarray(n_options)
    places = np.array([ascii_uppercase.index(letter) for letter in references], dtype=np.int64)
    if len(flags) or len(places):
        check_lengths(correct=flags, references=references, n_options=n_options)
    clusters = clusters or Clusters.of(None, len(flags))
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


def answers_over_passes(
    letters: Sequence[str | None],
    references: Sequence[str],
    choices: Sequence[Sequence[str]],
    of_row: NDArray[np.int64],
) -> dict[str, NDArray[np.float64]]:
    """Flip rate and position-free accuracy of each question, from its passes.

    Args:
        letters: The letter chosen in each pass, shape (n,); None if a reply names no option. For flips, None counts as
            a separate answer; for the majority, it is not a vote.
        references: Letters of the correct options, as shown.
        choices: Option texts of each pass, as shown.
        of_row: Number of each pass's question, counted from 0, shape (n,).

    Returns:
        One number for each question: `flip_rate`, 1 if its answers differ between passes, else 0; and
        `position_free_accuracy`, 1 if the majority is correct, 1/m if the correct content is among m contents that were
        chosen equally often, else 0.

    Examples:
        >>> shown = [["x", "y"], ["y", "x"]]
        >>> found = answers_over_passes(["A", "A"], ["A", "B"], shown, np.array([0, 0]))
        >>> {name: values.tolist() for name, values in found.items()}
        {'flip_rate': [1.0], 'position_free_accuracy': [0.5]}
    """
    n_questions = int(of_row.max()) + 1
    votes: list[Counter[str | None]] = [Counter() for _ in range(n_questions)]
    right = [""] * n_questions
    for question, letter, reference, options in zip(of_row.tolist(), letters, references, choices, strict=True):
        votes[question][None if letter is None else options[ascii_uppercase.index(letter)]] += 1
        right[question] = options[ascii_uppercase.index(reference)]
    return {
        "flip_rate": np.array([float(len(found) > 1) for found in votes]),
        "position_free_accuracy": np.array([_by_majority(found, own) for found, own in zip(votes, right, strict=True)]),
    }


def _spread(
    flags: NDArray[np.float64], places: NDArray[np.int64], clusters: Clusters
) -> tuple[int, float, float] | None:
    """Number of rows, spread of recall, and the root mean square of the spread by chance.

    None if only one position occurs.
    """
    occurring, columns, counts = np.unique(places, return_inverse=True, return_counts=True)
    k = len(occurring)
    if k < 2:
        return None
    share = float(flags.mean())
    # The mean variance among k independent recalls of variance share (1 - share) / n each.
    variance = share * (1 - share) * (k - 1) / k**2 * float((1 / counts).sum())
    effect = _cluster_effect((flags - share) / counts[columns], columns, clusters)
    recall = np.bincount(columns, weights=flags) / counts
    return len(flags), float(np.std(recall)), math.sqrt(variance * effect)


def _cluster_effect(parts: NDArray[np.float64], columns: NDArray[np.int64], clusters: Clusters) -> float:
    """Variance over positions for these clusters, divided by the variance for independent rows.

    Args:
        parts: What each row adds to the recall at its position, minus the share of correct answers, shape (n,).
        columns: Number of each row's position, shape (n,).
        clusters: Which rows belong together.
    """
    n_clusters, k = clusters.n_clusters, int(columns.max()) + 1
    independent = float(parts @ parts) * (k - 1) / k**2
    if n_clusters == len(parts) or not independent:
        return 1.0
    sums = np.zeros((n_clusters, k))
    np.add.at(sums, (np.unique(clusters.numbers, return_inverse=True)[1], columns), parts)
    effect = float(sums.var(axis=1).sum()) / independent
    return effect if n_clusters >= FEW_UNITS else max(effect, 1.0)


def _by_majority(votes: Counter[str | None], right: str) -> float:
    named = {content: count for content, count in votes.items() if content is not None}
    most = max(named.values(), default=0)
    return 1 / list(named.values()).count(most) if named.get(right, 0) == most > 0 else 0.0
