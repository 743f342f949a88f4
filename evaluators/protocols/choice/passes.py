"""The passes over a question under CircularEval: which there are, their names, and what they give the metric."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from eyechart.datasets_scripts.common.choice.rotations import STRIDE, rotate, rotated_letter
from eyechart.evaluators.protocols.choice.multiple_choice import shown_options
from eyechart.evaluators.requests.types import Response, Row, RowResponses
from eyechart.metrics.scoring.choices.extraction import moved_letter, unplaced_reply

MAIN = "main"
"""The first pass."""
OPEN = "open"
"""The pass that shows no options, and is none of CircularEval's."""
_ROTATION = "rotation:"


@dataclass(frozen=True)
class QuestionPass:
    """A question with its options in the order of one pass."""

    number: int
    """0 for the first pass."""
    question: str
    hint: str
    options: tuple[str, ...]
    answer: str
    """Letter of the right option, "" if private."""
    index: int
    """Its index in MMBench's files; -1 where the question has no number there."""

    @property
    def name(self) -> str:
        """What requests and predictions call it: "main", "rotation:1", ..."""
        return rotation_pass(self.number)


def passes_of(row: Row) -> list[QuestionPass]:
    """The passes of a question: the release's own where the row has them, else one rotation for each option.

    Examples:
        >>> row = {"question_id": "7", "question": "Which?", "options": ["red", "green", "blue"], "answer": "A"}
        >>> [(one.name, one.options, one.answer, one.index) for one in passes_of(row)][1:]
        [('rotation:1', ('blue', 'red', 'green'), 'B', 1000007), ('rotation:2', ('green', 'blue', 'red'), 'C', 2000007)]
    """
    if row.get("passes"):
        return [
            QuestionPass(
                number=one["rotation"],
                question=one["question"],
                hint=one["hint"],
                options=tuple(one["options"]),
                answer=one["answer"],
                index=one["index"],
            )
            for one in row["passes"]
        ]
    number, count = str(row.get("question_id", "")), len(row["options"])
    return [
        QuestionPass(
            number=places,
            question=row["question"],
            hint=row.get("hint") or "",
            options=rotate(row["options"], places),
            answer=rotated_letter(row["answer"], places, count),
            index=int(number) + places * STRIDE if number.isdecimal() else -1,
        )
        for places in range(count)
    ]


def rotation_pass(number: int) -> str:
    """What a pass is called.

    Examples:
        >>> rotation_pass(0), rotation_pass(2)
        ('main', 'rotation:2')
    """
    return f"{_ROTATION}{number}" if number else MAIN


def asked_pass(row: Row, response: Response) -> QuestionPass:
    """The pass that a response answers."""
    return next(one for one in passes_of(row) if one.name == response.request.pass_name)


def observed(answered: Sequence[RowResponses]) -> list[tuple[Row, Response]]:
    """The passes of CircularEval that have an answer, each with its row."""
    return [
        (item.row, response)
        for item in answered
        for response in item.responses
        if response.error is None and response.request.pass_name != OPEN
    ]


def count_asked(item: RowResponses) -> int:
    """How many passes of CircularEval were asked, with or without an answer."""
    return sum(response.request.pass_name != OPEN for response in item.responses)


def decision_columns(passes: Sequence[tuple[Row, Response]]) -> dict[str, Any]:
    """What decides passes over questions with public answers, in the metric's columns."""
    of_row = {row["id"]: {one.name: one for one in passes_of(row)} for row, _ in passes}
    asked = [of_row[row["id"]][response.request.pass_name] for row, response in passes]
    shown = [list(shown_options(response)) for _, response in passes]
    return {
        "predictions": [
            unplaced_reply(response.text or "", options, one.options)
            for (_, response), one, options in zip(passes, asked, shown, strict=True)
        ],
        "references": [
            moved_letter(one.answer, one.options, options) for one, options in zip(asked, shown, strict=True)
        ],
        "choices": shown,
        "questions": [one.question for one in asked],
        "question_ids": [row["id"] for row, _ in passes],
        "rotations": [one.number for one in asked],
    }


def pass_counts(passes: Sequence[tuple[Row, Response]]) -> list[int]:
    """How many passes the question of each pass has, answered or not."""
    counts = {row["id"]: len(passes_of(row)) for row, _ in passes}
    return [counts[row["id"]] for row, _ in passes]
