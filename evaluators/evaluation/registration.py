"""Making our evaluators known to `evaluate`, so that `evaluate.evaluator(name)` and its suites find them."""

import importlib
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from eyechart.evaluators import evaluator
from eyechart.evaluators.tasks import TASKS

if TYPE_CHECKING:
    from eyechart.evaluators.evaluation.evaluator import Evaluator

MULTIPLE_CHOICE_PIPELINE = "image-text-to-text"
"""transformers' name of the pipeline; as a task of `evaluate`, multiple-choice questions in Q-Bench's wording."""


def register() -> None:
    """Add every task to those of `evaluate.evaluator`, under its name; a second call changes nothing.

    `evaluate` knows tasks by the names of transformers pipelines and refuses all others, so its check of names is
    extended by ours. "image-text-to-text" stands for multiple-choice questions in the wording of q_bench/perception.
    """
    # `evaluate.evaluator` is a function of the same name as its module.
    module: Any = importlib.import_module("evaluate.evaluator")
    ours = {task.name: _entry(task.name) for task in TASKS} | {MULTIPLE_CHOICE_PIPELINE: _entry("q_bench/perception")}
    if not isinstance(module.check_task, _Check):
        module.check_task = _Check(module.check_task, ours)
    module.SUPPORTED_EVALUATOR_TASKS.update(ours)


class _Check:
    """`evaluate`'s check of a task's name, for which ours are known too.

    Args:
        check: That of `evaluate`.
        ours: Our tasks with their entries.
    """

    def __init__(self, check: Callable[[str], dict[str, Any]], ours: dict[str, dict[str, Any]]) -> None:
        """Keep both."""
        self._check = check
        self._ours = ours

    def __call__(self, task: str) -> dict[str, Any]:
        """The entry of a task.

        Raises:
            KeyError: There is none of this name.
        """
        return self._ours[task] if task in self._ours else self._check(task)


def _entry(name: str) -> dict[str, Any]:
    metric = next(task.metric for task in TASKS if task.name == name)
    return {"implementation": partial(_make, name), "default_metric_name": metric}


def _make(name: str, task: str, default_metric_name: str) -> "Evaluator":
    """What `evaluate.evaluator` calls, with the name and the metric that it found; both are our task's own."""
    return evaluator(name)
