"""How to make a server continue a prefilled reply; some silently close it and begin a new one.

Unless its software is known, a server is tested once: given the beginning of its own reply, it must return the rest.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from eyechart.evaluators.backends.endpoint.client import ChatClient, Messages
from eyechart.evaluators.backends.endpoint.failures import READ_NUMBERS, REFUSED
from eyechart.evaluators.requests.errors import EndpointError, ModelError


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


NO_PREFILL = Prefill("", {})
"""For requests without the beginning of a reply."""
_FIELDS = Prefill("continue_final_message", {"continue_final_message": True, "add_generation_prompt": False})
_LAST_MESSAGE = Prefill("last assistant message", {})
_BY_OWNER = {
    "vllm": _FIELDS,
    "sglang": _FIELDS,
    # Tested with b11434. It also drops the space with which replies begin in templates such as `ASSISTANT: ...`.
    "llamacpp": replace(_LAST_MESSAGE, is_repeated=True),
}
"""By the name with which servers sign the models that they list."""

# The reply is long enough to be cut in two.
_QUESTION = "Describe the quality, aesthetics and other low-level appearance of the image in details."
_TEST_TOKENS = 24
_WORDS_COMPARED = 3


async def find_prefill(client: ChatClient, messages: Messages) -> Prefill:
    """Find out how the server continues a prefilled reply; raises `ModelError` if it does not, or cannot be tested."""
    try:
        models = await client.list_models()
    except EndpointError:
        models = {}
    owners = {models[client.model]} if client.model in models else set(models.values())
    known = _BY_OWNER.get(owners.pop()) if len(owners) == 1 else None
    if known is None:
        return await _test(client, messages)
    if known.is_repeated and (await client.ask(messages, max_tokens=1)).choices[0].text.startswith(" "):
        return replace(known, lead=" ")
    return known


async def _test(client: ChatClient, messages: Messages) -> Prefill:
    """Give the server the first half of its own reply; the rest must begin with the same words as the other half."""
    images = [part for part in messages[0]["content"] if part["type"] != "text"]
    messages = [{"role": "user", "content": [*images, {"type": "text", "text": _QUESTION}]}]
    words = await _reply_words(client, messages)
    if len(words) < 2:
        raise ModelError(
            f"model '{client.model}': cannot test whether {client.base_url} continues a prefilled reply, because its "
            f"own reply cannot be cut in two: {' '.join(words)!r}. {READ_NUMBERS}."
        )
    half = len(words) // 2
    head, expected = " ".join(words[:half]), words[half:][:_WORDS_COMPARED]
    failure = ""
    for prefill in (_FIELDS, _LAST_MESSAGE):
        try:
            rest = await _reply_words(client, prefill.messages(messages, head), prefill.extra)
        except EndpointError as error:
            if error.status not in REFUSED:
                raise
            failure = f"the server refused it: {error}"
            continue
        if rest[: len(expected)] == expected:
            return prefill
        failure = f"it began a new reply: {' '.join(rest)!r:.60}"
    raise ModelError(
        f"model '{client.model}': {client.base_url} does not continue a prefilled reply, which the task needs. In a "
        f"test, after {head!r}, expected {' '.join(expected)!r}, but {failure}. Use a "
        "server that continues prefilled replies, for example vLLM, or evaluate the model with transformers. "
        f"{READ_NUMBERS}."
    )


async def _reply_words(client: ChatClient, messages: Messages, extra: Mapping[str, Any] | None = None) -> list[str]:
    completion = await client.ask(messages, max_tokens=_TEST_TOKENS, extra=extra)
    return completion.choices[0].text.split()
