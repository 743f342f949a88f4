"""The base class of backends that wrap another backend."""

import copy
from typing import Any, Self

from eyechart.evaluators.requests.types import Backend, OutputType


class BackendWrapper(Backend):
    """Wraps a backend and passes everything through, except what a subclass overrides.

    Args:
        backend: The wrapped backend.
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
        """Raise `ModelError` if the backend cannot give this kind of output."""
        self._backend.check(output_type)

    def for_data(self, dataset: str) -> Self:
        """The same wrapper around the backend for this dataset."""
        bound = copy.copy(self)
        bound._backend = self._backend.for_data(dataset)
        return bound

    def identity(self) -> dict[str, Any] | None:
        """The identity of the wrapped backend."""
        return self._backend.identity()

    def settings(self) -> dict[str, Any]:
        """The settings of the wrapped backend."""
        return self._backend.settings()
