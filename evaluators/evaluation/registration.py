"""Register eyechart's evaluators with `evaluate`, so that `evaluate.evaluator(name)` and its suites find them."""

import importlib
from functools import partial
from typing import Any

from eyechart.evaluators.evaluation.evaluator import Evaluator
from eyechart.evaluators.tasks import TASKS, get_task, q_bench

MULTIPLE_CHOICE_PIPELINE = "image-text-to-text"
"""Name of the transformers pipeline; as a task of `evaluate`, it means multiple choice with Q-Bench's prompt."""


def register() -> None:
    """Add every task to `evaluate.evaluator`, under its name; a second call changes nothing.

    `evaluate` accepts only names of transformers pipelines as tasks, so its check of names is extended.
    "image-text-to-text" means multiple-choice questions with the prompt of q_bench/perception.
    """
    # `evaluate.evaluator` is a function of the same name as its module.
    module: Any = importlib.import_module("evaluate.evaluator")
    if MULTIPLE_CHOICE_PIPELINE in module.SUPPORTED_EVALUATOR_TASKS:
        return
    tasks = {task.name: task for task in TASKS} | {MULTIPLE_CHOICE_PIPELINE: q_bench.PERCEPTION}
    ours = {
        name: {"implementation": partial(_make, task.name), "default_metric_name": task.metric}
        for name, task in tasks.items()
    }
    theirs = module.check_task
    module.check_task = lambda task: ours[task] if task in ours else theirs(task)
    module.SUPPORTED_EVALUATOR_TASKS.update(ours)


def _make(name: str, task: str, default_metric_name: str) -> Evaluator:
    """Called by `evaluate.evaluator`; the name and metric that it passes are those of the task."""
    return Evaluator(get_task(name))
