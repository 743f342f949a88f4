"""A backend that asks another one only what the response store does not hold."""

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

from eyechart.datasets_scripts.common.errors import BadImageError
from eyechart.evaluators.backends.wrapper import BackendWrapper
from eyechart.evaluators.requests.keys import RequestKeys
from eyechart.evaluators.requests.store import ResponseStore
from eyechart.evaluators.requests.stored_form import ANSWER, misfit
from eyechart.evaluators.requests.types import Backend, Loss, OutputType, Request, Response

# Looked up together, so that stored answers come without waiting for the keys of all requests.
_REQUESTS_PER_LOOKUP = 256

_ANSWER_FIELDS = tuple(one.name for one in fields(Response) if one.name not in ("request", "stored", "error"))

_Key = bytes | tuple[str, str]
"""A key of the store, or id and pass of a request that has none as its image cannot be read."""


class StoredBackend(BackendWrapper):
    """Answers from the store what is there, asks a backend for the rest and stores it.

    Each answer is on the disk before it is handed on, in a transaction of its own: that takes about 0.1 ms, and
    backends hand their answers on one by one. Requests that differ in row or pass alone are asked once. Errors are not
    stored, nor what cannot be scored, such as a logit of NaN, nor anything that a backend without an identity says.
    `Response.stored` says where an answer came from.

    Args:
        backend: What answers; the requests that are missing reach it in one call.
        store: An open store, which stays open.
    """

    def __init__(self, backend: Backend, store: ResponseStore) -> None:
        """Keep both."""
        super().__init__(backend)
        self._store = store

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
                if key in found and _answers(request, found[key]):
                    yield _response(request, found[key])
                else:
                    waiting.setdefault(key, []).append(request)
        if waiting:
            yield from self._ask(waiting)

    def _ask(self, waiting: dict[_Key, list[Request]]) -> Iterator[Response]:
        asked = [requests[0] for requests in waiting.values()]
        keys = {(request.id, request.pass_name): key for key, request in zip(waiting, asked, strict=True)}
        if len(keys) < len(asked):
            raise ValueError(
                "two different requests have the same id and pass name, so their answers cannot be distinguished"
            )
        for response in self._backend.answer(asked):
            key = keys[response.request.id, response.request.pass_name]
            value = _value(response)
            if response.error is None and isinstance(key, bytes) and misfit(value, ANSWER) is None:
                self._store.put(self.name, {key: value})
            for request in waiting[key]:
                yield replace(response, request=request)


def _key(keys: RequestKeys, request: Request) -> _Key:
    try:
        return keys.key(request)
    except BadImageError:
        # The backend meets the same image and says what is wrong with it.
        return request.id, request.pass_name


def _answers(request: Request, value: dict[str, Any]) -> bool:
    """Whether a stored answer has what is wanted: words that are needed now may have been optional to it."""
    if request.output_type is OutputType.LOSSES:
        return len(value.get("losses", ())) == len(request.continuations)
    if request.words:
        return set(request.words) <= set(value.get("logits", ()))
    return any(name in value for name in ("text", "logits", "losses", "score"))


def _value(response: Response) -> dict[str, Any]:
    """A response as a JSON value: everything but its request, as far as it differs from an empty response."""
    value = {name: getattr(response, name) for name in _ANSWER_FIELDS}
    if response.losses is not None:
        value["losses"] = [[loss.total, loss.tokens] for loss in response.losses]
    return {name: item for name, item in value.items() if item not in (None, (), {})}


def _response(request: Request, value: dict[str, Any]) -> Response:
    answer: dict[str, Any] = {name: tuple(item) if isinstance(item, list) else item for name, item in value.items()}
    if "losses" in value:
        answer["losses"] = tuple(Loss(total, tokens) for total, tokens in value["losses"])
    return Response(request, **answer, stored=True)
