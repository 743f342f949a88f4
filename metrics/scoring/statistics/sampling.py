"""Systematic sampling (Madow, Annals of Mathematical Statistics, 1949): a stratified random sample.

All rows have the same chance, so plain means need no weights.
"""

from collections.abc import Sequence

import numpy as np


def systematic_rows(strata: Sequence[tuple[str, ...]], n: int, rng: np.random.Generator) -> list[int]:
    """Indices of n rows with equal chances, spread over the strata (Madow, Annals of Mathematical Statistics, 1949).

    Examples:
        >>> rows = systematic_rows([("what",)] * 60 + [("how",)] * 30, 9, np.random.default_rng(0))
        >>> len(rows), sum(row < 60 for row in rows)
        (9, 6)
    """
    shuffled = rng.permutation(len(strata)).tolist()
    # The order of the strata is random too; otherwise the same neighbours would always share a step.
    different = sorted(set(strata))
    order = dict(zip(different, rng.permutation(len(different)).tolist(), strict=True))
    ordered = sorted(shuffled, key=lambda row: order[strata[row]])
    step = len(strata) / n
    start = rng.random() * step
    return sorted(ordered[min(int(start + index * step), len(strata) - 1)] for index in range(n))
