"""Paired tests between the models of a board, as in `eyechart compare`, on the items that both have.

If too few items are in common or references differ, their intervals are compared, as if on independent items.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import ndtr

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.comparison.differences import Resampled, bootstrap_test, resampled, share_test
from eyechart.evaluators.comparison.item_scores import ItemScores, SharedItems, items_of, shared_clusters, shared_items
from eyechart.evaluators.requests.values import is_number
from eyechart.evaluators.results.notes import Note, note
from eyechart.evaluators.results.results_file import AVERAGE
from eyechart.hub_cards.leaderboard.entries import BoardRow
from eyechart.hub_cards.recomputing import first_few
from eyechart.metrics.score_spec import ScoreSpec
from eyechart.metrics.scoring.errors import ScoringError
from eyechart.metrics.scoring.inputs import FloatArray
from eyechart.metrics.scoring.statistics.intervals import NORMAL
from eyechart.metrics.scoring.statistics.ranking import adjusted_pairs
from eyechart.metrics.scoring.statistics.shares import Clusters

NEARLY_ALL = 0.99
"""The share of each entry's items that both must have for a paired test."""
Parts = dict[str, ItemScores]
"""An entry's items on each dataset, by the name that seeds the bootstrap as in `compare`; empty without predictions."""


@dataclass(frozen=True)
class PairedTests:
    """Tests of the difference in the headline score between every two models of a board."""

    p_values: FloatArray
    """Holm-adjusted, shape (k, k), symmetric; 1 if two models have too few common items for a test; nan if a model has
    neither predictions nor an interval."""
    n: int
    """Number of tests."""
    notes: list[list[Note]]
    """For each model, how its items differ from those of others, with the consequence."""


def paired_tests(rows: Sequence[BoardRow]) -> PairedTests:
    """Test every two rows of a board."""
    entries = [_parts(row) for row in rows]
    # Entries that name no clusters, such as images, have those of the first entry that does.
    known: dict[str, dict[str, str]] = {}
    for name, scores in (part for parts in reversed(entries) for part in parts.items()):
        known.setdefault(name, {}).update((item, cluster) for item, cluster in scores.clusters.items() if cluster)
    p_values = np.full((len(rows), len(rows)), np.nan)
    undecided = np.zeros_like(p_values, dtype=bool)
    # By row, code and number, the other models.
    findings: dict[tuple[int, str, int | str], list[str]] = {}
    samples: dict[Any, Resampled] = {}
    for i, j in combinations(range(len(rows)), 2):
        pair = _Pair(rows[i].board.main.score, (i, j), (entries[i], entries[j]), known, samples)
        p_values[i, j] = pair.p_value() if pair.is_testable else _unpaired(rows[i], rows[j])
        undecided[i, j] = undecided[j, i] = pair.is_testable and math.isnan(p_values[i, j])
        for code, n in pair.findings():
            findings.setdefault((i, code, n), []).append(rows[j].result.model)
            findings.setdefault((j, code, n), []).append(rows[i].result.model)
    notes: list[list[Note]] = [[] for _ in rows]
    for (index, code, n), models in findings.items():
        notes[index].append(note(code, n=n, models=", ".join(first_few(models, 3))))
    for row, of_row, parts in zip(rows, notes, entries, strict=True):
        items = [(name, item) for name, scores in parts.items() for item in scores.values[row.board.main.score]]
        if unknown := sum(item in parts[name].clusters and item not in known[name] for name, item in items):
            of_row.append(note("images_unknown", n=unknown, of=len(items)))
    p_holm = np.where(undecided, 1.0, adjusted_pairs(p_values))
    return PairedTests(p_holm, int(np.sum(~np.isnan(p_values))), notes)


def _parts(row: BoardRow) -> Parts:
    """A row's items: one part, or for an average one part for each database."""
    result, run, score = row.result, row.entry.run, row.board.main.score
    same = [name for name in run.tasks if (name.task, name.split) == (result.task, result.split)]
    keys = sorted(name for name in same if name.dataset != AVERAGE and result.dataset in (name.dataset, AVERAGE))
    try:
        parts = {"/".join((*name[:3], score.key)): items_of(run, name) for name in keys}
    except DataError:
        return {}
    return parts if all(score in scores.values for scores in parts.values()) else {}


