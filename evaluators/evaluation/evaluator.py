"""Interfaces of `evaluate`: an `Evaluator` for each task, and an `EvaluationSuite` for each paper.

The evaluator has its own hooks: on transformers 5, the original ones accept only strings.
"""

import contextlib
import importlib
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import evaluate
from datasets import Dataset
from datasets.utils import tqdm
from evaluate.evaluation_suite import SubTask

from eyechart import metrics
from eyechart.datasets_scripts.common.errors import DataError, MiniDataWarning, UsageError, unknown_name
from eyechart.datasets_scripts.common.paths import eyechart_home
from eyechart.evaluators.backends import resolve_backend
from eyechart.evaluators.backends.local.loading import LoadOptions
from eyechart.evaluators.evaluation.data import DataRequest, LoadedData, load_data
from eyechart.evaluators.evaluation.loop import evaluate_rows
from eyechart.evaluators.evaluation.options import RunOptions
from eyechart.evaluators.evaluation.waves import Progress
from eyechart.evaluators.requests.types import Backend
from eyechart.evaluators.results.finished_runs import GIVEN, TaskKey
from eyechart.evaluators.results.items import MAIN, Item
from eyechart.evaluators.results.notes import note
from eyechart.evaluators.results.results_file import PRIVATE, TaskResult
from eyechart.evaluators.results.score_rows import COLUMNS, score_rows
from eyechart.evaluators.tasks import TASKS, find_tasks, get_task, q_bench
from eyechart.evaluators.tasks.task import Task, published_data_options
from eyechart.metrics.scoring.errors import LeftOutWarning

MULTIPLE_CHOICE_PIPELINE = "image-text-to-text"
"""Name of the transformers pipeline; as a task of `evaluate`, it means multiple choice with Q-Bench's prompt."""
_DEFAULT = RunOptions()
_DELAY = 2
"""Seconds before a progress bar is shown."""
_METRIC_INPUTS = {
    "predictions": ("quality_score", "text"),
    "references": ("quality", "answer", "label"),
    "choices": ("options",),
    "questions": ("question",),
}
"""Columns of items that a metric other than the task's own takes, by its argument; the first that has a value."""


class ComputedScores(dict[str, Any]):
    """A metric's scores and what `compute` adds to them: a dict whose repr is a small table.

    Examples:
        >>> ComputedScores({"accuracy": 0.5, "accuracy_ci95": [0.25, 0.75], "n": 8}, "own (test)")
        own (test)
        score       value   95 % interval  chance level  n
        accuracy  50.00 %  25.00 to 75.00                8
    """

    def __init__(self, scores: Mapping[str, Any], title: str) -> None:
        """Keep the scores, and the title of their table."""
        super().__init__(scores)
        self.title = title

    def __repr__(self) -> str:
        """The scores with their intervals, as `eyechart run` prints them."""
        rows = [COLUMNS, *score_rows(self)]
        if len(rows) == 1:
            return super().__repr__()
        first, *others = [max(map(len, column)) for column in zip(*rows, strict=True)]
        # Names are on the left, numbers on the right.
        lines = ["  ".join([row[0].ljust(first), *map(str.rjust, row[1:], others)]).rstrip() for row in rows]
        return "\n".join([self.title, *lines])


