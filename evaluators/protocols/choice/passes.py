"""The passes of CircularEval that were asked and answered."""

from collections.abc import Sequence

from eyechart.datasets_scripts.common.choice.passes import QuestionPass, passes_of
from eyechart.evaluators.requests.types import Response, Row, RowResponses

OPEN = "open"
"""The pass that shows no options, and is none of CircularEval's."""


def asked_pass(row: Row, response: Response) -> QuestionPass:
    """The pass that a response answers."""
    return next(one for one in passes_of(row) if one.name == response.request.pass_name)


def observed(answered: Sequence[RowResponses]) -> list[tuple[Row, Response]]:
    """The passes of CircularEval that have an answer, each with its row."""
    return [
        (one.row, response)
        for one in answered
        for response in one.responses
        if response.error is None and response.request.pass_name != OPEN
    ]
