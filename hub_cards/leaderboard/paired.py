"""Paired tests between the models of a board, of the answers that were handed in with the results."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.comparison.compare import items_of
from eyechart.evaluators.comparison.differences import share_test
from eyechart.evaluators.comparison.items import ItemScores
from eyechart.evaluators.comparison.ranking import score_replicates
from eyechart.evaluators.results.evaluation import AVERAGE
from eyechart.evaluators.results.finished_runs import TaskKey
from eyechart.hub_cards.leaderboard.entries import BoardRow
from eyechart.metrics.scores import Unit
from eyechart.metrics.scoring.errors import ScoringError
from eyechart.metrics.scoring.inputs import FloatArray
from eyechart.metrics.scoring.statistics.bootstrap import part_generator
from eyechart.metrics.scoring.statistics.shares import Clusters
from eyechart.metrics.scoring.statistics.significance import holm, paired_bootstrap


def paired_p_values(rows: Sequence[BoardRow]) -> FloatArray:
    """p-values of the difference of each two models by the board's headline, corrected over all of them (Holm).

    Args:
        rows: k rows of one board.

    Returns:
        Shape (k, k), symmetric; nan where two models have no answers to the same items.
    """
    found = np.full((len(rows), len(rows)), np.nan)
    items = [_items(row) for row in rows]
    key = rows[0].board.main.score.key if rows else ""
    is_share = not rows or rows[0].board.main.score.unit in (Unit.FRACTION, Unit.PERCENT)
    replicates = [None if is_share else _replicates(key, one) for one in items]
    for i, j in combinations(range(len(rows)), 2):
        if not items[i] or [sorted(one.values[key]) for one in items[i]] != [
            sorted(one.values[key]) for one in items[j]
        ]:
            continue
        one, other = replicates[i], replicates[j]
        try:
            if one is None or other is None:
                found[i, j] = _share_p_value(key, items[i][0], items[j][0])
            else:
                found[i, j] = paired_bootstrap(0.0, one - other, len(items[i][0].values[key])).p_value
        except ScoringError:
            continue
    tested = np.argwhere(~np.isnan(found)).tolist()
    for (i, j), p_value in zip(tested, holm([found[i, j] for i, j in tested]) if tested else (), strict=True):
        found[i, j] = found[j, i] = p_value
    return found


def _items(row: BoardRow) -> list[ItemScores]:
    """What the items of a result gave, for an average of each of its databases; empty without answers."""
    result, run = row.result, row.entry.run
    place = TaskKey(result.task, result.dataset, result.split)
    keys = [key for key in run.tasks if key.task == place.task and key.dataset != AVERAGE]
    try:
        found = [items_of(run, key) for key in sorted(keys if place.dataset == AVERAGE else [place])]
    except DataError:
        return []
    return found if all(row.board.main.score.key in one.values for one in found) else []


def _share_p_value(key: str, one: ItemScores, other: ItemScores) -> float:
    shared = sorted(one.values[key])
    right, also = (np.array([of[item] for item in shared], dtype=bool) for of in (one.values[key], other.values[key]))
    images = [one.images[item] for item in shared] if one.images else []
    clusters = Clusters.of([one.clusters.get(item) for item in shared], len(shared))
    return share_test(right, also, images, clusters)[1].p_value


def _replicates(key: str, items: Sequence[ItemScores]) -> FloatArray | None:
    """Of one model's score, the mean over the databases of an average; the same resamples for every model."""
    if not items:
        return None
    parts = [
        score_replicates(key, [one], sorted(one.values[key]), part_generator(0, f"{key}/{number}"))[0]
        for number, one in enumerate(items)
    ]
    return np.mean(parts, axis=0)
