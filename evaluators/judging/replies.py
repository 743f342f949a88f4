"""A judge's replies: how they are requested, what they cost, and the keys under which they are stored."""

import hashlib
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
    """A judge's reply in one round, stored under a key of its own."""

    text: str | None
    """None if the server sent none, for example because of a content filter."""
    reasoning: str | None = None
    finish_reason: str | None = None
    """One of `reasoning.FINISH_REASONS` or another word of the server's; None if unknown."""
    served: str | None = None
    """The name that the server reports for the judge."""
    dropped_parameters: str = ""
    usage: Mapping[str, int] = field(default_factory=dict)
    """Counts of the requests about its conversation: "requests", "prompt_tokens", "completion_tokens", and "estimated"
    if the server did not count tokens. Only the first reply has them, so that sums count each request once."""

    @property
    def failure(self) -> str | None:
        """Why the round failed, whatever the text: `CUT_OFF` (also for unfinished reasoning) or `REFUSED`."""
        failures = {CUT_OFF: CUT_OFF, UNFINISHED_REASONING: CUT_OFF, REFUSED: REFUSED}
        return failures.get(why_unread(self.text or "", self.finish_reason))

    def to_value(self) -> dict[str, Any]:
        """The reply as a JSON value, from which `Reply(**value)` restores it."""
        return {name: value for name, value in vars(self).items() if value or name == "text"}


def reply_keys(identity: Mapping[str, Any], messages: Messages, rounds: int) -> tuple[bytes, ...]:
    """Keys of the replies to a conversation, one for each round, 32 bytes each; more rounds begin with the same keys.

    `identity` is everything that a reply depends on other than the conversation.

    Examples:
        >>> keys = reply_keys({"name": "judge"}, [{"role": "user", "content": "Is it dark?"}], 2)
        >>> [key.hex()[:8] for key in keys]
        ['cd4d40e2', '5cf57a76']
    """
    # A conversation of 50 kB is hashed once, not once a round.
    begun = hashlib.sha256(encode({"judge": identity, "messages": messages}, sort_keys=True))
    hashes = [begun.copy() for _ in range(rounds)]
    for index, of_round in enumerate(hashes):
        of_round.update(encode({"round": index}))
    return tuple(of_round.digest() for of_round in hashes)


@dataclass
class Spending:
    """US dollars charged so far and estimated for requests in flight, with a limit."""

    limit: float
    charged: float = 0.0
    in_flight: float = 0.0


@dataclass
class Outcome:
    """The outcome of asking the judge for the replies with these keys; cost in US dollars."""

    keys: tuple[bytes, ...]
    replies: list[Reply] = field(default_factory=list)
    error: EndpointError | ModelError | None = None
    """Why replies are missing; None if all arrived or no request was sent."""
    cost: float = 0.0
    requests: int = 0


async def converse(
    client: ChatClient, options: JudgeOptions, spending: Spending, keys: tuple[bytes, ...], messages: Messages
) -> Outcome | None:
    """Ask for a reply for each key; None if the spending limit forbids it.

    Token counts that are missing or impossible are estimated. A request without a readable answer may be charged
    anyway, so its estimated cost is counted; a refused request costs nothing.
    """
    n = len(keys)
    sendable = [{name: _sendable(text) for name, text in message.items()} for message in messages]
    prompt_bytes = sum(len(message["content"].encode()) for message in sendable)
    prompt_tokens = prompt_bytes // _BYTES_PER_TOKEN
    prompts = n if "n" in client.record.dropped else 1
    estimate = options.cost(prompts * prompt_tokens, n * options.max_tokens)
    if spending.charged + spending.in_flight + estimate > spending.limit:
        return None
    spending.in_flight += estimate
    outcome, usage = Outcome(keys), Counter[str]()
    try:
        answers = client.completions(sendable, n, max_tokens=options.max_tokens, temperature=options.temperature)
        async for answer in answers:
            dropped = SEPARATOR.join(sorted(answer.dropped))
            outcome.replies += [
                Reply(choice.message.text, choice.message.reasoning, choice.ended, answer.model, dropped)
                for choice in answer.choices
            ]
            if _is_possible(answer, prompt_bytes, options.max_tokens):
                usage.update(requests=1, **(answer.usage or Usage()).model_dump())
            else:
                most = len(answer.choices) * options.max_tokens
                usage.update(requests=1, estimated=1, prompt_tokens=prompt_tokens, completion_tokens=most)
    except (EndpointError, ModelError) as error:
        outcome.error = error
    finally:
        outcome.cost = options.cost(usage["prompt_tokens"], usage["completion_tokens"])
        if isinstance(outcome.error, EndpointError) and outcome.error.status is None:
            outcome.cost += options.cost(prompt_tokens, (n - len(outcome.replies)) * options.max_tokens)
        spending.in_flight -= estimate
        spending.charged += outcome.cost
    outcome.requests = usage["requests"]
    outcome.replies[:1] = [replace(reply, usage=dict(usage)) for reply in outcome.replies[:1]]
    return outcome


def _is_possible(answer: Completion, prompt_bytes: int, max_tokens: int) -> bool:
    """Whether a server's token counts are possible, so that the cost can be computed from them."""
    usage, count = answer.usage or Usage(), len(answer.choices)
    written = "".join(f"{choice.message.text or ''}{choice.message.reasoning or ''}" for choice in answer.choices)
    reply_bytes = len(_sendable(written).encode())
    prompt = max(1, prompt_bytes / _LONGEST_TOKEN) <= usage.prompt_tokens <= count * (prompt_bytes + _MOST_HIDDEN)
    reply = reply_bytes / _LONGEST_TOKEN <= usage.completion_tokens <= count * max_tokens + reply_bytes
    return prompt and reply


def _sendable(text: str) -> str:
    """The text without lone surrogates, which a model may have written and UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode("utf-8")
