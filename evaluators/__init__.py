"""Evaluators: bind models to tasks.

`evaluator("q_bench/perception").compute(model)` follows `evaluate.Evaluator.compute`. It runs on the official release;
`data="mini"` is synthetic data. The classes are loaded on first use, so that importing this package loads neither torch
nor transformers.
"""

import importlib
from typing import TYPE_CHECKING, Any

from eyechart.evaluators.tasks import TASKS, get_task

if TYPE_CHECKING:
    from eyechart.evaluators.backends.endpoint.backend import OpenAIBackend
    from eyechart.evaluators.backends.endpoint.options import EndpointOptions
    from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
    from eyechart.evaluators.evaluation.base import Evaluator
    from eyechart.evaluators.evaluation.registration import register
    from eyechart.evaluators.protocols.choice.circular_eval import CircularEvaluator
    from eyechart.evaluators.protocols.choice.multiple_choice import MultipleChoiceEvaluator
    from eyechart.evaluators.protocols.choice.self_awareness import SelfAwarenessEvaluator
    from eyechart.evaluators.protocols.description import DescriptionEvaluator
    from eyechart.evaluators.protocols.options import TaskOptions
    from eyechart.evaluators.protocols.paired_comparison import PairedComparisonEvaluator
    from eyechart.evaluators.protocols.quality.assessment import QualityAssessmentEvaluator
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
    "CircularEvaluator": "eyechart.evaluators.protocols.choice.circular_eval",
    "DescriptionEvaluator": "eyechart.evaluators.protocols.description",
    "EndpointOptions": "eyechart.evaluators.backends.endpoint.options",
    "Evaluator": "eyechart.evaluators.evaluation.base",
    "MultipleChoiceEvaluator": "eyechart.evaluators.protocols.choice.multiple_choice",
    "OpenAIBackend": "eyechart.evaluators.backends.endpoint.backend",
    "PairedComparisonEvaluator": "eyechart.evaluators.protocols.paired_comparison",
    "PredictionsFileBackend": "eyechart.evaluators.backends.predictions.backend",
    "QualityAssessmentEvaluator": "eyechart.evaluators.protocols.quality.assessment",
    "SelfAwarenessEvaluator": "eyechart.evaluators.protocols.choice.self_awareness",
    "TaskOptions": "eyechart.evaluators.protocols.options",
    "register": "eyechart.evaluators.evaluation.registration",
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
