"""One model on one server: asks, retries, counts."""

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlsplit

from eyechart.datasets_scripts.common.errors import EndpointError, ModelError, UsageError
from eyechart.evaluators.backends.endpoint.completion import Completion, Usage, parse_completion, parse_tokens
from eyechart.evaluators.backends.endpoint.failures import NO_SUCH_ADDRESS, clean, explain, is_final, retries_of
from eyechart.evaluators.backends.endpoint.options import OPENAI_URL, EndpointOptions
from eyechart.evaluators.backends.endpoint.redaction import redact_json

KEY_VARIABLE = "OPENAI_API_KEY"
# What servers answer to a field or a value that they do not take.
REFUSED = (400, 422)
_CONNECT_TIMEOUT = 10.0
_OLD_LENGTH, _NEW_LENGTH = "max_tokens", "max_completion_tokens"

Messages = Sequence[Mapping[str, Any]]
"""Chat messages as OpenAI documents them."""


@dataclass
class ServerRecord:
    """What was asked of a server so far, and what that showed of it."""

    requests: int = 0
    """Requests with an answer that could be read."""
    retries: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    length_field: str = _OLD_LENGTH
    """What the server calls the longest reply wanted."""
    several_at_once: bool = True
    """Whether it may be asked for several replies at once."""
    served: set[str] = field(default_factory=set)
    """The names it gives its model."""

    def totals(self) -> dict[str, int]:
        """What was asked, as JSON values."""
        names = ("requests", "retries", "prompt_tokens", "completion_tokens")
        return {name: getattr(self, name) for name in names}


