"""How to make a server continue a prefilled reply; some silently close it and begin a new one.

Unless its software is known, a server is tested once: given the beginning of its own reply, it must return the rest.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from eyechart.datasets_scripts.common.errors import EndpointError, ModelError
from eyechart.evaluators.backends.endpoint.client import ChatClient, Messages
from eyechart.evaluators.backends.endpoint.completion import Choice
from eyechart.evaluators.backends.endpoint.failures import READ_NUMBERS, REFUSED


@dataclass(frozen=True)
class Prefill:
    """How to ask for the rest of a prefilled reply."""

    name: str
    extra: Mapping[str, Any]
    """Further fields of a request that ends in an assistant's message."""
    lead: str = ""
    """Text to put before the beginning of the reply."""
    is_repeated: bool = False
    """Whether the server repeats the beginning in its reply."""

    def messages(self, messages: Messages, head: str) -> list[Mapping[str, Any]]:
        """The messages, followed by the beginning of the reply."""
        return [*messages, {"role": "assistant", "content": f"{self.lead}{head}"}]

    def rest(self, text: str, head: str) -> str:
        """A server's reply without its beginning."""
        return text.lstrip().removeprefix(head) if self.is_repeated else text


_FIELDS = Prefill("continue_final_message", {"continue_final_message": True, "add_generation_prompt": False})
_LAST_MESSAGE = Prefill("last assistant message", {})
_BY_OWNER = {
    "vllm": _FIELDS,
    "sglang": _FIELDS,
    # Tested with b11434. It also drops the space with which replies begin in templates such as `ASSISTANT: ...`.
    "llamacpp": replace(_LAST_MESSAGE, is_repeated=True),
}
"""By the name with which servers sign the models that they list."""

# A reply of one word cannot be cut in two; then this is asked about the same images.
_LONGER = "Describe the quality, aesthetics and other low-level appearance of the image in details."
_PROBE_TOKENS = 24
_WORDS_COMPARED = 3
# In nats. Rounding and batching change log-probabilities by some tenths, another prompt changes them by more.
_TOLERANCE = 0.5


async def find_prefill(client: ChatClient, messages: Messages, top_logprobs: int | None) -> Prefill:
    """Find out how the server continues a prefilled reply; raises `ModelError` if it does not, or cannot be tested.

    A test compares the log-probabilities of tokens; without `top_logprobs` it compares words, and does not detect a new
    reply that happens to equal the rest.
    """
    try:
        models = await client.list_models()
    except EndpointError:
        models = {}
    owners = {models[client.model]} if client.model in models else set(models.values())
    known = _BY_OWNER.get(owners.pop()) if len(owners) == 1 else None
    if known is None:
        return await _test(client, messages, top_logprobs)
    if known.is_repeated and (await client.ask(messages, max_tokens=1)).choices[0].text.startswith(" "):
        return replace(known, lead=" ")
    return known


async def _test(client: ChatClient, messages: Messages, top_logprobs: int | None) -> Prefill:
    cut = await _find_cut(client, messages, top_logprobs)
    failures = []
    for prefill in (_FIELDS, _LAST_MESSAGE):
        asked = prefill.messages(cut.messages, cut.head)
        try:
            answer = await client.ask(asked, max_tokens=_PROBE_TOKENS, top_logprobs=top_logprobs, extra=prefill.extra)
        except EndpointError as error:
            if error.status not in REFUSED:
                raise
            failures.append(f"with {prefill.name}: {error}")
            continue
        if cut.is_continued_by(answer.choices[0]):
            return prefill
        failures.append(f"with {prefill.name}, it began a new reply: {answer.choices[0].content!r:.60}")
    raise ModelError(
        f"model '{client.model}': {client.base_url} does not continue a prefilled reply, which the task needs. In a "
        f"test, after {cut.head!r}, expected {cut.rest!r:.60}; {'; '.join(failures)}. Use a server that continues "
        f"prefilled replies, for example vLLM, or evaluate the model with transformers. {READ_NUMBERS}."
    )


@dataclass(frozen=True)
class _Cut:
    """A reply in two parts; `likeliest` are the log-probabilities at the first token of the rest, if requested."""

    messages: Messages
    head: str
    rest: str
    likeliest: Mapping[str, float]

    def is_continued_by(self, reply: Choice) -> bool:
        """Whether a reply is the rest of the one that was cut in two."""
        if not self.likeliest:
            expected = self.rest.split()[:_WORDS_COMPARED]
            return (reply.content or "").split()[: len(expected)] == expected
        given = reply.tokens[0].likeliest if reply.tokens else {}
        shared = self.likeliest.keys() & given.keys()
        if not shared or 2 * len(shared) < min(len(self.likeliest), len(given)):
            return False
        return sum(abs(self.likeliest[token] - given[token]) for token in shared) / len(shared) < _TOLERANCE


async def _find_cut(client: ChatClient, messages: Messages, top_logprobs: int | None) -> _Cut:
    """A reply of the server that can be cut in two, before its least certain token or in the middle of its words."""
    images = [part for part in messages[0]["content"] if part["type"] != "text"]
    longer = [{"role": "user", "content": [*images, {"type": "text", "text": _LONGER}]}]
    replies = []
    for asked in (messages, longer):
        choice = (await client.ask(asked, max_tokens=_PROBE_TOKENS, top_logprobs=top_logprobs)).choices[0]
        if top_logprobs is None:
            words = choice.text.split()
            half = len(words) // 2
            if half:
                return _Cut(asked, " ".join(words[:half]), " ".join(words[half:]), {})
        tokens, text = choice.tokens or [], choice.text.strip()
        texts = [token.token for token in tokens]
        # There, a different prompt has the largest effect.
        for index in sorted(range(1, len(tokens)), key=lambda index: tokens[index].logprob):
            head = "".join(texts[:index]).strip()
            # Not within a word, whose beginning alone could be split into other tokens.
            if head and text.startswith(head) and not texts[index][:1].isalnum() and tokens[index].top_logprobs:
                return _Cut(asked, head, text[len(head) :].strip(), tokens[index].likeliest)
        replies.append(choice.content)
    raise ModelError(
        f"model '{client.model}': cannot test whether {client.base_url} continues a prefilled reply, because its own "
        f"replies cannot be cut in two: {replies}."
    )
