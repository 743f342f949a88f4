"""Run several tasks on one model: show progress, write results as they come, print a table at the end."""

import datetime
import hashlib
import math
import shlex
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import datasets
from pydantic_core import from_json, to_json
from rich.console import Console

from eyechart.datasets_scripts.common.errors import DataError, EyechartError, OutputError
from eyechart.datasets_scripts.common.whole import disk_error, workplace, write_whole, writing
from eyechart.datasets_scripts.official import official_counts
from eyechart.evaluators.backends.processes import ALONE, DistributedBackend, Processes
from eyechart.evaluators.backends.stored import StoredBackend
from eyechart.evaluators.evaluation.data import load_data
from eyechart.evaluators.evaluation.loop import evaluate_rows
from eyechart.evaluators.evaluation.scoring import with_averages
from eyechart.evaluators.report import REPORT_FILE
from eyechart.evaluators.report.charts import charts_of
from eyechart.evaluators.report.reported_task import reported_alone
from eyechart.evaluators.requests.errors import SpendingError
from eyechart.evaluators.requests.secrets import redact_values
from eyechart.evaluators.requests.store import ResponseStore
from eyechart.evaluators.requests.types import Backend
from eyechart.evaluators.results.items import PREDICTIONS_FILE, write_predictions
from eyechart.evaluators.results.results_file import (
    RESULTS_FILE,
    FailedTask,
    Results,
    TaskResult,
    collect,
    read_results,
    sealed,
    task_folder,
)
from eyechart.evaluators.runs.console import console, print_line
from eyechart.evaluators.runs.live import LiveRun
from eyechart.evaluators.runs.screen import RunProgress, print_screen
from eyechart.evaluators.runs.second_process import SecondProcess
from eyechart.evaluators.runs.table import print_everything
from eyechart.evaluators.runs.task_runs import TaskRun, download_gb
from eyechart.evaluators.runs.tracking import Tracking
from eyechart.metrics.reply_counts import judge_counts

if TYPE_CHECKING:
    from eyechart.evaluators.judging import EndpointJudge, JudgeOptions

# Each time, the results of all tasks so far are written.
_SECONDS_UNSAVED = 5.0


@dataclass(frozen=True)
class ModelRun:
    """One of the models of a command, where its results go, and what is printed."""

    make_backend: Callable[[str | None], Backend]
    """Loads the model; called with the device of this process, None lets the model choose."""
    folder: Path
    """Folder for its results, made if missing."""
    model: str | None = None
    """Its id, folder or name on a server; None is the bundled one."""
    check: Callable[[ResponseStore | None], None] = lambda store: None
    """Refuses a model that cannot be used, before any is loaded."""
    name: str | None = None
    """Its name in the results; by default its id."""
    request: dict[str, Any] | None = None
    """The options of `eyechart run` that were given, which the results record."""
    verbose: bool = False
    """Print every score and every note too."""
    judge: "JudgeOptions | None" = None
    """The judge on a server, if there is one."""
    trackers: Sequence[Tracking] = ()
    """They get the scores."""


def execute(
    task_runs: Sequence[TaskRun],
    run: ModelRun,
    store: ResponseStore | None = None,
    processes: Processes = ALONE,
    second: SecondProcess | None = None,
) -> bool:
    """Run tasks on a model, and write and print their results; one that fails does not stop the others.

    Returns whether every task finished, each judge gave at least one usable reply and the disk had room for the report.
    Raises ModelError if the model cannot be loaded. Of several processes, only the first writes and prints.
    """
    folder, is_main = run.folder, processes.is_main
    trackers = run.trackers if is_main else ()
    screen, messages = console(quiet=not is_main), console(stderr=True, quiet=not is_main)
    datasets.disable_progress_bars()
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    finished: list[TaskResult] = []
    results: Sequence[TaskResult] = ()
    failed: list[FailedTask] = []
    judge = None
    if run.judge is not None:
        # Imported only here, because it imports openai, which takes a second.
        from eyechart.evaluators.judging import EndpointJudge

        judge = EndpointJudge(run.judge, store, processes)
    # The bar of a download of weights and the line of the run would disturb each other.
    backend = run.make_backend(processes.device)
    with RunProgress(messages, [_expected(task_run) for task_run in task_runs]) as progress:
        if store is not None:
            backend = StoredBackend(backend, store)
        # Precomputed predictions are matched with all requests, in each process.
        if processes.count > 1 and backend.writes_replies:
            backend = DistributedBackend(backend, processes)
        name = run.name or backend.name
        for tracking in trackers:
            tracking.begin((name, backend.name, str(folder)), run.request, task_runs, messages)
        previous: Results | None = None
        with suppress(DataError):
            previous = read_results(folder) if is_main else None
        unsaved, saved_at = 0, -math.inf
        live = LiveRun(folder, name, progress, is_shown=is_main)
        try:
            for index, task_run in enumerate(task_runs):
                progress.begin(index, task_run.task.name)
                if second is not None:
                    second.wait_for_data(task_run)
                try:
                    result = _run_task(task_run, backend, live, processes, judge)
                    finished.append(result.model_copy(update={"model": run.name or result.model}))
                    for tracking in trackers:
                        tracking.add(finished[-1])
                    if second is not None:
                        second.draw_ahead(charts_of(reported_alone(finished[-1])))
                # Whatever fails in one task, run the others and keep their results.
                except Exception as error:
                    if isinstance(error, SpendingError) and store is not None:
                        error.add_note("The answers so far are stored: the same command asks only for the others.")
                    known = error if isinstance(error, EyechartError) else disk_error(error)
                    brief = known.explain() if known else f"{type(error).__name__}: {error}"
                    failure = {"task": task_run.task.name, "dataset": task_run.dataset, "error": brief, "model": name}
                    failed.append(FailedTask(**failure))
                    details = brief if known else traceback.format_exc()
                    print_line(messages, f"eyechart: {task_run.title} failed: {details}", "red")
                results, unsaved = with_averages(finished), unsaved + 1
                live.finished(results)
                if is_main and time.monotonic() - saved_at > _SECONDS_UNSAVED:
                    unsaved, saved_at = 0, time.monotonic()
                    write_run(folder, collect(results, failed, started, run.request), previous)
        finally:
            # Also after Ctrl-C.
            if is_main:
                live.end()
            if is_main and unsaved:
                write_run(folder, collect(results, failed, started, run.request), previous)
    if previous is not None and (run.request is None or previous.request != run.request):
        print_line(messages, f"Replaced the earlier results in {folder}")
    if not results:
        for tracking in trackers:
            tracking.end((), [folder / RESULTS_FILE])
        print_line(screen, f"No task finished. The errors are also in {folder / RESULTS_FILE}")
        return False
    if run.verbose:
        print_everything(screen, results)
    print_screen(screen, results, failed)
    print_line(screen, f"Results: {folder}")
    # The report reads answers from the file; those of a million rows are larger than the report.
    del backend
    for result in finished:
        result.items = ()
    has_report = not is_main or _write_report(folder, screen, messages, second)
    for tracking in trackers:
        tracking.end(results, [folder / REPORT_FILE, folder / RESULTS_FILE])
    is_judged = True
    for result in finished:
        counts = judge_counts(result.scores or {})
        if 0 < counts.rounds == counts.failed:
            is_judged = False
            text = " ".join(note.text for note in result.notes if note.code.startswith("judge_"))
            print_line(messages, f"eyechart: {result.task} on {result.dataset}: {text}", "red")
    return not failed and is_judged and has_report


