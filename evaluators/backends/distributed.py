"""A backend in several processes: each answers a part of the requests, and every one gets all answers."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.backends.local.image_groups import group_by_image
from eyechart.evaluators.backends.processes import Processes
from eyechart.evaluators.backends.wrapper import BackendWrapper
from eyechart.evaluators.requests.types import Backend, Request, Response

# Requests of each process between two exchanges: often enough for a progress bar, seldom enough to fill batches.
_REQUESTS_PER_ROUND = 512
_UNSENT = Request("", (), ())


class DistributedBackend(BackendWrapper):
    """Shares requests among processes, those that begin with the same image to the same one.

    Args:
        backend: What answers this process's part.
        processes: All processes; each of them has to ask the same.
    """

    def __init__(self, backend: Backend, processes: Processes) -> None:
        """Keep both."""
        super().__init__(backend)
        self._processes = processes

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
            answered = self._processes.together(partial(self._answer, part))
            # Without images, which are not to be sent, and with the reason of an error, which may not be sendable.
            sent = [
                (places[id(response.request)], replace(response, request=_UNSENT, error=None), _reason(response))
                for response in answered
            ]
            for of_process in self._processes.gather(sent):
                for place, response, reason in of_process:
                    error = None if reason is None else DataError(reason)
                    yield replace(response, request=requests[place], error=error)

    def _answer(self, requests: Sequence[Request]) -> list[Response]:
        return list(self._backend.answer(requests))

    def _parts(self, requests: Sequence[Request]) -> list[list[Request]]:
        """The requests of each process: one image group after the other to the process that has the fewest."""
        parts: list[list[Request]] = [[] for _ in range(self._processes.count)]
        for group in group_by_image(requests):
            min(parts, key=len).extend(group)
        return parts


def _reason(response: Response) -> str | None:
    return None if response.error is None else str(response.error)
