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
from eyechart.metrics.scoring.inputs import FloatArray
from eyechart.metrics.scoring.statistics.intervals import Interval, student, wilson_of_share
from eyechart.metrics.scoring.statistics.paired import PairedTest, student_test
from eyechart.metrics.scoring.statistics.shares import RARE

_Ids = Sequence[Hashable]


@dataclass(frozen=True)
class PairedImages:
    """The images of n pairs."""

    first: NDArray[np.int64]
    """Number of each pair's first image, counted from 0, shape (n,)."""
    second: NDArray[np.int64]
    n_images: int

    @classmethod
    def of(cls, first_ids: _Ids, second_ids: _Ids) -> "PairedImages":
        """From the ids of each pair's images."""
        number: dict[Hashable, int] = {}
        sides = [[number.setdefault(image, len(number)) for image in side] for side in (first_ids, second_ids)]
        first, second = (np.array(side, dtype=np.int64) for side in sides)
        return cls(first, second, len(number))

    @property
    def effective(self) -> float:
        """Effective number of images, at least 2: images in different numbers of pairs count as fewer."""
        return max(2 * self.independent(np.ones(len(self.first))), 2.0)

    def independent(self, weights: FloatArray) -> float:
        """Effective number of independent pairs, computed from the use of the images only."""
        uses = np.bincount(np.concatenate([self.first, self.second]), np.concatenate([weights, weights]))
        squares = float(uses @ uses)
        return 2 * float(weights.sum()) ** 2 / squares if squares else 0.0

    def check_for_test(self) -> None:
        """Raise `UndefinedScoreError` if there are fewer than 3 images."""
        if self.n_images < 3:
            raise UndefinedScoreError(f"a test over pairs needs at least 3 images; there are {self.n_images}")

    def variance(self, values: FloatArray) -> float:
        """Variance of the mean of a value of each pair, at least that for independent pairs.

        By chance, the estimate can be smaller, or even negative.
        """
        n, n_images = len(values), self.n_images
        first, second = np.minimum(self.first, self.second), np.maximum(self.first, self.second)
        _, pair = np.unique(first * n_images + second, return_inverse=True)

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


def dyadic_share_interval(right: ArrayLike, first_ids: _Ids, second_ids: _Ids) -> Interval:
    """Interval of a share of pairs of images, within [0, 1]; of kind "none" without pairs. Its units are images.

    `right` says of each pair whether it is correct, or the share of its replies that are, shape (n,).

    Examples:
        >>> images = [(i, j) for i in range(50) for j in range(i)]
        >>> dyadic_share_interval([i % 3 > 0 for i, j in images], *zip(*images)).rounded()
        (0.4999, 0.8005)
    """
    values, images = np.asarray(right, dtype=np.float64), PairedImages.of(first_ids, second_ids)
    if not len(values):
        return Interval.undefined(0)
    share, pairs = float(values.mean()), images.independent(np.ones(len(values)))
    found = [wilson_of_share(share, pairs)]
    if images.n_images > 2 and 0 < share < 1 and (variance := images.variance(values)):
        # A share of replies counts in part.
        rarer = 2 * images.independent(values if share < 0.5 else 1 - values)
        units = min(2 * pairs, max(2.0, RARE * rarer))
        found.append(wilson_of_share(share, share * (1 - share) / variance, student(units)))
    low, high = min(found, key=lambda ends: ends[1] - ends[0])
    return Interval(low, high, "wilson-clustered", images.n_images)


def dyadic_mean_difference(first: ArrayLike, second: ArrayLike, first_ids: _Ids, second_ids: _Ids) -> PairedTest:
    """The difference of two models' mean scores, shape (n,), over pairs of images, by Student's t.

    Raises `UndefinedScoreError` if there are fewer than 3 images.
    """
    images = PairedImages.of(first_ids, second_ids)
    images.check_for_test()
    differences = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    deviation = math.sqrt(images.variance(differences))
    return student_test(float(differences.mean()), deviation, len(differences), images.effective)
