"""Pairs of images, the pools within which images are paired, and their ranking from consistent preferences.

Protocol: 2AFC, Sec. III-A (https://arxiv.org/abs/2402.01162): only pairs with consistent replies enter the preference
matrix; scores are rescaled to [0, 100].
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.metrics.scoring import pair_ranking
from eyechart.metrics.scoring.errors import InputError, UnboundedScoresError, UndefinedScoreError
from eyechart.metrics.scoring.inputs import FloatArray, check_lengths, check_member, check_opinions, rows_by_value
from eyechart.metrics.scoring.quality.correlation import FitName
from eyechart.metrics.scoring.quality.scores import QualitySettings
from eyechart.metrics.scoring.statistics.bootstrap import check_seed

WinnerArray = NDArray[np.object_]
"""Which image of each pair is better or preferred: "first", "second", or None."""

AGGREGATORS = ("map", "mle", "mle_ridge", "perron", "trueskill")
RIDGE = 0.01
"""Default size of the ridge of "mle_ridge"; the prior of "map" is a ridge of size 1."""


@dataclass(frozen=True)
class Pairs:
    """n pairs of images and their quality."""

    image_ids: NDArray[np.object_]
    """Shape (n, 2)."""
    references: FloatArray
    """Quality of the images, shape (n, 2), higher is better; nan if only winners are known."""
    better: WinnerArray
    """Shape (n,)."""
    pool_ids: NDArray[np.object_] | None
    """Shape (n,); None if all images are ranked together."""

    def select(self, rows: Sequence[int] | NDArray[np.int64]) -> "Pairs":
        """Some of the pairs."""
        pools = None if self.pool_ids is None else self.pool_ids[rows]
        return Pairs(self.image_ids[rows], self.references[rows], self.better[rows], pools)


@dataclass(frozen=True)
class PairSettings:
    """Settings of the scores of paired comparisons; raises `InputError` if one is not allowed."""

    aggregator: str = "map"
    """One of `AGGREGATORS`."""
    order_seed: int | None = None
    """Seed that shuffles the pairs for "trueskill", whose scores depend on their order; None keeps the order."""
    pool_weights: str = "equal"
    """Weights of the pools in means: "equal", or "images", the number of images."""
    undefined_pools: str = "leave_out"
    """How a pool with an undefined correlation enters the mean: "leave_out", or "zero"."""
    fit: FitName = "logistic4"
    resamples: int = 1000
    """Bootstrap resamples for the intervals of correlations."""
    seed: int = 0
    """Seed of the bootstrap."""
    ridge: float = RIDGE
    """Size of the ridge of "mle_ridge", above 0."""

    def __post_init__(self) -> None:
        """Check the settings."""
        check_member("aggregator", self.aggregator, AGGREGATORS)
        check_member("pool_weights", self.pool_weights, ("equal", "images"))
        check_member("undefined_pools", self.undefined_pools, ("leave_out", "zero"))
        if self.order_seed is not None:
            if self.aggregator != "trueskill":
                raise InputError(f"order_seed is {self.order_seed!r}; it can be set only with aggregator='trueskill'")
            check_seed(self.order_seed, "order_seed")
        if not isinstance(self.ridge, int | float) or not 0 < self.ridge < math.inf:
            raise InputError(f"ridge is {self.ridge!r}; it must be a positive number")
        # Check the others.
        self.quality()

    def quality(self) -> QualitySettings:
        """The settings of the correlations."""
        return QualitySettings(self.fit, None, self.resamples, self.seed)

    def applying(self, pools: bool) -> dict[str, Any]:
        """The settings that a result depends on; `pools` says whether there are pools."""
        idle = [] if pools else ["pool_weights", "undefined_pools"]
        idle += [] if self.aggregator == "trueskill" else ["order_seed"]
        idle += [] if self.aggregator == "mle_ridge" else ["ridge"]
        return {name: value for name, value in asdict(self).items() if name not in idle}


@dataclass(frozen=True)
class ImagePool:
    """The images that are paired with each other, numbered by first appearance."""

    rows: Sequence[int]
    """Rows of the pool's pairs."""
    image_ids: Sequence[str]
    references: FloatArray
    """Quality of the images, shape (n_images,)."""
    members: NDArray[np.int64]
    """Numbers of each pair's first and second image, shape (2, n_pairs)."""


