"""Replies whose beginning is given: how a server is asked to go on with them, and whether it does.

Servers differ, and some close the given beginning and answer anew without a word. So that is tried out once: a reply
is asked for, then its beginning is given and the rest is asked for again. A server that goes on says the same again,
with the same log-probabilities where it returns any.

llama.cpp (tried with b11434) puts what is given right behind its template's generation prompt, so that the blank is
missing with which templates such as `ASSISTANT: ...` have replies begin; and it returns the given beginning as part of
the reply. So the beginning is also tried with a blank before it, the way counts that comes closest, and what was given
is taken off a reply where the server repeats it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
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
    lead: str = ""
    """What has to stand before the beginning."""
    is_repeated: bool = False
    """Whether the server's reply holds the beginning too."""

    def rest(self, text: str, head: str) -> str:
        """A server's reply without the beginning that it was given.

        Raises:
            EndpointError: It should hold the beginning, and does not.
        """
        if not self.is_repeated:
            return text
        begun = text.lstrip()
        if not begun.startswith(head.lstrip()):
            raise EndpointError(f"the reply does not begin with {head!r}, as it did before: {text[:60]!r}")
        return begun.removeprefix(head.lstrip())


_FIELD = {"continue_final_message": True, "add_generation_prompt": False}
WAYS = (
    # vLLM and SGLang; others do not know it and either refuse it or pass over it.
    Way("continue_final_message", _FIELD),
    Way("last assistant message", {}),
    Way("continue_final_message, after a blank", _FIELD, " "),
    Way("last assistant message, after a blank", {}, " "),
)

# A reply of one word has no rest; then this is asked about the same images.
_LONGER = "Describe the quality, aesthetics and other low-level appearance of the image in details."
_PROBE_TOKENS = 24
_WORDS_COMPARED = 3
# Nats. Rounding and batching move the log-probabilities of the likeliest tokens by some tenths, another prompt by more.
_TOLERANCE = 0.5
# So near that no other way is tried.
_EQUAL = 0.02
# No model says this by itself, and no token holds it.
_SAID_BY_NOBODY = "Seven green ladders sleep under a clock:"


@dataclass(frozen=True)
class _Cut:
    """A reply in two parts."""

    messages: Messages
    head: str
    rest: str
    likeliest: Mapping[str, float]
    """Log-probabilities at the first token of the rest; empty if they were not asked for."""
    lead: str
    """The blank with which the server's own reply began, if it did."""


def continued(messages: Messages, head: str) -> list[Mapping[str, Any]]:
    """The messages with the beginning of the reply, behind its lead."""
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
    near: list[tuple[float, Way]] = []
    for way in WAYS:
        given = way.lead + cut.head
        try:
            asked = continued(cut.messages, given)
            reply = client.ask(asked, max_tokens=_PROBE_TOKENS, top_logprobs=top_logprobs, extra=way.extra).choices[0]
        except EndpointError as error:
            if error.status not in REFUSED:
                raise
            failed.append(f"asked with {way.name}: {error}")
            continue
        text = reply.message.content or ""
        if text.lstrip().startswith(cut.head) and _repeats(client, cut.messages, way):
            way = replace(way, is_repeated=True)
        distance = _distance(cut, way, reply, way.rest(text, given))
        if distance < _EQUAL:
            return way
        if distance < _TOLERANCE:
            near.append((distance, way))
        failed.append(f"asked with {way.name}, it began anew: {text[:60]!r}")
    if near:
        # Of ways that differ by rounding alone, such as with a field that the server passes over, the first.
        nearest = min(distance for distance, _ in near)
        return next(way for distance, way in near if distance <= nearest + _EQUAL)
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
    return _Cut(messages, " ".join(words[:half]), " ".join(words[half:]), {}, _lead(choice.text)) if half else None


def _cut_tokens(messages: Messages, choice: Choice) -> _Cut | None:
    """The reply cut before the token that was least certain, as there another prompt shows most."""
    tokens, text = choice.tokens, choice.text.strip()
    texts = [plain(token.token) for token in tokens]
    for place in sorted(range(1, len(tokens)), key=lambda place: tokens[place].logprob):
        head = "".join(texts[:place]).strip()
        # Within a word, the beginning alone could be split into other tokens.
        if head and text.startswith(head) and not texts[place][:1].isalnum() and tokens[place].top_logprobs:
            rest = text[len(head) :].strip()
            return _Cut(messages, head, rest, tokens[place].likeliest, _lead(texts[0]))
    return None


def _lead(text: str) -> str:
    return " " if text[:1] == " " else ""


def _repeats(client: ChatClient, messages: Messages, way: Way) -> bool:
    """Whether the server returns what it was given, told from a model that says the same anew."""
    asked = continued(messages, way.lead + _SAID_BY_NOBODY)
    reply = client.ask(asked, max_tokens=1, extra=way.extra).choices[0]
    return (reply.message.content or "").lstrip().startswith(_SAID_BY_NOBODY)


def _distance(cut: _Cut, way: Way, reply: Choice, rest: str) -> float:
    """How far what came is from going on: nats between log-probabilities, or where there are none, words that differ.

    Args:
        cut: What was to come.
        way: How it was asked for.
        reply: What came.
        rest: Its text without what was given.
    """
    if not cut.likeliest:
        expected = cut.rest.split()[:_WORDS_COMPARED]
        if rest.split()[: len(expected)] != expected:
            return math.inf
        # What stands right behind the generation prompt has to begin as the model's own replies do.
        return 2 * _EQUAL if way.is_repeated and way.lead != cut.lead else 0.0
    given = reply.tokens[0].likeliest if reply.tokens else {}
    shared = cut.likeliest.keys() & given.keys()
    if not shared or 2 * len(shared) < min(len(cut.likeliest), len(given)):
        return math.inf
    return sum(abs(cut.likeliest[token] - given[token]) for token in shared) / len(shared)
