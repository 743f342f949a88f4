"""The item scores of a board's entries, and where entries disagree about the items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.comparison.item_scores import ItemScores, SharedItems, items_of, shared_clusters, shared_items
from eyechart.evaluators.results.finished_runs import TaskKey
from eyechart.evaluators.results.results_file import AVERAGE
from eyechart.hub_cards.leaderboard.entries import BoardRow

NEARLY_ALL = 0.99
"""The share of each entry's items that both must have for a paired test."""


@dataclass(frozen=True)
class Part:
    """An entry's items on one dataset."""

    place: str
    """Names task, data and score, and so seeds the bootstrap in the same way as in `compare`."""
    key: str
    """Key of the board's headline score."""
    scores: ItemScores

    @cached_property
    def items(self) -> frozenset[str]:
        """The ids of the items that have the score."""
        return frozenset(self.scores.values[self.key])

    @cached_property
    def names(self) -> list[str]:
        """The same ids, in the order in which items are compared."""
        return sorted(self.items)

    @cached_property
    def partition(self) -> list[int]:
        """The cluster number of each item; cluster names do not matter."""
        return shared_clusters([self.scores], self.names).numbers.tolist()

    @cached_property
    def unclustered(self) -> frozenset[str]:
        """The items whose cluster is unknown."""
        return frozenset(item for item in self.items if item in self.scores.clusters and not self.scores.clusters[item])


def board_items(rows: Sequence[BoardRow]) -> list[list[Part]]:
    """The item scores of each entry: one part, or for an average one part for each database.

    If an entry names no clusters (such as images), those of the first entry that names them count.

    Args:
        rows: The rows of one board.

    Returns:
        A list of parts for each row; empty for an entry without predictions.
    """
    found = [_parts(row) for row in rows]
    known: dict[str, dict[str, str]] = {}
    for parts in found:
        for part in parts:
            names = {item: name for item, name in part.scores.clusters.items() if name}
            known[part.place] = names | known.get(part.place, {})
    return [[_completed(part, known[part.place]) for part in parts] for parts in found]


def _completed(part: Part, known: Mapping[str, str]) -> Part:
    clusters = part.scores.clusters
    # If an entry names some clusters, the others may be any cluster: nothing is filled in.
    if not clusters or any(clusters.values()):
        return part
    return replace(part, scores=replace(part.scores, clusters={item: known.get(item) for item in clusters}))


def _parts(row: BoardRow) -> list[Part]:
    result, run = row.result, row.entry.run
    place, key = TaskKey(result.task, result.dataset, result.split), row.board.main.score.key
    keys = [key for key in run.tasks if key.task == place.task and key.dataset != AVERAGE]
    try:
        found = [(one, items_of(run, one)) for one in sorted(keys if place.dataset == AVERAGE else [place])]
    except DataError:
        return []
    if any(key not in items.values for _, items in found):
        return []
    return [Part("/".join((*one[:3], key)), key, items) for one, items in found]


@dataclass(frozen=True)
class Disagreement:
    """How the items of two entries differ."""

    shared: float
    """The share of items that both have, relative to the larger entry; the minimum over parts. 0 if either has no
    predictions."""
    changed: int
    """The number of common items whose label (correct answer or opinion score) differs."""
    regrouped: bool
    """Whether they group the common items into different clusters."""
    has_answers: bool
    """Whether both have predictions."""

    @property
    def allows_test(self) -> bool:
        """Whether a paired test of the difference is valid."""
        return self.shared >= NEARLY_ALL and not self.changed

    def notes(self) -> list[tuple[str, str]]:
        """How the items differ: tags, and sentences in which `{}` stands for the names of the other models."""
        if not self.has_answers:
            return []
        found = []
        if self.shared < NEARLY_ALL:
            text = f"only {100 * self.shared:.2f} % of the items in common with {{}}: compared by intervals"
            found.append(("few common items", text))
        elif self.shared < 1:
            text = f"paired test on the {100 * self.shared:.2f} % of the items in common with {{}}"
            found.append(("items differ", text))
        if self.changed:
            items = f"{self.changed:,} item{'' if self.changed == 1 else 's'}"
            found.append(("answers differ", f"reference differs from {{}} for {items}: compared by intervals"))
        if self.regrouped and self.allows_test:
            text = "groups items by image differently than {}: the larger p-value of both groupings counts"
            found.append(("groups differ", text))
        return found


def compare_items(first: Sequence[Part], second: Sequence[Part]) -> Disagreement:
    """Find out how the items of two entries differ.

    Args:
        first: The parts of an entry, from `board_items`.
        second: The parts of another entry.
    """
    if not first or [part.place for part in first] != [part.place for part in second]:
        return Disagreement(0.0, 0, False, bool(first and second))
    pairs = list(zip(first, second, strict=True))
    shared = [shared_items([part.scores for part in pair], pair[0].key) for pair in pairs]
    return Disagreement(
        min(items.share for items in shared),
        sum(len(items.changed) for items in shared),
        any(_is_regrouped(*pair, items) for pair, items in zip(pairs, shared, strict=True)),
        True,
    )


def _is_regrouped(one: Part, other: Part, shared: SharedItems) -> bool:
    if shared.share == 1:
        return one.partition != other.partition
    mine, theirs = (shared_clusters([part.scores], shared.ids).numbers for part in (one, other))
    return mine.tolist() != theirs.tolist()
