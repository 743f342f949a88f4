"""Ask a backend about rows in waves; each wave contains the follow-ups to the answers of the previous ones."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from eyechart.datasets_scripts.common.errors import DataError, EndpointError, MissingPredictionError
from eyechart.evaluators.protocols.protocol import REASONING_LENGTH, Protocol
from eyechart.evaluators.requests.types import Backend, Request, Response, Row
from eyechart.evaluators.results.items import Item
from eyechart.evaluators.results.results_file import LeftOut
from eyechart.metrics.scoring.reasoning import CONTENT_FILTER, LENGTH, REASONING, split_reasoning

Progress = Callable[[int, int], None]
"""Called with (done, total) requests; the total grows with each wave."""


@dataclass
class _State:
    """Rows, requests and items so far."""

    rows: dict[str, Row]
    """Rows by id, in order."""
    repeat: int
    """Which repeat of the requests this is."""
    responses: dict[tuple[str, str], Response | None] = field(default_factory=dict)
    """Responses by row id and pass, in the order of asking; None until the response arrives."""
    items: dict[str, dict[str, Item]] = field(default_factory=dict)
    """Items by row id and pass, in the order of asking."""
    failed: dict[str, DataError] = field(default_factory=dict)
    """Why a row was left out, by id."""
    answered: int = 0

    def new(self, requests: Iterable[Request]) -> list[Request]:
        """The requests that were not asked before; marks them as asked."""
        wave = []
        for request in requests:
            if (request.id, request.pass_name) not in self.responses:
                self.responses[request.id, request.pass_name] = None
                wave.append(replace(request, repeat=self.repeat))
        return wave

    def has_answer(self) -> bool:
        """Whether any request has an answer."""
        return any(response is not None and response.error is None for response in self.responses.values())

    def usable(self) -> dict[str, list[Item]]:
        """The items of the rows that did not fail."""
        return {id: list(self.items[id].values()) for id in self.rows if id not in self.failed}


@dataclass(frozen=True)
class RowAnswers:
    """What a backend answered."""

    protocol: Protocol
    """The protocol with the reply length that was used."""
    rows: list[Row]
    """The rows that were answered in all repeats."""
    repeats: list[list[Item]]
    """The items of each repeat, in the order of the rows and of their requests."""
    responses: list[Response]
    """The responses to these rows in all repeats."""
    failed: list[LeftOut]
    """The other rows."""


def ask_rows(
    protocol: Protocol, backend: Backend, rows: Sequence[Row], repeats: int = 1, progress: Progress | None = None
) -> RowAnswers:
    """Ask a backend about rows, and parse the replies of each wave when it is complete.

    If the run sets no reply length and the reasoning in a reply is cut off, everything is asked again with a greater
    length, so that all replies have the same limit.

    Args:
        protocol: Makes the requests and follow-ups of a row, and parses the replies. With `skip_bad`, rows are left out
            in which a required request, or every request, has no answer, or an answer no score.
        backend: What answers.
        rows: At least one row; the ids are distinct.
        repeats: How many times to ask everything.
        progress: Called after each response.

    Raises:
        DataError: A request has no answer, or its answer no score, and `skip_bad` is off; or this is so for all rows.
    """
    states: list[_State] = []
    for repeat in range(1, repeats + 1):
        asked = sum(len(state.responses) for state in states)
        shown = progress and partial(_show, progress, asked, repeats - repeat + 1)
        state = _ask(protocol, backend, rows, repeat, shown)
        if state is None:
            return ask_rows(replace(protocol, max_new_tokens=REASONING_LENGTH), backend, rows, repeats, progress)
        states.append(state)
    for state in states:
        _fail_without_answer(state, protocol)
    reasons = {id: reason for state in reversed(states) for id, reason in state.failed.items()}
    failed = [left_out(row, str(reasons[row["id"]])) for row in rows if row["id"] in reasons]
    if len(failed) == len(rows):
        first = failed[0]
        raise DataError(f"none of the {len(rows)} items could be evaluated; the first: '{first.id}': {first.reason}")
    usable = [row for row in rows if row["id"] not in reasons]
    items = [[item for row in usable for item in state.usable()[row["id"]]] for state in states]
    responses = [
        response
        for state in states
        for (id, _), response in state.responses.items()
        if id not in reasons and response is not None
    ]
    return RowAnswers(protocol, usable, items, responses, failed)


def _show(progress: Progress, before: int, repeats_left: int, done: int, total: int) -> None:
    """Progress over all repeats, assuming that later repeats are as long as this one."""
    progress(before + done, before + repeats_left * total)


def _ask(
    protocol: Protocol, backend: Backend, rows: Sequence[Row], repeat: int, progress: Progress | None
) -> _State | None:
    """All answers; None as soon as reasoning is cut off at the default reply length."""
    state = _State({row["id"]: row for row in rows}, repeat, items={row["id"]: {} for row in rows})
    wave = state.new(request for row in rows for request in protocol.requests(row))
    may_grow = protocol.max_new_tokens is None and backend.writes_replies
    while wave:
        for response in map(_split, backend.answer(wave)):
            if may_grow and _is_cut_in_reasoning(response):
                return None
            _receive(response, state, protocol)
            if progress:
                progress(state.answered, len(state.responses))
        _read(wave, protocol, backend, state)
        usable = state.usable()
        wave = state.new(
            request for id, items in usable.items() for request in protocol.follow_ups(state.rows[id], items)
        )
    return state


def _receive(response: Response, state: _State, protocol: Protocol) -> None:
    request = response.request
    state.responses[request.id, request.pass_name] = response
    state.answered += 1
    if response.error is None:
        return
    # An optional request may lack a prediction in a file and, with `skip_bad`, a server's answer, but not an image.
    tolerated = (MissingPredictionError, EndpointError) if protocol.skip_bad else MissingPredictionError
    if not (isinstance(response.error, tolerated) and request.optional):
        _fail(request.id, response.error, state, protocol)


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


def _read(wave: Sequence[Request], protocol: Protocol, backend: Backend, state: _State) -> None:
    """Make the items of the new responses and parse their replies, in the order of their rows."""
    items = []
    for request in wave:
        response = state.responses[request.id, request.pass_name]
        if request.id in state.failed or response is None:
            continue
        try:
            item = protocol.item(state.rows[request.id], response)
        except DataError as error:
            _fail(request.id, error, state, protocol)
            continue
        # Nobody knows what the model of precomputed predictions was asked.
        items.append(item if backend.writes_replies else replace(item, prompt=None))
    for item in protocol.parse(items) if items else ():
        state.items[item.id][item.pass_name] = item


def _fail_without_answer(state: _State, protocol: Protocol) -> None:
    """Fail the rows in which no request has an answer; the reason is that of the first request."""
    for id, items in state.usable().items():
        first = state.responses[id, items[0].pass_name]
        if first is not None and first.error is not None and all(item.error is not None for item in items):
            _fail(id, first.error, state, protocol)


def _fail(id: str, error: DataError, state: _State, protocol: Protocol) -> None:
    if not protocol.skip_bad:
        # A server that has answered nothing may refuse all items.
        raise explain_item(id, error, is_alone=not isinstance(error, EndpointError) or state.has_answer()) from error
    state.failed[id] = error


def explain_item(id: str, error: DataError, is_alone: bool = True) -> DataError:
    """The error with the item's id and, unless all items may have it, advice on how to continue."""
    advice = ". Use skip_bad (--skip-bad) to leave it out; it is then listed and counted." if is_alone else ""
    return DataError(f"item '{id}': {error}{advice}")


def left_out(row: Row, reason: str) -> LeftOut:
    """What a result records about an item that is left out of its scores."""
    images = row.get("images") or [row.get("image")]
    return LeftOut(id=row["id"], path=getattr(images[0], "path", None), reason=reason)
