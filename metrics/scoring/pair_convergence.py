"""Convergence of paired comparisons: how well the images' ranking agrees with their quality after 1, 2, ... rounds.

Protocol: 2AFC, Sec. II-B and Fig. 3 (https://arxiv.org/abs/2402.01162). A round pairs all images at random. Any judge
will do: a model's consistent replies, opinion scores, or scores of a quality measure such as NIQE, of which the image
with the higher one wins. The dashed lines of Fig. 3 are `score_limit`: the correlation of a judge's scores themselves,
which its ranking approaches. The curve of a judge by the opinion scores is the upper bound for a model: no error but
that of so few rounds is in it. Departure: Fig. 3 shows PLCC alone.
"""

import warnings
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.errors import ScoringWarning
from eyechart.metrics.scoring.inputs import check_lengths
from eyechart.metrics.scoring.inputs import check_numbers
from eyechart.metrics.scoring.pair_pools import Pairs
from eyechart.metrics.scoring.pair_pools import split_pools
from eyechart.metrics.scoring.pair_scores import CORRELATIONS
from eyechart.metrics.scoring.pair_scores import PairSettings
from eyechart.metrics.scoring.pair_scores import mean_over_pools
from eyechart.metrics.scoring.pair_scores import pair_scores
from eyechart.metrics.scoring.pooling import Pooled
from eyechart.metrics.scoring.preferences import FIRST
from eyechart.metrics.scoring.preferences import NONE
from eyechart.metrics.scoring.preferences import SECOND
from eyechart.metrics.scoring.preferences import Preferences
from eyechart.metrics.scoring.quality import correlate


def judge_by_scores(first_scores: ArrayLike, second_scores: ArrayLike) -> Preferences:
    """What a judge prefers who sees each pair in both orders and picks the image with the higher score.

    Args:
        first_scores: Score of each pair's first image, shape (n,), higher is better.
        second_scores: Score of its second image, shape (n,).

    Returns:
        Consistent preferences, but none in pairs of equal scores.

    Raises:
        InputError: The lengths differ, there are none, or a score is not finite.

    Examples:
        >>> judge_by_scores([3, 1, 2], [1, 2, 2]).winner.tolist()
        [0, 1, -1]
    """
    first, second = check_numbers("first_scores", first_scores), check_numbers("second_scores", second_scores)
    check_lengths(first_scores=first, second_scores=second)
    forward = np.where(first > second, FIRST, np.where(first < second, SECOND, NONE)).astype(np.int8)
    reverse = np.where(forward == NONE, NONE, np.where(forward == FIRST, SECOND, FIRST)).astype(np.int8)
    return Preferences(forward, reverse)


def convergence(
    preferences: Preferences, pairs: Pairs, rounds: Sequence[int], settings: PairSettings | None = None
) -> list[dict[str, Any]]:
    """Correlations of the ranking from the first round, from the first two, and so on.

    Args:
        preferences: What the replies to each of n pairs prefer.
        pairs: The pairs.
        rounds: The round in which each pair was drawn, n numbers; counted by size, however they are numbered.
        settings: How images are ranked, and pools averaged; its bootstrap is not used.

    Returns:
        For each number of rounds: `rounds`, `n_pairs` and `n_images` that were in them, and `srcc`, `plcc`, `krcc` and
        `plcc_fitted` as in `pair_scores`, in [-1, 1]; nan, without a warning, where so few pairs define none.

    Raises:
        InputError: The lengths differ, or an image has two references within a pool.

    Examples:
        >>> from eyechart.metrics.scoring.pair_pools import check_pairs
        >>> first, second, rounds = [1, 3, 5, 1, 2, 4], [2, 4, 6, 3, 5, 6], [0, 0, 0, 1, 1, 1]
        >>> pairs = check_pairs([str(i) for i in first], [str(i) for i in second], first, second)
        >>> for part in convergence(judge_by_scores(first, second), pairs, rounds):
        ...     part["rounds"], part["n_pairs"], part["n_images"], round(part["srcc"], 2)
        (1, 3, 6, 0.29)
        (2, 6, 6, 0.97)
    """
    check_lengths(predictions=preferences.forward, first_ids=pairs.first_ids, rounds=rounds)
    # The bootstrap has no part in the curve, and a resample is the least that it can do.
    chosen = replace(settings or PairSettings(), resamples=1)
    drawn = np.asarray(rounds)
    curve = []
    for count, last in enumerate(np.unique(drawn), 1):
        rows = np.flatnonzero(drawn <= last).tolist()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ScoringWarning)
            found = pair_scores(preferences.select(rows), pairs.select(rows), chosen)
        curve.append({"rounds": count} | {name: found[name] for name in ("n_pairs", "n_images", *CORRELATIONS)})
    return curve


def score_limit(scores: Mapping[str, float], pairs: Pairs, settings: PairSettings | None = None) -> dict[str, Any]:
    """Correlations of scores themselves, which a ranking by these scores approaches from round to round.

    Args:
        scores: Image id to score, higher is better.
        pairs: The pairs, for their images, references and pools.
        settings: The fit, and how pools are averaged.

    Returns:
        `srcc`, `plcc`, `krcc` and `plcc_fitted` in [-1, 1], means over pools where there are some, nan where one is
        undefined; `n_images`.

    Raises:
        InputError: An image has no score or two references within a pool, or a score is not finite.

    Examples:
        >>> from eyechart.metrics.scoring.pair_pools import check_pairs
        >>> pairs = check_pairs(["a", "b"], ["b", "c"], [1, 2], [2, 3])
        >>> score_limit({"a": 1, "b": 4, "c": 9}, pairs)["srcc"]
        1.0
    """
    chosen = replace(settings or PairSettings(), resamples=1)
    parts = []
    for name, pool in split_pools(pairs).items():
        lacking = [image for image in pool.image_ids if image not in scores]
        if lacking:
            raise InputError(f"scores has none for image {lacking[0]!r}, nor for {len(lacking) - 1} others")
        values = check_numbers("scores", [scores[image] for image in pool.image_ids])
        parts.append(correlate(name, Pooled(values, values), pool.references, chosen.quality()))
    means = mean_over_pools(parts, chosen)
    return {name: means[name] for name in CORRELATIONS} | {"n_images": sum(part.n for part in parts)}
