"""Correlations of the images that each run ranked from pairs, with bootstrap replicates.

All runs use the same resamples. The images of a pool are resampled; if a pool is small, entire pools.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from eyechart.evaluators.comparison.item_scores import ItemScores
from eyechart.metrics.scoring.errors import ScoringError
from eyechart.metrics.scoring.inputs import FloatArray
from eyechart.metrics.scoring.pairs.scores import mean_over_pools, pool_replicates
from eyechart.metrics.scoring.quality.correlation import plcc, srcc
from eyechart.metrics.scoring.statistics.bootstrap import (
    RESAMPLES,
    bootstrap_plcc_columns,
    bootstrap_srcc_columns,
    part_generator,
)
from eyechart.metrics.scoring.statistics.intervals import FEW_UNITS

_COMPUTE = {"spearman": (srcc, bootstrap_srcc_columns), "pearson": (plcc, bootstrap_plcc_columns)}


@dataclass(frozen=True)
class PoolCorrelation:
    """A run's correlation, the mean over pools."""

    value: float
    replicates: FloatArray
    """Bootstrap replicates of the value, shape (resamples,)."""
    units: int
    """Number of resampled units."""
    of: str
    """Kind of the units: "images", or "pools" if these are small."""


def shared_pools(runs: Sequence[ItemScores]) -> list[str]:
    """Pools with the same images in all runs, except pools without a ranking that a run leaves out."""
    first, *others = runs
    return [
        pool
        for pool, images in first.ranked.items()
        if all(images.keys() == other.ranked.get(pool, {}).keys() for other in others)
        and not any(run.pooling.undefined_pools == "leave_out" and _is_unranked(run.ranked[pool]) for run in runs)
    ]


def _is_unranked(images: Mapping[str, tuple[float, float]]) -> bool:
    return any(math.isnan(score) for score, _ in images.values())


def pool_correlations(
    kind: str, pools: Sequence[str], runs: Sequence[ItemScores], name: str, seed: int
) -> list[PoolCorrelation]:
    """The correlation of each run.

    Args:
        kind: "spearman" or "pearson".
        pools: At least one, from `shared_pools`.
        runs: The item scores of each run.
        name: Name of the task and its data, which seeds the draws.
        seed: Seed of the bootstrap.
    """
    sizes = [len(runs[0].ranked[pool]) for pool in pools]
    values, replicates = zip(*(_of_pool(kind, pool, runs, f"{name}/{pool}", seed) for pool in pools), strict=True)
    found = []
    for number, run in enumerate(runs):
        settings = replace(run.pooling, seed=seed)
        own = [column[number] for column in values]
        value = float(mean_over_pools([[one] for one in own], sizes, settings)[0])
        if min(sizes) >= FEW_UNITS:
            drawn = mean_over_pools([column[number] for column in replicates], sizes, settings)
            found.append(PoolCorrelation(value, drawn, sum(sizes), "images"))
        else:
            found.append(PoolCorrelation(value, pool_replicates(own, sizes, settings), len(pools), "pools"))
    return found


def _of_pool(kind: str, pool: str, runs: Sequence[ItemScores], name: str, seed: int) -> tuple[list[float], FloatArray]:
    """Each run's correlation in a pool, and its replicates; nan if undefined."""
    compute, resampled = _COMPUTE[kind]
    names = sorted(runs[0].ranked[pool])
    quality = [runs[0].ranked[pool][image][1] for image in names]
    values, replicates = [math.nan] * len(runs), np.full((len(runs), RESAMPLES), np.nan)
    columns = {
        number: [run.ranked[pool][image][0] for image in names]
        for number, run in enumerate(runs)
        if not _is_unranked(run.ranked[pool])
    }
    for number, scores in columns.items():
        with suppress(ScoringError):
            values[number] = compute(scores, quality)
    if columns:
        replicates[list(columns)] = resampled(list(columns.values()), quality, part_generator(seed, name))
    return values, replicates
