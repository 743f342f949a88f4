"""The mean of numbers that a function of the task's author gave to replies, with its 95 % interval."""

from collections.abc import Mapping, Sequence
from typing import Any

from eyechart.metrics.scoring.inputs import check_lengths, check_numbers, map_groups
from eyechart.metrics.scoring.statistics.intervals import listed_intervals
from eyechart.metrics.scoring.statistics.shares import Clusters, bounded_mean_interval, share_interval


def own_scores(
    values: Sequence[float],
    limits: tuple[float, float],
    groups: Mapping[str, Sequence[str]] | None = None,
    clusters: Sequence[str | None] | None = None,
) -> dict[str, Any]:
    """Mean of own scores, shape (n,), overall and by group, with its 95 % interval.

    The interval is Wilson's if the limits are 0 and 1 and there are no other numbers, else `bounded_mean_interval`.
    `clusters` has the cluster of each item, such as its image; None if items are independent.

    Examples:
        >>> found = own_scores([1, 1, 0, 1], (0, 1), {"camera": ["old", "old", "old", "new"]})
        >>> found["own_score"], [round(end, 3) for end in found["own_score_ci95"]], found["by_camera"]["new"]["n"]
        (0.75, [0.301, 0.954], 1)
    """
    numbers = check_numbers("values", values)
    shared = Clusters.of(clusters, check_lengths(values=numbers))

    def part(where: str, rows: Sequence[int]) -> dict[str, Any]:
        own, together = numbers[list(rows)], shared.select(rows)
        if tuple(limits) == (0, 1) and set(own.tolist()) <= {0, 1}:
            interval = share_interval(own, together)
        else:
            interval = bounded_mean_interval(own, limits, together)
        return {"own_score": float(own.mean()), **listed_intervals({"own_score": interval}), "n": len(own)}

    whole = part("overall", range(len(numbers)))
    return {**whole, **map_groups(groups or {}, part), "own_score_range": list(limits)}
