"""Access to the scores of finished runs."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.results.sources import is_mini_data
from eyechart.metrics.scoring.judging.lexical import LEXICAL

BY_WORDS = f"Scored by word overlap ({LEXICAL}), not by a judge."

Scored = list[tuple[str, TaskResult]]
"""The results of one task that have scores, each with the label of its run."""


def is_mini(result: TaskResult) -> bool:
    """Whether a result is on synthetic demo data."""
    return is_mini_data(result.settings)


def group_values(scored: Scored) -> dict[str, list[str]]:
    """The values of each group in the breakdowns of some results; crossed groups are left out."""
    found: dict[str, dict[str, None]] = {}
    for _, result in scored:
        for key, parts in (result.scores or {}).items():
            if key.startswith("by_") and "_by_" not in key and isinstance(parts, Mapping):
                found.setdefault(key.removeprefix("by_"), {}).update(dict.fromkeys(parts))
    return {group: list(values) for group, values in found.items()}


def parts_at(scored: Scored, path: Sequence[str]) -> Mapping[str, Any]:
    """The scores of a part, such as `("by_question_type", "what")`, in the first result that has it."""
    found = (_value(result.scores, path) for _, result in scored)
    return next((part for part in found if isinstance(part, Mapping)), {})


def judged_by(scored: Scored) -> str:
    """Who scored the descriptions, in one sentence."""
    names = sorted({str((result.scores or {}).get("judge")) for _, result in scored})
    judges = ", ".join(name for name in names if name != LEXICAL)
    if LEXICAL not in names:
        return f"Judged by {judges}."
    return f"Judged by {judges}, or scored by word overlap ({LEXICAL})." if judges else BY_WORDS


def number(scores: Mapping[str, Any] | None, *path: str) -> float:
    """A score by its nested keys; nan if missing or undefined."""
    value = _value(scores, path)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan


def interval(scores: Mapping[str, Any] | None, *path: str) -> tuple[float, float] | None:
    """The 95 % interval of a score by the score's nested keys; None if missing or undefined."""
    ends = _value(scores, (*path[:-1], f"{path[-1]}_ci95"))
    return None if ends is None or None in ends else (float(ends[0]), float(ends[1]))


def level_of(level: Any, factor: float) -> float:
    """A chance level on the scale of a chart; nan if unknown."""
    return factor * float(level) if isinstance(level, int | float) else math.nan


def times(factor: float, ends: tuple[float, float] | None) -> tuple[float, float] | None:
    """An interval on the scale of a chart."""
    return None if ends is None else (factor * ends[0], factor * ends[1])


def _value(scores: Mapping[str, Any] | None, path: Sequence[str]) -> Any:
    value: Any = scores
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
