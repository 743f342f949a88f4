"""Ask a backend about rows in waves; each wave contains the follow-ups to the answers of the previous ones."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError, EndpointError, MissingPredictionError
from eyechart.evaluators.protocols.protocol import REASONING_LENGTH, Protocol
from eyechart.evaluators.protocols.scorer import OWN_SCORE
from eyechart.evaluators.requests.types import Backend, Request, Response, Row, RowResponses
from eyechart.metrics.scoring.reasoning import CONTENT_FILTER, LENGTH, REASONING, split_reasoning

Progress = Callable[[int, int], None]
"""Called with (done, total) requests; the total grows with each wave."""


@dataclass
class _State:
    """Rows, requests and responses so far."""

    rows: dict[str, Row]
    """Rows by id, in order."""
    responses: dict[str, dict[str, Response | None]]
    """Responses by row id and pass, in the order of asking; None until the response arrives."""
    repeat: int = 1
    """Which repeat of the requests this is."""
    failed: dict[str, str] = field(default_factory=dict)
    """Why a row was left out, by id."""
    asked: int = 0
    answered: int = 0

    def new(self, requests: Iterable[Request]) -> list[Request]:
        """The requests that were not asked before; marks them as asked."""
        wave = []
        for request in requests:
            if request.pass_name not in self.responses[request.id]:
                self.responses[request.id][request.pass_name] = None
                wave.append(replace(request, repeat=self.repeat))
        self.asked += len(wave)
        return wave

    def has_answer(self) -> bool:
        """Whether any request has an answer."""
        responses = (response for of_row in self.responses.values() for response in of_row.values())
        return any(response is not None and response.error is None for response in responses)

    def all_answered(self) -> list[RowResponses]:
        """The rows that did not fail, with their responses."""
        return [
            RowResponses(row, tuple(response for response in self.responses[id].values() if response is not None))
            for id, row in self.rows.items()
            if id not in self.failed
        ]


def ask_rows(
    protocol: Protocol,
    backend: Backend,
    rows: Sequence[Row],
    skip_bad: bool,
    progress: Progress | None,
    repeats: int = 1,
) -> tuple[Protocol, list[list[RowResponses]], list[dict[str, Any]]]:
    """Ask a backend about rows, and read each response once, when its wave is complete.

    If the run sets no reply length and the reasoning in a reply is cut off, everything is asked again with a greater
    length, so that all replies have the same limit.

    Args:
        protocol: Makes the requests and follow-ups of a row, and reads the responses.
        backend: What answers.
        rows: At least one row; the ids are distinct.
        skip_bad: Leave out rows in which a required request, or every request, has no answer, or an answer no score.
        progress: Called after each response.
        repeats: How many times to ask everything.

    Returns:
        The protocol with the reply length that was used; for each repeat, the rows that were answered in all repeats;
        and the left-out rows, each as {"id", "path", "reason"}.

    Raises:
        DataError: A request has no answer, or its answer no score, and `skip_bad` is off; or this is so for all rows.
    """
    states: list[_State] = []
    for repeat in range(1, repeats + 1):
        shown = progress and partial(_show, progress, sum(state.asked for state in states), repeats - repeat + 1)
        state = _ask(protocol, backend, rows, skip_bad, shown, repeat)
        if state is None:
            protocol = replace(protocol, max_new_tokens=REASONING_LENGTH)
            return ask_rows(protocol, backend, rows, skip_bad, progress, repeats)
        states.append(state)
    for state in states:
        _fail_without_answer(state, skip_bad)
    reasons = {id: reason for state in reversed(states) for id, reason in state.failed.items()}
    failed = [left_out_item(row, reasons[row["id"]]) for row in rows if row["id"] in reasons]
    if len(failed) == len(rows):
        first = failed[0]
        raise DataError(
            f"none of the {len(rows)} items could be evaluated; the first: '{first['id']}': {first['reason']}"
        )
    answered = [[one for one in state.all_answered() if one.row["id"] not in reasons] for state in states]
    return protocol, answered, failed


def _show(progress: Progress, before: int, repeats_left: int, done: int, total: int) -> None:
    """Progress over all repeats, assuming that later repeats are as long as this one."""
    progress(before + done, before + repeats_left * total)


def _ask(
    protocol: Protocol, backend: Backend, rows: Sequence[Row], skip_bad: bool, progress: Progress | None, repeat: int
) -> _State | None:
    """All answers; None as soon as reasoning is cut off at the default reply length."""
    state = _State({row["id"]: row for row in rows}, {row["id"]: {} for row in rows}, repeat)
    wave = state.new(request for row in rows for request in protocol.requests(row))
    may_grow = protocol.max_new_tokens is None and backend.writes_replies
    while wave:
        for response in map(_split, backend.answer(wave)):
            if may_grow and _is_cut_in_reasoning(response):
                return None
            _receive(response, state, skip_bad)
            if progress:
                progress(state.answered, state.asked)
        _read(wave, protocol, state, skip_bad)
        wave = state.new(
            request for one in state.all_answered() for request in protocol.follow_ups(one.row, one.responses)
        )
    return state


def _receive(response: Response, state: _State, skip_bad: bool) -> None:
    request = response.request
    state.responses[request.id][request.pass_name] = response
    state.answered += 1
    if response.error is None:
        return
    # An optional request may lack a prediction in a file and, with `skip_bad`, a server's answer, but not an image.
    tolerated = (MissingPredictionError, EndpointError) if skip_bad else MissingPredictionError
    if not (isinstance(response.error, tolerated) and request.optional):
        _fail(request.id, response.error, state, skip_bad)


def _is_cut_in_reasoning(response: Response) -> bool:
    """Whether a reply was cut off within its reasoning, or within the answer after it."""
    ended = response.finish_reason
    return ended == REASONING or (ended == LENGTH and response.reasoning is not None)


def _split(response: Response) -> Response:
    """The response with its reasoning split from its answer, and the finish reason that follows from it."""
    if response.text is None:
        return response
    text = _whole_characters(response.text)
    found = split_reasoning(text)
    parts = (_whole_characters(response.reasoning or ""), found.reasoning)
    reasoning = "\n".join(part for part in parts if part) or None
    answer = found.answer.strip() if reasoning else text
    ends_in_reasoning = reasoning is not None and not answer and response.finish_reason != CONTENT_FILTER
    return replace(
        response,
        text=answer,
        reasoning=reasoning,
        finish_reason=REASONING if ends_in_reasoning else response.finish_reason,
    )


def _whole_characters(text: str) -> str:
    """The text with lone surrogates, which no file can contain, replaced by U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _read(wave: Sequence[Request], protocol: Protocol, state: _State, skip_bad: bool) -> None:
    """Let the protocol and the task's scoring function read the new responses, in the order of their rows."""
    # A wave contains the rows in order, and the requests of a row together.
    there = [
        (request.id, request.pass_name, response)
        for request in wave
        if request.id not in state.failed and (response := state.responses[request.id][request.pass_name]) is not None
    ]
    items = protocol.read([state.rows[id] for id, _, _ in there], [response for _, _, response in there])
    for (id, name, response), item in zip(there, items, strict=True):
        if protocol.scorer is not None and not protocol.is_private(state.rows[id]):
            try:
                item = {**item, OWN_SCORE: protocol.scorer.value(response.text or "", state.rows[id])}
            except DataError as error:
                _fail(id, error, state, skip_bad)
        state.responses[id][name] = replace(response, item=item)


def _fail_without_answer(state: _State, skip_bad: bool) -> None:
    """Fail the rows in which no request has an answer; the reason is that of the first request."""
    for one in state.all_answered():
        first = one.responses[0].error
        if first is not None and all(response.error is not None for response in one.responses):
            _fail(one.row["id"], first, state, skip_bad)


def _fail(id: str, error: DataError, state: _State, skip_bad: bool) -> None:
    if not skip_bad:
        # A server that has answered nothing may refuse all items.
        raise explain_item(id, error, is_alone=not isinstance(error, EndpointError) or state.has_answer()) from error
    state.failed[id] = str(error)


def explain_item(id: str, error: DataError, is_alone: bool = True) -> DataError:
    """The error with the item's id and, unless all items may have it, advice on how to continue."""
    advice = ". Use skip_bad (--skip-bad) to leave it out; it is then listed and counted." if is_alone else ""
    return DataError(f"item '{id}': {error}{advice}")


def left_out_item(row: Row, reason: str) -> dict[str, Any]:
    """What a result records about an item that is left out of its scores."""
    images = row.get("images") or [row.get("image")]
    return {"id": row["id"], "path": getattr(images[0], "path", None), "reason": reason}