class Evaluator(evaluate.Evaluator):
    """Runs a task on models."""

    def __init__(self, task: Task, options: RunOptions = _DEFAULT) -> None:
        """Raises `UsageError` if a setting is unknown, or conflicts with `as_published`; nothing is loaded."""
        super().__init__(task=MULTIPLE_CHOICE_PIPELINE, default_metric_name=task.metric)
        self.definition = task
        self.options = options
        self.protocol = options.protocol(task)

    def run(self, backend: Backend, loaded: LoadedData, progress: Progress | None = None) -> TaskResult:
        """Evaluate a backend on loaded data; `progress` is called with (done, total) after each response.

        Raises:
            DataError: A row cannot be asked, unless the data were requested with `skip_bad`; or there are no rows.
            UsageError: The data lacks a column; an as-published run lacks its judge or data options; or all repeats
                would be equal.
        """
        return evaluate_rows(self.definition, self.options, backend, loaded, progress)

    def compute(  # the signature is that of evaluate.Evaluator.compute
        self,
        model_or_pipeline: Any = None,
        data: str | Path | Dataset | None = None,
        subset: str | None = None,
        split: str | None = None,
        metric: str | evaluate.EvaluationModule | None = None,
        tokenizer: Any = None,
        feature_extractor: Any = None,
        strategy: str = "simple",
        confidence_level: float = 0.95,
        n_resamples: int = 9999,
        device: int | str | None = None,
        random_state: int | None = None,
        input_column: str | None = None,
        label_column: str | None = None,
        label_mapping: Mapping[str, Any] | None = None,
        *,
        limit: int | None = None,
        skip_bad: bool = False,
    ) -> ComputedScores:
        """Evaluate a model on the task. Longer runs show a progress bar in a terminal or a notebook.

        Args:
            model_or_pipeline: A transformers pipeline ("image-text-to-text", or "zero-shot-image-classification" if
                the task asks only for logits of words), a model id or folder, a backend, or a callable that takes chat
                messages and returns text. None is the bundled tiny model.
            data: As `DataRequest.data`. Without a model, None means "mini", unless the task is your own.
            subset: As `DataRequest.dataset`.
            split: The task's first split by default.
            metric: An evaluate module or its name; the task's own by default.
            tokenizer: Not supported, like `feature_extractor`: pass a pipeline with its complete processor.
            feature_extractor: Not supported.
            strategy: "simple", with a `confidence_level` of 0.95: the metrics compute their own 95 % intervals.
            confidence_level: 0.95.
            n_resamples: Ignored, like `random_state`; the seed is the evaluator's.
            device: Where to load a model given by id or folder, as for `transformers.pipeline`.
            random_state: Ignored.
            input_column: The column of the image or images, if its name is not the documented one.
            label_column: The column of the answer or quality, if its name is not the documented one.
            label_mapping: Not supported: answers are letters or numbers.
            limit: Ask only the first N rows.
            skip_bad: Leave out items that cannot be asked, for example because their image is corrupt, with a warning.

        Returns:
            A dict that prints as a small table: the metric's scores; `is_mini`, whether the items are synthetic (None
            for a `Dataset` object, for which this is unknown); evaluate's timings `total_time_in_seconds`,
            `samples_per_second`, `latency_in_seconds`; and `limit`, if one was given.

        Raises:
            UsageError: An argument is not supported, or a name is unknown.
            DataError: A row or an image cannot be used, or the release has to be downloaded by hand (the message says
                from where).
            ModelError: The model cannot do what the task asks.

        Warns:
            MiniDataWarning: The items are synthetic.
            LeftOutWarning: Rows with a public answer are missing from the scores, or the evaluation is incomplete.
        """
        _refuse("Answers are letters or numbers", label_mapping=label_mapping)
        ours = "The metrics return 95 % intervals themselves"
        _refuse(ours, strategy=strategy if strategy != "simple" else None)
        _refuse(ours, confidence_level=confidence_level if confidence_level != 0.95 else None)
        backend = self.prepare_pipeline(model_or_pipeline, tokenizer, feature_extractor, device)
        no_names = data is None and model_or_pipeline is None and self.definition.data.path is None
        loaded = self._load(DataRequest(data, subset, split, is_mini=no_names, limit=limit, skip_bad=skip_bad))
        loaded = self._rename(loaded, input_column, label_column)
        if loaded.is_mini:
            about = note("synthetic", tasks=[f"{self.definition.name} on {loaded.name}"])
            warnings.warn(about.text, MiniDataWarning, stacklevel=2)
        with progress_bar(self.definition.name) as progress:
            result = self.run(backend, loaded, progress)
        if result.scores is None:
            raise DataError(f"{' '.join(result.caveats)} Use `Evaluator.run` to get the predictions.")
        _warn_of_left_out(result)
        scores = result.scores
        if metric not in (None, self.definition.metric):
            module = self.prepare_metric(metric)
            if module.name != self.definition.metric:
                inputs = self.predictions_processor([item for item in result.items if item.label is not None])
                scores = module.compute(**{name: inputs[name] for name in module._feature_names() if name in inputs})
        seconds, count = result.timings["model_seconds"], len(result.items)
        is_synthetic = None if loaded.source == GIVEN else loaded.is_mini
        computed = {**scores, "is_mini": is_synthetic, **self._compute_time_perf(0.0, seconds, count)}
        computed |= {} if limit is None else {"limit": limit}
        split = f"{result.split}, synthetic" if is_synthetic else result.split
        return ComputedScores(computed, TaskKey(result.task, result.dataset, split).title)

    def prepare_pipeline(
        self,
        model_or_pipeline: Any = None,
        tokenizer: Any = None,
        feature_extractor: Any = None,
        device: int | str | None = None,
    ) -> Backend:
        """The backend for the `model_or_pipeline` of `compute`; checks that it can do what the task asks."""
        reason = "A vision-language model needs its complete processor: pass a pipeline"
        _refuse(reason, tokenizer=tokenizer, feature_extractor=feature_extractor)
        backend = resolve_backend(model_or_pipeline, options=LoadOptions(device=device))
        # `run` checks this too; checking here avoids loading data in vain.
        backend.check(self.protocol.output_type)
        return backend

    def load_data(self, data: str | Dataset | None, subset: str | None = None, split: str | None = None) -> Dataset:
        """The dataset for the `data` of `compute`; None is the official release of the task's own dataset."""
        return self._load(DataRequest(data, subset, split)).dataset

    def prepare_metric(
        self, metric: str | evaluate.EvaluationModule | None, metric_config: str | None = None
    ) -> evaluate.EvaluationModule:
        """The given module, or the installed module with the given name, or the task's own."""
        if isinstance(metric, evaluate.EvaluationModule):
            return metric
        return metrics.load(metric or self.definition.metric, metric_config)

    def predictions_processor(self, predictions: Sequence[Item], label_mapping: None = None) -> dict[str, Any]:
        """A hook of `evaluate.Evaluator`: what metrics may take, from the items of the first pass."""
        records = [item.record() for item in predictions if (item.pass_name, item.repeat) == (MAIN, 1)]
        return {
            name: [
                next((record[column] for column in columns if record.get(column) is not None), "") for record in records
            ]
            for name, columns in _METRIC_INPUTS.items()
        }

    def _load(self, request: DataRequest) -> LoadedData:
        if self.options.as_published:
            request = replace(request, options=published_data_options(self.definition))
        return load_data(self.definition, request)

    def _rename(self, loaded: LoadedData, input_column: str | None, label_column: str | None) -> LoadedData:
        documented = self.protocol.columns
        for given, name in ((input_column, documented[1]), (label_column, documented[2])):
            if given and given != name:
                if given not in loaded.dataset.column_names:
                    raise unknown_name("column", given, loaded.dataset.column_names)
                loaded = replace(loaded, dataset=loaded.dataset.rename_column(given, name))
        return loaded


