"""Experiment trackers: what a run sends to trackio, Weights & Biases or MLflow.

The tracker's run is the run of one model. It has the options and the tasks' settings as its configuration, the headline
score of each finished task with its 95 % interval and n, and at the end the report and the results as files; trackio
also has a trace of each item.

    https://huggingface.co/docs/trackio
    https://docs.wandb.ai/ref/python
    https://mlflow.org/docs/latest/api_reference/python_api/mlflow.html
"""

import contextlib
import io
import json
import logging
import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from eyechart.datasets_scripts.common.errors import UsageError, unknown_name
from eyechart.evaluators.comparison.history import read_step
from eyechart.evaluators.protocols.settings import list_settings
from eyechart.evaluators.requests.secrets import redact_values
from eyechart.evaluators.results.finished_runs import model_label
from eyechart.evaluators.results.items import Item
from eyechart.evaluators.results.results_file import AVERAGE, TaskResult
from eyechart.evaluators.runs.console import print_line
from eyechart.evaluators.runs.task_runs import TaskRun
from eyechart.evaluators.tasks import known_task

_TRACES_PER_CALL = 500
_ERROR_LENGTH = 300


class _Tracker(NamedTuple):
    """The functions of a tracker's run that has begun."""

    log: Callable[[dict[str, Any], int], Any]
    upload: Callable[[str], Any]
    finish: Callable[[], Any]
    trace: Callable[..., Any] | None = None


def _trackio(project: str, name: str, config: dict[str, Any]) -> _Tracker:
    import trackio

    run = trackio.init(project, name=name, config=config, embed=False, auto_log_gpu=False, auto_log_cpu=False)
    return _Tracker(run.log, partial(run.log_artifact, type="report"), trackio.finish, trackio.Trace)


def _wandb(project: str, name: str, config: dict[str, Any]) -> _Tracker:
    import wandb

    # Before a run begins, so that a missing key is an error and no question to the user.
    wandb.setup(wandb.Settings(silent=True, console="off"))
    run = wandb.init(project=project, name=name, config=config, reinit="finish_previous")
    return _Tracker(run.log, partial(run.log_artifact, type="report"), run.finish)


def _mlflow(project: str, name: str, config: dict[str, Any]) -> _Tracker:
    import mlflow

    logging.getLogger("mlflow").setLevel(logging.WARNING)
    mlflow.end_run()
    mlflow.set_experiment(project)
    mlflow.start_run(run_name=name)
    mlflow.log_params(config)
    return _Tracker(mlflow.log_metrics, mlflow.log_artifact, mlflow.end_run)


_TRACKERS: Mapping[str, tuple[Callable[..., _Tracker], str]] = {
    "trackio": (_trackio, "TRACKIO_PROJECT"),
    "wandb": (_wandb, "WANDB_PROJECT"),
    "mlflow": (_mlflow, "MLFLOW_EXPERIMENT_NAME"),
}
"""By the name of its package: what begins a tracker's run, and the variable that names the project."""


def trackings(trackers: Sequence[str], step: int | None) -> "list[Tracking]":
    """What a command sends to each tracker; raises as `Tracking`, and for a tracker that is given twice."""
    names = [tracker.partition(":")[0] for tracker in trackers]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"--track {twice} is given {names.count(twice)} times; name each tracker once")
    return [Tracking(tracker, step) for tracker in trackers]


