"""A seeded random sample of N of the M items.

Each stratum gets its share to within one item, and each item has the chance N / M, so plain means need no weights.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from datasets import Dataset

from eyechart.datasets_scripts.common.errors import UsageError


@dataclass(frozen=True)
class Sample:
    """A random sample of the rows."""

    rows: tuple[int, ...]
    """Their indices, in order."""
    of: int
    """Total number of rows."""
    seed: int
    strata: tuple[str, ...]
    """Columns whose values define the strata."""

    def settings(self) -> dict[str, Any]:
        """What a result records about the sample."""
        return {"n": len(self.rows), "of": self.of, "seed": self.seed, "strata": list(self.strata)}


def draw_sample(dataset: Dataset, groups: Sequence[str], n: int, seed: int) -> Sample | None:
    """Draw n rows, at least 1, stratified by the groups' columns that exist; None if there are no more than n."""
    if n < 1:
        raise UsageError(f"sample={n} is not allowed; expected at least 1")
    total = len(dataset)
    if n >= total:
        return None
    strata = tuple(name for name in groups if name in dataset.column_names)
    columns = dataset.select_columns(list(strata)).to_dict() if strata else {}
    names = list(zip(*([str(value) for value in columns[name]] for name in strata), strict=True)) or [()] * total
    return Sample(tuple(systematic_rows(names, n, np.random.default_rng(seed))), total, seed, strata)


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
