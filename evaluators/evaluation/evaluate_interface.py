"""The interface of `evaluate.Evaluator`, on which `evaluate.evaluator(...)` and `evaluate.EvaluationSuite` build.

Its own `prepare_pipeline` fails on transformers 5 for anything but a string, so it is ours, as are the other hooks.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import evaluate
from datasets import Dataset

from eyechart import metrics
from eyechart.datasets_scripts.common.errors import DataError, MiniDataWarning, UsageError, unknown_name
from eyechart.evaluators.backends import resolve_backend
from eyechart.evaluators.backends.local.loading import LoadOptions
from eyechart.evaluators.evaluation.data import LoadedData, load_data, undecoded_rows
from eyechart.evaluators.evaluation.waves import PRIVATE
from eyechart.evaluators.protocols.options import TaskOptions
from eyechart.evaluators.requests.types import Backend, Request, RowResponses
from eyechart.evaluators.results.evaluation import Evaluation
from eyechart.evaluators.results.sources import GIVEN, MINI
from eyechart.evaluators.tasks.as_published import published_data_options
from eyechart.evaluators.tasks.task import Task
from eyechart.metrics.scoring.errors import LeftOutWarning

_OWN_PROCESSOR = "None: a vision-language model needs its whole processor, so pass a pipeline"


class EvaluateInterface(evaluate.Evaluator):
    """What `evaluate` calls, in terms of `Evaluator.run` and what our evaluators say of rows."""

    definition: Task
    """The task to run."""
    options: TaskOptions
    """Other settings than the task's own."""
    required_columns: tuple[str, ...]
    """Columns that the data must have: the id, then the input and the label, then others."""

    def compute(  # the signature is that of evaluate.Evaluator.compute
        self,
        model_or_pipeline: Any = None,
        data: str | Dataset | None = None,
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
    ) -> dict[str, Any]:
        """Evaluate a model on the task.

        Args:
            model_or_pipeline: A transformers pipeline ("image-text-to-text", or "zero-shot-image-classification" where
                the task asks for logits of words alone), a model id or folder, a backend, or a callable that takes
                chat messages and returns text. None is the bundled tiny model.
            data: A data set in the documented columns, or the name of one of ours or of the Hub. None is the task's
                own. Ours are the official releases, downloaded where that is possible; "mini" is the task's own with
                synthetic items, to try things out, and "mini:NAME" another one of ours. Without a model, None is
                "mini" too.
            subset: Configuration of the data set, where `data` is a name; one of the task's data sets where it is None
                or "mini".
            split: The task's first split by default.
            metric: An evaluate module or its name; the task's own by default.
            tokenizer: Refused: a vision-language model needs its whole processor. Pass a pipeline.
            feature_extractor: Refused, as `tokenizer`.
            strategy: "simple". The metrics compute their own 95 % intervals, so "bootstrap" is refused.
            confidence_level: 0.95, that of the metrics' intervals; others are refused.
            n_resamples: Ignored with "simple".
            device: Where a model given by id or folder is loaded, as `transformers.pipeline` takes it.
            random_state: Ignored with "simple"; the seed is the evaluator's.
            input_column: The column that holds the image or images, if it has another name than documented.
            label_column: The column that holds the answer or quality, likewise.
            label_mapping: Refused: answers are letters or numbers.

        Returns:
            The metric's scores; `is_mini`, which says whether the items are synthetic (None for a `Dataset` object,
            which does not tell); and evaluate's timings: `total_time_in_seconds`, `samples_per_second`,
            `latency_in_seconds`.

        Raises:
            UsageError: An argument is not supported or names something that does not exist.
            DataError: A row or an image cannot be used, or the release has to be got by hand; says from where.
            ModelError: The model cannot do what the task asks.

        Warns:
            MiniDataWarning: The items are synthetic.
            LeftOutWarning: Rows with a public answer have no part in the scores, or scores were made of less than was
                to be asked.
        """
        _refuse({"label_mapping": label_mapping}, "None: answers are letters or numbers")
        _refuse({"tokenizer": tokenizer, "feature_extractor": feature_extractor}, _OWN_PROCESSOR)
        if strategy != "simple" or confidence_level != 0.95:
            raise UsageError(
                f"strategy={strategy!r}, confidence_level={confidence_level!r}: only 'simple' and 0.95 are allowed. "
                "The metrics return 95 % intervals themselves."
            )
        backend = self.prepare_pipeline(model_or_pipeline, device=device)
        no_names = data is None and model_or_pipeline is None
        loaded = self._rename(self._load(data, subset, split, is_mini=no_names), input_column, label_column)
        if loaded.is_mini:
            warnings.warn(
                f"{self.definition.name}: the {MINI} of {loaded.subset} holds synthetic items, so its scores are not "
                "the benchmark's.",
                MiniDataWarning,
                stacklevel=2,
            )
        evaluation = self.run(backend, loaded, metric=metric)
        if evaluation.scores is None:
            raise DataError(f"{evaluation.note} Use `run` to get the predictions.")
        _warn_of_left_out(evaluation)
        seconds, count = evaluation.timings["model_seconds"], len(evaluation.predictions)
        is_synthetic = None if loaded.source == GIVEN else loaded.is_mini
        return {**evaluation.scores, "is_mini": is_synthetic, **self._compute_time_perf(0.0, seconds, count)}

    def prepare_pipeline(
        self,
        model_or_pipeline: Any = None,
        tokenizer: Any = None,
        feature_extractor: Any = None,
        device: int | str | None = None,
    ) -> Backend:
        """The backend for what `compute` takes as `model_or_pipeline`, checked for what the task asks of it."""
        _refuse({"tokenizer": tokenizer, "feature_extractor": feature_extractor}, _OWN_PROCESSOR)
        backend = resolve_backend(model_or_pipeline, options=LoadOptions(device=device))
        # `run` checks it too; here, it is known before any data are loaded.
        backend.check(self.output_type)
        return backend

    def load_data(self, data: str | Dataset | None, subset: str | None = None, split: str | None = None) -> Dataset:
        """The data set for what `compute` takes as `data`; None is the task's own official release."""
        return self._load(data, subset, split).dataset

    def prepare_data(
        self, data: Dataset, input_column: str | None = None, label_column: str | None = None
    ) -> tuple[dict[str, Any], list[Request]]:
        """The metric's references and the requests that a data set makes."""
        loaded = self._rename(LoadedData(data, "own data", GIVEN, GIVEN), input_column, label_column)
        self._check_columns(loaded.dataset)
        rows, _ = self.usable_rows(undecoded_rows(loaded.dataset), skip_bad=False)
        references = [row[self.required_columns[2]] for row in rows]
        return {"references": references}, [request for row in rows for request in self.requests(row)]

    def prepare_metric(
        self, metric: str | evaluate.EvaluationModule | None, config: str | None = None
    ) -> evaluate.EvaluationModule:
        """The module given, or the installed one of that name, or the task's own in a configuration."""
        if isinstance(metric, evaluate.EvaluationModule):
            return metric
        own = config or self.definition.metric_config
        return metrics.load(metric or self.definition.metric, None if metric else own)

    def predictions_processor(self, predictions: Sequence[RowResponses], label_mapping: None = None) -> dict[str, Any]:
        """The hook that `evaluate.Evaluator` names: the metric's arguments from what was answered."""
        return self.metric_inputs(predictions)

    def _load(
        self, data: str | Dataset | None, subset: str | None, split: str | None, *, is_mini: bool = False
    ) -> LoadedData:
        options = published_data_options(self.definition, self.options)
        return load_data(self.definition, data, subset=subset, split=split, is_mini=is_mini, options=options)

    def _rename(self, loaded: LoadedData, input_column: str | None, label_column: str | None) -> LoadedData:
        documented = self.required_columns
        for given, name in ((input_column, documented[1]), (label_column, documented[2])):
            if given and given != name:
                if given not in loaded.dataset.column_names:
                    raise unknown_name("column", given, loaded.dataset.column_names)
                loaded = loaded.with_dataset(loaded.dataset.rename_column(given, name))
        return loaded


def _warn_of_left_out(evaluation: Evaluation) -> None:
    left_out = [item for item in evaluation.left_out if item["reason"] != PRIVATE]
    lines = [] if evaluation.complete else [evaluation.note]
    if left_out and evaluation.complete:
        first = left_out[0]
        lines.append(f"{len(left_out)} rows are left out; the first: '{first['id']}': {first['reason']}.")
    for line in lines:
        warnings.warn(f"{evaluation.task}: {line} `run` lists all of them.", LeftOutWarning, stacklevel=3)


def _refuse(arguments: Mapping[str, Any], allowed: str) -> None:
    for name, value in arguments.items():
        if value is not None:
            raise UsageError(f"{name}={value!r} is not supported; allowed is {allowed}.")
