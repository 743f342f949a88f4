"""Paired tests between the ranked models of a board, as in `eyechart compare`: all answer the items of one release."""

from collections.abc import Sequence
from contextlib import suppress
from itertools import combinations
from pathlib import Path

import numpy as np

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.comparison.differences import Resampled, bootstrap_test, resampled, share_test
from eyechart.evaluators.comparison.item_scores import ItemId, ItemScores, item_scores, shared_clusters, shared_items
from eyechart.evaluators.results.finished_runs import Answers
from eyechart.evaluators.results.items import PREDICTIONS_FILE, table_of
from eyechart.hub_cards.leaderboard.entries import BoardRow
from eyechart.metrics.score_spec import ScoreSpec
from eyechart.metrics.scoring.errors import ScoringError
from eyechart.metrics.scoring.inputs import FloatArray
from eyechart.metrics.scoring.statistics.paired import adjusted_pairs, share_p_values
from eyechart.metrics.scoring.statistics.shares import Clusters

Parts = dict[str, ItemScores]
"""A model's items on each dataset, by the name that seeds the bootstrap as in `compare`."""


def p_values(rows: Sequence[BoardRow]) -> FloatArray:
    """The Holm-adjusted p-values of the differences in the headline score, shape (k, k), symmetric.

    1 where there are too few items for a test; nan if the score is not one of single items.
    """
    values = np.full((len(rows), len(rows)), np.nan)
    entries = [_parts(row) for row in rows]
    have_items = np.array(list(map(bool, entries)), dtype=bool)
    if have_items.any():
        tested = _tested(rows[0].board.main.score, list(filter(None, entries)))
        values[np.outer(have_items, have_items)] = tested.ravel()
    adjusted = adjusted_pairs(values)
    return np.where(np.isnan(adjusted) & np.outer(have_items, have_items), 1.0, adjusted)


def _parts(row: BoardRow) -> Parts:
    score = row.board.main.score
    try:
        parts = {
            "/".join((part.task, part.dataset, part.split, score.key)): item_scores(
                part, Answers(table_of([part]), Path(PREDICTIONS_FILE))
            )
            for part in row.parts
        }
    except DataError:
        return {}
    return parts if all(score in scores.values for scores in parts.values()) else {}


def _tested(score: ScoreSpec, entries: Sequence[Parts]) -> FloatArray:
    """The p-values of all pairs, shape (k, k), nan for too few items.

    They are tested on the items that all have: each has all public ones, or its entry is refused.
    """
    values = np.full((len(entries), len(entries)), np.nan)
    samples: list[list[Resampled | None]] = []
    for name in entries[0]:
        models = [parts[name] for parts in entries]
        ids = shared_items(models, score).ids
        clusters = shared_clusters(models, ids)
        if score.is_percentage and not models[0].images:
            with suppress(ScoringError):
                values = share_p_values(np.array([of.values_of(score, ids) for of in models], dtype=bool), clusters)
            return values
        if score.is_percentage:
            for i, j in combinations(range(len(models)), 2):
                with suppress(ScoringError):
                    values[i, j] = share_test(score, (models[i], models[j]), ids, clusters)[0].p_value
            return values
        samples.append([_resampled(score, of_model, ids, clusters, name) for of_model in models])
    means = [_mean(of_model) for of_model in zip(*samples, strict=True)]
    for i, j in combinations(range(len(means)), 2):
        first, second = means[i], means[j]
        if first is not None and second is not None:
            with suppress(ScoringError):
                values[i, j] = bootstrap_test(first, second).p_value
    return values


def _resampled(
    score: ScoreSpec, model: ItemScores, ids: Sequence[ItemId], clusters: Clusters, name: str
) -> Resampled | None:
    """A model's score with its replicates; None if it is undefined."""
    try:
        return resampled(score, model, ids, clusters, 0, name)
    except ScoringError:
        return None


def _mean(parts: Sequence[Resampled | None]) -> Resampled | None:
    """The mean over datasets; None if the score of one is undefined."""
    defined = [part for part in parts if part is not None]
    if len(defined) < len(parts):
        return None
    replicates = np.mean([part.replicates for part in defined], axis=0)
    mean = float(np.mean([part.score for part in defined]))
    return Resampled(mean, replicates, min(part.units for part in defined))
