"""Rank several runs by one score of a task; runs that paired tests do not separate share a place."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eyechart.evaluators.comparison.compared_score import ComparedScore
from eyechart.evaluators.comparison.differences import judged_columns
from eyechart.evaluators.comparison.item_scores import ItemScores, shared_clusters
from eyechart.metrics.score_spec import ScoreSpec
from eyechart.metrics.scores import spec
from eyechart.metrics.scoring.inputs import FloatArray
from eyechart.metrics.scoring.judging.rounds import bootstrap_scores
from eyechart.metrics.scoring.statistics.bootstrap import RESAMPLES, bootstrap_plcc_columns, bootstrap_srcc_columns
from eyechart.metrics.scoring.statistics.ranking import places


@dataclass(frozen=True)
class RankedRun:
    """The place of one run."""

    run: str
    score: float
    place: int
    """One more than the number of significantly better runs; several runs can share a place."""


@dataclass(frozen=True)
class Ranking(ComparedScore):
    """Runs ranked by the headline of one task, best first."""

    n: int
    """Number of items that all runs have."""
    runs: tuple[RankedRun, ...]
    tests: int
    """Number of paired tests that determine the places; their p-values are Holm-adjusted."""


@dataclass(frozen=True)
class Unranked:
    """A task without a ranking."""

    title: str
    reason: str


def rank_runs(
    place: tuple[str, str, str], names: Sequence[str], key: str, scores: Sequence[float], p_values: FloatArray, n: int
) -> Ranking:
    """Rank runs.

    Args:
        place: Task, dataset and split.
        names: Labels of the k runs.
        key: The score's key in the table of scores.
        scores: Scores of the runs on the items that all runs have.
        p_values: Holm-adjusted p-values of the paired tests, shape (k, k), symmetric; nan if there is no test.
        n: Number of items that all runs have.
    """
    runs = [RankedRun(*one) for one in zip(names, scores, places(scores, p_values), strict=True)]
    runs.sort(key=lambda run: (run.place, -run.score))
    return Ranking(*place, key, spec(key).label, n, tuple(runs), int(np.sum(~np.isnan(p_values))) // 2)


def score_replicates(
    score: ScoreSpec, items: Sequence[ItemScores], shared: Sequence[str], rng: np.random.Generator
) -> FloatArray:
    """Bootstrap replicates of the runs' correlations or points on the same resamples of items or clusters.

    Args:
        score: The score, not a share.
        items: The item scores of each run.
        shared: The items that all runs have.
        rng: Source of the draws.

    Returns:
        Shape (number of runs, resamples).
    """
    columns = [[one.values[score.key][item] for item in shared] for one in items]
    if score.correlation:
        human = [items[0].human[item] for item in shared]
        return {"spearman": bootstrap_srcc_columns, "pearson": bootstrap_plcc_columns}[score.correlation](
            columns, human, rng
        )
    clusters, state = shared_clusters(items, shared), rng.bit_generator.state
    found = []
    for column in columns:
        # Restoring the state gives every run the same resamples.
        rng.bit_generator.state = state
        judged = judged_columns(column)
        total = bootstrap_scores(judged, RESAMPLES, rng, clusters)[0].sum(axis=1)
        found.append(total / (len(judged) if score.is_averaged else 1))
    return np.stack(found)
