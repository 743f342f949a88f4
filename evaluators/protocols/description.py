"""Descriptions: a prompt without options, a free-text reply, and a judge that compares it with a golden description."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass as plain_dataclass
from typing import Any, ClassVar, Literal

from pydantic.dataclasses import dataclass

from eyechart.evaluators.protocols.protocol import CONFIG, Count, Fixed, Protocol
from eyechart.evaluators.protocols.validation import check_texts
from eyechart.evaluators.requests.types import Request, Response, Row
from eyechart.evaluators.results.items import Item, columns_of, with_columns
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.metrics.scoring.judging.descriptions import DIMENSIONS, description_scores, read_descriptions
from eyechart.metrics.scoring.judging.lexical import LEXICAL, lexical
from eyechart.metrics.scoring.judging.replies import Judge, judge_name
from eyechart.metrics.scoring.judging.rounds import JudgeSettings


@plain_dataclass(frozen=True)
class JudgedItem(Item):
    """What a judged text gave; its label is the golden description."""

    rounds: list[list[int | None]] | None = None
    """The judge's score in each round of each dimension, in the order of the template; None for a failed round."""
    empty_prediction: bool | None = None
    """Whether there was no text to judge."""
    completeness: float | None = None
    preciseness: float | None = None
    precision: float | None = None
    relevance: float | None = None
    """The means over usable rounds, for the dimensions of the template."""


@dataclass(frozen=True, config=CONFIG)
class Description(Protocol):
    """Descriptions of an image, graded by a judge (Q-Bench, Sec. 2.3; AesBench, Sec. 3.4).

    A row without a golden description is private: the model is asked and its reply is kept, but it is not scored.
    Without a judge, the metric's `lexical` baseline scores the replies, and every result says so.
    """

    name: ClassVar[str] = "description"
    metric: ClassVar[str] = "judge_description"
    kind: ClassVar[str] = "description"
    item_type: ClassVar[type[JudgedItem]] = JudgedItem
    columns: ClassVar[tuple[str, ...]] = ("id", "image", "description")
    usual_length: ClassVar[int] = 512
    needs_whole_texts: ClassVar[bool] = True

    template: Fixed[Literal["q_bench", "aesbench"]] = "q_bench"
    """Which paper's dimensions and wording the judge is given."""
    rounds: Count = 5
    """Replies requested from the judge for each description and dimension."""

    @property
    def is_judged(self) -> bool:
        """A judge scores the descriptions, unless the task has its own scoring function."""
        return self.scorer is None

    def unused_settings(self) -> tuple[str, ...]:
        """Without a judge, there are no rounds."""
        return () if self.is_judged else ("rounds",)

    def settings(self) -> dict[str, Any]:
        """The settings, and `lexical` as the judge if no other is set."""
        judge = {} if self.judge is not None or not self.is_judged else {"judge": {"name": LEXICAL}}
        return {**Protocol.settings(self), **judge}

    def check(self, row: Row) -> None:
        """Check that the golden description is a string or absent."""
        check_texts(row, "description", private=True)

    def is_private(self, row: Row) -> bool:
        """Whether the row has no golden description."""
        return not (row["description"] or "").strip()

    def requests(self, row: Row) -> list[Request]:
        """One request for a description."""
        prompt, images = self.prompt_of(row), (row["image"],)
        return [Request(id=row["id"], prompt=prompt, images=images, max_new_tokens=self.reply_length)]

    def item(self, row: Row, response: Response, **fields: Any) -> Any:
        """The item with the golden description."""
        return super().item(row, response, label=None if self.is_private(row) else row["description"])

    def parse(self, items: Sequence[JudgedItem]) -> list[JudgedItem]:
        """Have the judge score the texts; private ones are not judged."""
        if not self.is_judged:
            return list(items)
        texts, ends = [item.text or "" for item in items], [item.finish_reason for item in items]
        references = [item.label or "" for item in items]
        return with_columns(items, read_descriptions(texts, references, self._judge, self.rounds, self.template, ends))

    def score(self, items: Sequence[JudgedItem]) -> TaskResult:
        """Scores by dimension and shares of incomplete replies."""
        if not self.is_judged:
            return super().score(items)
        public = [item for item in items if item.label is not None]
        if not public:
            return TaskResult(items=list(items))
        columns = columns_of(public, *DIMENSIONS[self.template], "rounds", "empty_prediction", "finish_reason")
        settings = JudgeSettings(judge_name(self._judge), self.rounds)
        clusters = [item.cluster for item in public]
        scores = description_scores(columns, self.groups_of(public) or None, settings, self.template, clusters)
        return TaskResult(scores=scores, items=list(items))

    def answer_files(self, rows: Sequence[Row], items: Sequence[JudgedItem]) -> dict[str, bytes]:
        """The answer file, if all golden descriptions are private."""
        if self.answer_file is None or any(item.label is not None for item in items):
            return {}
        return dict(self.answer_file(rows, [item.text or "" for item in items]))

    @property
    def _judge(self) -> Judge:
        judge: Judge = lexical if self.judge is None else self.judge
        return judge
