"""Paired tests between the ranked models of a board, as in `eyechart compare`: all answer the items of one release."""

import math
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.comparison.differences import Resampled, bootstrap_test, resampled, share_test
from eyechart.evaluators.comparison.item_scores import ItemScores, item_scores, shared_clusters, shared_items
from eyechart.evaluators.results.finished_runs import Answers
from eyechart.evaluators.results.items import PREDICTIONS_FILE, table_of
from eyechart.hub_cards.leaderboard.entries import BoardRow
from eyechart.metrics.score_spec import ScoreSpec
from eyechart.metrics.scoring.errors import ScoringError
from eyechart.metrics.scoring.inputs import FloatArray
from eyechart.metrics.scoring.statistics.paired import adjusted_pairs

Parts = dict[str, ItemScores]
"""A model's items on each dataset, by the name that seeds the bootstrap as in `compare`."""


def p_values(rows: Sequence[BoardRow]) -> FloatArray:
    """The Holm-adjusted p-values of the differences in the headline score, shape (k, k), symmetric.

    1 where there are too few items for a test; nan if the score is not one of single items.
    """
    values = np.full((len(rows), len(rows)), np.nan)
    entries = [_parts(row) for row in rows]
    samples: dict[tuple[int, str], Resampled] = {}
    for i, j in combinations(range(len(rows)), 2):
        if entries[i] and entries[j]:
            values[i, j] = _p_value(rows[i].board.main.score, (i, j), entries, samples)
    have_items = np.array(list(map(bool, entries)), dtype=bool)
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


def _p_value(
    score: ScoreSpec, pair: tuple[int, int], entries: Sequence[Parts], samples: dict[tuple[int, str], Resampled]
) -> float:
    """The p-value of one difference, nan with too few items; each model is resampled once for all its pairs."""
    first, second = (entries[number] for number in pair)
    means = []
    try:
        for name in first:
            both = (first[name], second[name])
            ids = shared_items(both, score).ids
            clusters = shared_clusters(both, ids)
            if score.is_percentage:
                return share_test(score, both, ids, clusters)[0].p_value
            for number in pair:
                if (number, name) not in samples:
                    samples[number, name] = resampled(score, entries[number][name], ids, clusters, 0, name)
        for number in pair:
            of_parts = [samples[number, name] for name in first]
            replicates = np.mean([part.replicates for part in of_parts], axis=0)
            mean = float(np.mean([part.score for part in of_parts]))
            means.append(Resampled(mean, replicates, min(part.units for part in of_parts)))
        return bootstrap_test(*means).p_value
    except ScoringError:
        return math.nan
