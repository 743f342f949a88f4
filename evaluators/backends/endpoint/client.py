"""The client of one model on one server: sends requests, retries, counts tokens."""

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
# HTTP statuses with which servers refuse a field or a value.
REFUSED = (400, 422)
_CONNECT_TIMEOUT = 10.0
_OLD_LENGTH, _NEW_LENGTH = "max_tokens", "max_completion_tokens"

Messages = Sequence[Mapping[str, Any]]
"""Chat messages as OpenAI documents them."""


@dataclass
class ServerRecord:
    """Counts of the requests sent to a server so far, and what is known about the server from its answers."""

    requests: int = 0
    """Requests with an answer that could be parsed."""
    retries: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    length_field: str = _OLD_LENGTH
    """The field in which the server takes the maximum reply length."""
    several_at_once: bool = True
    """Whether to ask for several replies in one request."""
    served: set[str] = field(default_factory=set)
    """The model names in the server's answers."""

    def totals(self) -> dict[str, int]:
        """The counts, as JSON values."""
        names = ("requests", "retries", "prompt_tokens", "completion_tokens")
        return {name: getattr(self, name) for name in names}


class ChatClient:
    """Sends requests for one model to one server; several threads may use it at once.

    As a context manager, it closes the connections at the end; threads that still wait for an answer then get none.

    Args:
        model: The model's name on the server.
        options: Options of the server; the caller is responsible for the concurrency.
        record: Counts to update; by default new ones.
        key: The API key, "" for none; by default `read_key()`.
    """

    def __init__(
        self, model: str, options: EndpointOptions, record: ServerRecord | None = None, *, key: str | None = None
    ) -> None:
        """Check address and key; nothing is sent.

        Raises:
            UsageError: The address or the key is malformed.
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
            # Local servers need no key, but the package requires one.
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
        """Close the connections; no more requests can be sent."""
        self._client.close()

    def ask(
        self,
        messages: Messages,
        *,
        max_tokens: int,
        top_logprobs: int | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> Completion:
        """Ask for one reply, with greedy decoding unless `extra` says otherwise.

        Args:
            messages: The conversation so far.
            max_tokens: Maximum reply length in tokens, at least 1.
            top_logprobs: How many of the most probable tokens to return at each position; None for none.
            extra: Further fields of the request; they override eyechart's own.

        Returns:
            A completion with exactly one choice.

        Raises:
            EndpointError: This request got no answer, or an unusable one.
            ModelError: Every request would fail, or the server does not return the most probable tokens.
        """
        logprobs = {} if top_logprobs is None else {"logprobs": True, "top_logprobs": top_logprobs}
        completion = self._send(messages, {"temperature": 0.0, **logprobs, **(extra or {})}, max_tokens)
        if len(completion.choices) != 1:
            raise EndpointError(f"{self.base_url} returned {len(completion.choices)} replies; expected 1")
        if top_logprobs is not None and not completion.choices[0].has_likeliest:
            raise ModelError(
                f"model '{self.model}': {self.base_url} returned no log-probabilities, although the request has "
                f"logprobs=true and top_logprobs={top_logprobs}. The task needs them as next-token logits. Use a "
                "server that returns them, for example vLLM, or evaluate the model with transformers."
            )
        return completion

    def completions(self, messages: Messages, n: int, *, max_tokens: int, temperature: float) -> Iterator[Completion]:
        """Ask for several sampled replies to the same messages and yield the server's answers as they arrive.

        One request asks for all replies, so that the prompt is paid once. If the server returns fewer or refuses, the
        missing replies are requested one by one. At most one billed request is sent before each answer.

        Args:
            messages: The conversation so far.
            n: Number of replies, at least 1.
            max_tokens: Maximum reply length in tokens, at least 1.
            temperature: Sampling temperature, at least 0.

        Yields:
            Completions that together have exactly `n` choices.

        Raises:
            EndpointError: This request got no answer, or an unusable one.
            ModelError: Every request would fail.
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
                raise EndpointError(f"{self.base_url} returned no reply; expected {n - found}")
            # Do not ask for several replies again if the server returned only one, or refused several and then gave
            # one: it then did not refuse the prompt.
            self.record.several_at_once &= count > 1 if together else not refused
            found += count
            yield completion

    def tokenize(self, text: str) -> list[str] | None:
        """The tokens of a text, without special tokens; None if the server has no such service.

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
            # OpenAI's newer models refuse the old field name, and older servers do not know the new one.
            if length_field != _OLD_LENGTH or error.status not in REFUSED or _NEW_LENGTH not in error.reason:
                raise
        self.record.length_field = _NEW_LENGTH
        return self._create(messages, {**fields, _NEW_LENGTH: max_tokens})

    def _create(self, messages: Messages, fields: Mapping[str, Any]) -> Completion:
        import openai

        # The raw answer, because openai returns HTML as a string and does not validate the body.
        create: Any = self._client.chat.completions.with_raw_response.create
        try:
            raw = create(model=self.model, messages=[*self._first, *messages], extra_body={**self._fields, **fields})
        except openai.APIError as error:
            self._count(retries=retries_of(error))
            if getattr(error, "status_code", None) in NO_SUCH_ADDRESS:
                self._check_address()
            # Without the cause, because its text could contain the key.
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
        """Refuse an address without `/v1`, if the server lists its models at the address with `/v1`.

        Raises:
            ModelError: The address needs `/v1`; the message gives the correct address.
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
            f"{self.base_url} does not serve chat completions, but {address} lists models. Use that address: "
            f"--base-url {address}"
        )

    def _count(self, requests: int = 0, retries: int = 0, prompt_tokens: int = 0, completion_tokens: int = 0) -> None:
        with self._lock:
            self.record.requests += requests
            self.record.retries += retries
            self.record.prompt_tokens += prompt_tokens
            self.record.completion_tokens += completion_tokens


def read_key(variable: str = KEY_VARIABLE) -> str:
    """The API key, "" if missing.

    Args:
        variable: The environment variable with the key.

    Raises:
        UsageError: The variable contains characters that a key cannot have.
    """
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        # The package's own error would show the key.
        raise UsageError(f"the environment variable {variable} contains characters that a key cannot have.")
    return key


def resolve_address(options: EndpointOptions) -> str:
    """The server's address, without a trailing slash.

    Raises:
        UsageError: The address is malformed, or may contain a password.
    """
    url = options.base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
    if "@" in url or "?" in url:
        # The message does not show the address: it may contain a password.
        raise UsageError(
            "base_url must not contain a user name, password or query, because it is written to results. Set the API "
            "key with the environment variable OPENAI_API_KEY."
        )
    try:
        parts = urlsplit(url)
        allowed = parts.scheme in ("http", "https") and parts.hostname and not parts.fragment and parts.port != 0
    except ValueError:
        allowed = False
    if not allowed:
        raise UsageError(f"base_url={url!r} is not allowed; expected http://host:port/v1 or https://host/v1.")
    return url.rstrip("/")
