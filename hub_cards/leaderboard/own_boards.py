"""Boards for the tasks of task files."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.own_data.sources import is_file
from eyechart.evaluators.evaluation.data import DataRequest, load_data, undecoded_rows, without_progress_bars
from eyechart.evaluators.requests.types import Row
from eyechart.evaluators.requests.values import brief
from eyechart.evaluators.tasks import find_tasks, headline_of, task_title
from eyechart.evaluators.tasks.task import Task
from eyechart.evaluators.tasks.task_file import TASK_FILES
from eyechart.hub_cards.leaderboard.boards import Board, Column

_MOST_VALUES = 20
"""Values of a group that the board shows."""


def own_boards(files: Sequence[Path]) -> list[Board]:
    """One board for each task of some task files.

    Several files may define the same task, as when each entry brings a copy.

    Args:
        files: YAML or Python files; Python files are executed.

    Raises:
        UsageError: A file cannot be read, or two files give one name to different tasks.
        DataError: The data of a task are here but cannot be read.
    """
    first: dict[str, tuple[Path, Task]] = {}
    for file in files:
        if file.suffix not in TASK_FILES:
            raise UsageError(f"--tasks {file} is not a task file; expected a file that ends in {', '.join(TASK_FILES)}")
        for task in find_tasks(str(file)):
            _check_equal(*first.setdefault(task.name, (file, task)), file, task)
    return [_board(file, task) for file, task in first.values()]


def _check_equal(first: Path, task: Task, second: Path, other: Task) -> None:
    here, there = _definition(task), _definition(other)
    changed = [
        f"{name} ({brief(here.get(name))} and {brief(there.get(name))})"
        for name in here | there
        if here.get(name) != there.get(name)
    ]
    if changed:
        raise UsageError(
            f"--tasks {first} and {second} give the name {task.name!r} to different tasks; they differ in "
            f"{'; '.join(changed)}. Rename one of the tasks and repeat its runs, or name only one of the files"
        )


def _definition(task: Task) -> dict[str, Any]:
    """All that makes a task what it is; of files, the name and the contents, wherever they are."""
    data, definition = task.data, dict(task.bound().settings())
    definition["prefill"] = getattr(task.protocol, "prefill", "")
    definition["word_pairs"] = [pair.name for pair in getattr(task.protocol, "word_pairs", ())]
    path = data.path or ""
    if is_file(path):
        definition["data file"] = Path(path).name
        if Path(path).is_file():
            definition["contents of the data file"] = hashlib.sha256(Path(path).read_bytes()).hexdigest()[:8]
    else:
        definition["data"] = Path(path).name if Path(path).exists() else path
    definition |= {"split": data.split, "config": data.config, "columns": dict(data.columns)}
    return {**definition, "groups": list(task.groups), "cluster": task.cluster, "headline": task.headline}


def _board(file: Path, task: Task) -> Board:
    split, rows = task.data.default_split, None
    if task.data.path is not None and Path(task.data.path).exists():
        with without_progress_bars():
            loaded = load_data(task, DataRequest(split=split, images="skip", skip_bad=True))
        split, rows = loaded.split, undecoded_rows(loaded.dataset)
    if split is None and task.data.known_splits:
        (split,) = task.data.known_splits
    if split is None:
        raise UsageError(f"{file}: the split of {task.name} is unknown; name it with data: {{split: ...}}")
    return Board(
        task,
        title=task_title(task.name),
        dataset=task.data.datasets[0],
        split=split,
        name=task.name,
        parts=tuple(column for group in task.groups if rows for column in _parts(task, group, rows)),
        file=file.name,
        own_items=None if rows is None else len(rows),
    )


def _parts(task: Task, group: str, rows: Sequence[Row]) -> list[Column]:
    values = sorted({str(row[group]) for row in rows if row.get(group) not in (None, "")})
    score = headline_of(task)
    return [Column(score, value, (f"by_{group}", value), f"by {group}") for value in values[:_MOST_VALUES]]