def _run_task(
    task_run: TaskRun, backend: Backend, live: LiveRun, processes: Processes, judge: "EndpointJudge | None"
) -> TaskResult:
    task, options, progress = task_run.task, task_run.options, live.progress
    protocol = options.protocol(task)
    # Checked before any data are loaded.
    backend.check(protocol.output_type)
    if judge is not None and protocol.is_judged:
        options = replace(
            options, judge=judge.for_task(lambda done, of: progress.describe(f"{done:,} of {of:,} replies judged"))
        )
    task_run = replace(task_run, data=replace(task_run.data, images="load" if backend.needs_images else "skip"))
    size = download_gb(task_run)
    step = f"downloading {size:g} GB of" if size else "loading"
    progress.describe(f"{step} {task_run.dataset}")
    loaded = processes.together(partial(load_data, task, task_run.data))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        result = evaluate_rows(task, options, backend, loaded, progress.answered, partial(live.answered, task, loaded))
    texts = dict.fromkeys(str(warning.message) for warning in caught if issubclass(warning.category, UserWarning))
    return result.model_copy(update={"warnings": list(texts)})


def _expected(task_run: TaskRun) -> int | None:
    """About how many answers a task needs: one for each official item, or for those that are asked."""
    request = task_run.data
    part = request.limit or request.sample
    if request.is_mini or task_run.task.data.path is not None or request.split is None:
        return part
    counts = official_counts(task_run.dataset, task_run.task.data.config, request.split, request.options)
    return min(counts[0], part or counts[0]) if counts else part


def write_run(folder: Path, results: Results, previous: Results | None = None) -> None:
    """Write the results with the predictions' checksum, the predictions and the tasks' own files, each completely.

    Task files of an earlier run's results that these do not overwrite are removed, as they may be another model's.
    """
    with writing(f"the results folder {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
        for file in _files(previous) - _files(results) if previous else ():
            # Edited results could name any file.
            if (folder / file).resolve().is_relative_to(folder.resolve()):
                (folder / file).unlink(missing_ok=True)
        with workplace(folder) as unfinished:
            predictions = unfinished / PREDICTIONS_FILE
            write_predictions(predictions, results.tasks)
            with predictions.open("rb") as written:
                sha256 = hashlib.file_digest(written, "sha256").hexdigest()
            results = results.model_copy(update={"predictions_sha256": sha256})
            values = redact_values(from_json(results.model_dump_json(by_alias=True)))
            (unfinished / RESULTS_FILE).write_bytes(to_json(sealed(values), indent=2) + b"\n")
            for name in (RESULTS_FILE, PREDICTIONS_FILE):
                (unfinished / name).replace(folder / name)
        for result in results.tasks:
            for name, content in result.contents.items():
                write_whole(folder / task_folder(result) / name, content)


def _files(results: Results) -> set[Path]:
    return {task_folder(task) / name for task in results.tasks for name in task.files}


def _write_report(folder: Path, output: Console, messages: Console, second: SecondProcess | None) -> bool:
    """Write the report of a run; False only if the disk is full, as no other failure loses results."""
    from eyechart.evaluators.report import write_report

    try:
        path = write_report([folder], files=False, drawing=None if second is None else second.drawn)
        print_line(output, f"Report:  {path}")
    # The results are already written, so no failure may stop here.
    except Exception as error:
        brief = error.explain() if isinstance(error, EyechartError) else f"{type(error).__name__}: {error}"
        again = f"To try again: `eyechart report {shlex.quote(str(folder))}`"
        print_line(messages, f"eyechart: the report could not be written: {brief}. {again}", "red")
        return not isinstance(error, OutputError)
    return True
