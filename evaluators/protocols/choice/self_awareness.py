"""Multiple-choice questions that can be refused, and those that were, asked again without the refusal (QL-Bench)."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.evaluation.data import LoadedData
from eyechart.evaluators.protocols.choice.multiple_choice import MultipleChoiceEvaluator, shown_options
from eyechart.evaluators.protocols.validation import check_texts
from eyechart.evaluators.requests.types import Request, Response, Row, RowResponses
from eyechart.metrics.scoring.choices.extraction import extract_choice, moved_letter, moved_reply
from eyechart.metrics.scoring.choices.self_awareness import without_refusal

FORCED = "forced"
"""Name of the pass without the refusal option."""


@dataclass(frozen=True)
class _ForcedRequest(Request):
    """A question without the refusal option."""

    is_refused: bool = True
    """Whether the first answer is the refusal, and not one of which only a judge or chance tells what it is."""


class SelfAwarenessEvaluator(MultipleChoiceEvaluator):
    """Runs a task whose questions have a refusal option (QL-Bench, Sec. III).

    A question is asked a second time, with the other options in the same order, where the first answer is the refusal
    by the same exact matching that the metric begins with. Where that finds no option, and a judge or a random choice
    is to decide, the second answer may be needed and is asked for too; the metric reads it only if the first is then
    found to be the refusal.

    Answers made elsewhere need the second one of every refused question. One to an undecided question may be missing,
    and with `skip_bad` any: a refused question without it counts as refused without a readable second answer
    (`forced_unmatched`). Leaving it out would leave out refusals alone, and change the answer rate.
    """

    required_columns = ("id", "images", "answer", "question", "options", "refusal")
    takes = ("shuffle_seed", "fallback", "rounds", "max_new_tokens")
    _skip_bad = False

    def for_data(self, loaded: LoadedData, *, skip_bad: bool, limit: int | None) -> "SelfAwarenessEvaluator":
        """With what becomes of refused questions that have no second answer."""
        bound = copy(self)
        bound._skip_bad = skip_bad
        return bound

    def follow_ups(self, row: Row, responses: Sequence[Response]) -> list[Request]:
        """The question without the refusal option, if it was refused or may turn out to be."""
        first = responses[0]
        text, options = first.text or "", shown_options(first)
        letter = extract_choice(text, options)
        is_refused = letter == _refusal(row, options)
        judged = self.judge is not None and bool(text.strip())
        if not is_refused and (letter is not None or not (judged or self.options.fallback == "random")):
            return []
        asked = first.request
        left = tuple(without_refusal(asked.options, _refusal(row, asked.options)))
        return [
            _ForcedRequest(
                id=asked.id,
                prompt=self._prompt({**row, "options": left}),
                images=asked.images,
                options=left,
                prefill=asked.prefill,
                max_new_tokens=asked.max_new_tokens,
                pass_name=FORCED,
                is_refused=is_refused,
            )
        ]

    def is_optional(self, request: Request) -> bool:
        """A second answer with `skip_bad`, or where only a judge or chance may find the first to be a refusal."""
        return isinstance(request, _ForcedRequest) and (self._skip_bad or not request.is_refused)

    def check_row(self, row: Row) -> None:
        """As for other questions; the refusal must be the letter of an option, and not of the right one."""
        super().check_row(row)
        check_texts(row, "refusal")
        letters = ascii_uppercase[: len(row["options"])]
        refusal = row["refusal"]
        if len(refusal) != 1 or refusal not in letters or refusal == row["answer"] or len(letters) < 2:
            raise DataError(
                f"its refusal is {refusal!r}; expected one of {', '.join(letters)}, other than its answer "
                f"{row['answer']!r}, beside at least one more option"
            )

    def metric_inputs(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        """Raw texts of both passes, letters and options, in the order in which the first pass showed the options."""
        return super().metric_inputs(answered) | {
            "refusals": [_refusal(item.row, shown_options(item.responses[0])) for item in answered],
            "forced_predictions": [_forced_text(item) for item in answered],
        }

    def lacking(self, answered: Sequence[RowResponses], scores: Mapping[str, Any]) -> str:
        """Refused questions without the answer that they were asked for again."""
        again = [response for item in answered if (response := item.of_pass(FORCED)) is not None]
        lost = sum(r.error is not None and getattr(r.request, "is_refused", True) for r in again)
        if not lost:
            return ""
        return f"{lost} of {len(again)} refused questions have no second answer, and so are not refused rightly."

    def extras(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        """How many questions were asked again, and of how many of these there is no second answer."""
        again = [response for item in answered if (response := item.of_pass(FORCED)) is not None]
        return {"forced_asked": len(again), "forced_missing": sum(response.error is not None for response in again)}

    def settings(self) -> dict[str, Any]:
        """Those of other questions, and what an undecided answer becomes."""
        return {**super().settings(), "fallback": self.options.fallback or "wrong"}


def _refusal(row: Row, options: Sequence[str]) -> str:
    """The refusal's letter among the options as they were shown."""
    return moved_letter(row["refusal"], row["options"], options)


def _forced_text(answered: RowResponses) -> str | None:
    """The answer to the pass without the refusal, its letters those of the first pass's order; None if not asked."""
    forced = answered.of_pass(FORCED)
    if forced is None:
        return None
    if forced.error is not None:
        return ""
    first = shown_options(answered.responses[0])
    expected, shown = without_refusal(first, _refusal(answered.row, first)), list(shown_options(forced))
    # Answers made elsewhere may have seen the options in another order, in which a letter means another one.
    # A model's empty reply is one that cannot be read; "" stands for none.
    return moved_reply(forced.text or " ", shown, expected)
