"""Ranks that do not tell apart what the scores do not."""

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
    """From 1 on; behind a shared place as many are left out as share it."""
    shared: bool
    """Whether another model has the same place."""


def ranks(scores: Sequence[Sequence[Any]], column: Column, p_values: FloatArray | None = None) -> list[Rank]:
    """Rank scores, of which higher ones are better, as `eyechart compare` does.

    The rank of a model is one more than the number of models that are better than it beyond chance. Two models are told
    apart by a paired test of their answers, or by their intervals where answers were not handed in; where there is no
    test, by the digits that are printed.

    Args:
        scores: `[value, low, high]` each; the bounds are None where there is no interval.
        column: How they are printed.
        p_values: Of these tests, corrected for their number, shape (k, k); nan where there is no test, None if
            nothing was tested.

    Returns:
        One for each score, in the order given.

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
