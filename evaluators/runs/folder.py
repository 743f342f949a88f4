"""The folder of a run; all files are written anew after every task, so that a later failure loses no results."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.datasets_scripts.common.whole import unwritable, write_whole
from eyechart.evaluators.results.items import PREDICTIONS_FILE, write_predictions
from eyechart.evaluators.results.results_file import RESULTS_FILE, Results, TaskResult, read_results, task_folder

_LEAST_ROOM = 4096
"""Bytes that a disk must have free before a run begins."""


def make_folder(folder: Path) -> None:
    """Make the folder of a run, if it does not exist, and check that it can be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # An existing folder may still refuse files: disk full, no permission, mounted read-only.
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            file.write(bytes(_LEAST_ROOM))
    except OSError as error:
        raise unwritable(f"the results folder {folder}", error) from error


def write_run(folder: Path, results: Results, task_results: Sequence[TaskResult]) -> None:
    """Write the results, the predictions and the tasks' own files, each completely or not at all.

    Task files of an earlier run that this run does not overwrite are removed, as they may be another model's.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if previous := previous_results(folder):
            for file in _files(previous) - _files(results):
                # Edited results could name any file.
                if (folder / file).resolve().is_relative_to(folder.resolve()):
                    (folder / file).unlink(missing_ok=True)
        write_whole(folder / RESULTS_FILE, results.model_dump_json(by_alias=True, indent=2) + "\n")
        write_whole(folder / PREDICTIONS_FILE, lambda path: write_predictions(path, task_results))
        for result in task_results:
            for name, content in result.contents.items():
                file = folder / task_folder(result) / name
                file.parent.mkdir(parents=True, exist_ok=True)
                write_whole(file, content)
    except OSError as error:
        raise unwritable(f"the results folder {folder}", error) from error


def _files(results: Results) -> set[Path]:
    return {task_folder(task) / name for task in results.tasks for name in task.files}


def previous_results(folder: Path) -> Results | None:
    """The results that a folder contains; None if missing, or if they cannot be read."""
    try:
        return read_results(folder)
    except DataError:
        return None
