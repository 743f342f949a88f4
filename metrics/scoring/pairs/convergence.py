"""Convergence of paired comparisons: how well the images' ranking agrees with their quality after 1, 2, ... rounds.

Protocol: 2AFC, Sec. II-B and Fig. 3 (https://arxiv.org/abs/2402.01162). A round pairs all images at random. The
preferences may come from a model's consistent replies, from opinion scores, or from a quality measure such as NIQE;
with scores, the image with the higher score wins. The dashed lines of Fig. 3 are `score_limit`: the correlation of the
scores themselves, which their ranking approaches. The curve of the opinion scores is an upper bound for a model: its
only error is due to the limited number of rounds. Departure: Fig. 3 shows only PLCC.
"""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eyechart.metrics.scoring.errors import InputError, UndefinedScoreError
from eyechart.metrics.scoring.inputs import FloatArray, check_lengths, check_numbers
from eyechart.metrics.scoring.pairs.pools import Pairs, Pool, WinnerArray, rank_pool, split_pools
from eyechart.metrics.scoring.pairs.scores import PairSettings, pool_means
from eyechart.metrics.scoring.quality import correlation
from eyechart.metrics.scoring.quality.correlation import FitName
from eyechart.metrics.scoring.quality.scores import SMALL_SAMPLE


def convergence(
    winner: WinnerArray, pairs: Pairs, rounds: Sequence[int], settings: PairSettings | None = None
) -> list[dict[str, Any]]:
    """Correlations of the ranking from the first round, from the first two, and so on.

    Args:
        winner: Which image of each of n pairs is preferred, `FIRST`, `SECOND` or `NONE`, shape (n,).
        pairs: The pairs.
        rounds: The round in which each pair was drawn, n numbers. Rounds count in increasing order; gaps are allowed.
        settings: How images are ranked and pools are averaged; its bootstrap is not used.

    Returns:
        For each number of rounds: `rounds`; `n_pairs` and `n_images`, the pairs and images in these rounds; and `srcc`,
        `plcc` and `plcc_fitted` as in `pair_scores`, in [-1, 1]. A correlation that is undefined with so few pairs is
        nan, without a warning. `plcc_fitted` is nan for pools of fewer than 30 images, because such a fit says little.

    Raises:
        InputError: The lengths differ, or an image has two references within a pool.

    Examples:
        >>> from eyechart.metrics.scoring.pairs.pools import check_pairs
        >>> first, second, rounds = [1, 3, 5, 1, 2, 4], [2, 4, 6, 3, 5, 6], [0, 0, 0, 1, 1, 1]
        >>> pairs = check_pairs([str(i) for i in first], [str(i) for i in second], first, second)
        >>> for part in convergence(pairs.better, pairs, rounds):
        ...     part["rounds"], part["n_pairs"], part["n_images"], round(part["srcc"], 2)
        (1, 3, 6, 0.29)
        (2, 6, 6, 0.97)
    """
    check_lengths(winner=winner, first_ids=pairs.first_ids, rounds=rounds)
    chosen, drawn = settings or PairSettings(), np.asarray(rounds)
    curve = []
    for count, last in enumerate(np.unique(drawn), 1):
        rows = np.flatnonzero(drawn <= last).tolist()
        pools = list(split_pools(pairs.select(rows)).values())
        parts = [_agreement(_ranks(pool, winner[rows], chosen), pool.references, chosen.fit) for pool in pools]
        sizes = [len(pool.image_ids) for pool in pools]
        curve.append({"rounds": count, "n_pairs": len(rows), "n_images": sum(sizes)} | pool_means(parts, sizes, chosen))
    return curve


def score_limit(scores: Mapping[str, float], pairs: Pairs, settings: PairSettings | None = None) -> dict[str, Any]:
    """Correlations of the scores themselves, which a ranking by these scores approaches with more rounds.

    Args:
        scores: Image id to score, higher is better.
        pairs: The pairs, of which images, references and pools are used.
        settings: The fit, and how pools are averaged.

    Returns:
        `srcc`, `plcc` and `plcc_fitted` as in `convergence`; `n_images`.

    Raises:
        InputError: An image has no score or two references within a pool, or a score is not finite.

    Examples:
        >>> from eyechart.metrics.scoring.pairs.pools import check_pairs
        >>> pairs = check_pairs(["a", "b"], ["b", "c"], [1, 2], [2, 3])
        >>> score_limit({"a": 1, "b": 4, "c": 9}, pairs)["srcc"]
        1.0
    """
    chosen = settings or PairSettings()
    parts, sizes = [], []
    for pool in split_pools(pairs).values():
        missing = [image for image in pool.image_ids if image not in scores]
        if missing:
            raise InputError(f"scores has no score for image {missing[0]!r} and {len(missing) - 1} others")
        values = check_numbers("scores", [scores[image] for image in pool.image_ids])
        parts.append(_agreement(values, pool.references, chosen.fit))
        sizes.append(len(values))
    return {"n_images": sum(sizes)} | pool_means(parts, sizes, chosen)


def _ranks(pool: Pool, winner: WinnerArray, settings: PairSettings) -> FloatArray:
    """Scores of a pool's images; nan if they cannot be ranked."""
    try:
        return rank_pool(pool, winner[list(pool.rows)], settings.aggregator, settings.order_seed, settings.ridge)
    except UndefinedScoreError:
        return np.full(len(pool.image_ids), np.nan)


def _agreement(scores: FloatArray, references: FloatArray, fit: FitName) -> dict[str, float]:
    """Correlations of one pool; an undefined one is nan."""

    def fitted() -> float:
        return correlation.fit_logistic(scores, references, fit).plcc if len(scores) >= SMALL_SAMPLE else float("nan")

    found = {"srcc": float("nan"), "plcc": float("nan"), "plcc_fitted": float("nan")}
    if np.isnan(scores).any():
        return found
    computed = {
        "srcc": lambda: correlation.srcc(scores, references),
        "plcc": lambda: correlation.plcc(scores, references),
        "plcc_fitted": fitted,
    }
    for name, compute in computed.items():
        with contextlib.suppress(UndefinedScoreError):
            found[name] = compute()
    return found
