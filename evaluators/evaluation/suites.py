"""The suites: all tasks of a paper, as folders for `evaluate.EvaluationSuite.load`."""

from pathlib import Path

import evaluate
from evaluate.evaluation_suite import SubTask

from eyechart.datasets_scripts.common.errors import unknown_name
from eyechart.datasets_scripts.common.paths import eyechart_home
from eyechart.evaluators.evaluation.evaluator import register
from eyechart.evaluators.tasks import TASKS, find_tasks


class Suite(evaluate.EvaluationSuite):
    """All tasks of a paper, on the official releases: `evaluate.EvaluationSuite.load(folder("q_bench")).run(pipe)`."""

    def __init__(self, name: str) -> None:
        """List the tasks; nothing is loaded."""
        super().__init__(name)
        self.suite = subtasks(name)


def list_suites() -> list[str]:
    """Names of the suites, one per paper, in the order of the tasks."""
    return list(dict.fromkeys(task.name.partition("/")[0] for task in TASKS))


def folder(name: str) -> Path:
    """Write the folder that `evaluate.EvaluationSuite.load` takes; raises `UsageError` for an unknown name."""
    if name not in list_suites():
        raise unknown_name("suite", name, list_suites())
    folder = eyechart_home() / "suites" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.py").write_text(f"from {__name__} import Suite\n\n__all__ = ['Suite']\n")
    return folder


def subtasks(name: str, *, is_mini: bool = False) -> list[SubTask]:
    """Each task of a suite on each of its datasets: synthetic demo data, or the official releases."""
    register()
    return [
        SubTask(
            task.name,
            data=f"mini:{dataset}" if is_mini else dataset,
            subset=task.data.config,
            split=task.data.splits[0],
            args_for_task={},
        )
        for task in find_tasks(name)
        for dataset in task.data.default_datasets
    ]
