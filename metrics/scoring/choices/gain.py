"""What images add to multiple choice: the multimodal gain, and what leaks without them.

Protocol: Chen et al., "Are We on the Right Way for Evaluating Large Vision-Language Models?" (MMStar, NeurIPS 2024,
https://arxiv.org/abs/2403.20330), Sec. 4.3. The gain is Eq. 1, the score with images less that without. Departure: the
paper's leakage (Eq. 2) is the score without images less that of the language model which the model was made of, cut off
at 0. That language model is not known here, so the leak is measured from chance, and keeps its sign: below chance, as
of a model that refuses to answer without an image, nothing leaks.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from eyechart.metrics.scoring.inputs import check_lengths
from eyechart.metrics.scoring.statistics.intervals import listed_intervals
from eyechart.metrics.scoring.statistics.paired_shares import paired_share_interval
from eyechart.metrics.scoring.statistics.shares import Clusters, share_interval


def multimodal_gain(
    right: Sequence[bool], blind: Sequence[bool], chances: Sequence[float], clusters: Clusters | None = None
) -> dict[str, Any]:
    """What images add to the answers to n questions.

    Args:
        right: Whether each question was answered right with its images.
        blind: The same without.
        chances: The probability that a guess is right, in [0, 1].
        clusters: Which questions belong together; None if they are independent.

    Returns:
        `gain`, the share of right answers less that without images, in [-1, 1]; `blind_score`, that without images, in
        [0, 1]; `leak`, that less `random_guess`, the mean chance, in [-1, 1], whose interval takes the chances as
        known; `n`; the intervals, and their kinds.

    Raises:
        InputError: The lengths differ, or there are no questions.

    Examples:
        >>> found = multimodal_gain([True] * 3 + [False], [True] + [False] * 3, [0.25] * 4)
        >>> found["gain"], found["blind_score"], found["leak"]
        (0.5, 0.25, 0.0)
    """
    n = check_lengths(right=right, blind=blind, chances=chances)
    clusters = clusters or Clusters.of(None, n)
    seeing, unseeing, chance = (float(np.mean(values)) for values in (right, blind, chances))
    own = share_interval(blind, clusters)
    intervals = {
        "gain": paired_share_interval(right, blind, clusters),
        "blind_score": own,
        "leak": replace(own, low=own.low - chance, high=own.high - chance),
    }
    scores = {"gain": seeing - unseeing, "blind_score": unseeing, "leak": unseeing - chance}
    return {**scores, **listed_intervals(intervals), "random_guess": chance, "n": n}
