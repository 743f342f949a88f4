"""Asking a backend about rows, wave after wave, each of what the answers to those before it call for."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from eyechart.datasets_scripts.common.errors import DataError, EndpointError, MissingPredictionError
from eyechart.evaluators.requests.types import Backend, Request, Response, Row, RowResponses

PRIVATE = "its answer is private"
"""Why a row that was answered is left out of the scores where its own answer is not public."""
Progress = Callable[[int, int], None]
"""Called with (done, total) requests; the total grows with each wave."""


class Asker(Protocol):
    """What asks: the part of an `Evaluator` that this file needs."""

    def requests(self, row: Row) -> list[Request]:
        """What to ask the model about one row, whatever it answers."""

    def next_wave(self, answered: "Sequence[RowResponses]") -> list[Request]:
        """What to ask about all rows next, given all responses so far."""

    def is_optional(self, request: Request) -> bool:
        """Whether the row can be scored without an answer to this request."""


@dataclass
class _State:
    """What is known so far."""

    passes: dict[str, list[str]]
    """Passes that were asked, by row id."""
    responses: dict[tuple[str, str], Response] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    """Why a row was left out, by id."""
    asked: int = 0
    """Number of requests."""

    def new(self, requests: Iterable[Request]) -> list[Request]:
        """Those that were not asked before, which now count as asked."""
        wave = []
        for request in requests:
            if request.pass_name not in self.passes[request.id]:
                self.passes[request.id].append(request.pass_name)
                wave.append(request)
        self.asked += len(wave)
        return wave

    def answered(self, rows: Sequence[Row]) -> list[RowResponses]:
        """The rows that did not fail, with what they were answered."""
        return [
            RowResponses(row, tuple(self.responses[row["id"], name] for name in self.passes[row["id"]]))
            for row in rows
            if row["id"] not in self.failed
        ]


def ask_rows(
    asker: Asker, backend: Backend, rows: Sequence[Row], skip_bad: bool, progress: Progress | None
) -> tuple[list[RowResponses], list[dict[str, Any]]]:
    """Ask a backend about rows.

    Args:
        asker: Says what to ask about a row, first and given the answers.
        backend: What answers.
        rows: At least one, of different ids.
        skip_bad: Leave out rows of which a request that is not optional has no answer, or none has one.
        progress: Called after each response.

    Returns:
        The rows that were answered, and what was left out: {"id", "path", "reason"} each.

    Raises:
        DataError: A request has no answer and `skip_bad` is off, or none of the rows could be asked.
    """
    state = _State({row["id"]: [] for row in rows})
    answered: list[RowResponses] = []
    wave = state.new(request for row in rows for request in asker.requests(row))
    while wave:
        for response in backend.answer(wave):
            _receive(response, state, asker, skip_bad)
            if progress:
                progress(len(state.responses), state.asked)
        answered = state.answered(rows)
        wave = state.new(asker.next_wave(answered))
    answered = _with_an_answer(answered, state, skip_bad)
    failed = [left_out_item(row, state.failed[row["id"]]) for row in rows if row["id"] in state.failed]
    if not answered:
        first = failed[0]
        raise DataError(f"none of the {len(rows)} items could be asked; the first: '{first['id']}': {first['reason']}")
    return answered, failed


def _receive(response: Response, state: _State, asker: Asker, skip_bad: bool) -> None:
    request = response.request
    state.responses[request.id, request.pass_name] = response
    if response.error is None:
        return
    # What a file does not hold may be spared, and where rows may be left out, what a server does not answer; an image
    # that cannot be read may not.
    spared = (MissingPredictionError, EndpointError) if skip_bad else MissingPredictionError
    if not (isinstance(response.error, spared) and asker.is_optional(request)):
        _fail(request.id, response.error, state, skip_bad)


def _with_an_answer(answered: Sequence[RowResponses], state: _State, skip_bad: bool) -> list[RowResponses]:
    """The rows of which at least one request has an answer; the others fail for the reason of the first."""
    for item in answered:
        first = item.responses[0].error
        if first is not None and all(response.error is not None for response in item.responses):
            _fail(item.row["id"], first, state, skip_bad)
    return [item for item in answered if item.row["id"] not in state.failed]


def _fail(id: str, error: DataError, state: _State, skip_bad: bool) -> None:
    if not skip_bad:
        raise explain_item(id, error) from error
    state.failed[id] = str(error)


def explain_item(id: str, error: DataError) -> DataError:
    """The error again, naming the item and how to go on."""
    return DataError(f"item '{id}': {error}. With skip_bad (--skip-bad) it is left out, listed and counted.")


def left_out_item(row: Row, reason: str) -> dict[str, Any]:
    """What a result says about an item that has no part in its scores."""
    images = row.get("images") or [row.get("image")]
    return {"id": row["id"], "path": getattr(images[0], "path", None), "reason": reason}
