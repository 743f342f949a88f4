"""Replies whose beginning is given: how a server is asked to go on with them, and whether it does.

Servers differ, and some close the given beginning and answer anew without a word. So that is tried out once: a reply
is asked for, then its beginning is given and the rest is asked for again. A server that goes on says the same again,
with the same log-probabilities where it returns any.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eyechart.datasets_scripts.common.errors import EndpointError, ModelError
from eyechart.evaluators.backends.endpoint.client import REFUSED, ChatClient, Messages
from eyechart.evaluators.backends.endpoint.completion import Choice
from eyechart.evaluators.backends.endpoint.words import plain


@dataclass(frozen=True)
class Way:
    """How to ask for the rest of a reply."""

    name: str
    extra: Mapping[str, Any]
    """Further fields of a request that ends in an assistant's message."""


WAYS = (
    # vLLM and SGLang; others do not know it and either refuse it or pass over it.
    Way("continue_final_message", {"continue_final_message": True, "add_generation_prompt": False}),
    Way("last assistant message", {}),
)

# A reply of one word has no rest; then this is asked about the same images.
_LONGER = "Describe the quality, aesthetics and other low-level appearance of the image in details."
_PROBE_TOKENS = 24
_WORDS_COMPARED = 3
# Nats. Rounding and batching move the log-probabilities of the likeliest tokens by some tenths, another prompt by more.
_TOLERANCE = 0.5


@dataclass(frozen=True)
class _Cut:
    """A reply in two parts."""

    messages: Messages
    head: str
    rest: str
    likeliest: Mapping[str, float]
    """Log-probabilities at the first token of the rest; empty if they were not asked for."""


def continued(messages: Messages, head: str) -> list[Mapping[str, Any]]:
    """The messages with the beginning of the reply."""
    return [*messages, {"role": "assistant", "content": head}]


def find_way(client: ChatClient, messages: Messages, top_logprobs: int | None) -> Way:
    """Try out how the server goes on with a reply.

    Args:
        client: Who to ask.
        messages: One user turn, texts and images as parts.
        top_logprobs: How many of the likeliest tokens to compare; None compares the words of the reply, which cannot
            distinguish a server that goes on from one whose new answer happens to be the rest.

    Raises:
        ModelError: The server does not go on, or that cannot be known.
        EndpointError: The server did not answer.
    """
    cut = _find_cut(client, messages, top_logprobs)
    failed = []
    for way in WAYS:
        try:
            asked = continued(cut.messages, cut.head)
            reply = client.ask(asked, max_tokens=_PROBE_TOKENS, top_logprobs=top_logprobs, extra=way.extra).choices[0]
        except EndpointError as error:
            if error.status not in REFUSED:
                raise
            failed.append(f"asked with {way.name}: {error}")
            continue
        if _goes_on(cut, reply):
            return way
        failed.append(f"asked with {way.name}, it began anew: {(reply.message.content or '')[:60]!r}")
    raise ModelError(
        f"model '{client.model}': {client.base_url} does not go on with a reply whose beginning is given, so what is "
        f"asked for after it cannot be had. Given {cut.head!r}, expected {cut.rest[:60]!r}; {'; '.join(failed)}. Use a "
        "server that does, for example vLLM, or evaluate the model with transformers."
    )


def _find_cut(client: ChatClient, messages: Messages, top_logprobs: int | None) -> _Cut:
    replies = []
    for asked in (messages, _ask_longer(messages)):
        choice = client.ask(asked, max_tokens=_PROBE_TOKENS, top_logprobs=top_logprobs).choices[0]
        cut = _cut_words(asked, choice) if top_logprobs is None else _cut_tokens(asked, choice)
        if cut is not None:
            return cut
        replies.append(choice.message.content)
    raise ModelError(
        f"model '{client.model}': whether {client.base_url} goes on with a reply whose beginning is given cannot be "
        f"tried out, as its own replies have no beginning and rest: {replies}."
    )


def _ask_longer(messages: Messages) -> list[Mapping[str, Any]]:
    parts = [part for part in messages[0]["content"] if part["type"] != "text"]
    return [{"role": "user", "content": [*parts, {"type": "text", "text": _LONGER}]}]


def _cut_words(messages: Messages, choice: Choice) -> _Cut | None:
    words = choice.text.split(" ") if choice.text.strip() else []
    words = [word for word in words if word]
    half = len(words) // 2
    return _Cut(messages, " ".join(words[:half]), " ".join(words[half:]), {}) if half else None


def _cut_tokens(messages: Messages, choice: Choice) -> _Cut | None:
    """The reply cut before the token that was least certain, as there another prompt shows most."""
    tokens, text = choice.tokens, choice.text.strip()
    texts = [plain(token.token) for token in tokens]
    for place in sorted(range(1, len(tokens)), key=lambda place: tokens[place].logprob):
        head = "".join(texts[:place]).strip()
        # Within a word, the beginning alone could be split into other tokens.
        if head and text.startswith(head) and not texts[place][:1].isalnum() and tokens[place].top_logprobs:
            return _Cut(messages, head, text[len(head) :].strip(), tokens[place].likeliest)
    return None


def _goes_on(cut: _Cut, reply: Choice) -> bool:
    if not cut.likeliest:
        expected = cut.rest.split()[:_WORDS_COMPARED]
        return reply.text.split()[: len(expected)] == expected
    given = reply.tokens[0].likeliest if reply.tokens else {}
    shared = cut.likeliest.keys() & given.keys()
    if not shared or 2 * len(shared) < min(len(cut.likeliest), len(given)):
        return False
    return sum(abs(cut.likeliest[token] - given[token]) for token in shared) / len(shared) < _TOLERANCE
