"""Descriptions: a prompt without options, a free-text reply, and a judge that compares it with a golden description."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic.dataclasses import dataclass

from eyechart.evaluators.protocols.breakdown import known_groups
from eyechart.evaluators.protocols.protocol import (
    CONFIG,
    Count,
    Definition,
    Protocol,
    Scored,
    clusters_of,
    columns_of,
    flat_items,
)
from eyechart.evaluators.protocols.validation import check_texts
from eyechart.evaluators.requests.types import Request, Response, Row, RowResponses
from eyechart.metrics.scoring.judging.descriptions import DIMENSIONS, description_scores, read_descriptions
from eyechart.metrics.scoring.judging.lexical import LEXICAL, lexical
from eyechart.metrics.scoring.judging.replies import judge_name
from eyechart.metrics.scoring.judging.rounds import JudgeSettings


@dataclass(frozen=True, config=CONFIG)
class Description(Protocol):
    """Descriptions of an image, graded by a judge (Q-Bench, Sec. 2.3; AesBench, Sec. 3.4).

    A row without a golden description is private: the model is asked and its reply is kept, but it is not scored.
    Without a judge, the metric's `lexical` baseline scores the replies, and every result says so.
    """

    name: ClassVar[str] = "description"
    metric: ClassVar[str] = "judge_description"
    kind: ClassVar[str] = "description"
    columns: ClassVar[tuple[str, ...]] = ("id", "image", "description")
    usual_length: ClassVar[int] = 512
    needs_whole_texts: ClassVar[bool] = True

    template: Definition[Literal["q_bench", "aesbench"]] = "q_bench"
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

    def read(self, rows: Sequence[Row], responses: Sequence[Response]) -> list[dict[str, Any]]:
        """The golden description ("" if private), the judge's scores by dimension, and how the reply ended."""
        references = ["" if self.is_private(row) else row["description"] for row in rows]
        if not self.is_judged:
            return [{"reference": reference} for reference in references]
        judge = lexical if self.judge is None else self.judge
        texts = [response.text or "" for response in responses]
        ends = [response.finish_reason for response in responses]
        columns = read_descriptions(texts, references, judge, self.rounds, self.template, ends)
        return [
            {"reference": reference, **{name: column[number] for name, column in columns.items()}}
            for number, reference in enumerate(references)
        ]

    def score(self, answered: Sequence[RowResponses]) -> Scored:
        """Scores by dimension and shares of truncated replies; the answer file if all are private."""
        public = [one for one in answered if not self.is_private(one.row)]
        if not public:
            files = {}
            if self.answer_file is not None:
                replies = [one.responses[0].text or "" for one in answered]
                files = dict(self.answer_file([one.row for one in answered], replies))
            return Scored(flat_items(answered), files=files)
        names = (*DIMENSIONS[self.template], "rounds", "empty_prediction", "finish_reason")
        columns = columns_of([one.responses[0].item for one in public], *names)
        settings = JudgeSettings(judge_name(lexical if self.judge is None else self.judge), self.rounds)
        clusters = clusters_of(one.row for one in public)
        scores = description_scores(columns, self._groups(public) or None, settings, self.template, clusters)
        return Scored(flat_items(answered), scores)

    def metric_inputs(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        """Arguments of the metric module for rows with golden descriptions."""
        return {
            "predictions": [one.responses[0].text or "" for one in answered],
            "references": [one.row["description"] for one in answered],
            "finish_reasons": [one.responses[0].finish_reason for one in answered],
            "groups": self._groups(answered) or None,
            "clusters": clusters_of(one.row for one in answered),
            "judge": self.judge,
            "rounds": self.rounds,
            "template": self.template,
        }

    def settings(self) -> dict[str, Any]:
        """The settings, and `lexical` as the judge if no other is set."""
        judge = {} if self.judge is not None or not self.is_judged else {"judge": {"name": LEXICAL}}
        return {**Protocol.settings(self), **judge}

    def _groups(self, answered: Sequence[RowResponses]) -> dict[str, list[str]]:
        return known_groups([one.row for one in answered], self.groups)
