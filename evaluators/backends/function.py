"""A Python function as a backend."""

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from eyechart.datasets_scripts.common.errors import BadImageError, DataError
from eyechart.evaluators.backends.chat import decode_image, to_messages
from eyechart.evaluators.requests.errors import ModelError
from eyechart.evaluators.requests.types import Backend, OutputType, Request, Response
from eyechart.evaluators.requests.values import brief, is_unicode

_ARGUMENTS = {OutputType.TEXT: ("messages",), OutputType.LOGITS: ("messages", "words")}
_RETURNED = {OutputType.TEXT: "a string", OutputType.LOGITS: "a dict from word to logit"}


class FunctionBackend(Backend):
    """Answers each request with one call of a function of chat messages, whose image parts contain PIL images.

    `function(messages)` returns the reply, `function(messages, words)` a dict from word to logit; optional words come
    last in `words` and may be missing in the dict.
    """

    samples = True
    """A function may sample its replies; this is not known."""

    def __init__(self, function: Callable[..., Any]) -> None:
        """Keep the function."""
        self._function = function
        self.name = getattr(function, "__qualname__", type(function).__qualname__)

    def check(self, output_type: OutputType) -> None:
        """Refuse losses, and a function that does not take the arguments; what it returns is checked when called."""
        if output_type is OutputType.LOSSES:
            raise ModelError(f"{self.name} is a function; a function gives text or logits, not {output_type.value}.")
        try:
            signature = inspect.signature(self._function)
        except ValueError:
            # Some functions written in C have no signature.
            return
        try:
            signature.bind(*_ARGUMENTS[output_type])
        except TypeError as error:
            wanted = f"function({', '.join(_ARGUMENTS[output_type])}) that returns {_RETURNED[output_type]}"
            raise ModelError(f"{self.name} takes {signature}, but the task needs a {wanted}") from error

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        """Call the function for each request in turn."""
        for request in requests:
            try:
                messages = to_messages(request, [decode_image(source) for source in request.images])
            except BadImageError as error:
                yield Response(request, error=error)
                continue
            yield self._logits(request, messages) if request.words else self._text(request, messages)

    def settings(self) -> dict[str, Any]:
        """The kind of backend and the function's name."""
        return {"backend": "function", "name": self.name}

    def _text(self, request: Request, messages: list[dict[str, Any]]) -> Response:
        text = self._function(messages)
        if not isinstance(text, str):
            raise ModelError(f"{self.name} returned {type(text).__name__} for item '{request.id}'; expected a string.")
        if not is_unicode(text):
            return Response(request, error=DataError(f"{self.name} returned invalid Unicode: {brief(text)}"))
        return Response(request, text=text)

    def _logits(self, request: Request, messages: list[dict[str, Any]]) -> Response:
        logits = self._function(messages, request.all_words)
        try:
            # Numbers of any library are allowed, such as a tensor with one element.
            numbers = {word: float(logit) for word, logit in logits.items()}
        except (AttributeError, TypeError, ValueError):
            numbers = {}
        named = set(request.words) <= set(numbers) <= set(request.all_words)
        if not named or not all(map(math.isfinite, numbers.values())):
            raise ModelError(
                f"{self.name} returned {brief(logits)} for item '{request.id}'; expected a dict with finite logits of "
                f"{', '.join(request.words)}."
            )
        return Response(request, logits=numbers)
