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


def get_task(name: str) -> Task:
    """The task with exactly this name.

    Raises:
        UsageError: The name is unknown; the message suggests the nearest one.
    """
    if (found := known_task(name)) is None:
        raise unknown_name("task", name, [task.name for task in TASKS], instead="`eyechart tasks` lists all")
    return found


def _check_name(task: str, file: str) -> None:
    """Refuse a name for a user's own task that is taken, or that cannot be a folder name."""
    if known_task(task) is not None or task in DATASETS:
        raise UsageError(f"{file}: {task!r} is already the name of an eyechart task or dataset; choose another name")
    if not re.fullmatch(r"\w[\w.-]*(/\w[\w.-]*)*", task):
        raise UsageError(
            f"{file}: name {task!r} is not allowed; use letters, digits, '_', '-' and '.', with '/' between parts"
        )


def _check_headline(task: Task, file: str) -> None:
    """Refuse a headline that the task's metric does not return."""
    shown = [one.key for one in specs_of(task.metric) if one.in_table]
    if task.headline and task.headline not in shown:
        raise UsageError(f"{file}: {unknown_name('headline', task.headline, shown, f'of {task.name}')}")


def known_task(name: str) -> Task | None:
    """The built-in task with this name; None for a user's own task."""
    return next((task for task in TASKS if task.name == name), None)


def find_tasks(name: str) -> list[Task]:
    """The tasks of a task file, or those that a name means: see `match_tasks`.

    Raises:
        UsageError: The name is unknown, or the file is missing or malformed.
    """
    if Path(name).suffix in TASK_FILES:
        found = read_tasks(Path(name))
        for task in found:
            _check_name(task.name, name)
            _check_headline(task, name)
        return found
    return [get_task(one) for one in match_tasks([name], [task.name for task in TASKS])]


def find_task(name: str) -> Task:
    """The one task that a name or a task file means.

    Raises:
        UsageError: As for `find_tasks`, or it means several tasks; the message lists them.
    """
    found = find_tasks(name)
    if len(found) > 1:
        raise UsageError(f"{name!r} means {len(found)} tasks; name one of: {', '.join(task.name for task in found)}")
    return found[0]


def headline_of(task: Task) -> ScoreSpec:
    """The headline score of a task: its own choice, or its metric's."""
    return spec(task.headline, task.metric) if task.headline else headline(task.metric)
