"""Quality assessment: the next-token logits of two words after a prefilled reply, against opinion scores."""

import math
from collections.abc import Sequence
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.asking import Answered
from eyechart.evaluators.base import Evaluator
from eyechart.evaluators.types import Request
from eyechart.evaluators.types import Response
from eyechart.evaluators.types import Row


class QualityAssessmentEvaluator(Evaluator):
    """Runs a task that scores images by softmax pooling (Q-Bench, Eq. 1)."""

    required_columns = ("id", "image", "quality")

    def requests(self, row: Row) -> list[Request]:
        """One request for the logits of the task's two words."""
        return [
            Request(
                id=row["id"],
                prompt=self.definition.prompt(row),
                images=(row["image"],),
                prefill=self.definition.prefill,
                words=self.definition.words,
                max_new_tokens=0,
            )
        ]

    def check_row(self, row: Row) -> None:
        """The quality must be finite."""
        if row["quality"] is not None and not math.isfinite(row["quality"]):
            raise DataError(f"its quality is {row['quality']}; expected a finite number, or none if it is private")

    def is_private(self, row: Row) -> bool:
        """Whether the row has no opinion score."""
        return row["quality"] is None

    def metric_inputs(self, answered: Sequence[Answered]) -> dict[str, Any]:
        """Rows of two logits, positive first, and qualities."""
        groups = [name for name in self.definition.groups if all(name in item.row for item in answered)]
        return {
            "predictions": [[_logits(item)[word] for word in self.definition.words] for item in answered],
            "references": [item.row["quality"] for item in answered],
            "groups": {name: [item.row[name] for item in answered] for name in groups} or None,
            "seed": self.seed,
            **self.definition.metric_arguments,
        }

    def settings(self) -> dict[str, Any]:
        """Prompt, prefilled reply, words, seed."""
        return {
            "prompt_id": self.definition.prompt_id,
            "prefill": self.definition.prefill,
            "words": list(self.definition.words),
            "seed": self.seed,
        }

    def record(self, answered: Answered, response: Response) -> dict[str, Any]:
        """The opinion score."""
        return {"quality": answered.row["quality"]}


def _logits(answered: Answered) -> dict[str, float]:
    logits = answered.responses[0].logits
    assert logits is not None, "backends answer requests for words with logits"
    return dict(logits)