def _warn_of_left_out(result: TaskResult) -> None:
    left_out = [item for item in result.left_out if item.reason != PRIVATE]
    line = "" if result.complete else " ".join(result.caveats)
    if left_out and result.complete:
        line = note("left_out", n=len(left_out), id=left_out[0].id, reason=left_out[0].reason).text
    if line:
        warnings.warn(f"{result.task}: {line} `Evaluator.run` lists all of them.", LeftOutWarning, stacklevel=3)


def _refuse(reason: str, **arguments: Any) -> None:
    for name, value in arguments.items():
        if value is not None:
            raise UsageError(f"{name}={value!r} is not supported; leave it out. {reason}.")


@contextlib.contextmanager
def progress_bar(title: str) -> Iterator[Progress]:
    """A progress bar in a terminal or a notebook, shown after two seconds."""
    is_watched = sys.stderr.isatty() or "ipykernel" in sys.modules
    with tqdm(desc=title, unit="answer", delay=_DELAY, disable=not is_watched) as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield show


def register() -> None:
    """Add every task to `evaluate.evaluator`, under its name; a second call changes nothing.

    `evaluate` accepts only names of transformers pipelines as tasks, so its check of names is extended.
    "image-text-to-text" means multiple-choice questions with the prompt of q_bench/perception.
    """
    # `evaluate.evaluator` is a function of the same name as its module.
    module: Any = importlib.import_module("evaluate.evaluator")
    if MULTIPLE_CHOICE_PIPELINE in module.SUPPORTED_EVALUATOR_TASKS:
        return
    tasks = {task.name: task for task in TASKS} | {MULTIPLE_CHOICE_PIPELINE: q_bench.PERCEPTION}
    ours = {
        name: {"implementation": partial(_make, task.name), "default_metric_name": task.metric}
        for name, task in tasks.items()
    }
    theirs = module.check_task
    module.check_task = lambda task: ours[task] if task in ours else theirs(task)
    module.SUPPORTED_EVALUATOR_TASKS.update(ours)


def _make(name: str, task: str, default_metric_name: str) -> Evaluator:
    """Called by `evaluate.evaluator`; the name and metric that it passes are those of the task."""
    return Evaluator(get_task(name))


class Suite(evaluate.EvaluationSuite):
    """All tasks of a paper on the official releases; `evaluate.EvaluationSuite.load` takes its `suite_folder`."""

    def __init__(self, name: str) -> None:
        """List the tasks; nothing is loaded."""
        super().__init__(name)
        self.suite = subtasks(name)


def list_suites() -> list[str]:
    """Names of the suites, one per paper, in the order of the tasks."""
    return list(dict.fromkeys(task.name.partition("/")[0] for task in TASKS))


def suite_folder(name: str) -> Path:
    """Write the folder that `evaluate.EvaluationSuite.load` takes; raises `UsageError` for an unknown name."""
    if name not in list_suites():
        raise unknown_name("suite", name, list_suites())
    folder = eyechart_home() / "suites" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.py").write_text(f"from {__name__} import Suite\n\n__all__ = ['Suite']\n")
    return folder


def subtasks(name: str, *, is_mini: bool = False) -> list[SubTask]:
    """Each task of a suite on each of its datasets: synthetic demo data, or the official releases."""
    register()
    return [
        SubTask(
            task.name,
            data=f"mini:{dataset}" if is_mini else dataset,
            subset=task.data.config,
            split=task.data.splits[0],
            args_for_task={},
        )
        for task in find_tasks(name)
        for dataset in task.data.default_datasets
    ]
