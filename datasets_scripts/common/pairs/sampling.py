"""Sampling the images of a database to compare, as in the 2AFC paper (https://arxiv.org/abs/2402.01162, Sec. III).

The paper's coarse samples are about uniform over five levels of opinion scores, contain one distorted image per
reference if there are references, and balance the images' spatial information and colourfulness (Sec. III-B). The paper
does not say how; `coarse_sample` fills five equally wide levels of the scores evenly, and within a level prefers images
from the quintiles of each attribute that have been drawn least.
"""

from collections.abc import Hashable, Sequence
from typing import TypeVar

import numpy as np

from eyechart.datasets_scripts.common.errors import UsageError

LEVELS = 5
"""Quality levels of the paper: excellent, good, fair, poor, bad. Each attribute is balanced over as many quantiles."""

Item = TypeVar("Item")


def rescale(scores: Sequence[float], low: float, high: float) -> list[float]:
    """Map opinion scores linearly from their own scale to 0 to 100.

    Args:
        scores: Mean opinion scores, all from `low` to `high`.
        low: Lowest possible value on the database's scale.
        high: Highest possible value on the database's scale.

    Returns:
        Scores from 0 (at `low`) to 100 (at `high`), in the same direction.

    Raises:
        UsageError: `low` is not less than `high`, or a score is outside the scale.

    Examples:
        >>> rescale([1, 3, 5], 1, 5)
        [0.0, 50.0, 100.0]
    """
    if not low < high:
        raise UsageError(f"the scale must be two increasing numbers, found {low} and {high}")
    for position, score in enumerate(scores):
        if not low <= score <= high:
            raise UsageError(f"scores[{position}] is {score}, outside the scale {low} to {high}")
    return [100.0 * (score - low) / (high - low) for score in scores]


def quality_levels(scores: Sequence[float]) -> np.ndarray:
    """Sort opinion scores into five equally wide levels between their lowest and their highest value.

    Args:
        scores: One score per image.

    Returns:
        Levels 0 to 4, the highest scores in 4; all 0 if the scores are equal.

    Examples:
        >>> quality_levels([0, 19, 20, 100]).tolist()
        [0, 0, 1, 4]
    """
    values = np.asarray(scores, np.float64)
    width = np.ptp(values) if values.size else 0.0
    if width == 0:
        return np.zeros(values.size, np.int64)
    return np.minimum(((values - values.min()) / width * LEVELS).astype(np.int64), LEVELS - 1)


def coarse_sample(
    scores: Sequence[float],
    size: int,
    rng: np.random.Generator,
    *,
    contents: Sequence[Hashable] | None = None,
    attributes: np.ndarray | None = None,
    per_content: int = 1,
) -> list[int]:
    """Choose images about uniformly over five quality levels, balanced in further attributes.

    Images are drawn one by one, from the level with the fewest drawn images so far (at a tie, from the level with the
    fewest images left). Within the level, an image is drawn at random among those whose quintiles of the attributes
    have been drawn least often. Levels without images left are skipped, so that the sample always has `size` images.

    Args:
        scores: Mean opinion scores of the images, on any scale.
        size: Number of images to choose.
        rng: The only source of randomness.
        contents: The reference of each image; by default every image is its own content.
        attributes: Values to balance, (images, attributes), for example spatial information and colourfulness.
        per_content: The most images of one content.

    Returns:
        Positions of the chosen images, in increasing order.

    Raises:
        UsageError: There are not enough images or contents.

    Examples:
        >>> coarse_sample([1, 1, 1, 5, 5], 2, np.random.default_rng(0), contents=["a", "b", "a", "a", "a"])
        [1, 4]
    """
    n_images = len(scores)
    groups = np.arange(n_images) if contents is None else _codes(contents)
    available = int(np.minimum(np.bincount(groups, minlength=1), per_content).sum())
    if not 1 <= size <= available:
        raise UsageError(f"size is {size}; expected 1 to {available} (at most {per_content} per content)")
    levels = quality_levels(scores)
    fifths = np.zeros((n_images, 0), np.int64) if attributes is None else _fifths(attributes)
    drawn_levels = np.zeros(LEVELS, np.int64)
    drawn_fifths = np.zeros((fifths.shape[1], LEVELS), np.int64)
    left_of_content = np.full(groups.max() + 1, per_content)
    # A fixed random order makes "the first of the best" a random one.
    order = rng.permutation(n_images)
    chosen: list[int] = []
    while len(chosen) < size:
        order = order[left_of_content[groups[order]] > 0]
        sizes = np.bincount(levels[order], minlength=LEVELS)
        level = min(np.flatnonzero(sizes).tolist(), key=lambda name: (drawn_levels[name], sizes[name]))
        candidates = order[levels[order] == level]
        crowding = sum(
            (drawn[fifths[candidates, k]] for k, drawn in enumerate(drawn_fifths)), np.zeros(len(candidates))
        )
        image = int(candidates[np.argmin(crowding)])
        chosen.append(image)
        order = order[order != image]
        drawn_levels[level] += 1
        drawn_fifths[np.arange(len(drawn_fifths)), fifths[image]] += 1
        left_of_content[groups[image]] -= 1
    return sorted(chosen)


def draw(items: Sequence[Item], size: int, rng: np.random.Generator) -> list[Item]:
    """Draw items without replacement and keep their order.

    Args:
        items: The items.
        size: Number of items to draw; all if there are fewer.
        rng: The only source of randomness.

    Returns:
        The drawn items, in the order of `items`.

    Examples:
        >>> draw(["sea", "tree", "dog"], 2, np.random.default_rng(0))
        ['tree', 'dog']
    """
    places = rng.choice(len(items), min(size, len(items)), replace=False)
    return [items[place] for place in sorted(places.tolist())]


def _codes(contents: Sequence[Hashable]) -> np.ndarray:
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(content, len(numbers)) for content in contents], np.int64)


def _fifths(attributes: np.ndarray) -> np.ndarray:
    """The quintile of each attribute, by rank, so that outliers do not stretch it; equal values share a quintile."""
    values = np.asarray(attributes, np.float64)
    ranks = np.array([np.searchsorted(np.sort(column), column) for column in values.T]).T.reshape(values.shape)
    return ranks * LEVELS // len(values)
