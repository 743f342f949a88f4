"""Ask a backend about rows in waves; each wave contains the follow-ups to the answers of the previous ones."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.evaluation.data import Rows
from eyechart.evaluators.evaluation.tally import Tally
from eyechart.evaluators.protocols.protocol import REASONING_LENGTH, Protocol
from eyechart.evaluators.requests.errors import EndpointError, MissingPredictionError
from eyechart.evaluators.requests.types import Backend, Request, Response, Row
from eyechart.evaluators.results.items import Item, PackedItems, changed
from eyechart.evaluators.results.results_file import PRIVATE, LeftOut, TaskResult
from eyechart.metrics.scoring.reasoning import CONTENT_FILTER, LENGTH, REASONING, split_reasoning

Progress = Callable[[int, int], None]
"""Called with (done, total) requests; the total grows with each wave."""
Scoring = Callable[[], TaskResult | None]
Watch = Callable[[Response, Scoring], None]
"""Called with each response, and a function that scores the rows so far: see `_Repeat.score_so_far`."""


@dataclass(frozen=True)
class RowAnswers:
    """What a backend answered."""

    protocol: Protocol
    """The protocol with the reply length that was used."""
    count: int
    """Number of rows that were answered in all repeats."""
    repeats: list[PackedItems]
    """The items of each repeat, in the order of the rows and of their requests."""
    tally: Tally
    """Counts of the responses to these rows in all repeats."""
    private: list[LeftOut]
    """Those of these rows that have no public label."""
    failed: list[LeftOut]
    """The other rows."""


def ask_rows(
    protocol: Protocol,
    backend: Backend,
    rows: Rows,
    repeats: int = 1,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> RowAnswers:
    """Ask a backend about rows with distinct ids, and parse the replies of each wave when it is complete.

    If the run sets no reply length and the reasoning in a reply is cut off, everything is asked again with a greater
    length, so that all replies have the same limit. Raises `DataError` for a request without an answer or an answer
    without a score; with `skip_bad`, only if this is so for all rows.
    """
    items, tally = [PackedItems() for _ in range(repeats)], Tally()
    private: list[LeftOut] = []
    failed: list[LeftOut] = []
    rows_asked = responses_before = 0
    for block in rows.blocks():
        by_id = {row["id"]: row for row in block}
        asked: list[_Repeat] = []
        for number in range(1, repeats + 1):
            rows_asked += len(block)

            def show(
                done: int, total: int, before: int = responses_before, share: float = rows_asked / repeats / len(rows)
            ) -> None:
                # The other rows are assumed to need as many requests.
                if progress:
                    progress(before + done, round((before + total) / share))

            repeat = _Repeat(protocol, backend, by_id, number, items[number - 1])
            if not repeat.ask(show, watch):
                longer = replace(protocol, max_new_tokens=REASONING_LENGTH)
                return ask_rows(longer, backend, rows, repeats, progress, watch)
            responses_before += len(repeat.responses)
            asked.append(repeat)
        reasons = {id: str(error) for repeat in reversed(asked) for id, error in repeat.failed.items()}
        failed += (left_out(row, reasons[id]) for id, row in by_id.items() if id in reasons)
        answered = {id: row for id, row in by_id.items() if id not in reasons}
        private_rows = {id: row for id, row in answered.items() if protocol.is_private(row)}
        private += (left_out(row, PRIVATE) for row in private_rows.values())
        for repeat, of_repeat in zip(asked, items, strict=True):
            of_repeat.extend(item for id in answered for item in repeat.items[id].values())
            responses = (response for (id, _), response in repeat.responses.items() if response and id in answered)
            tally.add(responses, private_rows.keys())
    if len(failed) == len(rows):
        first = failed[0]
        raise DataError(f"none of the {len(rows)} items could be evaluated; the first: '{first.id}': {first.reason}")
    return RowAnswers(protocol, len(rows) - len(failed), items, tally, private, failed)


@dataclass
class _Repeat:
    """One repeat of all requests: what was asked and answered so far."""

    protocol: Protocol
    backend: Backend
    rows: dict[str, Row]
    """Rows by id, in order."""
    number: int
    before: Sequence[Item] = ()
    """The items of earlier rows."""
    responses: dict[tuple[str, str], Response | None] = field(default_factory=dict)
    """Responses by row id and pass, in the order of asking; None until the response arrives."""
    items: dict[str, dict[str, Item]] = field(default_factory=dict)
    """Items by row id and pass, in the order of asking."""
    failed: dict[str, DataError] = field(default_factory=dict)
    """Why a row was left out, by id."""

    def ask(self, progress: Progress, watch: Watch | None = None) -> bool:
        """Ask everything; False as soon as reasoning is cut off at the default reply length."""
        may_grow = self.protocol.max_new_tokens is None and self.backend.writes_replies
        self.items = {id: {} for id in self.rows}
        wave = self._new(request for row in self.rows.values() for request in self.protocol.requests(row))
        done = 0
        while wave:
            for response in map(_split, self.backend.answer(wave)):
                if may_grow and _is_cut_in_reasoning(response):
                    return False
                self._receive(response)
                done += 1
                progress(done, len(self.responses))
                if watch:
                    watch(response, self.score_so_far)
            self._read(wave)
            wave = self._further()
        # A row in which no request has an answer fails with the reason of its first request.
        for id, items in self._usable().items():
            first = self.responses[id, items[0].pass_name]
            if first is not None and first.error is not None and all(item.error is not None for item in items):
                self._fail(id, first.error)
        return True

    def score_so_far(self) -> TaskResult | None:
        """The scores of the rows with all their answers.

        None for many items, and if a judge or the user's own function reads the replies: each is asked once. If a row
        has further requests, the rows without are a selection, and only earlier rows count.
        """
        judge = self.protocol.judge if self.protocol.is_judged else None
        if judge or self.protocol.scorer or len(self.before) + len(self.responses) > 20_000:
            return None
        unread: dict[str, dict[str, Item]] = {id: {} for id in self.rows}
        part = replace(self, responses=dict(self.responses), items=unread, failed=dict(self.failed))
        waiting = {id for (id, _), response in self.responses.items() if response is None}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            part._read([each.request for each in self.responses.values() if each and each.request.id not in waiting])
            if any(self.items.values()) or part._further():
                part.items = {}
            items = PackedItems([*self.before, *(item for row in part.items.values() for item in row.values())])
            return self.protocol.score(items) if items else None

    def _new(self, requests: Iterable[Request]) -> list[Request]:
        """The requests that were not asked before; marks them as asked."""
        wave = []
        for request in requests:
            if (request.id, request.pass_name) not in self.responses:
                self.responses[request.id, request.pass_name] = None
                wave.append(request if self.number == request.repeat else replace(request, repeat=self.number))
        return wave

    def _further(self) -> list[Request]:
        usable = self._usable().items()
        return self._new(request for id, items in usable for request in self.protocol.follow_ups(self.rows[id], items))

    def _usable(self) -> dict[str, list[Item]]:
        """The items of the rows that did not fail."""
        return {id: list(self.items[id].values()) for id in self.rows if id not in self.failed}

    def _receive(self, response: Response) -> None:
        request = response.request
        self.responses[request.id, request.pass_name] = response
        # An optional request may lack a prediction in a file and, with `skip_bad`, a server's answer, but not an image.
        tolerated = (MissingPredictionError, EndpointError) if self.protocol.skip_bad else MissingPredictionError
        if response.error is not None and not (isinstance(response.error, tolerated) and request.optional):
            self._fail(request.id, response.error)

    def _read(self, wave: Sequence[Request]) -> None:
        """Make the items of the new responses and parse their replies, in the order of their rows."""
        items = []
        for request in wave:
            response = self.responses[request.id, request.pass_name]
            if request.id in self.failed or response is None:
                continue
            try:
                item = self.protocol.item(self.rows[request.id], response)
            except DataError as error:
                self._fail(request.id, error)
                continue
            # Nobody knows what the model of precomputed predictions was asked.
            items.append(item if self.backend.writes_replies else changed(item, {"prompt": None}))
        for item in self.protocol.parse(items) if items else ():
            self.items[item.id][item.pass_name] = item

    def _fail(self, id: str, error: DataError) -> None:
        if not self.protocol.skip_bad:
            # A server that has answered nothing may refuse all items.
            has_answer = any(response is not None and response.error is None for response in self.responses.values())
            raise explain_item(id, error, is_alone=has_answer or not isinstance(error, EndpointError)) from error
        self.failed[id] = error


def _is_cut_in_reasoning(response: Response) -> bool:
    """Whether a reply was cut off within its reasoning, or within the answer after it."""
    ended = response.finish_reason
    return ended == REASONING or (ended == LENGTH and response.reasoning is not None)


def _split(response: Response) -> Response:
    """The response with its reasoning split from its answer, and the finish reason that follows from it."""
    if response.text is None:
        return response
    text = _whole_characters(response.text)
    split = split_reasoning(text)
    parts = (_whole_characters(response.reasoning or ""), split.reasoning)
    reasoning = "\n".join(part for part in parts if part) or None
    answer = split.answer.strip() if reasoning or split.answer != text else text
    if answer and (answer, reasoning) == (response.text, response.reasoning):
        return response
    has_reasoning = reasoning is not None or not split.is_finished
    ends_in_reasoning = has_reasoning and not answer and response.finish_reason != CONTENT_FILTER
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


def explain_item(id: str, error: DataError, is_alone: bool = True) -> DataError:
    """The error with the item's id and, unless all items may have it, advice on how to continue."""
    advice = ". Use skip_bad (--skip-bad) to leave it out; it is then listed and counted." if is_alone else ""
    return DataError(f"item '{id}': {error}{advice}")


def left_out(row: Row, reason: str) -> LeftOut:
    """What a result records about an item that is left out of its scores."""
    images = row.get("images") or [row.get("image")]
    return LeftOut(id=row["id"], path=getattr(images[0], "path", None), reason=reason)
