"""Ranks that do not tell apart what the scores do not."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from eyechart.hub_cards.leaderboard.boards.board import Column


@dataclass(frozen=True)
class Rank:
    """A place on a board."""

    place: int
    """From 1 on; behind a shared place as many are left out as share it."""
    shared: bool
    """Whether another model has the same place."""


def ranks(scores: Sequence[Sequence[Any]], column: Column) -> list[Rank]:
    """Rank scores, of which higher ones are better.

    From the best score down, a score shares the rank of the first one of that rank if the latter's 95 % interval holds
    it, or if both are printed with the same digits. So no model shares a rank with one that its interval excludes,
    whatever lies between them; where there is no interval, only equal digits make a tie.

    Args:
        scores: `[value, low, high]` each; the bounds are None where there is no interval.
        column: How they are printed.

    Returns:
        One for each score, in the order given.

    Examples:
        >>> from eyechart.metrics.scores import spec
        >>> scores = [(0.60, 0.5, 0.7), (0.49, None, None), (0.52, 0.4, 0.6)]
        >>> found = ranks(scores, Column(spec("accuracy"), "Accuracy"))
        >>> [(rank.place, rank.shared) for rank in found]
        [(1, True), (3, False), (1, True)]
    """
    order = sorted(range(len(scores)), key=lambda i: -scores[i][0])
    places: list[int] = [0] * len(scores)
    leader = -1
    for position, index in enumerate(order):
        if leader < 0 or not _ties(scores[leader], scores[index][0], column):
            leader = index
            places[index] = position + 1
        else:
            places[index] = places[leader]
    return [Rank(place, places.count(place) > 1) for place in places]


def _ties(leader: Sequence[Any], score: float, column: Column) -> bool:
    value, low, _ = leader
    return (low is not None and low <= score) or column.shown(value) == column.shown(score)
