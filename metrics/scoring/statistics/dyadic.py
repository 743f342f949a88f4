"""Intervals and tests for shares of pairs of images: pairs with a common image depend on each other.

Source: Aronow, Samii and Assenova, "Cluster-Robust Variance Estimation for Dyadic Data", Political Analysis, 2015, for
the mean (a regression on a constant): the variance includes the products of residuals of all pairs with a common image.
It is divided by what the residuals of independent pairs would give, which makes it unbiased for these. Student's t has
one degree of freedom less than there are images. Shares have Wilson's interval at the effective number of pairs, with
the rules of `shares`: degrees of freedom from the images of the rarer pairs, correct or incorrect; and never wider than
if n pairs were 2 n^2 / (sum of d^2) independent pairs, where d is the number of pairs that an image is in. If d is
equal for all images, that is half the number of images.

Coverage by simulation: `docs/coverage.md`.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.metrics.scoring.errors import UndefinedScoreError
from eyechart.metrics.scoring.inputs import FloatArray, check_lengths, check_numbers
from eyechart.metrics.scoring.statistics.intervals import Interval, student, wilson_of_share
from eyechart.metrics.scoring.statistics.shares import RARE
from eyechart.metrics.scoring.statistics.significance import PairedTest, student_test

_IndexArray = NDArray[np.int64]


def dyadic_share_interval(right: ArrayLike, first_ids: Sequence[Hashable], second_ids: Sequence[Hashable]) -> Interval:
    """Interval of a share of pairs of images.

    Args:
        right: Value of each pair, in [0, 1], shape (n,): whether the pair is correct, or the share of its replies that
            are.
        first_ids: First image of each pair, length n.
        second_ids: Second image of each pair, length n.

    Returns:
        The interval, within [0, 1]; of kind "none" without pairs. Its units are images.

    Examples:
        >>> images = [(i, j) for i in range(50) for j in range(i)]
        >>> dyadic_share_interval([i % 3 > 0 for i, j in images], *zip(*images)).rounded()
        (0.4999, 0.8005)
    """
    values = check_numbers("right", np.asarray(right, dtype=np.float64))
    first, second, n_images = _numbered(first_ids, second_ids)
    if not len(values):
        return Interval.undefined(0)
    share, pairs = float(values.mean()), _by_image(first, second)
    by_image = Interval(*wilson_of_share(share, pairs), "dyadic-by-image", n_images)
    if n_images == 2 or share in (0, 1) or not (variance := dyadic_variance(values, first, second)):
        return by_image
    # A share of replies counts in part.
    rarer = 2 * _by_image(first, second, values if share < 0.5 else 1 - values)
    units = min(2 * pairs, max(2.0, RARE * rarer))
    low, high = wilson_of_share(share, share * (1 - share) / variance, student(units))
    return min(Interval(low, high, "dyadic", n_images), by_image, key=lambda one: one.high - one.low)


def _by_image(first: _IndexArray, second: _IndexArray, weights: FloatArray | None = None) -> float:
    """Effective number of independent pairs, computed from the use of the images only."""
    weights = np.ones(len(first)) if weights is None else weights
    uses = np.bincount(np.concatenate([first, second]), np.concatenate([weights, weights]))
    squares = float(uses @ uses)
    return 2 * float(weights.sum()) ** 2 / squares if squares else 0.0


def dyadic_variance(values: FloatArray, first: _IndexArray, second: _IndexArray) -> float:
    """Variance of a mean over pairs of images, which may share images.

    The result is at least the variance for independent pairs. By chance, the estimate can be smaller, or even negative.

    Args:
        values: Value of each pair, shape (n,).
        first: Number of each pair's first image, counted from 0, shape (n,).
        second: Number of each pair's second image, shape (n,).

    Examples:
        >>> dyadic_variance(np.array([1.0, 1.0, 0.0, 0.0]), np.array([0, 0, 2, 2]), np.array([1, 3, 1, 3]))
        0.25
    """
    n, n_images = len(values), 1 + int(max(first.max(), second.max()))
    _, pair = np.unique(np.minimum(first, second) * n_images + np.maximum(first, second), return_inverse=True)

    def of_common_images(weights: FloatArray) -> float:
        """The sum of products over all pairs with a common image."""
        by_image = np.bincount(first, weights, n_images) + np.bincount(second, weights, n_images)
        by_pair = np.bincount(pair, weights)
        # Two answers about the same pair share both images, so the squares by image count them twice.
        return float(np.einsum("i,i", by_image, by_image) - np.einsum("i,i", by_pair, by_pair))

    residuals = values - values.mean()
    independent = float(np.einsum("i,i", residuals, residuals))
    # All residuals sum to 0, so independent pairs give this part of the sum of squares.
    part = 1 - of_common_images(np.ones(n)) / n**2
    shared = of_common_images(residuals) / part if part > 0 else 0.0
    return max(shared, independent) / n**2


def dyadic_mean_difference(
    first: ArrayLike, second: ArrayLike, first_ids: Sequence[Hashable], second_ids: Sequence[Hashable]
) -> PairedTest:
    """The difference of two means over pairs of images, which may share images.

    If all pairs have the same difference, there is no variance, and the p-value is that of the sign test; see
    `student_test`.

    Args:
        first: Score of the first model for each pair, shape (n,); 0 for incorrect and 1 for correct.
        second: Score of the second model for each pair, shape (n,).
        first_ids: First image of each pair, length n.
        second_ids: Second image of each pair, length n.

    Raises:
        InputError: The lengths differ, there are no pairs, or a value is not finite.
        UndefinedScoreError: There are fewer than 3 images.

    Examples:
        >>> images = [(i, j) for i in range(12) for j in range(i)]
        >>> right = [(i + j) % 3 > 0 for i, j in images]
        >>> found = dyadic_mean_difference(right, [False] * 66, *zip(*images))
        >>> found.n, round(found.difference, 3), found.p_value < 0.01
        (66, 0.667, True)
    """
    one, other = check_numbers("first", first), check_numbers("second", second)
    n = check_lengths(first=one, second=other, first_ids=first_ids, second_ids=second_ids)
    images = images_for_test(first_ids, second_ids)
    differences = one - other
    variance = dyadic_variance(differences, images.first, images.second)
    return student_test(float(differences.mean()), math.sqrt(variance), n, images.effective)


@dataclass(frozen=True)
class PairedImages:
    """The images of pairs.

    Attributes:
        first: Number of each pair's first image, counted from 0, shape (n,).
        second: Number of each pair's second image, shape (n,).
        n_images: Number of images.
        effective: Effective number of images: images that are in different numbers of pairs count as fewer. At least 2.
    """

    first: _IndexArray
    second: _IndexArray
    n_images: int
    effective: float


def images_for_test(first_ids: Sequence[Hashable], second_ids: Sequence[Hashable]) -> PairedImages:
    """The images of pairs, if there are enough for a test.

    Args:
        first_ids: First image of each pair, length n.
        second_ids: Second image of each pair, length n.

    Raises:
        UndefinedScoreError: There are fewer than 3 images.

    Examples:
        >>> images_for_test("aab", "bcc").effective
        3.0
    """
    first, second, n_images = _numbered(first_ids, second_ids)
    if n_images < 3:
        raise UndefinedScoreError(f"a test over pairs needs at least 3 images; there are {n_images}")
    return PairedImages(first, second, n_images, max(2 * _by_image(first, second), 2.0))


def _numbered(first_ids: Sequence[Hashable], second_ids: Sequence[Hashable]) -> tuple[_IndexArray, _IndexArray, int]:
    """The first and second images as numbers, and the number of images."""
    number: dict[Hashable, int] = {}
    sides = [[number.setdefault(image, len(number)) for image in side] for side in (first_ids, second_ids)]
    first, second = (np.array(side, dtype=np.int64) for side in sides)
    return first, second, len(number)
