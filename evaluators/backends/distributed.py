"""A backend in several processes: each answers a part of the requests, and every one gets all answers."""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import partial
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.backends.local.image_groups import group_by_image
from eyechart.evaluators.backends.processes import Processes
from eyechart.evaluators.requests.types import Backend, OutputType, Request, Response

# Requests of each process between two exchanges: often enough for a progress bar, seldom enough to fill batches.
_REQUESTS_PER_ROUND = 512
_SENT = tuple(field.name for field in fields(Response) if field.name not in ("request", "error"))


class DistributedBackend:
    """Shares requests among processes, those that begin with the same image to the same one.

    Args:
        backend: What answers this process's part.
        processes: All processes; each of them has to ask the same.
    """

    def __init__(self, backend: Backend, processes: Processes) -> None:
        """Keep both."""
        self._backend = backend
        self._processes = processes
        self.needs_images = backend.needs_images
        self.billed_per_request = backend.billed_per_request

    @property
    def name(self) -> str:
        """The model's id or folder."""
        return self._backend.name

    def check(self, output_type: OutputType) -> None:
        """Raise `ModelError` if the backend can't give this."""
        self._backend.check(output_type)

    def for_data(self, subset: str) -> "DistributedBackend":
        """The same around what answers about the data set."""
        return DistributedBackend(self._backend.for_data(subset), self._processes)

    def identity(self) -> dict[str, Any] | None:
        """That of the backend."""
        return self._backend.identity()

    def settings(self) -> dict[str, Any]:
        """Those of the backend, and the number of processes."""
        return {**self._backend.settings(), "processes": self._processes.count}

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        """Answer in rounds, after each of which every process yields the same responses in the same order.

        Raises:
            ModelError: Another process failed; the message holds its reason.
        """
        places = {id(request): place for place, request in enumerate(requests)}
        parts = self._parts(requests)
        for start in range(0, max(map(len, parts)), _REQUESTS_PER_ROUND):
            part = parts[self._processes.rank][start : start + _REQUESTS_PER_ROUND]
            answered = self._processes.together(partial(self._answers, part))
            sent = [(places[id(response.request)], _sent(response)) for response in answered]
            for of_process in self._processes.gather(sent):
                for place, response in of_process:
                    yield _received(requests[place], response)

    def _answers(self, requests: Sequence[Request]) -> list[Response]:
        return list(self._backend.answer(requests))

    def _parts(self, requests: Sequence[Request]) -> list[list[Request]]:
        """The requests of each process: one image group after the other to the process that has the fewest."""
        parts: list[list[Request]] = [[] for _ in range(self._processes.count)]
        for group in group_by_image(requests):
            min(parts, key=len).extend(group)
        return parts


def _sent(response: Response) -> dict[str, Any]:
    """A response without its request, whose images are not to be sent."""
    sent = {name: getattr(response, name) for name in _SENT}
    return {**sent, "error": None if response.error is None else str(response.error)}


def _received(request: Request, sent: dict[str, Any]) -> Response:
    error = sent["error"]
    return Response(**{**sent, "request": request, "error": None if error is None else DataError(error)})
