"""Backends that wrap a backend; the one here sends only requests whose responses are not in the response store."""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

from eyechart.evaluators.requests.keys import request_keys
from eyechart.evaluators.requests.store import ResponseStore
from eyechart.evaluators.requests.types import Answer, Backend, OutputType, Request, Response

# Looked up in groups, so that the first stored responses do not wait for the keys of all requests.
_REQUESTS_PER_LOOKUP = 256


class BackendWrapper(Backend):
    """Passes everything through to another backend, except what a subclass overrides."""

    def __init__(self, backend: Backend) -> None:
        """Keep the backend."""
        self._backend = backend
        self.name = backend.name
        self.needs_images = backend.needs_images
        self.writes_replies = backend.writes_replies
        self.billed_per_request = backend.billed_per_request
        self.samples = backend.samples

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


class StoredBackend(BackendWrapper):
    """Takes responses from the store, sends other requests in one call, and stores each response before yielding it.

    Requests that differ only in row or pass are sent once. Not stored are errors, responses that cannot be scored (such
    as a logit of NaN), and those of a backend without an identity.
    """

    def __init__(self, backend: Backend, store: ResponseStore) -> None:
        """Keep both; the store stays open."""
        super().__init__(backend)
        self._store = store

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        """Yield stored responses as they are read, then those of the backend; raises StoreError if the store fails."""
        identity = self._backend.identity()
        if identity is None:
            yield from self._backend.answer(requests)
            return
        # By key, or by `id` where there is none: the backend reports the error of an image that cannot be read.
        waiting: dict[bytes | int, list[Request]] = {}
        for start in range(0, len(requests), _REQUESTS_PER_LOOKUP):
            part = requests[start : start + _REQUESTS_PER_LOOKUP]
            keys = request_keys(identity, part)
            stored = self._store.get(filter(None, keys))
            for key, request in zip(keys, part, strict=True):
                if key in stored and _answers(request, stored[key]):
                    yield Response(request, **vars(stored[key]), stored=True)
                else:
                    waiting.setdefault(key or id(request), []).append(request)
        if not waiting:
            return
        asked = {id(equal[0]): (key, equal) for key, equal in waiting.items()}
        for response in self._backend.answer([equal[0] for equal in waiting.values()]):
            new_key, equal = asked[id(response.request)]
            if response.error is None and isinstance(new_key, bytes):
                self._store.put(self.name, {new_key: response})
            for request in equal:
                yield replace(response, request=request)


def _answers(request: Request, answer: Answer) -> bool:
    """Whether a stored answer has everything the request needs; a needed word may have been optional before."""
    if request.output_type is OutputType.LOSSES:
        return len(answer.losses or ()) == len(request.continuations)
    if request.words:
        return set(request.words) <= set(answer.logits or ())
    return any(value is not None for value in (answer.text, answer.logits, answer.losses, answer.score))
