"""Multiple-choice questions with a refusal option; refused questions are asked again without it (QL-Bench)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass as plain_dataclass
from dataclasses import replace
from string import ascii_uppercase
from typing import Any, ClassVar, Literal

from pydantic.dataclasses import dataclass

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.protocols.choice.choice import (
    Choice,
    ChoiceItem,
    check_question,
    choice_request,
    ordered_options,
    shown_options,
)
from eyechart.evaluators.protocols.protocol import CONFIG, Seed
from eyechart.evaluators.protocols.validation import check_texts
from eyechart.evaluators.requests.types import Request, Response, Row
from eyechart.evaluators.results.items import MAIN
from eyechart.evaluators.results.notes import note
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.metrics.scoring.choices.extraction import moved_letter
from eyechart.metrics.scoring.choices.replies import UNPARSEABLE
from eyechart.metrics.scoring.choices.self_awareness import (
    OUTCOMES,
    answer_outcome,
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

    A refused question is asked a second time without the refusal option, the other options in the same order. If the
    second reply is missing, that is an error. With `skip_bad`, the question counts as refused with an unreadable second
    reply: leaving it out would remove only refusals and change the answer rate.
    """

    name: ClassVar[str] = "self_awareness"
    metric: ClassVar[str] = "self_awareness"
    item_type: ClassVar[type[AwarenessItem]] = AwarenessItem
    columns: ClassVar[tuple[str, ...]] = (*Choice.columns, "refusal")
    # Without the image a refusal can be correct, so only correct answers are compared.
    share: ClassVar[str] = "score_cc"

    shuffle_seed: Seed | None = None
    """Seed to shuffle the options of each question; by default they keep the release's order."""
    unreadable_forced: Literal["apart", "wrong"] = "apart"
    """How a second reply that names no option is counted: separately ("apart"), or as wrong (Eq. 3)."""

    def check(self, row: Row) -> None:
        """Check that the refusal is the letter of an option, and not of the correct one."""
        check_question(row)
        check_texts(row, "refusal")
        letters, refusal = ascii_uppercase[: len(row["options"])], row["refusal"]
        if len(refusal) != 1 or refusal not in letters or refusal == row["answer"] or len(letters) < 2:
            raise DataError(
                f"column 'refusal' is {refusal!r}; expected one of {', '.join(letters)}, different from the answer "
                f"{row['answer']!r}, and at least two options"
            )
        super().check(row)

    def requests(self, row: Row) -> list[Request]:
        """The question with all options."""
        return [choice_request(self, row, ordered_options(row, self.shuffle_seed), MAIN)]

    def follow_ups(self, row: Row, items: Sequence[AwarenessItem]) -> list[Request]:
        """The question without the refusal option, if it was refused."""
        if items[0].choice != items[0].refusal:
            return []
        shown = ordered_options(row, self.shuffle_seed)
        left = without_refusal(shown, moved_letter(row["refusal"], row["options"], shown))
        return [choice_request(self, row, tuple(left), FORCED, optional=self.skip_bad)]

    def item(self, row: Row, response: Response, **fields: Any) -> Any:
        """The item, with the refusal's letter in the first pass."""
        if response.request.pass_name != FORCED:
            fields["refusal"] = moved_letter(row["refusal"], row["options"], shown_options(response))
        return super().item(row, response, **fields)

    def score(self, items: Sequence[AwarenessItem]) -> TaskResult:
        """Score correct answers and correct refusals."""
        # In a vote over repeats, a question that was refused in a few of them has a second reply too.
        refused = {item.id for item in items if item.pass_name == MAIN and item.choice == item.refusal}
        forced = {item.id: item for item in items if item.pass_name == FORCED and item.id in refused}
        missing = sum(item.error is not None for item in forced.values())
        counts = {"forced_asked": len(forced), "forced_missing": missing}
        found = TaskResult(items=list(items), diagnostics=counts)
        outcomes = {
            item.id: self._outcome(item, forced.get(item.id))
            for item in items
            if item.answer and item.pass_name == MAIN
        }
        if not outcomes:
            return found
        found.items = [
            replace(item, outcome=outcomes[item.id], self_aware=outcomes[item.id] in (OUTCOMES[0], OUTCOMES[2]))
            if item.pass_name == MAIN and item.id in outcomes
            else item
            for item in items
        ]
        public = [item for item in found.items if item.outcome is not None]
        asked = [forced.get(item.id) for item in public]
        columns: dict[str, list[Any]] = {
            "choice": [item.choice for item in public],
            "step": [item.step for item in public],
            "correct": [item.correct for item in public],
            "judge_failed_rounds": [item.judge_failed_rounds for item in public],
            "outcome": [item.outcome for item in public],
            "forced_choice": [item and item.choice for item in asked],
            "forced_step": [item and (item.step or UNPARSEABLE) for item in asked],
            "forced_judge_failed_rounds": [item and item.judge_failed_rounds for item in asked],
        }
        found.scores = self_awareness_scores(
            columns,
            [item.answer[:1] for item in public],
            [item.options for item in public],
            self.groups_of(public) or None,
            self.reading,
            self.unreadable_forced,
            [item.cluster for item in public],
        )
        found.diagnostics |= self.gain(public, [1 / (len(item.options) - 1) for item in public])
        if missing:
            found.notes.append(note("forced_missing", missing=missing, asked=len(forced)))
        found.complete = not missing
        return found

    def _outcome(self, first: AwarenessItem, forced: AwarenessItem | None) -> str:
        """What both replies to a question say about the model."""
        reading = self.reading
        if forced is None:
            return answer_outcome(bool(first.correct), reading.is_unreadable(first.choice, first.step))
        # A second reply that is missing is never counted as wrong.
        is_apart = self.unreadable_forced == "apart" or forced.error is not None
        unreadable = reading.is_unreadable(forced.choice, forced.step)
        return refusal_outcome(bool(forced.correct), is_apart and unreadable)
