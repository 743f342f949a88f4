"""A backend that asks another one only what the response store does not hold."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from eyechart.datasets_scripts.common.errors import BadImageError
from eyechart.evaluators.requests.keys import RequestKeys
from eyechart.evaluators.requests.store import ResponseStore
from eyechart.evaluators.requests.types import Backend, Loss, OutputType, Request, Response

# Looked up together, so that stored answers come without waiting for the keys of all requests.
_REQUESTS_PER_LOOKUP = 256

_Key = bytes | tuple[str, str]
"""A key of the store, or id and pass of a request that has none as its image cannot be read."""


class StoredBackend:
    """Answers from the store what is there, asks a backend for the rest and stores it.

    Each answer is on the disk before it is handed on, in a transaction of its own: that takes about 0.1 ms, and
    backends hand their answers on one by one. Requests that differ in row or pass alone are asked once. Errors are not
    stored, nor anything that a backend without an identity says.

    Args:
        backend: What answers; the requests that are missing reach it in one call.
        store: An open store, which stays open.
    """

    def __init__(self, backend: Backend, store: ResponseStore) -> None:
        """Keep both."""
        self._backend = backend
        self._store = store
        self.needs_images = backend.needs_images
        self.billed_per_request = backend.billed_per_request

    @property
    def name(self) -> str:
        """The model's id or folder."""
        return self._backend.name

    def check(self, output_type: OutputType) -> None:
        """Raise `ModelError` if the backend can't give this."""
        self._backend.check(output_type)

    def for_data(self, subset: str) -> "StoredBackend":
        """The same around what answers about the data set."""
        return StoredBackend(self._backend.for_data(subset), self._store)

    def identity(self) -> dict[str, Any] | None:
        """That of the backend."""
        return self._backend.identity()

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        """Yield stored responses as they are found, then those of the backend.

        Raises:
            ValueError: Two different requests have the same id and pass name.
            StoreError: The store cannot be read or written; what it holds is kept.
        """
        identity = self._backend.identity()
        if identity is None:
            yield from self._backend.answer(requests)
            return
        keys = RequestKeys(identity)
        waiting: dict[_Key, list[Request]] = {}
        for start in range(0, len(requests), _REQUESTS_PER_LOOKUP):
            part = requests[start : start + _REQUESTS_PER_LOOKUP]
            keys.read_images(part)
            keyed = [(_key(keys, request), request) for request in part]
            found = self._store.get(key for key, _ in keyed if isinstance(key, bytes))
            for key, request in keyed:
                if key in found and _has_words(request, found[key]):
                    yield _response(request, found[key])
                else:
                    waiting.setdefault(key, []).append(request)
        if waiting:
            yield from self._ask(waiting)

    def settings(self) -> dict[str, Any]:
        """Those of the backend: where an answer came from changes none. `Response.stored` tells it."""
        return self._backend.settings()

    def _ask(self, waiting: dict[_Key, list[Request]]) -> Iterator[Response]:
        asked = [requests[0] for requests in waiting.values()]
        keys = {(request.id, request.pass_name): key for key, request in zip(waiting, asked, strict=True)}
        if len(keys) < len(asked):
            raise ValueError("two different requests have the same id and pass name, so their answers cannot be told")
        for response in self._backend.answer(asked):
            key = keys[response.request.id, response.request.pass_name]
            if response.error is None and isinstance(key, bytes):
                self._store.put(self.name, {key: _value(response)})
            for request in waiting[key]:
                yield replace(response, request=request)


def _key(keys: RequestKeys, request: Request) -> _Key:
    try:
        return keys.key(request)
    except BadImageError:
        # The backend meets the same image and says what is wrong with it.
        return request.id, request.pass_name


def _has_words(request: Request, value: dict[str, Any]) -> bool:
    """Whether a stored answer has the words that are needed: it may be one to which they were optional."""
    return not request.words or set(request.words) <= set(value.get("logits") or ())


def _value(response: Response) -> dict[str, Any]:
    """A response as a JSON value: everything but its request, as far as it differs from an empty response."""
    losses = response.losses
    value = {
        "text": response.text,
        "logits": None if response.logits is None else dict(response.logits),
        "losses": None if losses is None else [[loss.total, loss.tokens] for loss in losses],
        "upper_bound_words": list(response.upper_bound_words) or None,
        "usage": dict(response.usage) or None,
        "options": response.options,
        "rendered_prompt": response.rendered_prompt,
        "images_downscaled": response.images_downscaled,
        "response_metadata": dict(response.response_metadata) or None,
    }
    return {name: item for name, item in value.items() if item is not None}


def _response(request: Request, value: dict[str, Any]) -> Response:
    losses, options = value.get("losses"), value.get("options")
    return Response(
        request,
        text=value.get("text"),
        logits=value.get("logits"),
        losses=None if losses is None else tuple(Loss(total, tokens) for total, tokens in losses),
        upper_bound_words=tuple(value.get("upper_bound_words", ())),
        usage=value.get("usage", {}),
        options=None if options is None else tuple(options),
        rendered_prompt=value.get("rendered_prompt"),
        images_downscaled=value.get("images_downscaled"),
        response_metadata=value.get("response_metadata", {}),
        stored=True,
    )
