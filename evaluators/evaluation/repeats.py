"""Repeats: the same requests asked several times; each repeat is scored on its own, and all are summarized."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.evaluation.sampling import finite_scores
from eyechart.evaluators.protocols.choice.choice import Choice
from eyechart.evaluators.protocols.protocol import Protocol
from eyechart.evaluators.requests.types import Backend, OutputType
from eyechart.evaluators.results.items import MAIN, Item
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.metrics.score_spec import Unit
from eyechart.metrics.scores import specs_in
from eyechart.metrics.scoring.choices.repeats import repeat_scores


def check_repeats(repeats: int, task: str, output_type: OutputType, backend: Backend | None = None) -> None:
    """Raise `UsageError` for a number below 1, or repeats that would be equal; the backend is None while unknown."""
    if repeats < 1:
        raise UsageError(f"repeats={repeats} is not allowed; it must be at least 1.")
    if repeats == 1:
        return
    if output_type is not OutputType.TEXT:
        reason = f"it asks for {output_type.value}, which are not sampled"
    elif backend is not None and not backend.writes_replies:
        reason = f"the answers of {backend.name} are precomputed"
    elif backend is not None and not backend.samples:
        reason = f"{backend.name} replies at temperature 0 and always takes the most likely token"
    else:
        return
    raise UsageError(f"repeats={repeats} is not allowed for {task}: {reason}, so all repeats would be equal.")


def summarize_repeats(
    protocol: Protocol, by_repeat: Sequence[TaskResult], sample: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """What diagnostics say about repeats of the same rows in the same order; empty for one repeat, or without scores.

    By the key of each score, the mean and the sample standard deviation over the repeats; for shares of correct items
    `choices`, from `repeat_scores`. Scores that are undefined in a repeat are nan.
    """
    scores = [result.scores for result in by_repeat if result.scores is not None]
    if len(by_repeat) == 1 or len(scores) < len(by_repeat):
        return {}
    values = {spec.key: [spec.value(of) for of in scores] for spec in specs_in(scores[0]) if spec.in_table}
    # A score such as balanced accuracy may exist in only some of the repeats.
    values = {key: numbers for key, numbers in values.items() if None not in numbers}
    summary: dict[str, Any] = {
        "count": len(by_repeat),
        "mean": {key: float(np.mean(numbers)) for key, numbers in values.items()},
        "standard_deviation": {key: float(np.std(numbers, ddof=1)) for key, numbers in values.items()},
    }
    headline = by_repeat[0].headline_spec()
    is_share = headline is not None and headline.unit in (Unit.FRACTION, Unit.PERCENT)
    if isinstance(protocol, Choice) and headline is not None and is_share:
        choices = _choices(protocol, by_repeat, headline.of[0])
        summary["choices"] = choices if sample is None else finite_scores(choices, sample)
    return {"repeats": summary}


def _choices(protocol: Choice, by_repeat: Sequence[TaskResult], column: str) -> dict[str, Any]:
    """How often items are right in all repeats, in any, and by majority vote."""
    voted = protocol.score(protocol.vote([result.items for result in by_repeat]))
    *repeats, vote = (_right(result.items, column) for result in (*by_repeat, voted))
    counted = [id for id in vote if all(id in right for right in repeats)]
    clusters = {item.id: item.cluster for item in by_repeat[0].items}
    return repeat_scores(
        [sum(right[id] for right in repeats) for id in counted],
        [vote[id] for id in counted],
        len(repeats),
        [clusters[id] for id in counted],
    )


def _right(items: Sequence[Item], column: str) -> dict[str, bool]:
    """Whether each item is right, by id; items that are not scored are missing."""
    values = {item.id: getattr(item, column) for item in items if item.pass_name == MAIN}
    return {id: bool(value) for id, value in values.items() if value is not None}
