"""What images add to multiple-choice scores: the multimodal gain, and the leak without images.

Protocol: Chen et al., "Are We on the Right Way for Evaluating Large Vision-Language Models?" (MMStar, NeurIPS 2024,
https://arxiv.org/abs/2403.20330), Sec. 4.3. The gain is Eq. 1, the score with images minus the score without images.
Departure: the paper's leakage (Eq. 2) is the score without images minus the score of the underlying language model, cut
off at 0. That language model is not known here, so the leak is the score without images minus the chance level, and it
keeps its sign. A negative leak, for example of a model that refuses to answer without an image, means that nothing
leaks.
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
    """What images add to the score on n questions.

    Args:
        right: Whether each question was answered correctly with its images.
        blind: Whether each question was answered correctly without its images.
        chances: Probability that a guess is correct, for each question, in [0, 1].
        clusters: Which questions belong together; None if they are independent.

    Returns:
        `gain`, the share of correct answers with images minus `blind_score`, in [-1, 1]; `blind_score`, the share of
        correct answers without images, in [0, 1]; `leak`, `blind_score` minus `random_guess`, in [-1, 1], whose
        interval treats the chances as known; `random_guess`, the mean chance; `n`; the intervals and their kinds.

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
