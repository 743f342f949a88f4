"""The folder of a run: `results.json`, `predictions.parquet` and the files of its tasks.

All files are rewritten and moved into place after every task, so that a run that fails later loses nothing.
"""

from collections.abc import Sequence
from pathlib import Path

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.datasets_scripts.common.whole import write_whole
from eyechart.evaluators.results.evaluation import Evaluation
from eyechart.evaluators.results.predictions import PREDICTIONS_FILE, write_predictions
from eyechart.evaluators.results.results_file import RESULTS_FILE, Results, read_results, task_folder


def write_run(folder: Path, results: Results, evaluations: Sequence[Evaluation]) -> None:
    """Write the results, the predictions and the tasks' own files. Each file is written completely or not at all.

    A task's own files are in `<task>/<dataset>`. If the folder contains an earlier run, its task files that this run
    does not overwrite are removed, so that no answer file of another model remains.

    Args:
        folder: Created if missing.
        results: From `collect`.
        evaluations: The same tasks, for their predictions.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _remove_previous(folder, results)
    write_whole(folder / RESULTS_FILE, results.model_dump_json(by_alias=True, indent=2) + "\n")
    write_whole(folder / PREDICTIONS_FILE, lambda path: write_predictions(path, evaluations))
    for evaluation in evaluations:
        own = folder / task_folder(evaluation)
        for name, content in evaluation.files.items():
            own.mkdir(parents=True, exist_ok=True)
            write_whole(own / name, content)


def _remove_previous(folder: Path, results: Results) -> None:
    """Remove the task files that the previous results in a folder list and the new results do not."""
    try:
        previous = read_results(folder)
    except DataError:
        return
    kept = {task_folder(task) / name for task in results.tasks for name in task.files}
    for file in {task_folder(task) / name for task in previous.tasks for name in task.files} - kept:
        # Edited results could name any file.
        if (folder / file).resolve().is_relative_to(folder.resolve()):
            (folder / file).unlink(missing_ok=True)
