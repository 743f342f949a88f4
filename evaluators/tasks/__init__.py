"""The tasks, one file per paper and one explicit table."""

import re
from pathlib import Path

from eyechart.datasets_scripts.catalog import DATASETS
from eyechart.datasets_scripts.common.errors import UsageError, unknown_name
from eyechart.evaluators.published.names import match_tasks
from eyechart.evaluators.tasks import aes_bench, mmbench, q_bench, ql_bench, two_afc
from eyechart.evaluators.tasks.task import Task
from eyechart.evaluators.tasks.task_file import TASK_FILES, read_tasks
from eyechart.metrics.score_spec import ScoreSpec
from eyechart.metrics.scores import headline, spec, specs_of

TASKS: tuple[Task, ...] = (
    q_bench.PERCEPTION,
    q_bench.PERCEPTION_PAIRS,
    q_bench.DESCRIPTION,
    q_bench.ASSESSMENT,
    mmbench.EN,
    mmbench.CN,
    mmbench.EN_V11,
    mmbench.CN_V11,
    mmbench.CC,
    ql_bench.SINGLE,
    ql_bench.PAIR,
    aes_bench.PERCEPTION,
    aes_bench.EMPATHY,
    aes_bench.ASSESSMENT,
    aes_bench.INTERPRETATION,
    two_afc.COARSE,
    two_afc.FINE_LEVELS,
    two_afc.FINE_TYPES,
    two_afc.FINE_MOS,
)


def known_task(name: str) -> Task | None:
    """The built-in task with this name; None for a user's own task."""
    return next((task for task in TASKS if task.name == name), None)


def get_task(name: str) -> Task:
    """The task with exactly this name.

    Raises:
        UsageError: The name is unknown; the message suggests the nearest one.
    """
    if (task := known_task(name)) is None:
        raise unknown_name("task", name, [task.name for task in TASKS], instead="`eyechart tasks` lists all")
    return task


def find_tasks(name: str) -> list[Task]:
    """The tasks of a task file, or those that a name means: see `match_tasks`.

    Raises:
        UsageError: The name is unknown, or the file is missing or malformed.
    """
    if Path(name).suffix not in TASK_FILES:
        return [get_task(match) for match in match_tasks([name], [task.name for task in TASKS])]
    tasks = read_tasks(Path(name))
    for task in tasks:
        _check_own(task, name)
    return tasks


def find_task(name: str) -> Task:
    """The one task that a name or a task file means.

    Raises:
        UsageError: As for `find_tasks`, or it means several tasks; the message lists them.
    """
    tasks = find_tasks(name)
    if len(tasks) > 1:
        raise UsageError(f"{name!r} means {len(tasks)} tasks; name one of: {', '.join(task.name for task in tasks)}")
    return tasks[0]


def headline_of(task: Task) -> ScoreSpec:
    """The headline score of a task: its own choice, or its metric's."""
    return spec(task.headline, task.metric) if task.headline else headline(task.metric)


def _check_own(task: Task, file: str) -> None:
    """Refuse a name that is taken or cannot be a folder name, and a headline that the metric does not return."""
    if known_task(task.name) is not None or task.name in DATASETS:
        raise UsageError(
            f"{file}: {task.name!r} is already the name of an eyechart task or dataset; choose another name"
        )
    if not re.fullmatch(r"\w[\w.-]*(/\w[\w.-]*)*", task.name):
        raise UsageError(
            f"{file}: name {task.name!r} is not allowed; use letters, digits, '_', '-' and '.', with '/' between parts"
        )
    shown = [score.key for score in specs_of(task.metric) if score.in_table]
    if task.headline and task.headline not in shown:
        raise UsageError(f"{file}: {unknown_name('headline', task.headline, shown, f'of {task.name}')}")
