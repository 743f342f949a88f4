"""Multiple-choice questions with a refusal option; refused questions are asked again without it (QL-Bench)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any, ClassVar, Literal

from pydantic.dataclasses import dataclass

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.protocols.breakdown import known_groups
from eyechart.evaluators.protocols.choice.blind import ChoiceProtocol
from eyechart.evaluators.protocols.choice.multiple_choice import Fallback
from eyechart.evaluators.protocols.choice.questions import (
    CHOICE_COLUMNS,
    add_choices,
    check_question,
    module_settings,
    ordered_options,
    right_letter,
    shown_options,
)
from eyechart.evaluators.protocols.protocol import CONFIG, Count, Scored, Seed, clusters_of, columns_of, flat_items
from eyechart.evaluators.protocols.validation import check_texts
from eyechart.evaluators.requests.types import Request, Response, Row, RowResponses
from eyechart.metrics.scoring.choices.extraction import moved_letter
from eyechart.metrics.scoring.choices.reading import ExtractionSettings
from eyechart.metrics.scoring.choices.replies import Extraction, moved_reply, unplaced_reply
from eyechart.metrics.scoring.choices.self_awareness import read_forced, self_awareness_scores, without_refusal
from eyechart.metrics.scoring.judging.replies import judge_name

FORCED = "forced"
"""The pass without the refusal option."""
_FORCED_COLUMNS = ("forced_choice", "forced_step", "forced_judge_failed_rounds", "outcome")


@dataclass(frozen=True, config=CONFIG)
class SelfAwareness(ChoiceProtocol):
    """Questions with a refusal option among the options (QL-Bench, Sec. III).

    A refused question is asked a second time without the refusal option, the other options in the same order. If the
    second reply is missing, that is an error. With `skip_bad`, the question counts as refused with an unreadable second
    reply: leaving it out would remove only refusals and change the answer rate.
    """

    name: ClassVar[str] = "self_awareness"
    metric: ClassVar[str] = "self_awareness"
    columns: ClassVar[tuple[str, ...]] = ("id", "images", "answer", "question", "options", "refusal")

    shuffle_seed: Seed | None = None
    """Seed to shuffle the options of each question; by default they keep the release's order."""
    extraction: Extraction = "declared"
    """How a reply is parsed: "declared" tries exact matching, then statements such as "the answer is B"; "strict" is
    exact matching only."""
    fallback: Fallback = "wrong"
    """How a reply that names no option is scored: as wrong, or as a random choice."""
    rounds: Count = 5
    """Replies requested from the judge for each of the model's replies."""
    unreadable_forced: Literal["apart", "wrong"] = "apart"
    """How a second reply that names no option is counted: separately ("apart"), or as wrong (Eq. 3)."""

    @property
    def is_judged(self) -> bool:
        """Always True: a judge reads the replies that could not be parsed."""
        return True

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
        return [self._request(row, ordered_options(row, self.shuffle_seed), "main")]

    def follow_ups(self, row: Row, responses: Sequence[Response]) -> list[Request]:
        """The question without the refusal option, if it was refused."""
        first = responses[0]
        if first.item.get("choice") != _refusal(row, first):
            return []
        asked = first.request.options
        left = without_refusal(asked, moved_letter(row["refusal"], row["options"], asked))
        return [self._request(row, tuple(left), FORCED)]

    def read(self, rows: Sequence[Row], responses: Sequence[Response]) -> list[dict[str, Any]]:
        """Options, correct letter, parsed letter and parsing step; second replies are parsed in `score`."""
        items: list[dict[str, Any]] = [
            {"options": list(shown_options(response)), "answer": right_letter(row, shown_options(response))}
            for row, response in zip(rows, responses, strict=True)
        ]
        first = [place for place, response in enumerate(responses) if response.request.pass_name != FORCED]
        for place in first:
            items[place]["refusal"] = _refusal(rows[place], responses[place])
        add_choices(
            [items[place] for place in first],
            [rows[place] for place in first],
            [_first_reply(responses[place], self.extraction) for place in first],
            self._extraction(),
            self.judge,
            finish_reasons=[responses[place].finish_reason for place in first],
        )
        return items

    def score(self, answered: Sequence[RowResponses]) -> Scored:
        """Score correct answers and correct refusals."""
        public = [one for one in answered if not self.is_private(one.row)]
        again = [response for one in answered if (response := one.of_pass(FORCED)) is not None]
        missing = sum(response.error is not None for response in again)
        diagnostics: dict[str, Any] = {"forced_asked": len(again), "forced_missing": missing}
        caveat = f"{missing} of {len(again)} refused questions have no second reply and count as incorrect refusals."
        if not public:
            return Scored(flat_items(answered), diagnostics=diagnostics, caveats=self.caveats())
        inputs = self.metric_inputs(public)
        references, choices = inputs["references"], inputs["choices"]
        columns = self._read_forced(public, inputs)
        scores = self_awareness_scores(
            columns,
            references,
            choices,
            inputs["groups"],
            self._extraction(),
            self.unreadable_forced,
            inputs["clusters"],
        )
        forced = {
            one.row["id"]: {name: columns[name][number] for name in _FORCED_COLUMNS}
            for number, one in enumerate(public)
        }
        items = [
            {**response.item, **(forced.get(one.row["id"], {}) if response.request.pass_name != FORCED else {})}
            for one in answered
            for response in one.responses
        ]
        # Without the image a refusal can be correct, so the gain compares correct answers only.
        chances = [1 / (len(options) - 1) for options in choices]
        diagnostics |= self.gain([one.row for one in public], columns["correct"], chances, "score_cc")
        caveats = (*self.caveats(), *((caveat,) if missing else ()))
        return Scored(items, scores, diagnostics=diagnostics, caveats=caveats, complete=not missing)

    def metric_inputs(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        """Arguments of the metric module for rows with public answers."""
        items = [one.responses[0].item for one in answered]
        return {
            "predictions": [_first_reply(one.responses[0], self.extraction) for one in answered],
            "references": [item["answer"] for item in items],
            "choices": [item["options"] for item in items],
            "refusals": [_refusal(one.row, one.responses[0]) for one in answered],
            "forced_predictions": [_forced_reply(one, self.extraction) for one in answered],
            "questions": [one.row["question"] for one in answered],
            "finish_reasons": [one.responses[0].finish_reason for one in answered],
            "forced_finish_reasons": [forced and forced.finish_reason for forced in map(_forced, answered)],
            "groups": known_groups([one.row for one in answered], self.groups) or None,
            "clusters": clusters_of(one.row for one in answered),
            **module_settings(self._extraction(), self.judge),
            "unreadable_forced": self.unreadable_forced,
        }

    def _read_forced(self, answered: Sequence[RowResponses], inputs: Mapping[str, Any]) -> dict[str, list[Any]]:
        items = [one.responses[0].item for one in answered]
        columns = columns_of(items, *CHOICE_COLUMNS, *_FORCED_COLUMNS)
        if all("outcome" in item for item in items):
            return columns
        return read_forced(
            {name: columns[name] for name in CHOICE_COLUMNS},
            inputs["forced_predictions"],
            inputs["references"],
            inputs["choices"],
            inputs["refusals"],
            self._extraction(),
            self.unreadable_forced,
            questions=[one.row["question"] for one in answered],
            judge=self.judge,
            ids=[one.row["id"] for one in answered],
            forced_finish_reasons=inputs["forced_finish_reasons"],
        )

    def _extraction(self) -> ExtractionSettings:
        judge = None if self.judge is None else judge_name(self.judge)
        return ExtractionSettings(
            judge=judge, rounds=self.rounds, fallback=self.fallback, seed=self.seed, extraction=self.extraction
        )

    def _request(self, row: Row, options: tuple[str, ...], pass_name: str) -> Request:
        return Request(
            id=row["id"],
            prompt=self.prompt_of({**row, "options": options}),
            images=self.images_of(row),
            options=options,
            max_new_tokens=self.reply_length,
            pass_name=pass_name,
            optional=self.skip_bad and pass_name == FORCED,
        )


def _first_reply(response: Response, extraction: Extraction) -> str:
    return unplaced_reply(
        response.text or "", shown_options(response), response.request.options, extraction, response.finish_reason
    )


def _refusal(row: Row, response: Response) -> str:
    """The refusal's letter among the options as they were shown."""
    return moved_letter(row["refusal"], row["options"], shown_options(response))


def _forced(answered: RowResponses) -> Response | None:
    return answered.of_pass(FORCED)


def _forced_reply(answered: RowResponses, extraction: Extraction) -> str | None:
    """The reply to the pass without the refusal option, with letters as in the first pass; None if not asked."""
    forced = _forced(answered)
    if forced is None or forced.error is not None:
        return None if forced is None else ""
    first = answered.responses[0]
    expected = without_refusal(shown_options(first), _refusal(answered.row, first))
    # In precomputed predictions, the options may have been shown in another order, so letters may differ.
    # "" means that the reply is missing; an empty reply of the model becomes " ", which cannot be parsed.
    return moved_reply(forced.text or " ", list(shown_options(forced)), expected, extraction, forced.finish_reason)
