"""A backend in several processes: each process answers a part of the requests and gets all responses."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.backends.local.image_groups import group_by_image
from eyechart.evaluators.backends.processes import Processes
from eyechart.evaluators.backends.wrapper import BackendWrapper
from eyechart.evaluators.requests.types import Backend, Request, Response

# Requests per process between two exchanges: few enough for a smooth progress bar, enough to fill batches.
_REQUESTS_PER_ROUND = 512
_UNSENT = Request("", (), ())


class DistributedBackend(BackendWrapper):
    """Divides requests among processes; requests that begin with the same image go to the same process.

    Args:
        backend: Answers this process's part of the requests.
        processes: All processes; each must be given the same requests.
    """

    def __init__(self, backend: Backend, processes: Processes) -> None:
        """Keep both."""
        super().__init__(backend)
        self._processes = processes

    def settings(self) -> dict[str, Any]:
        """The settings of the wrapped backend, and the number of processes."""
        return {**self._backend.settings(), "processes": self._processes.count}

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        """Answer in rounds, after each of which every process yields the same responses in the same order.

        Raises:
            ModelError: Another process failed; the message gives the reason.
        """
        indices = {id(request): index for index, request in enumerate(requests)}
        parts = self._parts(requests)
        for start in range(0, max(map(len, parts)), _REQUESTS_PER_ROUND):
            part = parts[self._processes.rank][start : start + _REQUESTS_PER_ROUND]
            responses = self._processes.together(partial(self._answer, part))
            # Images are not sent between processes; errors are sent as text, because not every error can be pickled.
            sent = [
                (
                    indices[id(response.request)],
                    replace(response, request=_UNSENT, error=None),
                    None if response.error is None else str(response.error),
                )
                for response in responses
            ]
            for of_process in self._processes.gather(sent):
                for index, response, reason in of_process:
                    error = None if reason is None else DataError(reason)
                    yield replace(response, request=requests[index], error=error)

    def _answer(self, requests: Sequence[Request]) -> list[Response]:
        return list(self._backend.answer(requests))

    def _parts(self, requests: Sequence[Request]) -> list[list[Request]]:
        """The requests of each process: each image group goes to the process with the fewest requests so far."""
        parts: list[list[Request]] = [[] for _ in range(self._processes.count)]
        for group in group_by_image(requests):
            min(parts, key=len).extend(group)
        return parts
