"""Paired tests between the models of a board, of the answers that were handed in with the results."""

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from scipy.special import ndtr

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.comparison.compare import items_of
from eyechart.evaluators.comparison.differences import share_test
from eyechart.evaluators.comparison.items import ItemScores, shared_clusters
from eyechart.evaluators.comparison.ranking import score_replicates
from eyechart.evaluators.requests.values import is_number
from eyechart.evaluators.results.evaluation import AVERAGE
from eyechart.evaluators.results.finished_runs import TaskKey
from eyechart.hub_cards.leaderboard.entries import BoardRow
from eyechart.metrics.scores import Unit
from eyechart.metrics.scoring.errors import ScoringError
from eyechart.metrics.scoring.inputs import FloatArray
from eyechart.metrics.scoring.statistics.bootstrap import part_generator
from eyechart.metrics.scoring.statistics.intervals import NORMAL
from eyechart.metrics.scoring.statistics.significance import holm, paired_bootstrap


def paired_p_values(rows: Sequence[BoardRow]) -> FloatArray:
    """p-values of the difference of each two models by the board's headline, corrected over all of them (Holm).

    Args:
        rows: k rows of one board.

    Returns:
        Shape (k, k), symmetric; where two models have no answers to the same items, from their intervals; nan where one
        of them has none.
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
    for i, j in combinations(range(len(rows)), 2):
        if math.isnan(found[i, j]):
            found[i, j] = _unpaired(rows[i], rows[j])
    tested = np.argwhere(~np.isnan(found)).tolist()
    for (i, j), p_value in zip(tested, holm([found[i, j] for i, j in tested]) if tested else (), strict=True):
        found[i, j] = found[j, i] = p_value
    return found


def _unpaired(one: BoardRow, other: BoardRow) -> float:
    """The p-value of a difference as of models that met other items, from their intervals; nan without these.

    It is too large for models that are right on the same items, so that answers which are not handed in gain nothing.
    """
    (a, *first), (b, *second) = (row.board.main.of(row.result.scores or {}) for row in (one, other))
    if any(not is_number(end) for end in (*first, *second)):
        return math.nan
    # Of the better one the lower half of the interval faces the other, and of the worse one the upper half.
    (better, low), (worse, high) = ((a, first[0]), (b, second[1])) if a >= b else ((b, second[0]), (a, first[1]))
    deviation = math.hypot(better - low, high - worse) / NORMAL
    return float(2 * ndtr(-(better - worse) / deviation)) if deviation > 0 else math.nan


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
    return share_test(right, also, images, shared_clusters((one, other), shared))[1].p_value


def _replicates(key: str, items: Sequence[ItemScores]) -> FloatArray | None:
    """Of one model's score, the mean over the databases of an average; the same resamples for every model."""
    if not items:
        return None
    parts = [
        score_replicates(key, [one], sorted(one.values[key]), part_generator(0, f"{key}/{number}"))[0]
        for number, one in enumerate(items)
    ]
    return np.mean(parts, axis=0)
