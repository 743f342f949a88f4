"""Ranks in which models share a place unless their scores differ significantly."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eyechart.hub_cards.leaderboard.boards.board import Column
from eyechart.metrics.scoring.inputs import FloatArray
from eyechart.metrics.scoring.statistics.ranking import places


@dataclass(frozen=True)
class Rank:
    """A place on a board."""

    place: int
    """One more than the number of models that are significantly better."""
    shared: bool
    """Whether another model has the same place."""


def ranks(scores: Sequence[Sequence[Any]], column: Column, p_values: FloatArray | None = None) -> list[Rank]:
    """Rank scores as `eyechart compare` does; higher scores are better.

    A model's rank is one more than the number of models that are significantly better. Two models are compared by a
    paired test of their predictions; without predictions, by their intervals; without a test, by the printed digits.

    Args:
        scores: `[value, low, high]` of each model; bounds are None if there is no interval.
        column: The column that prints the scores.
        p_values: The Holm-adjusted p-values of these tests, shape (k, k); nan for pairs without a test. None if there
            are no tests.

    Returns:
        One rank for each score, in the same order.

    Examples:
        >>> from eyechart.metrics.scores import spec
        >>> scores = [(0.60, 0.5, 0.7), (0.49, None, None), (0.60, 0.5, 0.7)]
        >>> found = ranks(scores, Column(spec("accuracy"), "Accuracy"))
        >>> [(rank.place, rank.shared) for rank in found]
        [(1, True), (3, False), (1, True)]
    """
    values = np.array([value for value, *_ in scores], dtype=np.float64)
    tested = np.full((len(scores), len(scores)), np.nan) if p_values is None else p_values.copy()
    for i, j in np.argwhere(np.isnan(tested)).tolist():
        better, worse = (i, j) if values[i] >= values[j] else (j, i)
        tested[i, j] = 1.0 if column.shown(values[better]) == column.shown(values[worse]) else 0.0
    found = places(values, tested)
    return [Rank(place, found.count(place) > 1) for place in found]
