"""The table that a run prints: one row per score, with interval, random-guess level and n."""

import math
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from eyechart.evaluators.types import MINI
from eyechart.evaluators.types import Evaluation


@dataclass(frozen=True)
class _Score:
    """How one key of a metric's result is shown."""

    key: str
    label: str
    interval: str = ""
    """Key of its 95 % interval."""
    random_guess: str | float = ""
    """Key of its level for random answers, or that level itself."""
    percent: bool = False


_SCORES = (
    _Score("accuracy", "accuracy", "accuracy_ci95", "random_guess", percent=True),
    _Score("srcc", "SRCC", "srcc_ci95", 0.0),
    _Score("plcc", "PLCC", "plcc_ci95", 0.0),
)


def score_table(evaluations: Sequence[Evaluation], failed: Sequence[tuple[str, str]]) -> Table:
    """Lay out a run.

    Args:
        evaluations: The tasks that finished.
        failed: (task, error) of those that did not.
    """
    table = Table(title=_title(evaluations), title_justify="left")
    table.add_column("task", no_wrap=True)
    table.add_column("data")
    table.add_column("score")
    for name in ("value", "95 % interval", "random guess", "n"):
        table.add_column(name, justify="right", no_wrap=True)
    for evaluation in evaluations:
        data = f"{evaluation.subset} ({evaluation.split}{', mini' if evaluation.settings['data']['is_mini'] else ''})"
        name = evaluation.task
        for cells in _rows(evaluation):
            table.add_row(name, data, *cells)
            name = data = ""
        table.add_section()
    for task, error in failed:
        table.add_row(task, "", f"[red]failed:[/red] {_escape(error.splitlines()[0])}")
    return table


def notes(evaluations: Sequence[Evaluation]) -> list[str]:
    """What the reader of the table has to know: private answers, items left out, mini data."""
    lines = [f"{e.task}: {e.note}" for e in evaluations if e.note]
    for evaluation in evaluations:
        count = len(evaluation.left_out)
        if count:
            first = evaluation.left_out[0]
            lines.append(
                f"{evaluation.task}: {count} item{'s' if count > 1 else ''} left out, listed in the results; "
                f"the first: '{first['id']}': {first['reason']}"
            )
    if any(e.settings["data"]["is_mini"] for e in evaluations):
        lines.append(
            f"A {MINI} holds procedurally drawn pictures, so these scores are not comparable with published ones. "
            "Give the real data with --data-dir."
        )
    return lines


def _title(evaluations: Sequence[Evaluation]) -> str:
    models = sorted({e.model for e in evaluations})
    return f"model: {', '.join(models)}" if models else ""


def _rows(evaluation: Evaluation) -> Iterator[tuple[str, str, str, str, str]]:
    if evaluation.scores is None:
        yield ("no score: private answers", "", "", "", str(len(evaluation.predictions)))
        return
    yield from _score_rows(evaluation.scores, "", evaluation.scores.get("n"))
    for key, groups in evaluation.scores.items():
        if key.startswith("by_") and isinstance(groups, Mapping):
            for value, scores in groups.items():
                yield from _score_rows(scores, f"{value}", scores.get("n"))


def _score_rows(scores: Mapping[str, Any], group: str, n: int | None) -> Iterator[tuple[str, str, str, str, str]]:
    for score in _SCORES:
        if score.key in scores:
            guess = score.random_guess
            level = scores.get(guess) if isinstance(guess, str) else guess
            yield (
                f"  {group}: {score.label}" if group else score.label,
                _number(scores[score.key], score.percent),
                _interval(scores.get(score.interval), score.percent),
                _number(level, score.percent),
                "" if n is None else f"{n:,}",
            )


def _number(value: float | None, percent: bool) -> str:
    if value is None:
        return ""
    if not math.isfinite(value):
        return "undefined"
    return f"{100 * value:.2f} %" if percent else f"{value:.3f}"


def _interval(value: Sequence[float] | None, percent: bool) -> str:
    if not value or not all(math.isfinite(v) for v in value):
        return ""
    low, high = value
    return f"{100 * low:.2f} to {100 * high:.2f}" if percent else f"{low:.3f} to {high:.3f}"


def _escape(text: str) -> str:
    return text.replace("[", "\\[")
