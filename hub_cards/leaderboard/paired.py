"""Paired tests between the models of a board, from the predictions submitted with the results.

The tests and their bootstrap draws are those of `eyechart compare`, so both rank the same runs alike. Two models are
tested on the items that both have, if these are nearly all of their items. If too few items are in common or references
differ, a paired test is invalid: the models are compared by their intervals, as if on independent items.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import ndtr

from eyechart.evaluators.comparison.differences import share_test
from eyechart.evaluators.comparison.item_scores import ItemScores, shared_clusters, shared_items
from eyechart.evaluators.comparison.replicates import score_replicates
from eyechart.evaluators.requests.values import is_number
from eyechart.hub_cards.leaderboard.board_items import Disagreement, Part, board_items, compare_items
from eyechart.hub_cards.leaderboard.entries import BoardRow
from eyechart.metrics.scores import Unit, spec
from eyechart.metrics.scoring.errors import ScoringError
from eyechart.metrics.scoring.inputs import FloatArray
from eyechart.metrics.scoring.statistics.bootstrap import part_generator
from eyechart.metrics.scoring.statistics.intervals import NORMAL
from eyechart.metrics.scoring.statistics.ranking import adjusted_pairs
from eyechart.metrics.scoring.statistics.significance import paired_bootstrap

_NAMED = 3
"""Models that a note names; further models are only counted."""


@dataclass(frozen=True)
class PairedTests:
    """Tests of the difference in the headline score between every two models of a board."""

    p_values: FloatArray
    """Holm-adjusted, shape (k, k), symmetric; 1 if two models have too few common items for a test; nan if a model has
    neither predictions nor an interval."""
    n: int
    """Number of tests."""
    notes: list[list[tuple[str, str]]]
    """For each model, how its items differ from those of others: a tag, and a sentence with the consequence."""


def paired_tests(rows: Sequence[BoardRow]) -> PairedTests:
    """Test every two models.

    Args:
        rows: k rows of one board.
    """
    entries = board_items(rows)
    found = np.full((len(rows), len(rows)), np.nan)
    undecided = []
    noted: list[dict[tuple[str, str], list[str]]] = [{} for _ in rows]
    replicates: dict[int, FloatArray] = {}
    for i, j in combinations(range(len(rows)), 2):
        disagreement = compare_items(entries[i], entries[j])
        for note in disagreement.notes():
            noted[i].setdefault(note, []).append(rows[j].result.model)
            noted[j].setdefault(note, []).append(rows[i].result.model)
        if disagreement.allows_test:
            found[i, j] = _p_value(entries[i], entries[j], disagreement, replicates)
            undecided += [(i, j), (j, i)] if math.isnan(found[i, j]) else []
        else:
            found[i, j] = _unpaired(rows[i], rows[j])
    adjusted = adjusted_pairs(found)
    for pair in undecided:
        adjusted[pair] = 1.0
    notes = [[(tag, words.format(_listed(models))) for (tag, words), models in one.items()] for one in noted]
    for own, parts in zip(notes, entries, strict=True):
        unclustered, n = sum(len(part.unclustered) for part in parts), sum(len(part.items) for part in parts)
        if unclustered:
            text = f"which of {unclustered:,} of the {n:,} items share an image is unknown; they count as independent"
            own.append(("images unknown", text))
    return PairedTests(adjusted, int(np.sum(~np.isnan(found))), notes)


def _listed(models: Sequence[str]) -> str:
    more = len(models) - _NAMED
    return ", ".join(models[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _p_value(
    first: Sequence[Part], second: Sequence[Part], disagreement: Disagreement, replicates: dict[int, FloatArray]
) -> float:
    """The p-value of the difference of two entries; nan if there are too few items.

    If the entries group items into different clusters, the larger p-value of both groupings.

    Args:
        first: The parts of one entry.
        second: The parts of the other.
        disagreement: How their items differ.
        replicates: Bootstrap replicates by the `id` of their part, so that each part is resampled only once.
    """
    try:
        orders = [(first, second), (second, first)] if disagreement.regrouped else [(first, second)]
        if spec(first[0].key).unit in (Unit.FRACTION, Unit.PERCENT):
            return max(_share_p_value(one[0], other[0]) for one, other in orders)
        if disagreement.regrouped or disagreement.shared < 1:
            return max(_bootstrap_p_value(one, list(map(_gaps, one, other))) for one, other in orders)
        for part in (*first, *second):
            if id(part) not in replicates:
                replicates[id(part)] = _replicates(part.key, part.place, [part.scores], part.names)[0]
        gaps = [replicates[id(one)] - replicates[id(other)] for one, other in zip(first, second, strict=True)]
        return _bootstrap_p_value(first, gaps)
    except ScoringError:
        return math.nan


def _share_p_value(first: Part, second: Part) -> float:
    """The p-value on the common items, with the clusters of the first entry."""
    one, other = first.scores, second.scores
    shared = shared_items([one, other], first.key).ids
    right, also = (np.array([of.values[first.key][item] for item in shared], dtype=bool) for of in (one, other))
    images = [one.images[item] for item in shared] if one.images else []
    return share_test(right, also, images, shared_clusters((one, other), shared))[1].p_value


def _bootstrap_p_value(parts: Sequence[Part], gaps: Sequence[FloatArray]) -> float:
    """The p-value from replicates of the difference in each part; the score is the mean over parts."""
    units = len(set(parts[0].partition))
    return paired_bootstrap(0.0, np.mean(gaps, axis=0), len(parts[0].items), units).p_value


def _gaps(first: Part, second: Part) -> FloatArray:
    shared = shared_items([first.scores, second.scores], first.key).ids
    one, other = _replicates(first.key, first.place, [first.scores, second.scores], shared)
    return one - other


def _replicates(key: str, place: str, runs: Sequence[ItemScores], shared: Sequence[str]) -> FloatArray:
    return score_replicates(spec(key), runs, shared, part_generator(0, place))


def _unpaired(one: BoardRow, other: BoardRow) -> float:
    """The p-value of the difference of two models from their intervals, as if on independent items; nan without them.

    It is conservative for models that are correct on the same items, so withholding predictions gives no advantage.
    """
    (a, *first), (b, *second) = (row.board.main.of(row.result.scores or {}) for row in (one, other))
    if any(not is_number(end) for end in (*first, *second)):
        return math.nan
    # The lower half of the better model's interval faces the upper half of the worse model's.
    (better, low), (worse, high) = ((a, first[0]), (b, second[1])) if a >= b else ((b, second[0]), (a, first[1]))
    deviation = math.hypot(better - low, high - worse) / NORMAL
    return float(2 * ndtr(-(better - worse) / deviation)) if deviation > 0 else math.nan
