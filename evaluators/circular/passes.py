"""The passes over a question under CircularEval: how they are called, and what they give the metric."""

from collections.abc import Sequence
from typing import Any

from eyechart.evaluators.asking import Answered
from eyechart.evaluators.multiple_choice import right_letter
from eyechart.evaluators.multiple_choice import shown_options
from eyechart.evaluators.types import Response
from eyechart.evaluators.types import Row

MAIN = "main"
"""The pass that shows the options as the release does."""
OPEN = "open"
"""The pass that shows no options, and is none of CircularEval's."""
_ROTATION = "rotation:"


def rotation_pass(places: int) -> str:
    """The pass in which the options are turned by so many places.

    Examples:
        >>> rotation_pass(0), rotation_pass(2)
        ('main', 'rotation:2')
    """
    return f"{_ROTATION}{places}" if places else MAIN


def observed(answered: Sequence[Answered]) -> list[tuple[Row, Response]]:
    """The passes of CircularEval that have an answer, each with its row."""
    return [
        (item.row, response)
        for item in answered
        for response in item.responses
        if response.error is None and response.request.pass_name != OPEN
    ]


def count_asked(item: Answered) -> int:
    """How many passes of CircularEval were asked, with or without an answer."""
    return sum(response.request.pass_name != OPEN for response in item.responses)


def decision_columns(passes: Sequence[tuple[Row, Response]]) -> dict[str, Any]:
    """What decides passes over questions with public answers, in the metric's columns."""
    shown = [(row, list(shown_options(response))) for row, response in passes]
    return {
        "predictions": [response.text or "" for _, response in passes],
        "references": [right_letter(row, options) for row, options in shown],
        "choices": [options for _, options in shown],
        "questions": [row["question"] for row, _ in passes],
        "question_ids": [row["id"] for row, _ in passes],
        "rotations": [_places(response) for _, response in passes],
    }


def _places(response: Response) -> int:
    name = response.request.pass_name
    return 0 if name == MAIN else int(name.removeprefix(_ROTATION))
