"""What all evaluators share.

`Evaluator.compute` has the signature of `evaluate.Evaluator.compute`; `Evaluator.run` gives everything else that a
result file needs. Subclasses say what a row asks (`requests`), what is asked next, given the answers (`follow_ups`),
and how responses become metric inputs (`metric_inputs`); `loop.py` calls them.
"""

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import ClassVar

import evaluate
from datasets import Dataset

from eyechart import metrics
from eyechart.datasets_scripts.common.errors import DataError
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.common.errors import unknown_name
from eyechart.evaluators.asking import PRIVATE
from eyechart.evaluators.asking import Answered
from eyechart.evaluators.asking import Progress
from eyechart.evaluators.asking import explain_item
from eyechart.evaluators.asking import left_out_item
from eyechart.evaluators.backends import resolve_backend
from eyechart.evaluators.backends.local.loading import LoadOptions
from eyechart.evaluators.data import LoadedData
from eyechart.evaluators.data import load_data
from eyechart.evaluators.data import undecoded_rows
from eyechart.evaluators.loop import evaluate_rows
from eyechart.evaluators.options import TaskOptions
from eyechart.evaluators.tasks.task import Task
from eyechart.evaluators.types import Backend
from eyechart.evaluators.types import Evaluation
from eyechart.evaluators.types import Request
from eyechart.evaluators.types import Response
from eyechart.evaluators.types import Row
from eyechart.evaluators.types import Wanted
from eyechart.metrics.scoring.errors import LeftOutWarning
from eyechart.metrics.scoring.judging.replies import Judge

_OWN_PROCESSOR = "None: a vision-language model needs its whole processor, so pass a pipeline"


