"""Descriptions: a prompt without options in, a free text out, compared with a golden one by a judge."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic.dataclasses import dataclass

from eyechart.evaluators.protocols.breakdown import known_groups
from eyechart.evaluators.protocols.protocol import CONFIG, Count, Definition, Protocol, Scored, columns_of, flat_items
from eyechart.evaluators.protocols.validation import check_texts
from eyechart.evaluators.requests.types import Request, Response, Row, RowResponses
from eyechart.metrics.scoring.judging.descriptions import DIMENSIONS, description_scores, read_descriptions
from eyechart.metrics.scoring.judging.lexical import lexical


@dataclass(frozen=True, config=CONFIG)
class Description(Protocol):
    """Texts about an image (Q-Bench, Sec. 2.3; AesBench, Sec. 3.4).

    A row without a golden text is private: it is asked, and its answer kept, but it has no score. Without a judge, the
    metric's `lexical` baseline scores, and every result names it.
    """

    name: ClassVar[str] = "description"
    metric: ClassVar[str] = "judge_description"
    columns: ClassVar[tuple[str, ...]] = ("id", "image", "description")

    template: Definition[Literal["q_bench", "aesbench"]] = "q_bench"
    """What the judge is asked: the dimensions and wording of which paper."""
    max_new_tokens: Count = 512
    """The longest text, in tokens."""
    rounds: Count = 5
    """Replies asked of the judge for each text and dimension."""

    @property
    def is_judged(self) -> bool:
        """A judge scores the texts."""
        return True

    def check(self, row: Row) -> None:
        """The golden text must be a text or absent."""
        check_texts(row, "description", private=True)

    def is_private(self, row: Row) -> bool:
        """Whether the row has no golden text."""
        return not (row["description"] or "").strip()

    def requests(self, row: Row) -> list[Request]:
        """One request for a text."""
        prompt, images = self.prompt_of(row), (row["image"],)
        return [Request(id=row["id"], prompt=prompt, images=images, max_new_tokens=self.max_new_tokens)]
