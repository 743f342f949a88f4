"""A backend around another one."""

import copy
from typing import Any, Self

from eyechart.evaluators.requests.types import Backend, OutputType


class BackendWrapper(Backend):
    """Answers by means of a backend, and is as that one in everything else.

    Args:
        backend: The backend.
    """

    def __init__(self, backend: Backend) -> None:
        """Keep the backend."""
        self._backend = backend
        self.needs_images = backend.needs_images
        self.writes_replies = backend.writes_replies
        self.billed_per_request = backend.billed_per_request
        self.samples = backend.samples

    @property
    def name(self) -> str:
        """The model's id or folder."""
        return self._backend.name

    def check(self, output_type: OutputType) -> None:
        """Raise `ModelError` if the backend can't give this."""
        self._backend.check(output_type)

    def for_data(self, dataset: str) -> Self:
        """The same around what answers about the data set."""
        bound = copy.copy(self)
        bound._backend = self._backend.for_data(dataset)
        return bound

    def identity(self) -> dict[str, Any] | None:
        """That of the backend."""
        return self._backend.identity()

    def settings(self) -> dict[str, Any]:
        """Those of the backend."""
        return self._backend.settings()
