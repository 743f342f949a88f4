"""Prefilled replies: how to make a server continue one, and a test whether it does.

Servers differ, and some silently close the prefilled reply and begin a new one. It is therefore tested once: the server
is asked for a reply, then given the beginning of that reply and asked for the rest. A server that continues returns the
same rest, with the same log-probabilities if it returns any.

llama.cpp (tested with b11434) appends the prefill directly to its template's generation prompt. The space with which
replies begin in templates such as `ASSISTANT: ...` is then missing. It also returns the prefill as part of the reply.
So the prefill is also tested with a space before it, the closest way is used, and a repeated prefill is removed from
the reply.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from eyechart.datasets_scripts.common.errors import EndpointError, ModelError
from eyechart.evaluators.backends.endpoint.client import ChatClient, Messages
from eyechart.evaluators.backends.endpoint.completion import Choice
from eyechart.evaluators.backends.endpoint.failures import READ_NUMBERS, REFUSED
from eyechart.evaluators.backends.endpoint.words import plain


@dataclass(frozen=True)
class Way:
    """How to ask for the rest of a prefilled reply."""

    name: str
    extra: Mapping[str, Any]
    """Further fields of a request that ends in an assistant's message."""
    lead: str = ""
    """Text to put before the prefill."""
    is_repeated: bool = False
    """Whether the server repeats the prefill in its reply."""

    def rest(self, text: str, head: str) -> str:
        """A server's reply without the prefill.

        Raises:
            EndpointError: The reply should repeat the prefill but does not.
        """
        if not self.is_repeated:
            return text
        begun = text.lstrip()
        if not begun.startswith(head.lstrip()):
            raise EndpointError(f"the reply does not begin with {head!r}, unlike earlier replies: {text[:60]!r}")
        return begun.removeprefix(head.lstrip())


_FIELD = {"continue_final_message": True, "add_generation_prompt": False}
WAYS = (
    # vLLM and SGLang; other servers refuse or ignore the field.
    Way("continue_final_message", _FIELD),
    Way("last assistant message", {}),
    Way("continue_final_message, after a blank", _FIELD, " "),
    Way("last assistant message, after a blank", {}, " "),
)

# A reply of one word cannot be cut in two; then this is asked about the same images.
_LONGER = "Describe the quality, aesthetics and other low-level appearance of the image in details."
_PROBE_TOKENS = 24
_WORDS_COMPARED = 3
# In nats. Rounding and batching change log-probabilities by some tenths, another prompt changes them by more.
_TOLERANCE = 0.5
# So close that no other way is tested.
_EQUAL = 0.02
# A sentence that no model writes by itself and that is not a single token.
_SAID_BY_NOBODY = "Seven green ladders sleep under a clock:"


@dataclass(frozen=True)
class _Cut:
    """A reply in two parts."""

    messages: Messages
    head: str
    rest: str
    likeliest: Mapping[str, float]
    """Log-probabilities at the first token of the rest; empty if they were not requested."""
    lead: str
    """The space with which the server's own reply began, or ""."""


def continued(messages: Messages, head: str) -> list[Mapping[str, Any]]:
    """The messages, followed by the beginning of the reply."""
    return [*messages, {"role": "assistant", "content": head}]


