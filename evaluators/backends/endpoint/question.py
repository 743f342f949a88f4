"""A request in the form in which it is sent to a server."""

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eyechart.evaluators.backends.endpoint.client import ChatClient, Messages
from eyechart.evaluators.backends.endpoint.completion import Choice, Completion
from eyechart.evaluators.backends.endpoint.prefill import Way, continued
from eyechart.evaluators.backends.endpoint.refused_parameters import DROPPED, SEPARATOR
from eyechart.evaluators.requests.types import Request, Response


@dataclass(frozen=True)
class Question:
    """A request in the form in which it is sent to a server."""

    client: ChatClient
    lock: threading.Lock
    request: Request
    messages: Messages
    way: Way | None
    """How the server continues a prefilled reply; None without a prefilled reply."""

    def ask(
        self,
        more: str = "",
        *,
        max_tokens: int,
        top_logprobs: int | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> Completion:
        """Ask for the reply after the prefill and `more`."""
        messages, fields = self.messages, dict(extra or {})
        if self.way is not None and (self.request.prefill or more):
            messages, fields = continued(messages, self._head + more), {**self.way.extra, **fields}
        return self.client.ask(messages, max_tokens=max_tokens, top_logprobs=top_logprobs, extra=fields)

    @property
    def _head(self) -> str:
        return f"{self.way.lead if self.way else ''}{self.request.prefill}"

    def text(self, choice: Choice) -> str:
        """The reply after the prefill."""
        return (choice.text if self.way is None else self.way.rest(choice.text, self._head)).strip()

    def respond(self, *completions: Completion, **answer: Any) -> Response:
        """The response, with the settings that are known only from the server's answers."""
        metadata = {
            "served": completions[0].model,
            "prefill": self.way.name if self.way is not None else None,
            DROPPED: SEPARATOR.join(sorted(set[str]().union(*(one.dropped for one in completions)))) or None,
        }
        usage = Counter[str]()
        for completion in completions:
            usage.update(completion.usage.counted if completion.usage else {})
        return Response(
            self.request,
            **answer,
            usage=dict(usage),
            response_metadata={name: value for name, value in metadata.items() if value is not None},
        )
