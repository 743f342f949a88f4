"""What all evaluators share.

`Evaluator.run` gives everything that a result file needs; `evaluate_interface.py` adds `compute` and the other names of
`evaluate.Evaluator`. Subclasses say what a row asks (`requests`), what is asked next, given the answers (`follow_ups`),
and how responses become metric inputs (`metric_inputs`); `loop.py` calls them.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import evaluate
from datasets import Dataset

from eyechart.datasets_scripts.common.errors import DataError, unknown_name
from eyechart.evaluators.evaluation.data import LoadedData, undecoded_rows
from eyechart.evaluators.evaluation.evaluate_interface import EvaluateInterface
from eyechart.evaluators.evaluation.loop import evaluate_rows
from eyechart.evaluators.evaluation.waves import Progress, explain_item, left_out_item
from eyechart.evaluators.protocols.options import TaskOptions
from eyechart.evaluators.requests.types import Backend, OutputType, Request, Response, Row, RowResponses
from eyechart.evaluators.results.evaluation import Evaluation
from eyechart.evaluators.tasks.as_published import judge_needed, lacks_judge, published_settings, published_task
from eyechart.evaluators.tasks.task import Task
from eyechart.metrics.scoring.judging.replies import Judge


class Evaluator(EvaluateInterface):
    """Binds one task to models. Base of the evaluators, one for each kind of question.

    Args:
        task: The task to run.
        seed: Seed of everything random: the metric's bootstrap and its random choices.
        options: Other settings than the task's own, of those in `takes`.
        judge: `judge(messages, n)` returning n replies, for what a task's metric puts to a judge. None is the metric's
            own way without one.

    Raises:
        UsageError: An option that the task does not take, or that does not go with `as_published`.
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
        self.seed = seed
        self.options = options or TaskOptions()
        self.options.check_taken(self.taken(self.options), task.name)
        if self.options.as_published:
            task, self.options = published_task(task, self.options, self.taken(self.options))
        self.definition = task
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
    def output_type(self) -> OutputType:
        """What its requests want of a model."""
        return OutputType.TEXT

    @abstractmethod
    def requests(self, row: Row) -> list[Request]:
        """What to ask the model about one row, whatever it answers."""

    def follow_ups(self, row: Row, responses: Sequence[Response]) -> list[Request]:
        """What to ask about one row next, given all responses so far; requests asked before are passed over."""
        return []

    def next_wave(self, answered: Sequence[RowResponses]) -> list[Request]:
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

    def unusable(self, answered: RowResponses) -> str:
        """Why a row's answers cannot be scored, so that the scores are made of the others; "" where they can."""
        return ""

    def why_unscored(self, answered: Sequence[RowResponses]) -> str:
        """Why answers of this kind give no score, for the reader; "" where they do."""
        return ""

    def lacking(self, answered: Sequence[RowResponses], scores: Mapping[str, Any]) -> str:
        """What was to be asked and has no answer, though its row has a part in the scores; "" where that is nothing."""
        return ""

    def caveat(self, answered: Sequence[RowResponses]) -> str:
        """What a reader has to know of the data to read the scores rightly; "" where that is nothing."""
        return ""

    def metric_config(self, answered: Sequence[RowResponses]) -> str | None:
        """The configuration of the task's metric for the rows that are scored."""
        return self.definition.metric_config

    @abstractmethod
    def metric_inputs(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        """The metric's arguments for the rows that were answered."""

    def variants(self, answered: Sequence[RowResponses]) -> dict[str, dict[str, Any]]:
        """The same answers, of rows that can be scored, scored in other ways, by a name that says the way."""
        return {}

    def marks(self, scored: Sequence[RowResponses], scores: Mapping[str, Any]) -> dict[str, dict[str, float]]:
        """What a judge gave single rows, by their ids, where the scores tell it."""
        return {}

    def extras(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        """What else the answers tell, of all rows."""
        return {}

    def files(self, answered: Sequence[RowResponses], loaded: LoadedData) -> dict[str, bytes]:
        """Files for the run's folder by name, such as the answer file of a private split."""
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

    def published(self, loaded: LoadedData) -> dict[str, Any]:
        """The settings of the paper that are in force in place of the task's own; empty without `as_published`."""
        return {"as_published": published_settings(self.definition, loaded)} if self.options.as_published else {}

    def answer_settings(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        """Settings of the task that only the answers tell; they replace those of the same name."""
        return {}

    @abstractmethod
    def record(self, answered: RowResponses, response: Response) -> dict[str, Any]:
        """One line of the predictions table, beside id, pass, text, logits and which of them are upper bounds."""

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
        if lacks_judge(self.definition, self.options, self.judge is not None) and self._has_public(loaded, limit):
            raise judge_needed(self.definition)
        # Data that are not the paper's are refused before a model is asked about them.
        self.published(loaded)
        backend.check(self.output_type)
        self._check_columns(loaded.dataset)
        backend = backend.for_data(loaded.subset)
        bound = self.for_data(loaded, skip_bad=skip_bad, limit=limit).for_backend(backend)
        return evaluate_rows(bound, backend, loaded, metric=metric, skip_bad=skip_bad, limit=limit, progress=progress)

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

    def _has_public(self, loaded: LoadedData, limit: int | None) -> bool:
        """Whether a row has a public answer, so that there are scores."""
        return not all(map(self.is_private, undecoded_rows(loaded.dataset, limit)))

    def _check_columns(self, dataset: Dataset) -> None:
        for column in self.required_columns:
            if column not in dataset.column_names:
                raise unknown_name(f"column, which task {self.definition.name} needs,", column, dataset.column_names)