class ChatClient:
    """Asks one model on one server; several threads may use it at once.

    A context manager: its end closes the connections, and threads that still wait for an answer get none.

    Args:
        model: The model's name on the server.
        options: How the server is asked; concurrency is up to the callers.
        record: Kept up to date; by default one of its own.
        key: The API key, "" for none; by default `read_key()`.
    """

    def __init__(
        self, model: str, options: EndpointOptions, record: ServerRecord | None = None, *, key: str | None = None
    ) -> None:
        """Check address and key; nothing is sent.

        Raises:
            UsageError: One of them is not allowed.
        """
        import openai

        from eyechart.evaluators.backends.endpoint.timed_client import TimedClient

        self.model = model
        self.base_url = resolve_address(options)
        self.record = record or ServerRecord()
        self._timeout = options.timeout
        self._fields = options.fields(self.base_url)
        system_prompt = options.chat.system_prompt
        self._first: Messages = [] if system_prompt is None else [{"role": "system", "content": system_prompt}]
        self._key = read_key() if key is None else key
        self._lock = threading.Lock()
        self._client = openai.OpenAI(
            # Local servers want none, but the package does.
            api_key=self._key or "none",
            base_url=self.base_url,
            timeout=openai.Timeout(options.timeout, connect=min(options.timeout, _CONNECT_TIMEOUT)),
            max_retries=options.max_retries,
            http_client=TimedClient(options.timeout, is_final, use_proxy=options.serve is None),
        )

    def __enter__(self) -> Self:
        """The client itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the connections; nothing can be asked any more."""
        self._client.close()

    def ask(
        self,
        messages: Messages,
        *,
        max_tokens: int,
        top_logprobs: int | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> Completion:
        """One reply, greedy unless `extra` says otherwise.

        Args:
            messages: What was said so far.
            max_tokens: The longest reply wanted, in tokens, at least 1.
            top_logprobs: How many of the likeliest tokens are wanted at each place; None for none.
            extra: Further fields, which come before eyechart's own.

        Returns:
            A completion with exactly one choice.

        Raises:
            EndpointError: This request has no answer, or none that can be used.
            ModelError: No request would have an answer, or the server does not return the likeliest tokens.
        """
        logprobs = {} if top_logprobs is None else {"logprobs": True, "top_logprobs": top_logprobs}
        completion = self._send(messages, {"temperature": 0.0, **logprobs, **(extra or {})}, max_tokens)
        if len(completion.choices) != 1:
            raise EndpointError(f"{self.base_url} returned {len(completion.choices)} replies; expected 1")
        if top_logprobs is not None and not completion.choices[0].has_likeliest:
            raise ModelError(
                f"model '{self.model}': {self.base_url} returns no log-probabilities of the likeliest tokens, though "
                f"asked for with logprobs and top_logprobs={top_logprobs}, so there are no next-token logits. Use a "
                "server that returns them, for example vLLM, or evaluate the model with transformers."
            )
        return completion

    def completions(self, messages: Messages, n: int, *, max_tokens: int, temperature: float) -> Iterator[Completion]:
        """Ask for several sampled replies to the same messages and yield the server's answers as they come.

        They are asked for at once, so that the prompt is paid for once; what a server leaves out of that, or all of
        them where it refuses to give several, is asked for one by one. Before each answer no more than one request is
        sent that a server charges for.

        Args:
            messages: What was said so far.
            n: How many replies, at least 1.
            max_tokens: The longest reply wanted, in tokens, at least 1.
            temperature: Of the sampling, at least 0.

        Yields:
            Completions that together have exactly `n` choices.

        Raises:
            EndpointError: This request has no answer, or none that can be used.
            ModelError: No request would have an answer.
        """
        found, refused = 0, False
        while found < n:
            together = n > 1 and not found and not refused and self.record.several_at_once
            try:
                fields = {"temperature": temperature, **({"n": n} if together else {})}
                completion = self._send(messages, fields, max_tokens)
            except EndpointError as error:
                if not together or error.status not in REFUSED:
                    raise
                refused = True
                continue
            count = len(completion.choices)
            if count > n - found:
                raise EndpointError(f"{self.base_url} returned {count} replies; expected {n - found}")
            if not count and not together:
                raise EndpointError(f"{self.base_url} returned no reply; {n - found} more were to come")
            # What was asked in vain once is not asked again: where one reply comes after a refusal of several, not the
            # length of the prompt or anything else was refused.
            self.record.several_at_once &= count > 1 if together else not refused
            found += count
            yield completion

    def tokenize(self, text: str) -> list[str] | None:
        """The texts of a text's tokens, without special ones; None where the server does not say.

        Raises:
            EyechartError: The server cannot be reached, or did not answer in time.
        """
        import openai

        # Fields of vLLM, then of llama.cpp.
        body = {"model": self.model, "prompt": text, "add_special_tokens": False, "return_token_strs": True}
        body |= {"content": text, "with_pieces": True}
        server = self._client.with_options(base_url=self.base_url.removesuffix("/v1"), max_retries=0)
        try:
            return parse_tokens(server.post("/tokenize", body=body, cast_to=bytes))
        except openai.APIStatusError:
            return None
        except openai.APIError as error:
            raise explain(error, self.base_url, self._timeout, self._key) from None

    def _send(self, messages: Messages, fields: Mapping[str, Any], max_tokens: int) -> Completion:
        length_field = self.record.length_field
        try:
            return self._create(messages, {**fields, length_field: max_tokens})
        except EndpointError as error:
            # OpenAI's newer models refuse the old name, and older servers do not know the new one.
            if length_field != _OLD_LENGTH or error.status not in REFUSED or _NEW_LENGTH not in error.reason:
                raise
        self.record.length_field = _NEW_LENGTH
        return self._create(messages, {**fields, _NEW_LENGTH: max_tokens})

    def _create(self, messages: Messages, fields: Mapping[str, Any]) -> Completion:
        import openai

        # Not the parsed answer: openai gives a string for HTML, and no error for a body of another form.
        create: Any = self._client.chat.completions.with_raw_response.create
        try:
            raw = create(model=self.model, messages=[*self._first, *messages], extra_body={**self._fields, **fields})
        except openai.APIError as error:
            self._count(retries=retries_of(error))
            if getattr(error, "status_code", None) in NO_SUCH_ADDRESS:
                self._check_address()
            # Without its cause, whose text could hold the key.
            raise explain(error, self.base_url, self._timeout, self._key) from None
        try:
            completion = parse_completion(redact_json(raw.content, self._key))
        except ValueError as error:
            self._check_address()
            reason = clean(f"{self.base_url} answered with status 200, but {error}", self._key)
            raise EndpointError(reason) from None
        usage = completion.usage or Usage()
        self._count(1, raw.retries_taken, usage.prompt_tokens, usage.completion_tokens)
        if completion.model:
            self.record.served.add(completion.model)
        return completion

    def _check_address(self) -> None:
        """Refuse an address that lacks its `/v1`.

        Raises:
            ModelError: With `/v1` behind it, the server lists its models; the message holds that address.
        """
        import openai

        address = f"{self.base_url}/v1"
        if self.base_url.endswith("/v1"):
            return
        try:
            self._client.with_options(base_url=address, max_retries=0).models.list()
        except (openai.APIError, ValueError):
            return
        raise ModelError(
            f"{self.base_url} answers no chat completions, but {address} lists models. Give that address "
            f"(--base-url {address})."
        )

    def _count(self, requests: int = 0, retries: int = 0, prompt_tokens: int = 0, completion_tokens: int = 0) -> None:
        with self._lock:
            self.record.requests += requests
            self.record.retries += retries
            self.record.prompt_tokens += prompt_tokens
            self.record.completion_tokens += completion_tokens


def read_key(variable: str = KEY_VARIABLE) -> str:
    """The API key, "" if there is none.

    Args:
        variable: The environment variable that holds it.

    Raises:
        UsageError: It cannot be a key.
    """
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        # The package's own error would show it.
        raise UsageError(f"the environment variable {variable} holds characters that a key cannot have.")
    return key


def resolve_address(options: EndpointOptions) -> str:
    """The server's address, without a slash at its end.

    Raises:
        UsageError: It is malformed, or may hold a password.
    """
    url = options.base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
    if "@" in url or "?" in url:
        # Not shown again: it may hold a password.
        raise UsageError(
            "base_url must not hold a user, a password or a query, as it is part of results. A key is read from the "
            "environment variable OPENAI_API_KEY."
        )
    try:
        parts = urlsplit(url)
        allowed = parts.scheme in ("http", "https") and parts.hostname and not parts.fragment and parts.port != 0
    except ValueError:
        allowed = False
    if not allowed:
        raise UsageError(f"base_url={url!r} is not allowed; it has the form http://host:port/v1 or https://host/v1.")
    return url.rstrip("/")
