"""Evaluators: bind models to tasks.

`evaluator("q_bench/perception").compute(model)` follows `evaluate.Evaluator.compute`. It runs on the official release;
`data="mini"` is synthetic data. The classes are loaded on first use, so that importing this package loads neither torch
nor transformers.
"""

import importlib
from typing import TYPE_CHECKING
from typing import Any

from eyechart.evaluators.tasks import TASKS
from eyechart.evaluators.tasks import get_task

if TYPE_CHECKING:
    from eyechart.evaluators.backends.endpoint.options import EndpointOptions
    from eyechart.evaluators.backends.openai_endpoint import OpenAIBackend
    from eyechart.evaluators.backends.predictions_file import PredictionsFileBackend
    from eyechart.evaluators.base import Evaluator
    from eyechart.evaluators.circular_eval import CircularEvaluator
    from eyechart.evaluators.description import DescriptionEvaluator
    from eyechart.evaluators.multiple_choice import MultipleChoiceEvaluator
    from eyechart.evaluators.options import TaskOptions
    from eyechart.evaluators.paired_comparison import PairedComparisonEvaluator
    from eyechart.evaluators.quality_assessment import QualityAssessmentEvaluator
    from eyechart.evaluators.registration import register
    from eyechart.evaluators.self_awareness import SelfAwarenessEvaluator
    from eyechart.evaluators.tasks.task import Task
    from eyechart.metrics.scoring.judging.replies import Judge

__all__ = [
    "CircularEvaluator",
    "DescriptionEvaluator",
    "EndpointOptions",
    "Evaluator",
    "MultipleChoiceEvaluator",
    "OpenAIBackend",
    "PairedComparisonEvaluator",
    "PredictionsFileBackend",
    "QualityAssessmentEvaluator",
    "SelfAwarenessEvaluator",
    "TaskOptions",
    "evaluator",
    "list_tasks",
    "register",
]

_MODULES = {
    "CircularEvaluator": "eyechart.evaluators.circular_eval",
    "DescriptionEvaluator": "eyechart.evaluators.description",
    "EndpointOptions": "eyechart.evaluators.backends.endpoint.options",
    "Evaluator": "eyechart.evaluators.base",
    "MultipleChoiceEvaluator": "eyechart.evaluators.multiple_choice",
    "OpenAIBackend": "eyechart.evaluators.backends.openai_endpoint",
    "PairedComparisonEvaluator": "eyechart.evaluators.paired_comparison",
    "PredictionsFileBackend": "eyechart.evaluators.backends.predictions_file",
    "QualityAssessmentEvaluator": "eyechart.evaluators.quality_assessment",
    "SelfAwarenessEvaluator": "eyechart.evaluators.self_awareness",
    "TaskOptions": "eyechart.evaluators.options",
    "register": "eyechart.evaluators.registration",
}


def list_tasks() -> list[str]:
    """The names that `evaluator` takes."""
    return [task.name for task in TASKS]


def evaluator(
    task: str, *, seed: int = 0, options: "TaskOptions | None" = None, judge: "Judge | None" = None
) -> "Evaluator":
    """Make the evaluator of a task.

    Args:
        task: One of `list_tasks()`.
        seed: Seed of the metric's bootstrap and random choices.
        options: Other settings than the task's own.
        judge: `judge(messages, n)` returning n replies, for what the task's metric puts to a judge.

    Raises:
        UsageError: Unknown task, or an option that has no effect on it.
    """
    definition = get_task(task)
    return evaluator_class(definition)(definition, seed=seed, options=options, judge=judge)


def evaluator_class(task: "Task") -> "type[Evaluator]":
    """The class that runs a task."""
    return __getattr__(task.evaluator.value)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
