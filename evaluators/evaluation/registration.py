"""Making our evaluators known to `evaluate`, so that `evaluate.evaluator(name)` and its suites find them."""

import importlib
from functools import partial
from typing import Any

from eyechart.evaluators.evaluation.evaluator import Evaluator
from eyechart.evaluators.tasks import TASKS, get_task

MULTIPLE_CHOICE_PIPELINE = "image-text-to-text"
"""transformers' name of the pipeline; as a task of `evaluate`, multiple-choice questions in Q-Bench's wording."""


def register() -> None:
    """Add every task to those of `evaluate.evaluator`, under its name; a second call changes nothing.

    `evaluate` knows tasks by the names of transformers pipelines and refuses all others, so its check of names is
    extended by ours. "image-text-to-text" stands for multiple-choice questions in the wording of q_bench/perception.
    """
    # `evaluate.evaluator` is a function of the same name as its module.
    module: Any = importlib.import_module("evaluate.evaluator")
    if MULTIPLE_CHOICE_PIPELINE in module.SUPPORTED_EVALUATOR_TASKS:
        return
    tasks = {task.name: task for task in TASKS} | {MULTIPLE_CHOICE_PIPELINE: get_task("q_bench/perception")}
    ours = {
        name: {"implementation": partial(_make, task.name), "default_metric_name": task.metric}
        for name, task in tasks.items()
    }
    theirs = module.check_task
    module.check_task = lambda task: ours[task] if task in ours else theirs(task)
    module.SUPPORTED_EVALUATOR_TASKS.update(ours)


def _make(name: str, task: str, default_metric_name: str) -> Evaluator:
    """What `evaluate.evaluator` calls, with the name and the metric that it found; both are our task's own."""
    return Evaluator(get_task(name))
