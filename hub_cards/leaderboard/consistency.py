"""Whether the scores of a result can be true together: each beside its interval, and the whole beside its parts.

Only what follows from how the metrics count is checked, with room for rounding, so that no genuine result is refused.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from eyechart.evaluators.evaluation.averages import AVERAGE, AVERAGED_SCORES
from eyechart.evaluators.requests.values import brief, is_number
from eyechart.hub_cards.leaderboard.board import Board
from eyechart.hub_cards.leaderboard.columns import Column, look_up
from eyechart.metrics.scoring.statistics.intervals import wilson_interval

_TOLERANCE = 1e-6
"""For scores in [0, 1]; far above what rounding does to a sum, far below what any column shows."""
_PAIRS = "n_pairs"
_EQUAL = "equal_quality"
_MOST_EQUAL = 0.1
"""Pairs of equal quality as a share of all; of those that the authors' lists give, at most one in forty is."""
_MOST_ITEMS = 10**9
_WIDEST = 12.0
"""Width of the interval of an SRCC times the root of the number of images. Resamples of opinion scores give some 4, and
7 where all but a few of the predictions are equal."""


@dataclass(frozen=True)
class _Share:
    """What a score is a share of."""

    count: str
    """Key of the number of items."""
    without: str = ""
    """Key of the number of those that are not counted."""
    scale: int = 1
    """What all of them are: 1, or 100 where the score is a percentage as it stands."""

    def items(self, scores: Mapping[str, Any]) -> int | None:
        """The number of items counted; None where the scores do not tell it."""
        everything, others = scores.get(self.count), scores.get(self.without) if self.without else 0
        if not (is_number(everything) and is_number(others) and 0 <= others <= everything <= _MOST_ITEMS):
            return None
        return int(everything) - int(others)

    def interval(self, value: float, items: int) -> list[float] | None:
        """The interval of a share of so many items; None where no number of them is that share."""
        hits = round(value / self.scale * items)
        if not 0 <= hits <= items or abs(self.scale * hits / items - value) > _TOLERANCE * self.scale:
            return None
        return [self.scale * end for end in wilson_interval(hits, items)]


_SHARES: Mapping[str, _Share] = {
    "accuracy": _Share("n"),
    "circular_accuracy": _Share("n_questions"),
    "vanilla_accuracy": _Share("n_vanilla"),
    **dict.fromkeys(("score_cc", "score_rc", "score_sa"), _Share("n", scale=100)),
    "answer_rate": _Share("n"),
    "answer_accuracy": _Share("n", without="n_refused"),
    "consistency": _Share(_PAIRS),
    "accuracy_all": _Share(_PAIRS, without=_EQUAL),
}
"""The scores of which items and Wilson interval are known, by their keys. The interval of `accuracy_consistent` is of
that kind too, but of a number of pairs that the scores do not tell."""


def inconsistencies(board: Board, scores: Mapping[str, Any]) -> Iterator[str]:
    """Every way in which scores contradict each other.

    Args:
        board: The board they are for.
        scores: Of a result from `read_results`, all in their ranges.

    Yields:
        The place, what stands there and what does not go with it.
    """
    for column in board.columns:
        if column.interval:
            yield from _interval_misfits(board, column, scores)
    yield from _part_misfits(scores)
    if board.count == _PAIRS:
        yield from _pair_misfits(scores)
    if board.subset == AVERAGE:
        yield from _average_misfits(board, scores)


def _interval_misfits(board: Board, column: Column, scores: Mapping[str, Any]) -> Iterator[str]:
    """Where an interval is not that of its score, or does not hold it."""
    value, given = look_up(scores, column.path), look_up(scores, column.interval)
    if not is_number(value):
        return
    place, its = (f"scores.{'.'.join(path)}" for path in (column.path, column.interval))
    share = _SHARES.get(column.path[-1])
    if share is not None:
        yield from _share_misfits(share, place, value, its, given, look_up(scores, column.path[:-1]))
    elif _is_of_small_pools(board, column):
        return
    elif not _holds(given, value):
        yield f"{place} is {brief(value)}, which lies outside {its}, {brief(given)}"
    elif column.path == ("srcc",) and (most := _widest(board, scores)) is not None and _width(given) > most:
        yield f"{its} is {brief(given)}; resamples of so many images give one of a width of at most {most:.3f}"


