"""What the items of a board's entries gave, and where entries disagree on what these items are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.comparison.compare import items_of
from eyechart.evaluators.comparison.items import ItemScores, shared_clusters
from eyechart.evaluators.results.evaluation import AVERAGE
from eyechart.evaluators.results.finished_runs import TaskKey
from eyechart.hub_cards.leaderboard.entries import BoardRow

NEARLY_ALL = 0.99
"""Share of either entry's items that both must have for a paired test."""


@dataclass(frozen=True)
class Part:
    """An entry's items on one data set."""

    place: str
    """Of the task, the data and the score, from which the draws of a bootstrap follow, as those of `compare` do."""
    key: str
    """Of the board's headline."""
    scores: ItemScores

    @cached_property
    def items(self) -> frozenset[str]:
        """The items that have the score."""
        return frozenset(self.scores.values[self.key])

    @cached_property
    def names(self) -> list[str]:
        """The same in the order in which they are compared."""
        return sorted(self.items)

    @cached_property
    def partition(self) -> list[int]:
        """Which items share something, as numbers, whatever the shared thing is called."""
        return shared_clusters([self.scores], self.names).numbers.tolist()

    @cached_property
    def unread(self) -> frozenset[str]:
        """The items of which nothing says what they share."""
        return frozenset(item for item in self.items if item in self.scores.clusters and not self.scores.clusters[item])


def board_items(rows: Sequence[BoardRow]) -> list[list[Part]]:
    """What the items of each entry gave: one part, or for an average one for each of its databases.

    Entries that do not say what an item shares with others, such as its image, take it from the first one that does.

    Args:
        rows: Of one board.

    Returns:
        Empty for an entry without answers.
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
    # Where some items are known, those that are not may lie in any cluster.
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
    """The share of either's items that both have, the smallest of all parts; 0 where one has no answers."""
    changed: int
    """Items that both have, with other right answers or opinion scores."""
    regrouped: bool
    """Whether they say of other items that these share something."""
    has_answers: bool
    """Whether both have answers."""

    @property
    def allows_test(self) -> bool:
        """Whether a paired test says something of the difference."""
        return self.shared >= NEARLY_ALL and not self.changed

    def words(self) -> list[str]:
        """In which ways items differ and what follows; the names of the other models belong in place of `{}`."""
        if not self.has_answers:
            return []
        found = []
        if self.shared < NEARLY_ALL:
            found.append(f"only {100 * self.shared:.2f} % of the items in common with {{}}: tested by intervals")
        elif self.shared < 1:
            found.append(f"tested on the {100 * self.shared:.2f} % of the items in common with {{}}")
        if self.changed:
            items = f"{self.changed:,} item{'' if self.changed == 1 else 's'}"
            found.append(f"another right answer to {items} than {{}}: tested by intervals")
        if self.regrouped and self.allows_test:
            found.append("other items share an image than for {}: the larger p-value of both groupings counts")
        return found


def compare_items(first: Sequence[Part], second: Sequence[Part]) -> Disagreement:
    """Where two entries disagree on what their items are.

    Args:
        first: The parts of an entry, of `board_items`.
        second: Those of another one.
    """
    if not first or [part.place for part in first] != [part.place for part in second]:
        return Disagreement(0.0, 0, False, bool(first and second))
    pairs = list(zip(first, second, strict=True))
    return Disagreement(
        min(len(one.items & other.items) / max(len(one.items), len(other.items), 1) for one, other in pairs),
        sum(_n_changed(one, other) for one, other in pairs),
        any(_is_regrouped(one, other) for one, other in pairs),
        True,
    )


def _n_changed(one: Part, other: Part) -> int:
    mine, theirs = one.scores.references, other.scores.references
    if mine == theirs:
        return 0
    return sum(mine.get(item) != theirs.get(item) for item in one.items & other.items)


def _is_regrouped(one: Part, other: Part) -> bool:
    if one.names == other.names:
        return one.partition != other.partition
    shared = sorted(one.items & other.items)
    mine, theirs = (shared_clusters([part.scores], shared).numbers for part in (one, other))
    return mine.tolist() != theirs.tolist()