def find_way(client: ChatClient, messages: Messages, top_logprobs: int | None) -> Way:
    """Test how the server continues a prefilled reply.

    Args:
        client: Client of the server.
        messages: One user turn, texts and images as parts.
        top_logprobs: How many of the most probable tokens to compare. None compares the words of the reply; that does
            not detect a server whose new reply happens to equal the rest.

    Raises:
        ModelError: The server does not continue a prefilled reply, or the test is not possible.
        EndpointError: The server did not answer.
    """
    cut = _find_cut(client, messages, top_logprobs)
    failed = []
    near: list[tuple[float, Way]] = []
    for way in WAYS:
        given = way.lead + cut.head
        try:
            asked = continued(cut.messages, given)
            reply = client.ask(asked, max_tokens=_PROBE_TOKENS, top_logprobs=top_logprobs, extra=way.extra).choices[0]
        except EndpointError as error:
            if error.status not in REFUSED:
                raise
            failed.append(f"with {way.name}: {error}")
            continue
        text = reply.message.content or ""
        if text.lstrip().startswith(cut.head) and _repeats(client, cut.messages, way):
            way = replace(way, is_repeated=True)
        distance = _distance(cut, way, reply, way.rest(text, given))
        if distance < _EQUAL:
            return way
        if distance < _TOLERANCE:
            near.append((distance, way))
        failed.append(f"with {way.name}, it began a new reply: {text[:60]!r}")
    if near:
        # The first of the ways that differ only by rounding, such as with a field that the server ignores.
        nearest = min(distance for distance, _ in near)
        return next(way for distance, way in near if distance <= nearest + _EQUAL)
    raise ModelError(
        f"model '{client.model}': {client.base_url} does not continue a prefilled reply, which the task needs. In a "
        f"test, after {cut.head!r}, expected {cut.rest[:60]!r}; {'; '.join(failed)}. Use a server that continues "
        f"prefilled replies, for example vLLM, or evaluate the model with transformers. {READ_NUMBERS}."
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
        f"model '{client.model}': cannot test whether {client.base_url} continues a prefilled reply, because its own "
        f"replies cannot be cut in two: {replies}."
    )


def _ask_longer(messages: Messages) -> list[Mapping[str, Any]]:
    parts = [part for part in messages[0]["content"] if part["type"] != "text"]
    return [{"role": "user", "content": [*parts, {"type": "text", "text": _LONGER}]}]


def _cut_words(messages: Messages, choice: Choice) -> _Cut | None:
    words = choice.text.split(" ") if choice.text.strip() else []
    words = [word for word in words if word]
    half = len(words) // 2
    return _Cut(messages, " ".join(words[:half]), " ".join(words[half:]), {}, _lead(choice.text)) if half else None


def _cut_tokens(messages: Messages, choice: Choice) -> _Cut | None:
    """The reply, cut before its least certain token, where a different prompt has the largest effect."""
    tokens, text = choice.tokens, choice.text.strip()
    texts = [plain(token.token) for token in tokens]
    for place in sorted(range(1, len(tokens)), key=lambda place: tokens[place].logprob):
        head = "".join(texts[:place]).strip()
        # Not within a word, whose beginning alone could be split into other tokens.
        if head and text.startswith(head) and not texts[place][:1].isalnum() and tokens[place].top_logprobs:
            rest = text[len(head) :].strip()
            return _Cut(messages, head, rest, tokens[place].likeliest, _lead(texts[0]))
    return None


def _lead(text: str) -> str:
    return " " if text[:1] == " " else ""


def _repeats(client: ChatClient, messages: Messages, way: Way) -> bool:
    """Whether the server repeats the prefill in its reply; tested with a sentence that no model writes by itself."""
    asked = continued(messages, way.lead + _SAID_BY_NOBODY)
    reply = client.ask(asked, max_tokens=1, extra=way.extra).choices[0]
    return (reply.message.content or "").lstrip().startswith(_SAID_BY_NOBODY)


def _distance(cut: _Cut, way: Way, reply: Choice, rest: str) -> float:
    """How far a reply is from continuing the prefill: in nats between log-probabilities, or infinity if words differ.

    Args:
        cut: The reply that was cut in two.
        way: How the rest was asked for.
        reply: The server's reply.
        rest: The reply without the prefill.
    """
    if not cut.likeliest:
        expected = cut.rest.split()[:_WORDS_COMPARED]
        if rest.split()[: len(expected)] != expected:
            return math.inf
        # Text directly after the generation prompt must begin with a space if the model's own replies do.
        return 2 * _EQUAL if way.is_repeated and way.lead != cut.lead else 0.0
    given = reply.tokens[0].likeliest if reply.tokens else {}
    shared = cut.likeliest.keys() & given.keys()
    if not shared or 2 * len(shared) < min(len(cut.likeliest), len(given)):
        return math.inf
    return sum(abs(cut.likeliest[token] - given[token]) for token in shared) / len(shared)
