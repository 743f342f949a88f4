"""What the tables of all papers are made of."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eyechart.evaluators.report.runs import TaskKey, number
from eyechart.evaluators.results.results_file import TaskResult

UNDEFINED = "\N{EN DASH}"
"""Stands where there is no score."""


@dataclass(frozen=True)
class PaperTable:
    """One table."""

    key: str
    """File name without ending."""
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    labels: int = 1
    """How many of the first columns hold texts."""


Results = list[tuple[str, TaskResult]]
"""The scored results of one task, each with the label of its run."""
ResultsByKey = list[tuple[str, Mapping[TaskKey, TaskResult]]]
"""All scored results of a task, those of a run together, each run with its label."""
QUESTION_TYPES = {"yes-or-no": "Yes-or-No", "what": "What", "how": "How"}


def choice_table(
    key: TaskKey, paper: str, corner: str, groups: Mapping[str, Mapping[str, str]], results: Results, number_of: str
) -> PaperTable:
    """Accuracy by groups and overall, the random-guess level first."""
    paths: list[tuple[str, ...]] = [(f"by_{group}", value) for group, names in groups.items() for value in names]
    paths.append(())
    head = [name for names in groups.values() for name in names.values()]
    guesses = {tuple(percent(result.scores, *path, "random_guess") for path in paths) for _, result in results}
    rows = [("random guess", *guess) for guess in guesses] if len(guesses) == 1 else []
    for label, result in results:
        rows.append((label, *(percent(result.scores, *path, "accuracy") for path in paths)))
    return table(key, number_of, paper, (corner, *head, "Overall"), rows)


def table(
    key: TaskKey,
    number_of: str,
    title: str,
    columns: Sequence[str],
    rows: Sequence[tuple[str, ...]],
    note: str = "",
    labels: int = 1,
) -> PaperTable:
    """A table of one task, its title and file name with what tells the task's tables apart."""
    return PaperTable(key.file_name(number_of), f"{title} ({key.title})", tuple(columns), tuple(rows), note, labels)


def parts(result: TaskResult, name: str, *, extras: bool = False) -> Mapping[str, Any]:
    """A breakdown of a result's scores, or of what else its answers tell; empty if it has none."""
    found = (result.diagnostics if extras else result.scores or {}).get(name)
    return found if isinstance(found, Mapping) else {}


def judges(results: Results) -> str:
    """Who judged, as a note below a table."""
    return f"Judged by {', '.join(sorted({str((r.scores or {}).get('judge')) for _, r in results}))}."


def percent(scores: Mapping[str, Any] | None, *path: str, digits: int = 2) -> str:
    """A fraction among some scores as a percentage."""
    return formatted(100 * number(scores, *path), digits, "%")


def decimal(digits: int, scores: Mapping[str, Any] | None, *path: str) -> str:
    """A number among some scores."""
    return formatted(number(scores, *path), digits)


def formatted(value: float, digits: int, unit: str = "") -> str:
    """A number as text, or what stands where there is none."""
    return f"{value:.{digits}f}{unit}" if math.isfinite(value) else UNDEFINED
