"""Options of a server and of the requests to it."""

import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from eyechart.datasets_scripts.common.errors import UsageError, check_ranges
from eyechart.evaluators.backends.chat import ChatOptions
from eyechart.evaluators.requests.secrets import redact

DEFAULT_CONCURRENCY = 8
DEFAULT_TEMPERATURE = 1.0
"""The sampling temperature of servers that are sent none."""
OPENAI_URL = "https://api.openai.com/v1"
# Fields of a request that eyechart sets itself.
_FIELDS_SET = (
    "model messages n stream temperature max_tokens max_completion_tokens logprobs top_logprobs prompt_logprobs echo "
    "continue_final_message add_generation_prompt"
)

_SECRET = (
    r"(?:keys?|(?<!pad.)(?<!eos.)(?<!bos.)(?<!stop.)(?<!special.)token|secrets?|passphrase|passw(?:or)?ds?|pwd|credentials"
    "|authorization|basic-auth|x-auth|bearer)"
)
_SECRET_OPTION = re.compile(
    # An option, which argparse also takes abbreviated; a variable or a field of JSON, but no token such as <s>; a URL.
    rf"(?<!\S)--?(?:[\w.-]*{_SECRET}|api?[-_]?k?e?|hf[-_]to?k?e?|hft|ssl[-_]keyfile[-_]p\w*)(?:-value)?(?![\w-])"
    rf"|(?<![\w.-])\w*{_SECRET}(?=\s*[=:](?!\s*<))|://[^\s/]+@|[?&]sig=|(?<![\w-])(?:hf_|sk-)\w{{8}}",
    re.IGNORECASE,
)


def find_secret(text: str) -> str:
    """The first option, field or address in a command or in JSON that contains a secret; "" if none does."""
    # Without the quotes and backslashes of shells and JSON.
    match = _SECRET_OPTION.search(re.sub(r"['\"\\]", "", text))
    return match[0] if match else ""


def read_key(variable: str = "OPENAI_API_KEY") -> str:
    """The API key in an environment variable, "" if missing; raises `UsageError` if it cannot be a key."""
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        # The package's own error would show the key.
        raise UsageError(f"the environment variable {variable} contains characters that a key cannot have.")
    return key


