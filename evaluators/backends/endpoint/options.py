"""How a server is asked."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.backends.chat_options import ChatOptions

DEFAULT_CONCURRENCY = 8
# Long, as a server that is asked by many at once lets them wait in line.
DEFAULT_TIMEOUT = 300.0
LONGEST_TIMEOUT = 604_800
"""In seconds: a week."""
# As many as OpenAI gives, and vLLM unless it was started with more.
DEFAULT_TOP_LOGPROBS = 20
OPENAI_URL = "https://api.openai.com/v1"
_OWN_FIELDS = frozenset(
    (
        *("model", "messages", "n", "stream", "temperature", "max_tokens", "max_completion_tokens", "logprobs"),
        *("top_logprobs", "prompt_logprobs", "echo", "continue_final_message", "add_generation_prompt"),
    )
)
"""Fields of a request that eyechart sets itself."""


@dataclass(frozen=True)
class ServedModel:
    """What the server of a run's own serves; stands for its address, whose port differs from run to run.

    Attributes:
        program: One of the programs of `serving`.
        version: The program's version, where it says it.
        arguments: What it was given besides the model and the address.
        fingerprint: Identifies the files of the model and of the arguments; None where there are none here.
    """

    program: str
    version: str | None
    arguments: tuple[str, ...]
    fingerprint: str | None

    def settings(self) -> dict[str, Any]:
        """The same as part of a result and of stored answers."""
        return {**asdict(self), "arguments": list(self.arguments)}


@dataclass(frozen=True)
class EndpointOptions:
    """How a server is asked. The API key is no option: it is the environment variable `OPENAI_API_KEY`.

    Attributes:
        base_url: The server's address, usually ending in `/v1`; None is that of the environment variable
            `OPENAI_BASE_URL`, or else OpenAI's own.
        concurrency: Requests at once, at least 1.
        timeout: Seconds to wait for a whole answer, above 0 and at most a week; each retry has as many.
        max_retries: How often a request is sent again after 408, 409, 429, 5xx, a broken connection or a timeout, after
            a wait that doubles each time or that the server asks for (`Retry-After`); at least 0.
        top_logprobs: How many of the likeliest tokens to ask for where logits are wanted, at least 1; OpenAI gives up
            to 20, and so does vLLM unless it was started with a larger `--max-logprobs`. Words that are not among them
            have an upper bound, so a score depends on it: it is a setting of the result and of stored answers.
        chat: What is asked of the model in every chat.
        extra_body: Fields to send with every request, for what only some servers know, such as {"top_k": 1}.
        served_name: Name under which the server is known to answer, where that is neither the model's nor a dated
            version of it. No answer depends on it, only what a result says.
        serve: What the server serves, where this run started it; it is then asked for `served_name`, and reached
            without a proxy.
    """

    base_url: str | None = None
    concurrency: int = DEFAULT_CONCURRENCY
    timeout: float = DEFAULT_TIMEOUT
    max_retries: int = 4
    top_logprobs: int = DEFAULT_TOP_LOGPROBS
    served_name: str | None = None
    chat: ChatOptions = field(default_factory=ChatOptions)
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    serve: ServedModel | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        own = _OWN_FIELDS if self.chat.sampling is None else _OWN_FIELDS | self.chat.sampling.fields(1).keys()
        if taken := sorted(own & self.extra_body.keys()):
            raise UsageError(f"extra_body holds {', '.join(taken)}, which eyechart sets itself; leave it out.")
        if not 0.001 <= self.timeout <= LONGEST_TIMEOUT:
            raise UsageError(
                f"timeout={self.timeout} is not allowed; it is at least 0.001 and at most {LONGEST_TIMEOUT}."
            )
        least = {"concurrency": 1, "max_retries": 0, "top_logprobs": 1}
        for name, allowed in least.items():
            if not getattr(self, name) >= allowed:
                raise UsageError(f"{name}={getattr(self, name)} is not allowed; it is at least {allowed}.")

    def asked(self) -> dict[str, Any]:
        """What answers depend on besides the requests, as part of a result."""
        return {**self.chat.settings(), "extra_body": dict(self.extra_body)}

    def fields(self, base_url: str) -> dict[str, Any]:
        """What is sent with every request: the switches of reasoning, and `extra_body`.

        Args:
            base_url: The server's address. OpenAI's own models take `reasoning_effort`; other servers hand
                `chat_template_kwargs` on to the chat template, and vLLM keeps to `thinking_token_budget`.

        Raises:
            UsageError: OpenAI is asked for a budget, which its models do not take.
        """
        given, thinking = dict(self.extra_body), self.chat.thinking
        if thinking is None:
            return given
        if base_url == OPENAI_URL:
            if self.chat.has_budget:
                raise UsageError(
                    f"thinking={thinking} is a number of tokens, which OpenAI's models do not take; say on or off, or "
                    """give an effort: --extra-body '{"reasoning_effort": "low"}'."""
                )
            return {"reasoning_effort": "medium" if thinking else "none", **given}
        switches: dict[str, Any] = {"enable_thinking": thinking is not False, "thinking": thinking is not False}
        found: dict[str, Any] = {}
        if self.chat.has_budget:
            switches["thinking_budget"] = found["thinking_token_budget"] = thinking
        return {**found, **given, "chat_template_kwargs": {**switches, **given.get("chat_template_kwargs", {})}}
