"""Bootstrap replicates of the scores of several runs, on the same resamples for all runs."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from eyechart.evaluators.comparison.item_scores import ItemScores, shared_clusters
from eyechart.metrics.score_spec import ScoreSpec
from eyechart.metrics.scoring.errors import ScoringError
from eyechart.metrics.scoring.inputs import FloatArray
from eyechart.metrics.scoring.judging.rounds import bootstrap_scores
from eyechart.metrics.scoring.pairs.scores import mean_over_pools, pool_replicates
from eyechart.metrics.scoring.quality.correlation import plcc, srcc
from eyechart.metrics.scoring.statistics.bootstrap import (
    RESAMPLES,
    bootstrap_plcc_columns,
    bootstrap_srcc_columns,
    part_generator,
)
from eyechart.metrics.scoring.statistics.intervals import FEW_UNITS

CORRELATIONS = {"spearman": srcc, "pearson": plcc}
_RESAMPLED = {"spearman": bootstrap_srcc_columns, "pearson": bootstrap_plcc_columns}


def score_replicates(
    score: ScoreSpec, items: Sequence[ItemScores], shared: Sequence[str], rng: np.random.Generator
) -> FloatArray:
    """Replicates of the runs' scores on the same resamples of shared items (in clusters), shape (runs, resamples)."""
    columns = [[run.values[score.key][item] for item in shared] for run in items]
    if score.correlation:
        return _RESAMPLED[score.correlation](columns, [items[0].human[item] for item in shared], rng)
    clusters, state = shared_clusters(items, shared), rng.bit_generator.state
    replicates = []
    for column in columns:
        # Restoring the state gives every run the same resamples.
        rng.bit_generator.state = state
        judged = judged_columns(column)
        total = bootstrap_scores(judged, RESAMPLES, rng, clusters)[0].sum(axis=1)
        replicates.append(total / (len(judged) if score.is_averaged else 1))
    return np.stack(replicates)


def judged_columns(values: Sequence[tuple[float | None, ...]]) -> list[list[list[float | None]]]:
    """Means of items as one round of a judge for each column."""
    return [[[value] for value in column] for column in zip(*values, strict=True)]


@dataclass(frozen=True)
class RankingCorrelation:
    """The correlation of the images that each run ranked from pairs, the mean over pools."""

    values: list[float]
    """That of each run."""
    replicates: list[FloatArray]
    """Its replicates for each run, shape (resamples,)."""
    n: int
    """Number of images."""
    units: int
    """Number of resampled units."""
    of: str
    """Kind of the units: "images", resampled within their pool, or entire "pools" if some are small."""


def ranking_correlation(kind: str, runs: Sequence[ItemScores], name: str, seed: int) -> RankingCorrelation | None:
    """The "spearman" or "pearson" correlation of each run's ranking of images on the pools that all have, or None."""
    # A pool without a ranking counts as each run's setting says.
    pools = [
        pool
        for pool, images in runs[0].ranked.items()
        if all(images.keys() == run.ranked.get(pool, {}).keys() for run in runs)
        and not any(run.pooling.undefined_pools == "leave_out" and _is_unranked(run.ranked[pool]) for run in runs)
    ]
    if not pools:
        return None
    sizes = [len(runs[0].ranked[pool]) for pool in pools]
    values, replicates = np.full((len(pools), len(runs)), np.nan), np.full((len(pools), len(runs), RESAMPLES), np.nan)
    for index, pool in enumerate(pools):
        images = sorted(runs[0].ranked[pool])
        quality = [runs[0].ranked[pool][image][1] for image in images]
        ranking = [number for number, run in enumerate(runs) if not _is_unranked(run.ranked[pool])]
        columns = [[runs[number].ranked[pool][image][0] for image in images] for number in ranking]
        for number, column in zip(ranking, columns, strict=True):
            with suppress(ScoringError):
                values[index, number] = CORRELATIONS[kind](column, quality)
        if ranking:
            replicates[index, ranking] = _RESAMPLED[kind](columns, quality, part_generator(seed, f"{name}/{pool}"))
    means, drawn, are_large = [], [], min(sizes) >= FEW_UNITS
    for number, run in enumerate(runs):
        settings = replace(run.pooling, seed=seed)
        of_run = values[:, number]
        means.append(float(mean_over_pools(of_run[:, None], sizes, settings)[0]))
        of_images = mean_over_pools(replicates[:, number], sizes, settings) if are_large else None
        drawn.append(pool_replicates(of_run.tolist(), sizes, settings) if of_images is None else of_images)
    units = (sum(sizes), "images") if are_large else (len(pools), "pools")
    return RankingCorrelation(means, drawn, sum(sizes), *units)


def _is_unranked(images: Mapping[str, tuple[float, float]]) -> bool:
    return any(math.isnan(score) for score, _ in images.values())