@dataclass(frozen=True)
class EndpointOptions:
    """Options of a server and of the requests to it, without the API key: `OPENAI_API_KEY` in the environment has it.

    Attributes:
        base_url: The server's address, usually ending in `/v1`; None reads the environment variable `OPENAI_BASE_URL`,
            or uses OpenAI's address.
        concurrency: Greatest number of concurrent requests, at least 1: half as many are sent after the server refuses
            one as too many (429) or is too slow, and one more after as many answers.
        timeout: Seconds to wait for a complete answer, at least 0.001; applies to each retry separately.
        max_retries: How often to retry a request after status 408, 409, 429 or 5xx, a broken connection or a timeout;
            at least 0. The wait doubles each time, or is what the server asks for (`Retry-After`).
        top_logprobs: How many of the most probable tokens to request for logits, at least 1; OpenAI and, unless it was
            started with a larger `--max-logprobs`, vLLM return up to 20. A word that is not among them gets an upper
            bound, so results and the keys of stored responses contain this option.
        served_name: Name with which the server is expected to answer, if it is neither the model's name nor a dated
            version of it. It affects only what results report, not the replies.
        serve_timeout: Seconds to wait until a server that the run starts is ready, at least 1.
        price: US dollars per million prompt and reply tokens, such as [2.5, 10], at least 0; None if unknown.
        max_cost: Spending limit in US dollars, at least 0; None for no limit. Stored replies cost nothing. A request is
            not sent if it, the charges so far and the requests in flight could together exceed the limit; each attempt
            that got no answer counts as charged.
        chat: Options for every chat.
        extra_body: Additional fields of every request, such as {"top_k": 1}.
        serve: The server that this run started, if it did: its command, version and the fingerprint of its files, which
            results have in place of its address. Requests then name `served_name` and use no proxy.
    """

    base_url: str | None = None
    concurrency: int = DEFAULT_CONCURRENCY
    timeout: float = 300.0
    max_retries: int = 4
    top_logprobs: int = 20
    served_name: str | None = None
    serve_timeout: float = 3600.0
    chat: ChatOptions = field(default_factory=ChatOptions)
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    serve: Mapping[str, Any] | None = None
    price: tuple[float, float] | None = None
    max_cost: float | None = None

    def __post_init__(self) -> None:
        """Refuse values that are not allowed."""
        sampling = {} if self.chat.sampling is None else self.chat.sampling.fields("", 1)
        if taken := sorted({*_FIELDS_SET.split(), *sampling} & self.extra_body.keys()):
            raise UsageError(f"extra_body contains {', '.join(taken)}, which eyechart sets itself; leave it out.")
        if find_secret(json.dumps(dict(self.extra_body))):
            raise UsageError(
                "extra_body contains a secret, but it is written to results; OPENAI_API_KEY can have the key."
            )
        check_ranges(self, timeout=0.001, concurrency=1, max_retries=0, top_logprobs=1, serve_timeout=1, max_cost=0)
        if self.price is not None and not all(0 <= value < math.inf for value in self.price):
            raise UsageError(f"price={self.price} is not allowed; expected two numbers of at least 0.")
        if self.max_cost is not None and self.price is None:
            raise UsageError(
                "max_cost needs a price. Give US dollars per million prompt tokens and per million reply tokens "
                "(price=[2.5,10]; [0,0] for your own server), or leave out max_cost."
            )

    @property
    def address(self) -> str:
        """The server's address, without a trailing slash; raises `UsageError` if it is malformed or has a password."""
        url = self.base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
        try:
            parts = urlsplit(url)
            allowed = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:
            allowed = False
        if not allowed or re.search("[@?#]", url):
            raise UsageError(
                f"base_url={redact(url.partition('?')[0])!r} is not allowed; expected http://host:port/v1 or "
                "https://host/v1, without user name, password and query (the variable OPENAI_API_KEY has the API key)."
            )
        return url.rstrip("/")

    def cost(self, prompt_tokens: float, completion_tokens: float) -> float:
        """What tokens cost in US dollars; 0 without a price.

        Examples:
            >>> EndpointOptions(price=(2.5, 10.0)).cost(1000, 20), EndpointOptions().cost(1000, 20)
            (0.0027, 0.0)
        """
        prompt, reply = self.price or (0.0, 0.0)
        return (prompt_tokens * prompt + completion_tokens * reply) / 1_000_000

    def asked(self) -> dict[str, Any]:
        """The options on which replies depend, as part of a result."""
        return {**self.chat.settings(), "extra_body": dict(self.extra_body)}

    def fields(self) -> dict[str, Any]:
        """The fields to send with every request: switches for reasoning, and `extra_body`.

        OpenAI's models take `reasoning_effort` and no budget; other servers pass `chat_template_kwargs` to the chat
        template, and vLLM respects `thinking_token_budget`.
        """
        given, thinking = dict(self.extra_body), self.chat.thinking
        if thinking is None:
            return given
        if self.address == OPENAI_URL:
            if self.chat.has_budget:
                raise UsageError(
                    f"thinking={thinking} is a number of tokens, which OpenAI's models do not support; use on or off, "
                    """or set an effort: --model-arg extra_body='{"reasoning_effort": "low"}'."""
                )
            return {"reasoning_effort": "medium" if thinking else "none", **given}
        template: dict[str, Any] = dict.fromkeys(("enable_thinking", "thinking"), thinking is not False)
        limit = {}
        if self.chat.has_budget:
            template["thinking_budget"] = limit["thinking_token_budget"] = thinking
        return {**limit, **given, "chat_template_kwargs": {**template, **(given.get("chat_template_kwargs") or {})}}