class Evaluator(evaluate.Evaluator):
    """Binds one task to models. Base of the evaluators, one for each kind of question.

    Args:
        task: The task to run.
        seed: Seed of everything random: the metric's bootstrap and its random choices.
        options: Other settings than the task's own, of those in `takes`.
        judge: `judge(messages, n)` returning n replies, for what a task's metric puts to a judge. None is the metric's
            own way without one.

    Raises:
        UsageError: An option that the task does not take.
    """

    required_columns: tuple[str, ...] = ("id",)
    """Columns that the data must have."""
    takes: ClassVar[tuple[str, ...]] = ()
    """Names of the options that it takes."""

    def __init__(
        self, task: Task, *, seed: int = 0, options: TaskOptions | None = None, judge: Judge | None = None
    ) -> None:
        """Keep and check the settings; nothing is loaded."""
        super().__init__(task="image-text-to-text", default_metric_name=task.metric)
        self.definition = task
        self.seed = seed
        self.options = options or TaskOptions()
        self.options.check_taken(self.taken(self.options), task.name)
        self.judge = judge

    @property
    def is_judged(self) -> bool:
        """Whether a judge has a part in its scores."""
        return "rounds" in self.takes

    @classmethod
    def taken(cls, options: TaskOptions) -> tuple[str, ...]:
        """Names of the options that have an effect beside the others that are given: those of `takes`, or fewer."""
        return cls.takes

    @property
    def wanted(self) -> Wanted:
        """What its requests want of a model."""
        return Wanted.TEXT

    @abstractmethod
    def requests(self, row: Row) -> list[Request]:
        """What to ask the model about one row, whatever it answers."""

    def follow_ups(self, row: Row, responses: Sequence[Response]) -> list[Request]:
        """What to ask about one row next, given all responses so far; requests asked before are passed over."""
        return []

    def next_wave(self, answered: Sequence[Answered]) -> list[Request]:
        """What to ask about all rows next: the follow-ups of each."""
        return [request for item in answered for request in self.follow_ups(item.row, item.responses)]

    def is_optional(self, request: Request) -> bool:
        """Whether the row can be scored without an answer to this request.

        A predictions file may then lack it, and with `skip_bad` a server may fail to give it; the response holds the
        error. Any other error is the row's, and so is the lack of all answers.
        """
        return False

    def for_backend(self, backend: Backend) -> "Evaluator":
        """The evaluator with the settings that depend on who answers; itself where none does."""
        return self

    def for_data(self, loaded: LoadedData, *, skip_bad: bool, limit: int | None) -> "Evaluator":
        """The evaluator with what it has to know of the data before anything is asked; itself where that is nothing.

        Args:
            loaded: The data, which have the required columns.
            skip_bad: As for `run`, as is `limit`.
            limit: Only the first so many rows are asked.
        """
        return self

    def unusable(self, answered: Answered) -> str:
        """Why a row's answers cannot be scored, so that the scores are made of the others; "" where they can."""
        return ""

    def why_unscored(self, answered: Sequence[Answered]) -> str:
        """Why answers of this kind give no score, for the reader; "" where they do."""
        return ""

    def lacking(self, answered: Sequence[Answered], scores: Mapping[str, Any]) -> str:
        """What was to be asked and has no answer, though its row has a part in the scores; "" where that is nothing."""
        return ""

    def metric_config(self, answered: Sequence[Answered]) -> str | None:
        """The configuration of the task's metric for the rows that are scored."""
        return self.definition.metric_config

    @abstractmethod
    def metric_inputs(self, answered: Sequence[Answered]) -> dict[str, Any]:
        """The metric's arguments for the rows that were answered."""

    def variants(self, answered: Sequence[Answered]) -> dict[str, dict[str, Any]]:
        """The same answers, of rows that can be scored, scored in other ways, by a name that says the way."""
        return {}

    def marks(self, scored: Sequence[Answered], scores: Mapping[str, Any]) -> dict[str, dict[str, float]]:
        """What a judge gave single rows, by their ids, where the scores tell it."""
        return {}

    def extras(self, answered: Sequence[Answered]) -> dict[str, Any]:
        """What else the answers tell, of all rows."""
        return {}

    def files(self, answered: Sequence[Answered], loaded: LoadedData) -> dict[str, bytes]:
        """Files for the run's folder by name, such as the submission for a private split."""
        return {}

    @abstractmethod
    def check_row(self, row: Row) -> None:
        """Raise `DataError` for a row that cannot be asked or scored."""

    @abstractmethod
    def is_private(self, row: Row) -> bool:
        """Whether the row's answer is not public, so that it cannot be scored."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Every setting of the task that can change a score."""

    def answer_settings(self, answered: Sequence[Answered]) -> dict[str, Any]:
        """Settings of the task that only the answers tell; they replace those of the same name."""
        return {}

    @abstractmethod
    def record(self, answered: Answered, response: Response) -> dict[str, Any]:
        """One line of the predictions table, beside id, pass, text, logits and which of them are upper bounds."""

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
                own, as a mini release.
            subset: Configuration of the data set, where `data` is a name.
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
            The metric's scores and evaluate's timings: `total_time_in_seconds`, `samples_per_second`,
            `latency_in_seconds`.

        Raises:
            UsageError: An argument is not supported or names something that does not exist.
            DataError: A row or an image cannot be used.
            ModelError: The model cannot do what the task asks.

        Warns:
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
        loaded = self._rename(load_data(self.definition, data, subset=subset, split=split), input_column, label_column)
        evaluation = self.run(backend, loaded, metric=metric)
        if evaluation.scores is None:
            raise DataError(f"{evaluation.note} Use `run` to get the predictions.")
        _warn_of_left_out(evaluation)
        seconds, count = evaluation.timings["model_seconds"], len(evaluation.predictions)
        return {**evaluation.scores, **self._compute_time_perf(0.0, seconds, count)}

    def run(
        self,
        backend: Backend,
        loaded: LoadedData,
        *,
        metric: str | evaluate.EvaluationModule | None = None,
        skip_bad: bool = False,
        limit: int | None = None,
        progress: Progress | None = None,
    ) -> Evaluation:
        """Evaluate a backend on loaded data.

        Args:
            backend: What answers the requests.
            loaded: The data, with what its loader left out.
            metric: The task's own by default.
            skip_bad: Leave out items that cannot be asked, for example because their image is corrupt; each is listed
                in `left_out`. Otherwise the first one is an error.
            limit: Ask only the first so many rows.
            progress: Called with (done, total) after each response.

        Returns:
            Scores, predictions, settings, what was left out, timings.
        """
        self._check_columns(loaded.dataset)
        backend = backend.for_data(loaded.subset)
        bound = self.for_data(loaded, skip_bad=skip_bad, limit=limit).for_backend(backend)
        return evaluate_rows(bound, backend, loaded, metric=metric, skip_bad=skip_bad, limit=limit, progress=progress)

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
        backend.check(self.wanted)
        return backend

    def load_data(self, data: str | Dataset | None, subset: str | None = None, split: str | None = None) -> Dataset:
        """The data set for what `compute` takes as `data`."""
        return load_data(self.definition, data, subset=subset, split=split).dataset

    def prepare_data(
        self, data: Dataset, input_column: str | None = None, label_column: str | None = None
    ) -> tuple[dict[str, Any], list[Request]]:
        """The metric's references and the requests that a data set makes."""
        loaded = self._rename(LoadedData(data, "own data", "given", "given"), input_column, label_column)
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

    def predictions_processor(self, predictions: Sequence[Answered], label_mapping: None = None) -> dict[str, Any]:
        """The hook that `evaluate.Evaluator` names: the metric's arguments from what was answered."""
        return self.metric_inputs(predictions)

    def usable_rows(self, rows: Sequence[Row], skip_bad: bool) -> tuple[list[Row], list[dict[str, Any]]]:
        """The rows that can be asked, and what is left out. Found first, so that no long run ends in an error.

        Raises:
            DataError: A row cannot be asked, and `skip_bad` is False.
        """
        usable: dict[str, Row] = {}
        left_out = []
        for row in rows:
            try:
                if row["id"] in usable:
                    raise DataError("its id was there before")
                self.check_row(row)
                if self.definition.check is not None:
                    self.definition.check(row)
            except DataError as error:
                if not skip_bad:
                    raise explain_item(row["id"], error) from error
                left_out.append(left_out_item(row, str(error)))
            else:
                usable[row["id"]] = row
        return list(usable.values()), left_out

    def _check_columns(self, dataset: Dataset) -> None:
        for column in self.required_columns:
            if column not in dataset.column_names:
                raise unknown_name(f"column, which task {self.definition.name} needs,", column, dataset.column_names)

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