@dataclass(frozen=True)
class _Pair:
    """The items of two entries."""

    score: ScoreSpec
    numbers: tuple[int, int]
    entries: tuple[Parts, Parts]
    known: Mapping[str, Mapping[str, str]]
    """The clusters of all entries, by part and item."""
    resampled: dict[Any, Resampled]
    """The scores of all pairs, so that each entry is resampled only once."""

    @cached_property
    def shared(self) -> dict[str, SharedItems]:
        first, second = self.entries
        parts = first if first.keys() == second.keys() else ()
        return {name: shared_items((first[name], second[name]), self.score) for name in parts}

    @cached_property
    def share(self) -> float:
        """The share of items that both have, relative to the larger entry; the minimum over parts."""
        return min((items.share for items in self.shared.values()), default=0.0)

    @property
    def is_testable(self) -> bool:
        """Whether a paired test of the difference is valid."""
        return self.share >= NEARLY_ALL and not any(items.changed for items in self.shared.values())

    @cached_property
    def groupings(self) -> list[dict[str, Clusters]]:
        """The clusters of the common items of each part, as each entry has them; one if they agree but for names."""
        others = {name: ItemScores({}, {}, clusters=clusters) for name, clusters in self.known.items()}
        first, second = (
            {name: shared_clusters([entry[name], others[name]], items.ids) for name, items in self.shared.items()}
            for entry in self.entries
        )
        agree = all(np.array_equal(first[name].numbers, second[name].numbers) for name in first)
        return [first] if agree else [first, second]

    def findings(self) -> Iterator[tuple[str, int | str]]:
        """How the items differ: codes of notes, and the share or number of items."""
        if not all(self.entries):
            return
        if self.share < 1:
            yield "few_common_items" if self.share < NEARLY_ALL else "items_differ", f"{100 * self.share:.2f} %"
        if changed := sum(len(items.changed) for items in self.shared.values()):
            yield "answers_differ", changed
        if self.is_testable and len(self.groupings) > 1:
            yield "groups_differ", ""

    def p_value(self) -> float:
        """The p-value of the difference, the larger one of both groupings; nan if there are too few items."""
        try:
            return max(map(self._p_value, self.groupings))
        except ScoringError:
            return math.nan

    def _p_value(self, grouping: Mapping[str, Clusters]) -> float:
        if not self.score.is_percentage:
            return bootstrap_test(self._resampled(0, grouping), self._resampled(1, grouping)).p_value
        ((name, clusters),) = grouping.items()
        test, _ = share_test(self.score, [entry[name] for entry in self.entries], self.shared[name].ids, clusters)
        return test.p_value

    def _resampled(self, side: int, grouping: Mapping[str, Clusters]) -> Resampled:
        """An entry's score and its replicates: the mean over parts."""
        parts = []
        for name, clusters in grouping.items():
            ids = self.shared[name].ids
            key = (name, self.numbers[side], clusters.numbers.tobytes(), tuple(ids))
            if key not in self.resampled:
                self.resampled[key] = resampled(self.score, self.entries[side][name], ids, clusters, 0, name)
            parts.append(self.resampled[key])
        replicates = np.mean([part.replicates for part in parts], axis=0)
        return Resampled(float(np.mean([part.score for part in parts])), replicates, min(part.units for part in parts))


def _unpaired(first: BoardRow, second: BoardRow) -> float:
    """The p-value of the difference from the models' intervals, as if on independent items; nan without them."""
    rows = [row.board.main.of(row.result.scores or {}) for row in (first, second)]
    if any(not is_number(value) for row in rows for value in row):
        return math.nan
    # The lower half of the better model's interval faces the upper half of the worse model's. This is conservative for
    # models that are correct on the same items, so withholding predictions gives no advantage.
    (worse, _, high), (better, low, _) = sorted(rows)
    deviation = math.hypot(better - low, high - worse) / NORMAL
    return float(2 * ndtr(-(better - worse) / deviation)) if deviation > 0 else math.nan
