"""A judge's replies, the keys under which they are stored, and what they cost."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from typing import Any

from eyechart.evaluators.backends.endpoint.completion import Completion
from eyechart.evaluators.requests.errors import EndpointError, ModelError
from eyechart.evaluators.requests.types import Answer
from eyechart.evaluators.requests.values import encode
from eyechart.metrics.scoring.choices.replies import CUT_OFF, REFUSED, UNFINISHED_REASONING, why_unread
from eyechart.metrics.scoring.judging.prompts import Messages

# English has four or more, Chinese about three.
_BYTES_PER_TOKEN = 3
# No text has more bytes per token on average, so a lower count of tokens is wrong.
_LONGEST_TOKEN = 16
# Tokens of a chat template and of anything that a server puts before a prompt.
_MOST_HIDDEN = 10_000


def failure(reply: Answer) -> str | None:
    """Why a round failed, whatever the text: `CUT_OFF` (also for unfinished reasoning) or `REFUSED`."""
    failures = {CUT_OFF: CUT_OFF, UNFINISHED_REASONING: CUT_OFF, REFUSED: REFUSED}
    return failures.get(why_unread(reply.text or "", reply.finish_reason))


def reply_keys(identity: Mapping[str, Any], messages: Messages, rounds: int) -> tuple[bytes, ...]:
    """Keys of the replies to a conversation, one for each round, 32 bytes each; more rounds begin with the same keys.

    Examples:
        >>> keys = reply_keys({"name": "judge"}, [{"role": "user", "content": "Is it dark?"}], 2)
        >>> [key.hex()[:8] for key in keys]
        ['c73c4c23', 'ac3d23b3']
    """
    conversation = hashlib.sha256(encode({"judge": identity, "messages": messages}, sort_keys=True)).digest()
    return tuple(hashlib.sha256(conversation + encode(index)).digest() for index in range(rounds))


class Conversation:
    """A conversation that a judge is asked about, and its replies: fewer than keys if requests failed."""

    def __init__(self, keys: tuple[bytes, ...], messages: Messages) -> None:
        """Estimate the tokens of the prompt."""
        self.keys = keys
        self.messages = [{name: _sendable(text) for name, text in message.items()} for message in messages]
        self.bytes = sum(len(message["content"].encode()) for message in self.messages)
        self.tokens = self.bytes // _BYTES_PER_TOKEN
        self.replies: list[Answer] = []
        self.usage = Counter[str]()
        self.cost = 0.0
        """In US dollars, of all attempts."""
        self.error: EndpointError | ModelError | None = None

    def add(self, completion: Completion, max_tokens: int) -> tuple[int, int]:
        """Add the replies in a server's answer; return its tokens of prompt and replies, estimated if impossible."""
        usage, count = completion.usage, len(completion.choices)
        self.replies += [
            Answer(
                text=choice.sent_text,
                reasoning=choice.reasoning,
                finish_reason=choice.ended,
                response_metadata=completion.metadata,
            )
            for choice in completion.choices
        ]
        written = "".join(f"{choice.sent_text or ''}{choice.reasoning or ''}" for choice in completion.choices)
        size = len(_sendable(written).encode())
        least, most = max(1, self.bytes / _LONGEST_TOKEN), count * (self.bytes + _MOST_HIDDEN)
        if least <= usage.prompt_tokens <= most and (
            size / _LONGEST_TOKEN <= usage.completion_tokens <= count * max_tokens + size
        ):
            counted = usage.model_dump()
        else:
            counted = {"estimated": 1, "prompt_tokens": self.tokens, "completion_tokens": count * max_tokens}
        self.usage.update(requests=1, **counted)
        return counted["prompt_tokens"], counted["completion_tokens"]


def _sendable(text: str) -> str:
    """The text without lone surrogates, which a model may have written and UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode("utf-8")
