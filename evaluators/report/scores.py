"""Numbers among the scores of finished runs."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from eyechart.evaluators.results.results_file import TaskResult

Scored = list[tuple[str, TaskResult]]
"""The results of one task that have scores, each with the label of its run."""


def group_values(scored: Scored) -> dict[str, list[str]]:
    """The values of each group by which any of some results is broken down; crossed groups are left out."""
    found: dict[str, dict[str, None]] = {}
    for _, result in scored:
        for key, parts in (result.scores or {}).items():
            if key.startswith("by_") and "_by_" not in key and isinstance(parts, Mapping):
                found.setdefault(key.removeprefix("by_"), {}).update(dict.fromkeys(parts))
    return {group: list(values) for group, values in found.items()}


def number(scores: Mapping[str, Any] | None, *path: str) -> float:
    """A score by the names on the way to it; nan where it is absent or undefined."""
    value = _value(scores, path)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan


def interval(scores: Mapping[str, Any] | None, *path: str) -> tuple[float, float] | None:
    """A 95 % interval, likewise; None where it is absent or undefined."""
    ends = _value(scores, path)
    return None if ends is None or None in ends else (float(ends[0]), float(ends[1]))


def _value(scores: Mapping[str, Any] | None, path: Sequence[str]) -> Any:
    value: Any = scores
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
