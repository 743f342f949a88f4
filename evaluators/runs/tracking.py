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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

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

_PROJECT = "eyechart"
_TRACES_PER_CALL = 500
_LONGEST = 300
"""Characters of an error that are shown."""


class _Tracker(Protocol):
    """A tracker's run, which begins when the object is made."""

    def __init__(self, project: str, name: str, config: dict[str, Any]) -> None: ...

    def log(self, scores: dict[str, float], step: int) -> None: ...

    def end(self, files: Sequence[Path]) -> None: ...


class _Trackio:
    def __init__(self, project: str, name: str, config: dict[str, Any]) -> None:
        import trackio

        self._package = trackio
        options = {"embed": False, "auto_log_gpu": False, "auto_log_cpu": False}
        self._run = trackio.init(project, name=name, config=config, **options)

    def log(self, scores: dict[str, float], step: int) -> None:
        self._run.log(scores, step)

    def log_items(self, name: str, items: Iterable[Item], step: int) -> None:
        remaining = map(self._trace, items)
        while part := [*islice(remaining, _TRACES_PER_CALL)]:
            self._run.log({name: part}, step)

    def _trace(self, item: Item) -> Any:
        values = item.record()
        turns = {"user": values.pop("prompt") or item.question, "assistant": values.pop("text") or item.error}
        messages = [{"role": role, "content": text or ""} for role, text in turns.items()]
        return self._package.Trace(messages, metadata=_plain(values))

    def end(self, files: Sequence[Path]) -> None:
        try:
            for file in files:
                self._run.log_artifact(file, type="report")
        finally:
            self._package.finish()


class _Wandb:
    def __init__(self, project: str, name: str, config: dict[str, Any]) -> None:
        import wandb

        self._package = wandb
        settings = wandb.Settings(silent=True, console="off")
        self._run = wandb.init(project=project, name=name, config=config, reinit="finish_previous", settings=settings)

    def log(self, scores: dict[str, float], step: int) -> None:
        self._run.log(scores, step=step)

    def end(self, files: Sequence[Path]) -> None:
        artifact = self._package.Artifact(f"report-{self._run.id}", "report")
        for file in files:
            artifact.add_file(str(file))
        self._run.log_artifact(artifact)
        self._run.finish()


class _Mlflow:
    def __init__(self, project: str, name: str, config: dict[str, Any]) -> None:
        import mlflow

        self._package = mlflow
        logging.getLogger("mlflow").setLevel(logging.WARNING)
        mlflow.end_run()
        mlflow.set_experiment(project)
        mlflow.start_run(run_name=name)
        mlflow.log_params(config)

    def log(self, scores: dict[str, float], step: int) -> None:
        self._package.log_metrics(scores, step=step)

    def end(self, files: Sequence[Path]) -> None:
        for file in files:
            self._package.log_artifact(str(file))
        self._package.end_run()


_TRACKERS: Mapping[str, tuple[type[_Tracker], str]] = {
    "trackio": (_Trackio, "TRACKIO_PROJECT"),
    "wandb": (_Wandb, "WANDB_PROJECT"),
    "mlflow": (_Mlflow, "MLFLOW_EXPERIMENT_NAME"),
}
"""By the name of its package: the tracker, and the variable that names the project."""


