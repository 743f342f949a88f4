"""Suite files: YAML that lists tasks with their data and settings. All entries are checked before anything runs.

::

    name: nightly                  # optional
    seed: 0                        # optional, for all tasks
    limit: 200                     # optional, for tasks without their own limit
    mini: false                    # optional: true runs tasks without data_dir on synthetic demo data
    tasks:
      - task: q_bench/perception
        data_dir: /data/LLVisionQA # without it, the official release is downloaded if possible
        settings: {shuffle_seed: 7}
      - task: q_bench/assessment
        dataset: koniq10k
        limit: 500
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from eyechart.datasets_scripts.common.errors import EyechartError, UsageError
from eyechart.datasets_scripts.loading import load_builder
from eyechart.evaluators.evaluation.data import DataRequest
from eyechart.evaluators.evaluation.options import RunOptions
from eyechart.evaluators.runs.plan import TaskRun, check_distinct, plan_task, with_published_data
from eyechart.evaluators.tasks import TASK_FILES, find_tasks
from eyechart.evaluators.tasks.task import Task
from eyechart.evaluators.tasks.yaml_file import read_yaml

_PATHS = ("blind_run", "exclude_blind_solved", "human_labels")
"""Settings whose value is a file or folder."""


class SuiteTask(BaseModel):
    """One entry of `tasks`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    task: str
    """Name of a task, or a task file, relative to the suite file."""
    dataset: str | None = Field(default=None, min_length=1)
    """Dataset to run on (default: all of the task's own)."""
    split: str | None = Field(default=None, min_length=1)
    data_dir: str | None = Field(default=None, min_length=1)
    """Folder of the release, relative to the suite file. Without it, the official release is downloaded."""
    mini: bool | None = None
    """Whether to run on synthetic demo data (default: as the file says)."""
    data_options: dict[str, Any] = {}
    """Settings of the dataset."""
    settings: dict[str, Any] = {}
    """Settings of the task's protocol, by name."""
    as_published: bool = False
    """Whether to run with the paper's settings."""
    limit: int | None = Field(default=None, ge=1)


class Suite(BaseModel):
    """The contents of a suite file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str | None = None
    seed: int = Field(default=0, ge=0)
    limit: int | None = Field(default=None, ge=1)
    mini: bool | None = None
    """Whether entries without a folder run on synthetic demo data (default: only if no model is named)."""
    tasks: list[SuiteTask] = Field(min_length=1)


def read_suite(path: str | Path, *, is_mini: bool = False) -> tuple[Suite, list[TaskRun]]:
    """Read and check a suite file.

    Args:
        path: The file.
        is_mini: Whether entries without a folder run on synthetic demo data, if the file does not say.

    Returns:
        Its contents, and what to run, in the order of the file.

    Raises:
        UsageError: The file cannot be read, is malformed, names something that does not exist, or runs a task on the
            same data twice; the message names the place.
    """
    path = Path(path)
    if not path.exists():
        raise UsageError(f"the suite file {path} does not exist; to run all tasks of a paper: `eyechart run {path}`")
    suite = read_yaml(path, Suite, "suite file", {"protocol": f"a task file: run it with `eyechart run {path}`"})
    plan: list[TaskRun] = []
    for number, entry in enumerate(suite.tasks, start=1):
        try:
            plan += _plan_entry(entry, suite, path.parent, is_mini)
        except EyechartError as error:
            raise UsageError(f"{path}, task {number} ({entry.task}): {error}") from error
    try:
        check_distinct(plan)
    except UsageError as error:
        raise UsageError(f"{path}: {error}; for other settings, use another suite file") from error
    return suite, plan


def _plan_entry(entry: SuiteTask, suite: Suite, folder: Path, is_mini: bool) -> list[TaskRun]:
    tasks = find_tasks(_next_to(entry.task, folder))
    plan: list[TaskRun] = []
    for task in tasks:
        plan += _plan_one(task, entry, suite, folder, is_mini)
    return plan


def _plan_one(task: Task, entry: SuiteTask, suite: Suite, folder: Path, is_mini: bool) -> list[TaskRun]:
    data = task.data
    names = (entry.dataset,) if entry.dataset or entry.data_dir else data.default_datasets
    data_dir = None if entry.data_dir is None else _find("data_dir", entry.data_dir, folder)
    if data_dir is not None and entry.dataset is None and len(data.default_datasets) > 1:
        raise UsageError(f"data_dir needs dataset, one of: {', '.join(data.datasets)}")
    if data_dir is not None and entry.mini:
        raise UsageError(f"mini and data_dir {entry.data_dir!r} are both given; leave out one")
    said = next((value for value in (entry.mini, suite.mini) if value is not None), is_mini)
    where = None if data_dir is None else str(data_dir)
    found = []
    for name in names:
        limit = entry.limit or suite.limit
        request = DataRequest(None, name, entry.split, where, said, entry.data_options, limit)
        if data.path is not None and entry.data_options:
            raise UsageError(f"{task.name} runs on your own data, which have no settings; leave out data options")
        settings = _with_paths(entry.settings, folder)
        planned = replace(plan_task(task, request), options=RunOptions(settings, entry.as_published, suite.seed))
        planned.protocol()
        if data.path is None:
            load_builder(planned.dataset, data.config, data_dir=where, options=entry.data_options)
        found.append(with_published_data(planned))
    return found


def _next_to(task: str, folder: Path) -> str:
    """The name of a task, or the path of a task file relative to the suite file."""
    return str(folder / task) if Path(task).suffix in TASK_FILES else task


def _with_paths(settings: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Settings, with file names made relative to the suite file."""
    return {
        name: _find(name, value, folder) if name in _PATHS and isinstance(value, str) else value
        for name, value in settings.items()
    }


def _find(name: str, given: str, folder: Path) -> Path:
    """A file or folder; a relative path is relative to `folder`."""
    try:
        found = folder / Path(given).expanduser()
        exists = found.exists()
    # The user in "~user" does not exist, or the name is too long.
    except (RuntimeError, OSError) as error:
        raise UsageError(f"{name} {given!r} cannot be found: {error}") from error
    if not exists:
        raise UsageError(f"{name} {str(found)!r} does not exist")
    return found
