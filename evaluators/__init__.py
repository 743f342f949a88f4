"""Evaluators bind models to tasks. Everything is imported on first use, so that `eyechart --help` is fast."""

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eyechart.evaluators.backends.endpoint.backend import OpenAIBackend as OpenAIBackend
    from eyechart.evaluators.backends.endpoint.options import EndpointOptions as EndpointOptions
    from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend as PredictionsFileBackend
    from eyechart.evaluators.backends.vllm import VllmBackend as VllmBackend
    from eyechart.evaluators.evaluation.evaluator import Evaluator as Evaluator
    from eyechart.evaluators.evaluation.evaluator import register as register
    from eyechart.evaluators.protocols import CircularEval as CircularEval
    from eyechart.evaluators.protocols import Description as Description
    from eyechart.evaluators.protocols import MultipleChoice as MultipleChoice
    from eyechart.evaluators.protocols import PairedComparison as PairedComparison
    from eyechart.evaluators.protocols import QualityAssessment as QualityAssessment
    from eyechart.evaluators.protocols import SelfAwareness as SelfAwareness
    from eyechart.evaluators.requests.types import IMAGE as IMAGE
    from eyechart.evaluators.tasks.task import Task as Task
    from eyechart.evaluators.tasks.task import TaskData as TaskData
    from eyechart.metrics.scoring.judging.replies import Judge

_MODULES = {
    "IMAGE": "requests.types",
    "CircularEval": "protocols",
    "Description": "protocols",
    "EndpointOptions": "backends.endpoint.options",
    "Evaluator": "evaluation.evaluator",
    "MultipleChoice": "protocols",
    "OpenAIBackend": "backends.endpoint.backend",
    "PairedComparison": "protocols",
    "PredictionsFileBackend": "backends.predictions.backend",
    "QualityAssessment": "protocols",
    "SelfAwareness": "protocols",
    "Task": "tasks.task",
    "TaskData": "tasks.task",
    "VllmBackend": "backends.vllm",
    "register": "evaluation.evaluator",
}
__all__ = ["evaluator", "list_tasks", *_MODULES]


def list_tasks() -> list[str]:
    """Names of all tasks, as `evaluator` takes them."""
    from eyechart.evaluators.tasks import TASKS

    return [task.name for task in TASKS]


def evaluator(
    task: "str | Task",
    *,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    judge: "Judge | None" = None,
    as_published: bool = False,
    repeats: int = 1,
) -> "Evaluator":
    """Make the evaluator of a task.

    Args:
        task: One of `list_tasks()`, the path of a file with one task, or a `Task`.
        seed: Seed of the metric's bootstrap and random choices.
        settings: Settings that differ from the task's own, by name; `eyechart tasks NAME` lists them.
        judge: `judge(messages, n)`, which returns n replies; for metrics that use a judge.
        as_published: Use the paper's settings where the task's defaults differ.
        repeats: How many times to ask everything, for a model that samples its replies.

    Raises:
        UsageError: The task is unknown, or does not have a setting.
    """
    from eyechart.evaluators.evaluation.evaluator import Evaluator
    from eyechart.evaluators.evaluation.options import RunOptions
    from eyechart.evaluators.tasks import find_task

    definition = find_task(task) if isinstance(task, str) else task
    return Evaluator(definition, RunOptions(settings or {}, as_published, seed, judge, repeats))


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