class Tracking:
    """What a command sends to a tracker.

    Whatever fails there is said in one line and ends the tracking of a model, not its run.

    Args:
        tracker: `NAME` or `NAME:PROJECT`, where NAME is that of the tracker's package.
        step: The step of the scores; None reads it from the model's name or the folder of the run, and else is 0.
    """

    def __init__(self, tracker: str, step: int | None = None) -> None:
        """Raise UsageError for a tracker that is unknown or not installed; nothing is sent."""
        self._name, colon, project = tracker.partition(":")
        self._step, self._given_step = 0, step
        self._tracker: _Tracker | None = None
        self._messages: Console
        if self._name not in _TRACKERS:
            raise unknown_name("tracker", self._name, _TRACKERS, "in --track")
        if colon and not project:
            raise UsageError(f"--track {tracker} names no project; write {self._name}:PROJECT, or {self._name} alone")
        spec = find_spec(self._name)
        # A folder of this name, as wandb makes one, is a package without an origin.
        if spec is None or spec.origin is None:
            raise UsageError(f"--track {self._name} needs {self._name}: pip install 'eyechart[{self._name}]'")
        self._start, variable = _TRACKERS[self._name]
        self._project = project or os.environ.get(variable) or "eyechart"

    def begin(
        self, names: Sequence[str], request: Mapping[str, Any] | None, task_runs: Sequence[TaskRun], out: Console
    ) -> None:
        """Begin the tracker's run; `names` are those of the model, and its folders, one of which may have the step.

        `request` has the options of the run, `out` gets the messages.
        """
        self._step = self._given_step if self._given_step is not None else read_step(*names) or 0
        self._messages = out

        def start() -> None:
            listed = {run.task.name: list_settings(run.options.protocol(run.task)) for run in task_runs}
            settings = {f"{task}/{each.name}": each.default for task, of_task in listed.items() for each in of_task}
            config = _plain({**(request or {}), **settings, "model": names[0], "step": self._step})
            self._tracker = self._start(self._project, model_label(names[0]), config)

        self._call(start)

    def add(self, result: TaskResult) -> None:
        """Send the headline score of a finished task, and the items to a tracker that takes them."""
        if self._tracker is not None:
            self._call(partial(_send, self._tracker, result, self._step))

    def end(self, results: Sequence[TaskResult], files: Sequence[Path]) -> None:
        """Send the averages of tasks over datasets and the files that exist, and end the tracker's run."""
        for result in results:
            if result.dataset == AVERAGE:
                self.add(result)
        if self._tracker is not None:
            self._call(partial(_end, self._tracker, [str(file) for file in files if file.is_file()]))
        self._tracker = None

    def _call(self, function: Callable[[], None]) -> None:
        """Call a tracker without what it prints; trackio warns where others raise."""
        problem = ""
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                function()
            # Any error of a package that is not ours.
            except Exception as error:
                self._tracker, problem = None, f"{type(error).__name__}: {error}"
        warned = (str(each.message) for each in caught if each.category is UserWarning)
        if problem := " ".join((problem or next(warned, "")).split())[:_ERROR_LENGTH].rstrip("."):
            print_line(self._messages, f"warning: tracking with {self._name}: {problem}. The run goes on.", "yellow")


def _send(tracker: _Tracker, result: TaskResult, step: int) -> None:
    """Send the headline score, the bounds of its 95 % interval and n, as far as they are defined, and the items."""
    task, spec, scores = known_task(result.task), result.headline_spec(), result.scores or {}
    has_several = task is not None and len(task.data.datasets) > 1
    name = f"{result.task}/{result.dataset}" if has_several else result.task
    if spec is not None:
        low, high = spec.bounds(scores) or (None, None)
        values = {spec.key: spec.value(scores), "low": low, "high": high, "n": spec.n(scores)}
        known = {key: value for key, value in values.items() if value is not None and math.isfinite(value)}
        tracker.log({f"{name}/{key}": value for key, value in known.items()}, step)
    traces = (tracker.trace(_turns(item), _plain(item.record())) for item in result.items if tracker.trace)
    while part := [*islice(traces, _TRACES_PER_CALL)]:
        tracker.log({f"{name}/items": part}, step)


def _turns(item: Item) -> list[dict[str, str]]:
    turns = {"user": item.prompt or item.question, "assistant": item.text or item.error}
    return [{"role": role, "content": text or ""} for role, text in turns.items()]


def _end(tracker: _Tracker, files: Sequence[str]) -> None:
    try:
        for file in files:
            tracker.upload(file)
    finally:
        tracker.finish()


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values as JSON has them, without secrets."""
    plain: dict[str, Any] = redact_values(json.loads(json.dumps(values, default=str)))
    return plain
