"""Evaluators: bind models to tasks.

`evaluator("q_bench/perception").compute(model_or_pipeline=...)` follows `evaluate.Evaluator.compute`. The classes are
loaded on first use, so that importing this package loads neither torch nor transformers.
"""

import importlib
from typing import TYPE_CHECKING
from typing import Any

from eyechart.evaluators.tasks import TASKS
from eyechart.evaluators.tasks import get_task
from eyechart.evaluators.tasks.task import Kind

if TYPE_CHECKING:
    from eyechart.evaluators.base import Evaluator
    from eyechart.evaluators.multiple_choice import MultipleChoiceEvaluator
    from eyechart.evaluators.quality_assessment import QualityAssessmentEvaluator

__all__ = ["Evaluator", "MultipleChoiceEvaluator", "QualityAssessmentEvaluator", "evaluator", "list_tasks"]

_CLASSES = {
    "Evaluator": "eyechart.evaluators.base",
    "MultipleChoiceEvaluator": "eyechart.evaluators.multiple_choice",
    "QualityAssessmentEvaluator": "eyechart.evaluators.quality_assessment",
}


def list_tasks() -> list[str]:
    """The names that `evaluator` takes."""
    return [task.name for task in TASKS]


def evaluator(task: str, *, seed: int = 0, shuffle_seed: int | None = None) -> "Evaluator":
    """Make the evaluator of a task.

    Args:
        task: One of `list_tasks()`.
        seed: Seed of the metric's bootstrap and random choices.
        shuffle_seed: Shuffles the options of each question; None is the release's order. For multiple choice only.

    Raises:
        UsageError: Unknown task, or `shuffle_seed` for a task without options.
    """
    from eyechart.datasets_scripts.common.errors import UsageError
    from eyechart.evaluators.multiple_choice import MultipleChoiceEvaluator
    from eyechart.evaluators.quality_assessment import QualityAssessmentEvaluator

    definition = get_task(task)
    if definition.evaluator is Kind.MULTIPLE_CHOICE:
        return MultipleChoiceEvaluator(definition, seed=seed, shuffle_seed=shuffle_seed)
    if shuffle_seed is not None:
        raise UsageError(f"shuffle_seed={shuffle_seed} is not allowed: task {task} has no options to shuffle.")
    return QualityAssessmentEvaluator(definition, seed=seed)


def __getattr__(name: str) -> Any:
    if name in _CLASSES:
        return getattr(importlib.import_module(_CLASSES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
