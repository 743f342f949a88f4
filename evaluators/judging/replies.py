"""A judge's replies: how they are requested, what they cost, and the keys under which they are stored."""

import hashlib
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from eyechart.datasets_scripts.common.errors import EndpointError, ModelError
from eyechart.evaluators.backends.endpoint.client import ChatClient
from eyechart.evaluators.backends.endpoint.completion import Completion, Usage
from eyechart.evaluators.backends.endpoint.refused_parameters import SEPARATOR
from eyechart.evaluators.judging.options import JudgeOptions
from eyechart.evaluators.requests.values import encode
from eyechart.metrics.scoring.choices.replies import CUT_OFF, REFUSED, UNFINISHED_REASONING, why_unread
from eyechart.metrics.scoring.judging.prompts import Messages

# English has four or more, Chinese about three.
_BYTES_PER_TOKEN = 3
# No text has more bytes per token on average, so a lower count of tokens is wrong.
_LONGEST_TOKEN = 16
# Tokens of a chat template and of anything that a server puts before a prompt.
_MOST_HIDDEN = 10_000


@dataclass(frozen=True)
class Reply:
    """A judge's reply in one round, stored under a key of its own.

    Attributes:
        text: The text; None if the server sent none, for example because of a content filter.
        reasoning: The judge's reasoning, if the server separates it from the text.
        finish_reason: How the reply ended: one of `reasoning.FINISH_REASONS` or another word of the server's; None if
            unknown, as for replies stored by earlier versions.
        served: The name that the server reports for the judge, if any.
        dropped_parameters: The parameters that were dropped because the server refuses them.
        usage: Counts of the requests about its conversation: "requests", "prompt_tokens", "completion_tokens", and
            "estimated" if the server did not count tokens. Only the first reply has them, so that sums over replies
            count each request once.
    """

    text: str | None
    reasoning: str | None = None
    finish_reason: str | None = None
    served: str | None = None
    dropped_parameters: str = ""
    usage: Mapping[str, int] = field(default_factory=dict)

    @property
    def failure(self) -> str | None:
        """Why the round failed, whatever the text: `CUT_OFF` (also for unfinished reasoning) or `REFUSED`."""
        failures = {CUT_OFF: CUT_OFF, UNFINISHED_REASONING: CUT_OFF, REFUSED: REFUSED}
        return failures.get(why_unread(self.text or "", self.finish_reason))

    @property
    def usable_text(self) -> str | None:
        """The text; None for a failed round."""
        return self.text if self.failure is None else None

    def to_value(self) -> dict[str, Any]:
        """The reply as a JSON value, from which `Reply(**value)` restores it."""
        value = {**vars(self), "usage": dict(self.usage)}
        return {name: item for name, item in value.items() if item or name == "text"}


def reply_keys(identity: Mapping[str, Any], messages: Messages, rounds: int) -> list[bytes]:
    """Keys of the replies to a conversation, one for each round, 32 bytes each.

    Args:
        identity: Everything that a reply depends on other than the conversation.
        messages: The conversation.
        rounds: Number of replies; the keys for fewer rounds are the first of those for more rounds.

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
    """US dollars charged so far and in flight, with a limit; several threads may use it at once.

    Args:
        limit: Spending limit in US dollars.
    """

    def __init__(self, limit: float) -> None:
        """Nothing is spent yet."""
        self._limit = limit
        self._charged = 0.0
        self._in_flight: list[float] = []
        self._lock = threading.Lock()

    def begin(self, estimate: float) -> bool:
        """Whether a request of this estimated cost may be sent; if so, `end` must follow."""
        with self._lock:
            if self._charged + sum(self._in_flight) + estimate > self._limit:
                return False
            self._in_flight.append(estimate)
            return True

    def end(self, estimate: float, charged: float) -> None:
        """Replace the estimated cost of a request by its actual cost."""
        with self._lock:
            self._in_flight.remove(estimate)
            self._charged += charged


@dataclass
class Conversed:
    """The outcome of asking the judge about a conversation.

    Attributes:
        replies: The replies, in the order of arrival.
        error: Why replies are missing; None if all arrived or the spending limit is the reason.
        is_limited: Whether the spending limit is the reason.
        requests: Number of requests that were answered.
        cost: What the requests cost, in US dollars; 0 without a price.
    """

    replies: list[Reply] = field(default_factory=list)
    error: EndpointError | ModelError | None = None
    is_limited: bool = False
    requests: int = 0
    cost: float = 0.0


def converse(client: ChatClient, options: JudgeOptions, spending: Spending, messages: Messages, n: int) -> Conversed:
    """Ask for replies to a conversation, unless the spending limit forbids it.

    Token counts that are missing or impossible are estimated. A request without a readable answer may be charged
    anyway, so its estimated cost is counted; a refused request costs nothing.

    Args:
        client: The judge's server.
        options: The judge.
        spending: The spending so far and its limit.
        messages: The conversation.
        n: Number of replies.
    """
    prompts = n if "n" in client.record.dropped else 1
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
            dropped = SEPARATOR.join(sorted(completion.dropped))
            replies += [
                Reply(choice.message.text, choice.message.reasoning, choice.ended, completion.model, dropped)
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
    """Whether a server's token counts are possible, so that the cost can be computed from them."""
    usage, replies = completion.usage or Usage(), len(completion.choices)
    written = [f"{choice.message.text or ''}{choice.message.reasoning or ''}" for choice in completion.choices]
    reply_bytes = sum(len(_sendable(text).encode()) for text in written)
    prompt = max(1, prompt_bytes / _LONGEST_TOKEN) <= usage.prompt_tokens <= replies * (prompt_bytes + _MOST_HIDDEN)
    reply = reply_bytes / _LONGEST_TOKEN <= usage.completion_tokens <= replies * max_tokens + reply_bytes
    return prompt and reply


def _sendable(text: str) -> str:
    """The text without lone surrogates, which a model may have written and UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode("utf-8")