def check_pairs(
    first_ids: Sequence[str],
    second_ids: Sequence[str],
    first_references: ArrayLike,
    second_references: ArrayLike,
    pool_ids: Sequence[object] | None = None,
    better: Sequence[str | None] | None = None,
) -> Pairs:
    """Check columns and combine them into pairs; raises `InputError` for an invalid row.

    `better` names the better image of each pair if no qualities are known; the references are then not used.
    """
    if better is None:
        first = check_opinions("first_references", first_references)
        second = check_opinions("second_references", second_references)
        better = ["first" if a > b else "second" if a < b else None for a, b in zip(first, second, strict=False)]
    else:
        first = second = np.full(len(better), np.nan)
    pools = first_ids if pool_ids is None else pool_ids
    check_lengths(
        first_ids=first_ids, second_ids=second_ids, first_references=first, second_references=second, pool_ids=pools
    )
    for row, (one, other, pool) in enumerate(zip(first_ids, second_ids, pools, strict=True)):
        if one == other:
            raise InputError(f"first_ids[{row}] and second_ids[{row}] are both {other!r}; they must differ")
        if pool is None:
            raise InputError(f"pool_ids[{row}] is None; either all pairs have a pool or none has")
    names = None if pool_ids is None else np.array([str(pool) for pool in pool_ids], dtype=object)
    ids = np.array([first_ids, second_ids], dtype=object).T
    return Pairs(ids, np.stack([first, second], axis=1), np.array(better, dtype=object), names)


def split_pools(pairs: Pairs) -> dict[str, ImagePool]:
    """The pools by id, or one pool "overall" without pool ids; raises `InputError` if an image has two references."""
    if pairs.pool_ids is None:
        return {"overall": _pool(pairs, range(len(pairs.better)))}
    return {pool: _pool(pairs, rows) for pool, rows in rows_by_value(pairs.pool_ids.tolist()).items()}


def _pool(pairs: Pairs, rows: Sequence[int]) -> ImagePool:
    ids, values = pairs.image_ids[rows].ravel(), pairs.references[rows].ravel()
    number: dict[str, int] = {}
    members = np.array([number.setdefault(image, len(number)) for image in ids])
    references = np.empty(len(number))
    # Backwards, because of equal members the last one is assigned.
    references[members[::-1]] = values[::-1]
    differs = (references[members] != values) & ~np.isnan(values)
    if differs.any():
        place = int(np.argmax(differs))
        raise InputError(
            f"{('first', 'second')[place % 2]}_references[{rows[place // 2]}] is {values[place]:g} for image "
            f"{ids[place]!r}, but another row has {references[members[place]]:g}; an image must have one reference "
            "within a pool"
        )
    return ImagePool(rows, list(number), references, members.reshape(-1, 2).T)


def rank_pool(pool: ImagePool, winner: WinnerArray, settings: PairSettings) -> FloatArray:
    """Scores of a pool's images from 0 to 100, shape (n_images,), from the winners of its pairs, shape (n_pairs,).

    They are rounded to six digits so that rounding errors do not split ties. Raises `UndefinedScoreError` if no pair is
    consistent, all scores are equal, or maximum likelihood has no finite optimum; the message then names images.
    """
    decided = winner.astype(bool)
    if not decided.any():
        raise UndefinedScoreError("no pair has consistent replies, so the images cannot be ranked")
    members = pool.members[:, decided]
    winners, losers = np.where(winner[decided] == "first", members, members[::-1])
    outcomes = winners, losers, len(pool.image_ids)
    try:
        if settings.aggregator == "trueskill":
            scores = pair_ranking.trueskill_scores(*outcomes, seed=settings.order_seed)
        elif settings.aggregator == "mle_ridge":
            scores = pair_ranking.mle_scores(*outcomes, ridge=settings.ridge)
        else:
            scores = getattr(pair_ranking, f"{settings.aggregator}_scores")(*outcomes)
    except UnboundedScoresError as error:
        raise UnboundedScoresError([pool.image_ids[item] for item in error.unbeaten]) from None
    return np.round(pair_ranking.rescale(scores), 6)
