"""Descriptions: a prompt without options in, a free text out, compared with a golden one by a judge."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from eyechart.evaluators.evaluation.base import Evaluator
from eyechart.evaluators.evaluation.data import LoadedData
from eyechart.evaluators.protocols.breakdown import known_groups
from eyechart.evaluators.protocols.options import TaskOptions
from eyechart.evaluators.protocols.validation import check_texts
from eyechart.evaluators.requests.types import Request, Response, Row, RowResponses
from eyechart.evaluators.tasks.task import Task
from eyechart.metrics.scoring.judging.lexical import LEXICAL
from eyechart.metrics.scoring.judging.replies import Judge


class DescriptionEvaluator(Evaluator):
    """Runs a task that asks for a text about an image (Q-Bench, Sec. 2.3; AesBench, Sec. 3.4).

    A row without a golden text is private: it is asked, and its answer kept, but it is no part of the scores. Without a
    judge, the metric's `lexical` baseline scores, and every result names it.
    """

    required_columns = ("id", "image", "description")
    takes = ("wording", "rounds", "max_new_tokens")

    def __init__(
        self, task: Task, *, seed: int = 0, options: TaskOptions | None = None, judge: Judge | None = None
    ) -> None:
        """Keep and check the settings; nothing is loaded."""
        super().__init__(task, seed=seed, options=options, judge=judge)
        self._prompt, self._prompt_id = task.worded(self.options.wording)

    def requests(self, row: Row) -> list[Request]:
        """One request for a text."""
        return [
            Request(
                id=row["id"],
                prompt=self._prompt(row),
                images=(row["image"],),
                prefill=self.definition.prefill,
                max_new_tokens=self._max_new_tokens,
            )
        ]

    def check_row(self, row: Row) -> None:
        """The golden text must be a text or absent."""
        check_texts(row, "description", private=True)

    def is_private(self, row: Row) -> bool:
        """Whether the row has no golden text."""
        return not (row["description"] or "").strip()

    def metric_inputs(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        """The model's texts and the golden ones."""
        inputs = {
            "predictions": [_reply(item) for item in answered],
            "references": [item.row["description"] for item in answered],
            "groups": known_groups([item.row for item in answered], self.definition.groups) or None,
            "seed": self.seed,
            **self.definition.metric_arguments,
        }
        if self.judge is not None:
            inputs["judge"] = self.judge
        if self.options.rounds is not None:
            inputs["rounds"] = self.options.rounds
        return inputs

    def marks(self, scored: Sequence[RowResponses], scores: Mapping[str, Any]) -> dict[str, dict[str, float]]:
        """The mean over rounds in each dimension."""
        columns = scores.get("image_scores", {})
        return {
            item.row["id"]: {name: values[place] for name, values in columns.items() if not math.isnan(values[place])}
            for place, item in enumerate(scored)
        }

    def files(self, answered: Sequence[RowResponses], loaded: LoadedData) -> dict[str, bytes]:
        """The benchmark's own file of answers, where no golden text is public."""
        write = self.definition.answer_file
        is_private = all(self.is_private(item.row) for item in answered)
        if write is None or loaded.subset not in self.definition.subsets or not is_private:
            return {}
        rows, replies = [item.row for item in answered], [_reply(item) for item in answered]
        return dict(write(rows, replies))

    def settings(self) -> dict[str, Any]:
        """Prompt, length of the text, seed, and the judge where there is none but `lexical`."""
        judge = {} if self.judge is not None else {"judge": {"name": LEXICAL}}
        return {
            "prompt_id": self._prompt_id,
            "prefill": self.definition.prefill,
            "max_new_tokens": self._max_new_tokens,
            "seed": self.seed,
            **judge,
        }

    def record(self, answered: RowResponses, response: Response) -> dict[str, Any]:
        """The golden text, "" if private."""
        return {"reference": answered.row["description"] or ""}

    @property
    def _max_new_tokens(self) -> int:
        return self.options.max_new_tokens or self.definition.max_new_tokens


def _reply(answered: RowResponses) -> str:
    return answered.responses[0].text or ""
