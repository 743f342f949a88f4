"""Descriptions: a prompt without options, a free-text reply, and a judge that compares it with a golden description."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass as plain_dataclass
from typing import Any, ClassVar, Literal

from pydantic.dataclasses import dataclass
from typing_extensions import override

from eyechart.evaluators.protocols.protocol import CONFIG, Count, Fixed, Protocol, check_texts
from eyechart.evaluators.requests.types import Request, Response, Row
from eyechart.evaluators.results.items import Item, PackedItems, columns_of, with_columns
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.metrics.scoring.judging.descriptions import DIMENSIONS, description_scores, read_descriptions
from eyechart.metrics.scoring.judging.lexical import LEXICAL
from eyechart.metrics.scoring.judging.replies import JudgeSettings, judge_name


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
    can_be_judged: ClassVar[bool] = True
    needs_whole_texts: ClassVar[bool] = True

    template: Fixed[Literal["q_bench", "aesbench"]] = "q_bench"
    """Which paper's dimensions and wording the judge is given."""
    rounds: Count = 5
    """Replies requested from the judge for each description and dimension."""

    @override
    def unused_settings(self) -> tuple[str, ...]:
        return () if self.is_judged else ("rounds",)

    @override
    def settings(self, rows: Iterable[Row] = ()) -> dict[str, Any]:
        is_lexical = self.judge is None and self.is_judged
        return super().settings(rows) | ({"judge": {"name": LEXICAL}} if is_lexical else {})

    @override
    def check(self, row: Row) -> None:
        check_texts(row, "description", private=True)

    @override
    def requests(self, row: Row) -> list[Request]:
        prompt, images = self.prompt_of(row), (row["image"],)
        return [Request(id=row["id"], prompt=prompt, images=images, max_new_tokens=self.reply_length)]

    @override
    def item(self, row: Row, response: Response, **fields: Any) -> Any:
        return super().item(row, response, label=None if self.is_private(row) else row["description"])

    @override
    def parse(self, items: Sequence[JudgedItem]) -> list[JudgedItem]:
        if not self.is_judged:
            return list(items)
        texts, ends = [item.text or "" for item in items], [item.finish_reason for item in items]
        references = [item.label or "" for item in items]
        scores = read_descriptions(texts, references, self.grader, self.rounds, self.template, ends)
        return list(with_columns(items, scores))

    @override
    def score(self, items: Sequence[JudgedItem]) -> TaskResult:
        if not self.is_judged:
            return super().score(items)
        public = PackedItems(item for item in items if item.label is not None)
        if not public:
            return TaskResult(items=items)
        columns = columns_of(public, *DIMENSIONS[self.template], "rounds", "empty_prediction", "finish_reason")
        settings = JudgeSettings(judge_name(self.grader), self.rounds)
        clusters = columns_of(public, "cluster")["cluster"]
        scores = description_scores(columns, self.groups_of(public) or None, settings, self.template, clusters)
        return TaskResult(scores=scores, items=items)
