"""Pools of paired images: the images of a pool, and their ranking from consistent preferences.

Protocol: 2AFC, Sec. III-A (https://arxiv.org/abs/2402.01162): only pairs with consistent replies enter the preference
matrix; scores are rescaled to [0, 100].
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.metrics.scoring import pair_ranking
from eyechart.metrics.scoring.errors import InputError, UnboundedScoresError, UndefinedScoreError
from eyechart.metrics.scoring.inputs import FloatArray, check_lengths, check_member, check_opinions, rows_by_value
from eyechart.metrics.scoring.pair_ranking.comparisons import IndexArray

FIRST, SECOND, NONE = 0, 1, -1
"""Which image of a pair is preferred."""
WinnerArray = NDArray[np.int8]
_PLACES = {"first": FIRST, "second": SECOND}

AGGREGATORS = ("map", "mle", "mle_ridge", "perron", "trueskill")
RIDGE = 0.01
"""Default size of the ridge of "mle_ridge"; the prior of "map" is a ridge of size 1."""

# Digits of a score in [0, 100]. Images with equal records get equal scores, because rounding errors are far smaller.
_DIGITS = 6


@dataclass(frozen=True)
class Pairs:
    """n pairs of images and their quality, as columns.

    Attributes:
        first_ids: Id of each pair's first image.
        second_ids: Id of each pair's second image.
        first_references: Quality of the first image, shape (n,), higher is better; nan if only winners are known.
        second_references: Quality of the second image, shape (n,).
        pool_ids: Id of each pair's pool, or None if all images are ranked together.
        better: The better image of each pair: `FIRST`, `SECOND`, or `NONE` if they are equal, shape (n,).
    """

    first_ids: Sequence[str]
    second_ids: Sequence[str]
    first_references: FloatArray
    second_references: FloatArray
    pool_ids: Sequence[str] | None
    better: WinnerArray

    def select(self, rows: Sequence[int]) -> "Pairs":
        """Some of the pairs."""
        index = list(rows)
        return Pairs(
            [self.first_ids[row] for row in index],
            [self.second_ids[row] for row in index],
            self.first_references[index],
            self.second_references[index],
            None if self.pool_ids is None else [self.pool_ids[row] for row in index],
            self.better[index],
        )


@dataclass(frozen=True)
class Pool:
    """The images that are paired with each other, numbered by first appearance.

    Attributes:
        rows: Rows of the pool's pairs.
        image_ids: Ids of the pool's images, length n_images.
        references: Quality of the images, shape (n_images,).
        first: Number of each pair's first image, shape (n_pairs,).
        second: Number of each pair's second image, shape (n_pairs,).
    """

    rows: Sequence[int]
    image_ids: Sequence[str]
    references: FloatArray
    first: IndexArray
    second: IndexArray


def check_pairs(
    first_ids: Sequence[str],
    second_ids: Sequence[str],
    first_references: ArrayLike,
    second_references: ArrayLike,
    pool_ids: Sequence[object] | None = None,
    better: Sequence[str] | None = None,
) -> Pairs:
    """Check columns and combine them into pairs.

    Args:
        first_ids: Id of each pair's first image.
        second_ids: Id of each pair's second image.
        first_references: Quality of the first image; not used if `better` is given.
        second_references: Quality of the second image; not used if `better` is given.
        pool_ids: Id of each pair's pool; None if all images are ranked together.
        better: The better image of each pair, "first", "second" or "tie", if no qualities are known.

    Raises:
        InputError: The lengths differ, there are no pairs, a reference is not finite, an image is paired with itself,
            or a pair has no pool while others have one.

    Examples:
        >>> check_pairs(["a", "a"], ["b", "c"], [1, 1], [2, 3]).second_references.tolist()
        [2.0, 3.0]
    """
    if better is None:
        first = check_opinions("first_references", first_references)
        second = check_opinions("second_references", second_references)
    else:
        first = second = np.full(len(better), np.nan)
    pools = [""] * len(first_ids) if pool_ids is None else _pool_names(pool_ids)
    check_lengths(
        first_ids=first_ids, second_ids=second_ids, first_references=first, second_references=second, pool_ids=pools
    )
    for row, (one, other) in enumerate(zip(first_ids, second_ids, strict=True)):
        if one == other:
            raise InputError(
                f"first_ids[{row}] and second_ids[{row}] are both {other!r}; an image cannot be paired with itself"
            )
    # Not the sign of the difference, which may overflow.
    found = np.where(first > second, FIRST, np.where(first < second, SECOND, NONE)).astype(np.int8)
    if better is not None:
        found = np.array([_PLACES.get(one, NONE) for one in better], dtype=np.int8)
    return Pairs(first_ids, second_ids, first, second, None if pool_ids is None else pools, found)


def _pool_names(pool_ids: Sequence[object]) -> list[str]:
    if isinstance(pool_ids, str):
        raise InputError(f"pool_ids must be a list with one value per row; it is {pool_ids!r}")
    for row, pool in enumerate(pool_ids):
        if pool is None:
            raise InputError(f"pool_ids[{row}] is None; either all pairs have a pool or none has")
    return [str(pool) for pool in pool_ids]


def split_pools(pairs: Pairs) -> dict[str, Pool]:
    """The pools by id, or one pool "overall" without pool ids.

    Raises:
        InputError: An image has two references within a pool.

    Examples:
        >>> pools = split_pools(check_pairs(["a", "a"], ["b", "c"], [1, 1], [2, 3], ["x", "y"]))
        >>> pools["y"].image_ids, pools["y"].references.tolist()
        (['a', 'c'], [1.0, 3.0])
    """
    if pairs.pool_ids is None:
        return {"overall": _pool(pairs, range(len(pairs.first_ids)))}
    return {pool: _pool(pairs, rows) for pool, rows in rows_by_value(pairs.pool_ids).items()}


def _pool(pairs: Pairs, rows: Sequence[int]) -> Pool:
    number: dict[str, int] = {}
    references: list[float] = []
    seen_in: list[str] = []
    sides = (("first", pairs.first_ids, pairs.first_references), ("second", pairs.second_ids, pairs.second_references))
    members = np.empty((2, len(rows)), dtype=np.int64)
    for place, row in enumerate(rows):
        for side, (name, ids, values) in enumerate(sides):
            image, reference = ids[row], float(values[row])
            found = number.setdefault(image, len(number))
            if found == len(references):
                references.append(reference)
                seen_in.append(f"{name}_references[{row}]")
            elif references[found] != reference and not math.isnan(reference):
                raise InputError(
                    f"{name}_references[{row}] is {reference:g} for image {image!r}, "
                    f"but {seen_in[found]} is {references[found]:g}; an image must have one reference within a pool"
                )
            members[side, place] = found
    return Pool(rows, list(number), np.array(references), members[0], members[1])


def rank_pool(
    pool: Pool, winner: WinnerArray, aggregator: str = "map", order_seed: int | None = None, ridge: float = RIDGE
) -> FloatArray:
    """Scores of a pool's images from its consistent pairs.

    Args:
        pool: The pairs and images.
        winner: Which image of each of the pool's pairs is preferred, `FIRST`, `SECOND` or `NONE`, shape (n_pairs,).
        aggregator: "map", "mle", "mle_ridge", "perron" or "trueskill".
        order_seed: Seed that shuffles the pairs for "trueskill", whose scores depend on the order of the pairs; None
            keeps the order of the rows.
        ridge: Size of the ridge of "mle_ridge".

    Returns:
        Scores from 0 to 100, shape (n_images,), rounded to six digits so that rounding errors do not split ties. For
        the aggregator, an image without a consistent pair is an item without comparisons.

    Raises:
        InputError: The aggregator is unknown.
        UndefinedScoreError: No pair is consistent, all scores are equal, or maximum likelihood has no finite optimum
            (the message then names the images).
    """
    check_member("aggregator", aggregator, AGGREGATORS)
    decided = winner != NONE
    if not decided.any():
        raise UndefinedScoreError("no pair has consistent replies, so the images cannot be ranked")
    first_wins = winner[decided] == FIRST
    first, second, n = pool.first[decided], pool.second[decided], len(pool.image_ids)
    winners, losers = np.where(first_wins, first, second), np.where(first_wins, second, first)
    if aggregator == "map":
        scores = pair_ranking.map_scores(winners, losers, n)
    elif aggregator == "perron":
        scores = pair_ranking.perron_scores(winners, losers, n)
    elif aggregator == "trueskill":
        scores = pair_ranking.trueskill_scores(winners, losers, n, seed=order_seed)
    elif aggregator == "mle_ridge":
        scores = pair_ranking.mle_scores(winners, losers, n, ridge)
    else:
        try:
            scores = pair_ranking.mle_scores(winners, losers, n)
        except UnboundedScoresError as error:
            raise error.renamed(pool.image_ids) from None
    return np.round(pair_ranking.rescale(scores), _DIGITS)
