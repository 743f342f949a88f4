"""The client of one model on one server: sends requests, retries, counts tokens."""

import os
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlsplit

from eyechart.datasets_scripts.common.errors import EndpointError, ModelError, UsageError
from eyechart.evaluators.backends.endpoint.completion import Completion, Usage, parse_completion, parse_tokens
from eyechart.evaluators.backends.endpoint.failures import (
    NO_LOGPROBS,
    NO_SUCH_ADDRESS,
    REFUSED,
    clean,
    explain,
    is_final,
    retries_of,
)
from eyechart.evaluators.backends.endpoint.options import DEFAULT_TEMPERATURE, OPENAI_URL, EndpointOptions
from eyechart.evaluators.backends.endpoint.redaction import redact_json
from eyechart.evaluators.backends.endpoint.refused_parameters import without

KEY_VARIABLE = "OPENAI_API_KEY"
_CONNECT_TIMEOUT = 10.0

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
    dropped: frozenset[str] = frozenset()
    """Parameters that are not sent, because the server refuses or ignores them or the options remove them."""
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
        self.record.dropped |= options.removed
        self._required = options.chat.required
        self._timeout = options.timeout
        self._fields = without(options.fields(self.base_url), options.removed)
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
        fields = {"temperature": 0.0, **logprobs, **(extra or {})}
        completion = self._send(messages, fields, max_tokens, self._required)
        if len(completion.choices) != 1:
            raise EndpointError(f"{self.base_url} returned {len(completion.choices)} replies; expected 1")
        if top_logprobs is not None and not completion.choices[0].has_likeliest:
            raise ModelError(
                f"model '{self.model}': {self.base_url} returned no log-probabilities, although the request has "
                f"logprobs=true and top_logprobs={top_logprobs}. {NO_LOGPROBS}."
            )
        return completion

    def completions(self, messages: Messages, n: int, *, max_tokens: int, temperature: float) -> Iterator[Completion]:
        """Ask for several sampled replies to the same messages and yield the server's answers as they arrive.

        One request asks for all replies, so that the prompt is paid once. If the server returns fewer or refuses, the
        missing replies are requested one by one, and all later ones if it returned fewer than two. At most one billed
        request is sent before each answer.

        Args:
            messages: The conversation so far.
            n: Number of replies, at least 1.
            max_tokens: Maximum reply length in tokens, at least 1.
            temperature: Sampling temperature, at least 0. Only the servers' default, 1, may be dropped.

        Yields:
            Completions that together have exactly `n` choices.

        Raises:
            EndpointError: This request got no answer, or an unusable one.
            ModelError: Every request would fail.
        """
        found = 0
        required = frozenset() if temperature == DEFAULT_TEMPERATURE else frozenset({"temperature"})
        while found < n:
            fields = {"temperature": temperature, **({} if found or n == 1 else {"n": n})}
            completion = self._send(messages, fields, max_tokens, required)
            together = "n" in fields.keys() - completion.dropped
            count = len(completion.choices)
            if count > n - found:
                raise EndpointError(f"{self.base_url} returned {count} replies; expected {n - found}")
            if not count and not together:
                raise EndpointError(f"{self.base_url} returned no reply; expected {n - found}")
            if together and count < 2:
                self._drop({"n"})
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

    def list_models(self) -> list[str]:
        """The names of the models that the server lists.

        Raises:
            openai.APIError: The server cannot be reached, or refuses.
            ModelError: The address needs `/v1`.
            ValueError: Its answer is not JSON; TypeError or AttributeError if it is not a list of models.
        """
        import openai

        try:
            return [str(one.id) for one in self._client.with_options(max_retries=0).models.list().data]
        except openai.NotFoundError:
            self._check_address()
            raise

    def _send(
        self, messages: Messages, fields: Mapping[str, Any], max_tokens: int, required: frozenset[str]
    ) -> Completion:
        """Send a request, and again without each parameter that the server refuses and that is not required."""
        fields = {**fields, "max_tokens": max_tokens}
        dropped = self.record.dropped & fields.keys()
        while True:
            try:
                completion = self._create(messages, without(fields, dropped))
                break
            except EndpointError as error:
                # Servers refuse `n` in words that do not name it.
                refused = (*error.refused, "n") if error.status in REFUSED else ()
                left = [name for name in refused if name in fields and name not in dropped | required]
                if not left:
                    raise self._refusal(error, required) from None
                # Other threads may have found out more meanwhile.
                dropped |= {left[0]} | (self.record.dropped & fields.keys())
        # Remembered only now, because an error may name a parameter for another reason.
        self._drop(dropped)
        completion.dropped = dropped
        return completion

    def _drop(self, names: Collection[str]) -> None:
        with self._lock:
            self.record.dropped |= frozenset(names)

    def _refusal(self, error: EndpointError, required: frozenset[str]) -> EndpointError | ModelError:
        """The error if no other form of the request is left; before the first reply, it stops all requests."""
        asked = " and ".join(name for name in error.refused if name in required)
        advice = f". You asked for {asked}; leave it out to let the provider choose" if asked else ""
        if self.record.requests or not error.refused:
            return EndpointError(f"{error.reason}{advice}", status=error.status)
        return ModelError(f"the model cannot be used: {error.reason.rstrip('.')}{advice}.")

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
