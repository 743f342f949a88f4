"""A test on pairs that share images: answers about one image depend on each other, and so are no independent items.

Source: Aronow, Samii and Assenova, "Cluster-Robust Variance Estimation for Dyadic Data", Political Analysis, 2015, for
the mean (a regression on a constant): products of residuals count wherever two pairs have an image in common. Their
factor for few units, n / (n - 1), and Student's t with n - 1 degrees of freedom are used, n being the number of images.
"""

from collections import defaultdict
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student

from eyechart.metrics.scoring.errors import UndefinedScoreError
from eyechart.metrics.scoring.inputs import check_lengths, check_numbers
from eyechart.metrics.scoring.statistics.intervals import LEVEL
from eyechart.metrics.scoring.statistics.significance import PairedTest


def dyadic_mean_difference(
    first: ArrayLike, second: ArrayLike, first_ids: Sequence[Hashable], second_ids: Sequence[Hashable]
) -> PairedTest:
    """The difference of two means over pairs of images, which may share images.

    The variance is no smaller than that of independent pairs: its estimate can be, and even negative, by chance. The
    p-value is 0 where all pairs differ alike, of which a variance says nothing.

    Args:
        first: What the first model got for each pair, shape (n,); 0 and 1 for wrong and right.
        second: What the second one got, shape (n,).
        first_ids: An image of each pair, length n.
        second_ids: The other one, length n.

    Raises:
        InputError: The lengths differ, there are no pairs, or a value is not finite.
        UndefinedScoreError: There are fewer than 3 images.

    Examples:
        >>> images = [(i, j) for i in range(12) for j in range(i)]
        >>> right = [(i + j) % 3 > 0 for i, j in images]
        >>> found = dyadic_mean_difference(right, [False] * 66, *zip(*images))
        >>> found.n, round(found.difference, 3), found.p_value < 0.001
        (66, 0.667, True)
    """
    one, other = check_numbers("first", first), check_numbers("second", second)
    n = check_lengths(first=one, second=other, first_ids=first_ids, second_ids=second_ids)
    n_images = len({*first_ids, *second_ids})
    if n_images < 3:
        raise UndefinedScoreError(f"a test over pairs needs at least 3 images; there are {n_images}")
    differences = one - other
    mean = float(np.mean(differences))
    by_image: defaultdict[Hashable, float] = defaultdict(float)
    by_pair: defaultdict[frozenset[Hashable], float] = defaultdict(float)
    for residual, *pair in zip((differences - mean).tolist(), first_ids, second_ids, strict=True):
        for image in set(pair):
            by_image[image] += residual
        by_pair[frozenset(pair)] += residual
    # Two answers about the same pair have both images in common, and so are in two of the first squares.
    shared = sum(value**2 for value in by_image.values()) - sum(v**2 for p, v in by_pair.items() if len(p) == 2)
    independent = float(np.sum((differences - mean) ** 2))
    deviation = np.sqrt(max(shared * n_images / (n_images - 1), independent)) / n
    freedom = n_images - 1
    margin = float(deviation * student.ppf((1 + LEVEL) / 2, freedom))
    p_value = 1.0 if mean == 0 else 0.0 if deviation == 0 else float(2 * student.sf(abs(mean) / deviation, freedom))
    return PairedTest(mean, p_value, n, (mean - margin, mean + margin))
