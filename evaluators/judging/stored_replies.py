"""A judge's replies as they are stored: each under a key of its own, so that what was had of some rounds is kept."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eyechart.evaluators.requests.values import encode
from eyechart.metrics.scoring.judging.prompts import Messages


@dataclass(frozen=True)
class Reply:
    """A judge's reply in one round.

    Attributes:
        text: What it says; None where the server gave a reply without a text, for example because a filter took it.
        served: The name that the server gives the judge, where it gives one.
        usage: Counts of the request that gave the reply: "requests", "prompt_tokens", "completion_tokens", and
            "estimated" where the server did not count tokens. It stands with the first reply of a request alone, so
            that sums over replies count each request once.
    """

    text: str | None
    served: str | None = None
    usage: Mapping[str, int] = field(default_factory=dict)

    def to_value(self) -> dict[str, Any]:
        """The reply as a JSON value."""
        value = {"text": self.text, "served": self.served, "usage": dict(self.usage)}
        return {name: item for name, item in value.items() if item or name == "text"}


def from_value(value: Mapping[str, Any]) -> Reply:
    """The reply that `Reply.to_value` gave."""
    return Reply(value["text"], value.get("served"), value.get("usage", {}))


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


def sum_usage(replies: Sequence[Reply]) -> dict[str, int]:
    """Counts of all requests that gave the replies.

    Examples:
        >>> sum_usage([Reply("1", usage={"requests": 1, "prompt_tokens": 9, "completion_tokens": 4}), Reply("0")])
        {'requests': 1, 'prompt_tokens': 9, 'completion_tokens': 4, 'estimated': 0}
    """
    names = ("requests", "prompt_tokens", "completion_tokens", "estimated")
    return {name: sum(reply.usage.get(name, 0) for reply in replies) for name in names}
