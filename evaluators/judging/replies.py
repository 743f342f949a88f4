"""A judge's replies: how they are asked for, what they cost, and under which keys they are stored."""

import hashlib
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from eyechart.datasets_scripts.common.errors import EndpointError, ModelError
from eyechart.evaluators.backends.endpoint.client import ChatClient
from eyechart.evaluators.backends.endpoint.completion import Completion, Usage
from eyechart.evaluators.judging.options import JudgeOptions
from eyechart.evaluators.requests.values import encode
from eyechart.metrics.scoring.choices.replies import CUT_OFF, REFUSED, UNFINISHED_REASONING, why_unread
from eyechart.metrics.scoring.judging.prompts import Messages

# Of English four or more, of Chinese about three.
_BYTES_PER_TOKEN = 3
# What no text of any length has on average, so that counts of fewer tokens are wrong.
_LONGEST_TOKEN = 16
# Tokens of a chat template, and of what a server puts before a prompt.
_MOST_HIDDEN = 10_000


@dataclass(frozen=True)
class Reply:
    """A judge's reply in one round, stored under a key of its own.

    Attributes:
        text: What it says; None where the server gave a reply without a text, for example because a filter took it.
        reasoning: What the judge wrote before it, where the server separates the two.
        finish_reason: How it ended, one of `reasoning.FINISH_REASONS` or another word of the server's; None where that
            is not known, as for replies that earlier versions stored.
        served: The name that the server gives the judge, where it gives one.
        usage: Counts of the requests about its conversation: "requests", "prompt_tokens", "completion_tokens", and
            "estimated" where the server did not count tokens. They stand with the first reply alone, so that sums over
            replies count each request once.
    """

    text: str | None
    reasoning: str | None = None
    finish_reason: str | None = None
    served: str | None = None
    usage: Mapping[str, int] = field(default_factory=dict)

    @property
    def failure(self) -> str | None:
        """Why it is a failed round whatever it says: `CUT_OFF`, as unfinished reasoning is too, or `REFUSED`."""
        failures = {CUT_OFF: CUT_OFF, UNFINISHED_REASONING: CUT_OFF, REFUSED: REFUSED}
        return failures.get(why_unread(self.text or "", self.finish_reason))

    @property
    def usable_text(self) -> str | None:
        """What it says; None for a failed round."""
        return self.text if self.failure is None else None

    def to_value(self) -> dict[str, Any]:
        """The reply as a JSON value, from which `Reply(**value)` makes it again."""
        value = {**vars(self), "usage": dict(self.usage)}
        return {name: item for name, item in value.items() if item or name == "text"}


def reply_keys(identity: Mapping[str, Any], messages: Messages, rounds: int) -> list[bytes]:
    """Keys of the replies to a conversation, one for each round, 32 bytes each.

    Args:
        identity: All that a reply depends on besides the conversation.
        messages: The conversation.
        rounds: Number of replies wanted; the keys of fewer rounds are the first of those of more.

    Examples:
        >>> keys = reply_keys({"name": "judge"}, [{"role": "user", "content": "Is it dark?"}], 2)
        >>> [key.hex()[:8] for key in keys]
        ['cd4d40e2', '5cf57a76']
    """
    asked = {"judge": identity, "messages": messages}
    begun = hashlib.sha256(encode(asked, sort_keys=True))
    keys = []
    for place in range(rounds):
        # A conversation of 50 kB is hashed once, not once a round.
        of_round = begun.copy()
        of_round.update(encode({"round": place}))
        keys.append(of_round.digest())
    return keys


class Spending:
    """US dollars charged so far and in flight, within a limit; several threads use it at once.

    Args:
        limit: US dollars that may be spent.
    """

    def __init__(self, limit: float) -> None:
        """Nothing is spent yet."""
        self._limit = limit
        self._charged = 0.0
        self._in_flight: list[float] = []
        self._lock = threading.Lock()

    def begin(self, estimate: float) -> bool:
        """Whether a request of this estimated cost may be sent; `end` then has to follow."""
        with self._lock:
            if self._charged + sum(self._in_flight) + estimate > self._limit:
                return False
            self._in_flight.append(estimate)
            return True

    def end(self, estimate: float, charged: float) -> None:
        """Count what a request cost in place of its estimate."""
        with self._lock:
            self._in_flight.remove(estimate)
            self._charged += charged


@dataclass
class Conversed:
    """What came of putting a conversation to the judge.

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


def converse(client: ChatClient, options: JudgeOptions, spending: Spending, messages: Messages, n: int) -> Conversed:
    """Ask for replies to a conversation, unless the limit on spending forbids it.

    Tokens that the server does not count, or not as can be true, are estimated. A request without an answer that could
    be read may be charged all the same, so it counts as estimated; one that was refused counts nothing.

    Args:
        client: The judge's server.
        options: The judge.
        spending: What may be spent.
        messages: The conversation.
        n: How many replies.
    """
    prompts = 1 if client.record.several_at_once else n
    prompt_bytes = sum(len(_sendable(message["content"]).encode()) for message in messages)
    prompt_tokens = prompt_bytes // _BYTES_PER_TOKEN
    estimate = options.cost(prompts * prompt_tokens, n * options.max_tokens)
    found = Conversed()
    if not spending.begin(estimate):
        found.is_limited = True
        return found
    usage = Counter[str]()
    replies: list[Reply] = []
    sendable = [{name: _sendable(text) for name, text in message.items()} for message in messages]
    try:
        for completion in client.completions(
            sendable, n, max_tokens=options.max_tokens, temperature=options.temperature
        ):
            replies += [
                Reply(choice.message.text, choice.message.reasoning, choice.ended, completion.model)
                for choice in completion.choices
            ]
            if _is_possible(completion, prompt_bytes, options.max_tokens):
                usage.update(requests=1, **(completion.usage or Usage()).counted)
            else:
                most = len(completion.choices) * options.max_tokens
                tokens = {"prompt_tokens": prompt_tokens, "completion_tokens": most}
                usage.update(requests=1, estimated=1, **tokens)
    except (EndpointError, ModelError) as error:
        found.error = error
    finally:
        found.cost = options.cost(usage["prompt_tokens"], usage["completion_tokens"])
        if isinstance(found.error, EndpointError) and found.error.status is None:
            found.cost += options.cost(prompt_tokens, (n - len(replies)) * options.max_tokens)
        spending.end(estimate, found.cost)
    found.requests = usage["requests"]
    found.replies = [replace(reply, usage={} if place else dict(usage)) for place, reply in enumerate(replies)]
    return found


def _is_possible(completion: Completion, prompt_bytes: int, max_tokens: int) -> bool:
    """Whether a server's counts of tokens can be true, so that they may stand for the cost of a request."""
    usage, replies = completion.usage or Usage(), len(completion.choices)
    written = [f"{choice.message.text or ''}{choice.message.reasoning or ''}" for choice in completion.choices]
    reply_bytes = sum(len(_sendable(text).encode()) for text in written)
    prompt = max(1, prompt_bytes / _LONGEST_TOKEN) <= usage.prompt_tokens <= replies * (prompt_bytes + _MOST_HIDDEN)
    reply = reply_bytes / _LONGEST_TOKEN <= usage.completion_tokens <= replies * max_tokens + reply_bytes
    return prompt and reply


def _sendable(text: str) -> str:
    """The text without halves of surrogate pairs, which a model may have written and UTF-8 does not have."""
    return text.encode("utf-8", "replace").decode("utf-8")
