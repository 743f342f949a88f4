"""One judge on one server: what is sent, what comes back, and what that costs."""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from eyechart.datasets_scripts.common.errors import EndpointError, ModelError
from eyechart.evaluators.backends.endpoint.client import ChatClient, ServerRecord, read_key, resolve_address
from eyechart.evaluators.backends.endpoint.completion import Completion, Usage
from eyechart.evaluators.judging.options import KEY_VARIABLE, JudgeOptions
from eyechart.evaluators.judging.prices import find_price, missing_price
from eyechart.evaluators.judging.spending import Spending
from eyechart.evaluators.judging.stored_replies import Reply
from eyechart.metrics.scoring.judging.prompts import Messages

# A token is at least a byte of the text; what a chat template adds to that is a few dozen tokens.
_TEMPLATE_TOKENS = 128


@dataclass
class Conversed:
    """What came of putting a conversation to the judge: replies, and why there are no more.

    Attributes:
        replies: The replies, in the order they came.
        error: Why there are no more; None where the limit on spending is why, or where they are all there.
        is_limited: Whether the limit on spending is why.
        requests: Requests that were answered.
        cost: What the requests cost, in US dollars; 0 without a price.
    """

    replies: list[Reply] = field(default_factory=list)
    error: EndpointError | ModelError | None = None
    is_limited: bool = False
    requests: int = 0
    cost: float = 0.0


class JudgeServer:
    """A judge on a server, with what may be spent on it; several threads may use it at once.

    Args:
        options: The judge and how it is asked.
    """

    def __init__(self, options: JudgeOptions) -> None:
        """Check address, key and price; nothing is sent.

        Raises:
            UsageError: One of them is not allowed, or there is a limit and no price.
        """
        self.options = options
        self.price = find_price(options.model, options.prices)
        if self.price is None and options.max_cost is not None:
            raise missing_price(options.model)
        self._base_url = resolve_address(options.endpoint)
        self._key = read_key(KEY_VARIABLE) or read_key()
        self._spending = Spending(options.max_cost)
        self._record = ServerRecord()

    def identity(self) -> dict[str, Any]:
        """All that a reply depends on besides its conversation, as JSON values."""
        return {
            "name": self.options.model,
            "base_url": self._base_url,
            "temperature": float(self.options.temperature),
            "max_tokens": self.options.max_tokens,
        }

    def connect(self) -> ChatClient:
        """A client, to be closed."""
        return ChatClient(self.options.model, self.options.endpoint, self._record, key=self._key)

    def converse(self, client: ChatClient, messages: Messages, n: int) -> Conversed:
        """Ask for replies to a conversation, as long as the limit on spending allows.

        A request without an answer that could be read may be charged all the same, so it counts with its greatest
        possible cost, and again each time that it was sent again after a timeout; a refused one counts nothing.

        Args:
            client: From `connect`.
            messages: The conversation.
            n: How many replies.
        """
        asked = client.completions(
            _sendable(messages), n, max_tokens=self.options.max_tokens, temperature=self.options.temperature
        )
        found = Conversed()
        without_reply = Counter[str]()
        try:
            while len(found.replies) < n:
                most = Usage(
                    prompt_tokens=most_tokens(messages),
                    completion_tokens=(n - len(found.replies)) * self.options.max_tokens,
                )
                completion = self._next(asked, most, found)
                if completion is None:
                    break
                usage = _count(completion, most) + without_reply
                replies = _read(completion, usage)
                without_reply = Counter() if replies else usage
                found.replies += replies
        except (EndpointError, ModelError) as error:
            found.error = error
        return found

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """What tokens cost in US dollars; 0 without a price."""
        return 0.0 if self.price is None else self.price.cost(prompt_tokens, completion_tokens)

    def _next(self, asked: Iterator[Completion], most: Usage, found: Conversed) -> Completion | None:
        """The next answer; None where the limit does not allow to ask for it."""
        worst = self.cost(most.prompt_tokens, most.completion_tokens)
        reserved = worst * (1 + self.options.endpoint.max_retries)
        if not self._spending.reserve(reserved):
            found.is_limited = True
            return None
        cost, start = reserved, time.perf_counter()
        try:
            completion = next(asked)
            counted = _count(completion, most)
            late = self._count_late(start)
            cost = late * worst + self.cost(counted["prompt_tokens"], counted["completion_tokens"])
            found.requests += 1
            return completion
        except EndpointError as error:
            late = self._count_late(start)
            # The last attempt was refused, which is free, or has no answer either.
            cost = late * worst if error.status is not None else (late + 1) * worst
            raise
        except ModelError:
            cost = 0.0
            raise
        finally:
            self._spending.settle(reserved, cost)
            found.cost += cost

    def _count_late(self, start: float) -> int:
        """How often a request that was first sent at `start` was sent again after a timeout, at most."""
        endpoint = self.options.endpoint
        # What is sent again for another reason, such as a refusal, which is free, had its answer sooner.
        return min(int((time.perf_counter() - start) / endpoint.timeout), endpoint.max_retries)


def most_tokens(messages: Messages) -> int:
    """A number of tokens that a conversation does not exceed, whatever the tokenizer.

    Examples:
        >>> most_tokens([{"role": "user", "content": "Is it dark?"}])
        139
    """
    texts = (message["content"] for message in messages)
    return _TEMPLATE_TOKENS + sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)


def _count(completion: Completion, most: Usage) -> Counter[str]:
    """Counts of a request; of tokens that the server did not count, the greatest possible number."""
    usage = completion.usage
    if usage is None or not usage.prompt_tokens:
        return Counter(requests=1, estimated=1, **most.model_dump())
    return Counter(requests=1, **usage.model_dump())


def _read(completion: Completion, usage: Counter[str]) -> list[Reply]:
    """The replies in a server's answer, the counts of its request with the first of them."""
    messages = [choice.message for choice in completion.choices]
    texts = [message.refusal if message.content is None else message.content for message in messages]
    return [Reply(text, completion.model, {} if place else dict(usage)) for place, text in enumerate(texts)]


def _sendable(messages: Messages) -> Messages:
    """The conversation without halves of surrogate pairs, which a model may have written and UTF-8 does not have."""
    return [
        {name: text.encode("utf-8", "replace").decode("utf-8") for name, text in message.items()}
        for message in messages
    ]