def _share_misfits(
    share: _Share, place: str, value: float, its: str, given: Any, scores: Mapping[str, Any]
) -> Iterator[str]:
    items = share.items(scores)
    if items is None:
        counts = " and ".join(filter(None, (share.count, share.without)))
        yield f"{place} is a share, and the numbers of its items are not there: {counts}"
        return
    expected = share.interval(value, items) if items else None
    if expected is None:
        yield f"{place} is {brief(value)}, which no number of {items:,} items gives"
    elif not _is_interval(given, expected, share.scale):
        yield f"{its} is {brief(given)}; the Wilson interval of that share of {items:,} items is {brief(expected)}"


def _is_interval(given: Any, expected: list[float], scale: int) -> bool:
    return isinstance(given, list) and all(
        is_number(end) and abs(end - right) <= _TOLERANCE * scale for end, right in zip(given, expected, strict=True)
    )


def _holds(given: Any, value: float) -> bool:
    """Whether an interval of resamples holds the score, or is undefined."""
    low, high = given or (None, None)
    return low is None or high is None or low - _TOLERANCE <= value <= high + _TOLERANCE


def _widest(board: Board, scores: Mapping[str, Any]) -> float | None:
    """The widest interval that an SRCC can have; None where the number of images is not told."""
    images = _Share(board.count).items(scores)
    return _WIDEST / math.sqrt(images) if images else None


def _width(given: Any) -> float:
    """The width of an interval; 0 where it is undefined."""
    low, high = given or (None, None)
    return 0.0 if low is None or high is None else high - low


def _is_of_small_pools(board: Board, column: Column) -> bool:
    """Whether a score is a mean over pools of five images: nothing makes the resampled means lie around it."""
    return board.count == _PAIRS and column.path[-1] in ("srcc", "plcc")


def _part_misfits(scores: Mapping[str, Any]) -> Iterator[str]:
    """Where a share of everything is not that of its parts together, which have all items between them."""
    groups = {key: list(parts.values()) for key, parts in scores.items() if _is_group(key, parts)}
    for name, share in _SHARES.items():
        whole, items = scores.get(name), share.items(scores)
        if not is_number(whole) or not items:
            continue
        for group, parts in groups.items():
            counts = [share.items(part) or 0 for part in parts]
            values = [part.get(name) for part, count in zip(parts, counts, strict=True) if count]
            # Parts of which less is told say nothing of the whole.
            if sum(counts) != items or not all(map(is_number, values)):
                continue
            mean = math.fsum(v * n for v, n in zip(values, filter(None, counts), strict=True)) / items
            if abs(mean - whole) > _TOLERANCE * share.scale:
                yield f"scores.{name} is {brief(whole)}; the parts in scores.{brief(group)[1:-1]} give {mean:.6f}"


def _is_group(key: str, parts: Any) -> bool:
    return key.startswith("by_") and isinstance(parts, Mapping) and all(isinstance(p, Mapping) for p in parts.values())


def _pair_misfits(scores: Mapping[str, Any]) -> Iterator[str]:
    """Where more pairs are right than consistent, or so many of equal quality that few are left to be right about."""
    pairs, unequal = _SHARES["consistency"].items(scores), _SHARES["accuracy_all"].items(scores)
    if pairs is None or unequal is None:
        return
    equal = pairs - unequal
    if equal > _MOST_EQUAL * pairs:
        yield f"scores.{_EQUAL} is {equal:,} of {pairs:,} pairs; in the authors' lists few are of equal quality"
    right, consistent = scores.get("accuracy_all"), scores.get("consistency")
    # The shares are of different numbers of pairs, so that the accuracy alone may be the higher one.
    if is_number(right) and is_number(consistent) and right * unequal > consistent * pairs + 0.5:
        yield (
            f"scores.accuracy_all is {brief(right)} and scores.consistency {brief(consistent)}: more pairs are right "
            "than consistent"
        )


def _average_misfits(board: Board, scores: Mapping[str, Any]) -> Iterator[str]:
    """Where an average is not that of the databases it names."""
    (databases,) = board.settings["databases"]
    for name in AVERAGED_SCORES:
        parts = [look_up(scores, ("by_database", database, name)) for database in databases]
        given = scores.get(name)
        if given is None:
            continue
        if not all(map(is_number, parts)):
            yield f"scores.by_database lacks {name} of some of {', '.join(databases)}"
        elif is_number(given) and abs(math.fsum(parts) / len(parts) - given) > _TOLERANCE:
            yield f"scores.{name} is {brief(given)}; the mean of its databases is {math.fsum(parts) / len(parts):.6f}"
