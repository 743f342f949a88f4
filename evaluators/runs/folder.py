"""The folder of a run: `results.json`, `predictions.parquet` and the files of its tasks.

All files are rewritten and moved into place after every task, so that a run that fails later loses nothing.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.datasets_scripts.common.whole import write_whole
from eyechart.evaluators.results.items import PREDICTIONS_FILE, write_predictions
from eyechart.evaluators.results.results_file import RESULTS_FILE, Results, TaskResult, read_results, task_folder


def write_run(folder: Path, results: Results, evaluations: Sequence[TaskResult]) -> None:
    """Write the results, the predictions and the tasks' own files. Each file is written completely or not at all.

    A task's own files are in `<task>/<dataset>`. If the folder contains an earlier run, its task files that this run
    does not overwrite are removed, so that no answer file of another model remains.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _remove_previous(folder, results)
    write_whole(folder / RESULTS_FILE, results.model_dump_json(by_alias=True, indent=2) + "\n")
    write_whole(folder / PREDICTIONS_FILE, lambda path: write_predictions(path, evaluations))
    for evaluation in evaluations:
        own = folder / task_folder(evaluation)
        for name, content in evaluation.contents.items():
            own.mkdir(parents=True, exist_ok=True)
            write_whole(own / name, content)


def previous_results(folder: Path) -> Results | None:
    """The results that a folder contains; None if missing, or if they cannot be read."""
    try:
        return read_results(folder)
    except DataError:
        return None


def are_replaced(previous: Results, results: Results) -> bool:
    """Whether previous results are of other tasks, settings or models than the new results, or of more tasks."""
    known = _runs(results)
    return any(known.get(place) != run for place, run in _runs(previous).items())


def _runs(results: Results) -> dict[tuple[str, str, str], tuple[str, Any]]:
    """Model and settings of each task. Of a judge only the name, as its settings include costs and lost replies."""
    written = json.loads(
        results.model_dump_json(include={"tasks": {"__all__": {"task", "dataset", "split", "model", "settings"}}})
    )
    for task in written["tasks"]:
        if isinstance(judge := task["settings"].get("judge"), dict):
            task["settings"]["judge"] = judge.get("name")
    return {
        (task["task"], task["dataset"], task["split"]): (task["model"], task["settings"]) for task in written["tasks"]
    }


def _remove_previous(folder: Path, results: Results) -> None:
    """Remove the task files that the previous results in a folder list and the new results do not."""
    if (previous := previous_results(folder)) is None:
        return
    kept = {task_folder(task) / name for task in results.tasks for name in task.files}
    for file in {task_folder(task) / name for task in previous.tasks for name in task.files} - kept:
        # Edited results could name any file.
        if (folder / file).resolve().is_relative_to(folder.resolve()):
            (folder / file).unlink(missing_ok=True)
