"""Rankings of models that answered the same items: places by paired tests.

Two models share a place unless a paired test shows a difference. Overlapping intervals cannot show that, because both
models answered the same items (Schenker and Gentleman, The American Statistician, 2001).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.metrics.scoring.inputs import FloatArray
from eyechart.metrics.scoring.statistics.significance import holm

SIGNIFICANCE = 0.05
"""A p-value below this shows a difference between two models."""
_IndexArray = NDArray[np.int64]


def places(scores: ArrayLike, p_values: ArrayLike) -> list[int]:
    """The place of each model: one more than the number of significantly better models.

    Args:
        scores: Shape (k,), higher is better.
        p_values: Adjusted p-values of the difference between each two models, shape (k, k), symmetric; nan if there is
            no test, which counts as no difference.

    Examples:
        >>> p_values = [[1, 0.2, 0.01], [0.2, 1, 0.3], [0.01, 0.3, 1]]
        >>> places([0.8, 0.7, 0.6], p_values)
        [1, 1, 2]
    """
    values = np.asarray(scores, dtype=np.float64)
    better = (values[:, None] > values[None, :]) & (np.asarray(p_values, dtype=np.float64) < SIGNIFICANCE)
    return [1 + int(count) for count in better.sum(axis=0)]


def adjusted_pairs(p_values: FloatArray) -> FloatArray:
    """Holm-adjusted p-values of the difference between each two models.

    Args:
        p_values: Shape (k, k); only the values above the diagonal are used; nan if there is no test.

    Returns:
        Shape (k, k), symmetric; nan if there is no test, and on the diagonal.

    Examples:
        >>> adjusted_pairs(np.array([[0, 0.01, 0.03], [0, 0, np.nan], [0, 0, 0]])).tolist()
        [[nan, 0.02, 0.03], [0.02, nan, nan], [0.03, nan, nan]]
    """
    found = np.full_like(p_values, np.nan)
    rows, columns = np.nonzero(np.triu(~np.isnan(p_values), 1))
    if len(rows):
        found[rows, columns] = found[columns, rows] = holm(p_values[rows, columns])
    return found