class Tracking:
    """What a command sends to a tracker; without one, nothing.

    Whatever fails there is said in one line and ends the tracking of a model, not its run.

    Args:
        tracker: `NAME` or `NAME:PROJECT`, where NAME is that of the tracker's package.
        step: The step of the scores; None reads it from the model's name or the folder of the run, and else is 0.
    """

    def __init__(self, tracker: str | None = None, step: int | None = None) -> None:
        """Raise UsageError for a tracker that is unknown or not installed; nothing is sent."""
        self._name, colon, project = (tracker or "").partition(":")
        self._step, self._given_step = 0, step
        self._tracker: _Tracker | None = None
        self._is_warned = False
        self._messages: Console
        if tracker is None:
            return
        if self._name not in _TRACKERS:
            raise unknown_name("tracker", self._name, _TRACKERS, "in --track")
        if colon and not project:
            raise UsageError(f"--track {tracker} names no project; write {self._name}:PROJECT, or {self._name} alone")
        spec = find_spec(self._name)
        # A folder of this name, as wandb makes one, is a package without an origin.
        if spec is None or spec.origin is None:
            raise UsageError(f"--track {self._name} needs {self._name}: pip install 'eyechart[{self._name}]'")
        self._class, variable = _TRACKERS[self._name]
        self._project = project or os.environ.get(variable) or _PROJECT

    def begin(
        self, model: str, folder: Path, request: Mapping[str, Any] | None, task_runs: Sequence[TaskRun], out: Console
    ) -> None:
        """Begin the tracker's run for a model; `request` has the options of the run, `out` gets the messages."""
        if not self._name:
            return
        steps = (self._given_step, read_step(model), read_step(str(folder)))
        self._step = next((step for step in steps if step is not None), 0)
        self._messages, self._is_warned = out, False

        def start() -> None:
            settings = {
                f"{task_run.task.name}/{setting.name}": setting.default
                for task_run in task_runs
                for setting in list_settings(task_run.options.protocol(task_run.task))
            }
            config = _plain({**(request or {}), **settings, "model": model, "step": self._step})
            self._tracker = self._class(self._project, model_label(model), config)

        self._call(start)

    def add(self, result: TaskResult) -> None:
        """Send the headline score of a finished task, and the items to a tracker that takes them."""
        tracker, name = self._tracker, _name(result)
        if tracker is not None and (scores := dict(_scores(result, name))):
            self._call(partial(tracker.log, scores, self._step))
        if isinstance(tracker, _Trackio):
            self._call(partial(tracker.log_items, f"{name}/items", result.items, self._step))

    def end(self, results: Sequence[TaskResult], files: Sequence[Path]) -> None:
        """Send the averages of tasks over datasets and the files that exist, and end the tracker's run."""
        for result in results:
            if result.dataset == AVERAGE:
                self.add(result)
        if self._tracker is not None:
            self._call(partial(self._tracker.end, [file for file in files if file.is_file()]))
        self._tracker = None

    def _call(self, function: Callable[[], None]) -> None:
        """Call a tracker without what it prints; trackio warns where others raise."""
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                function()
            # Any error of a package that is not ours.
            except Exception as error:
                self._tracker = None
                self._say(f"{type(error).__name__}: {error}", "The run goes on without it")
                return
        texts = [str(each.message) for each in caught if each.category is UserWarning]
        if texts and not self._is_warned:
            self._is_warned = True
            self._say(texts[0], "The run goes on")

    def _say(self, problem: str, what: str) -> None:
        problem = " ".join(problem.split())[:_LONGEST].rstrip(".")
        print_line(self._messages, f"warning: tracking with {self._name}: {problem}. {what}.", "yellow")


def _name(result: TaskResult) -> str:
    """The task; with the dataset, if the task has several."""
    task = known_task(result.task)
    has_several = task is not None and len(task.data.datasets) > 1
    return f"{result.task}/{result.dataset}" if has_several else result.task


def _scores(result: TaskResult, name: str) -> Iterator[tuple[str, float]]:
    """The headline score, the bounds of its 95 % interval and n, as far as they are defined."""
    spec, scores = result.headline_spec(), result.scores or {}
    if spec is not None:
        low, high = spec.bounds(scores) or (None, None)
        values = {spec.key: spec.value(scores), "low": low, "high": high, "n": spec.n(scores)}
        for key, value in values.items():
            if value is not None and math.isfinite(value):
                yield f"{name}/{key}", value


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values as JSON has them, without secrets."""
    plain: dict[str, Any] = redact_values(json.loads(json.dumps(values, default=str)))
    return plain
