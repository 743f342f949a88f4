"""Multiple-choice questions with a refusal option; refused questions are asked again without it (QL-Bench)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass as plain_dataclass
from dataclasses import replace
from string import ascii_uppercase
from typing import Any, ClassVar, Literal

from pydantic.dataclasses import dataclass
from typing_extensions import override

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.protocols.choice.choice import Choice, ChoiceItem, Pass, shuffled
from eyechart.evaluators.protocols.protocol import CONFIG, Seed, check_texts
from eyechart.evaluators.requests.types import Response, Row
from eyechart.evaluators.results.items import MAIN, PackedItems, by_row, columns_of
from eyechart.evaluators.results.notes import note
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.metrics.scoring.choices.options import moved_letter
from eyechart.metrics.scoring.choices.reading import Replies
from eyechart.metrics.scoring.choices.replies import UNPARSEABLE
from eyechart.metrics.scoring.choices.self_awareness import (
    OUTCOMES,
    answer_outcome,
    forced_letter,
    refusal_outcome,
    self_awareness_scores,
    without_refusal,
)

FORCED = "forced"
"""The pass without the refusal option."""


@plain_dataclass(frozen=True)
class AwarenessItem(ChoiceItem):
    """What the first or the second reply to a question gave."""

    refusal: str | None = None
    """The letter of the refusal option as shown; None in the second pass."""
    outcome: str | None = None
    """One of `OUTCOMES`, from both replies; None in the second pass."""
    self_aware: bool | None = None
    """Whether the outcome is a correct answer or a correct refusal."""


@dataclass(frozen=True, config=CONFIG)
class SelfAwareness(Choice):
    """Questions with a refusal option among the options (QL-Bench, Sec. III).

    A refused question is asked a second time without the refusal option, the other options in the same order. A missing
    second reply is an error. With `skip_bad`, the question counts as refused with an unreadable second reply: leaving
    it out would remove only refusals and change the answer rate.
    """

    name: ClassVar[str] = "self_awareness"
    metric: ClassVar[str] = "self_awareness"
    item_type: ClassVar[type[AwarenessItem]] = AwarenessItem
    columns: ClassVar[tuple[str, ...]] = (*Choice.columns, "refusal")

    shuffle_seed: Seed | None = None
    """Seed to shuffle the options of each question; by default they keep the release's order."""
    unreadable_forced: Literal["apart", "wrong"] = "apart"
    """How a second reply that names no option is counted: separately ("apart"), or as wrong (Eq. 3)."""

    @override
    def check(self, row: Row) -> None:
        super().check(row)
        check_texts(row, "refusal")
        letters, refusal = ascii_uppercase[: len(row["options"])], row["refusal"]
        if len(refusal) != 1 or refusal not in letters or refusal == row["answer"] or len(letters) < 2:
            raise DataError(
                f"column 'refusal' is {refusal!r}; expected one of {', '.join(letters)}, different from the answer "
                f"{row['answer']!r}, and at least two options"
            )

    @override
    def passes(self, row: Row) -> list[Pass]:
        first = shuffled(row, self.shuffle_seed)
        refusal = moved_letter(row["refusal"], row["options"], first["options"])
        forced = {
            **first,
            "options": without_refusal(first["options"], refusal),
            "answer": first["answer"] and forced_letter(first["answer"], refusal),
        }
        return [Pass(MAIN, first), Pass(FORCED, forced, is_optional=self.skip_bad)]

    @override
    def next_passes(self, row: Row, items: Sequence[AwarenessItem]) -> list[Pass]:
        first, forced = self.passes(row)
        if not items:
            return [first]
        return [forced] if items[0].choice == items[0].refusal else []

    @override
    def item(self, row: Row, response: Response, **fields: Any) -> Any:
        item = super().item(row, response, **fields)
        if item.pass_name == FORCED:
            return item
        return replace(item, refusal=moved_letter(row["refusal"], row["options"], item.options))

    @override
    def scores_of(self, items: Sequence[AwarenessItem]) -> dict[str, Any]:
        questions = _questions(items)
        firsts = [first for first, _ in questions]
        columns: dict[str, list[Any]] = {
            **columns_of(firsts, "choice", "step", "correct", "judge_failed_rounds", "outcome"),
            "forced_choice": [forced and forced.choice for _, forced in questions],
            "forced_step": [forced and (forced.step or UNPARSEABLE) for _, forced in questions],
            "forced_judge_failed_rounds": [forced and forced.judge_failed_rounds for _, forced in questions],
        }
        replies = Replies(
            None,
            [first.answer[:1] for first in firsts],
            [first.options for first in firsts],
            groups=self.groups_of(firsts),
            clusters=[first.cluster for first in firsts],
        )
        return self_awareness_scores(columns, replies, self.reading, self.unreadable_forced)

    @override
    def score(self, items: Sequence[AwarenessItem]) -> TaskResult:
        questions = _questions(items)
        outcomes = {first.id: self._outcome(first, forced) for first, forced in questions if first.answer}
        result = super().score(
            PackedItems(
                replace(item, outcome=outcomes[item.id], self_aware=outcomes[item.id] in (OUTCOMES[0], OUTCOMES[2]))
                if item.pass_name == MAIN and item.id in outcomes
                else item
                for item in items
            )
        )
        asked = [forced for _, forced in questions if forced is not None]
        missing = sum(item.error is not None for item in asked)
        result.diagnostics = {"forced_asked": len(asked), "forced_missing": missing}
        if result.scores is not None and missing:
            result.notes.append(note("forced_missing", missing=missing, asked=len(asked)))
        return result

    def _outcome(self, first: AwarenessItem, forced: AwarenessItem | None) -> str:
        """What both replies to a question say about the model."""
        reading = self.reading
        if forced is None:
            return answer_outcome(bool(first.correct), reading.is_unreadable(first.choice, first.step))
        # A second reply that is missing is never counted as wrong.
        is_apart = self.unreadable_forced == "apart" or forced.error is not None
        return refusal_outcome(bool(forced.correct), is_apart and reading.is_unreadable(forced.choice, forced.step))


def _questions(items: Sequence[AwarenessItem]) -> list[tuple[AwarenessItem, AwarenessItem | None]]:
    """The first and the second item of each question; one that is parsed again may turn out to be answered."""
    return [
        (passes[MAIN], passes.get(FORCED) if passes[MAIN].choice == passes[MAIN].refusal else None)
        for passes in by_row(items)
    ]
