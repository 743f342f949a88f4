"""The passes of CircularEval that were answered, and their replies."""

from collections.abc import Sequence

from eyechart.datasets_scripts.common.choice.passes import QuestionPass, passes_of
from eyechart.evaluators.protocols.choice.questions import shown_options
from eyechart.evaluators.requests.types import Response, Row, RowResponses
from eyechart.metrics.scoring.choices.replies import Extraction, moved_reply, unplaced_reply

OPEN = "open"
"""Name of the pass that shows no options; it is not one of CircularEval's passes."""


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


def asked_reply(response: Response, one: QuestionPass, extraction: Extraction) -> str:
    """The reply, with letters as in the pass that was asked."""
    return unplaced_reply(
        response.text or "", list(shown_options(response)), one.options, extraction, response.finish_reason
    )


def passes_and_replies(answered: Sequence[RowResponses], extraction: Extraction) -> tuple[list[Row], list[str]]:
    """Each pass as in the release, and its reply with the letters of the release."""
    passes: list[Row] = []
    replies = []
    for row, response in observed(answered):
        one = asked_pass(row, response)
        passes.append({**row, "index": one.index, "question": one.question, "hint": one.hint, "options": one.options})
        shown, ended = shown_options(response), response.finish_reason
        replies.append(moved_reply(response.text or "", shown, one.options, extraction, ended))
    return passes, replies
