"""The client of one model on one server: sends requests, retries, counts tokens."""

import math
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

import anyio
import openai
from anyio.from_thread import start_blocking_portal
from pydantic_core import from_json

from eyechart.datasets_scripts.common.errors import EyechartError, UsageError, unknown_name
from eyechart.evaluators.backends.endpoint import failures
from eyechart.evaluators.backends.endpoint.completion import Completion, ModelList, parse, plain
from eyechart.evaluators.backends.endpoint.limits import Budget, Charge, LimitError, Window
from eyechart.evaluators.backends.endpoint.options import DEFAULT_TEMPERATURE, OPENAI_URL, EndpointOptions, read_key
from eyechart.evaluators.requests.errors import EndpointError, ModelError, QuotaError, SpendingError

_CONNECT_TIMEOUT = 10.0
# Replies have kilobytes; log-probabilities of a prompt, or of a whole vocabulary, have a hundred bytes for each token.
_MOST_BYTES = 16 * 2**20
# A small packed body could fill the memory before its length is known.
_UNPACKED = {"Accept-Encoding": "identity"}
_HEADERS_READ = ("location", "retry-after", "retry-after-ms", "x-should-retry")
_NAMES_SHOWN = 20
# Until the server's first answer; providers count from 85 to several thousand.
_TOKENS_PER_IMAGE = 2_000

Messages = Sequence[Mapping[str, Any]]
"""Chat messages as OpenAI documents them."""
attempted: ContextVar[Callable[[Callable[[], Awaitable[Any]]], Awaitable[Any]]] = ContextVar(
    "attempted", default=lambda send: send()
)
"""What sends each attempt of the requests in this context, retries included; `OpenAIError` refuses one."""
Item = TypeVar("Item")
Result = TypeVar("Result")


class ChatClient:
    """Sends requests for one model to one server; `map` runs the coroutines that do.

    `counts` are the numbers of answered "requests", "retries", "prompt_tokens" and "completion_tokens"; `dropped` are
    the parameters that are not sent, because the server refuses or ignores them.
    """

    def __init__(self, model: str, options: EndpointOptions, *, key: str | None = None) -> None:
        """Check address and key, which may raise `UsageError`; nothing is sent."""
        self.model, self.base_url = model, options.address
        self.counts = Counter[str]()
        self.dropped = frozenset[str]()
        self.budget = Budget(math.inf if options.max_cost is None else options.max_cost)
        self._window = Window(options.concurrency)
        self._most_prompt_tokens = 0
        self._options, self._fields = options, options.fields()
        system_prompt = options.chat.system_prompt
        self._first: Messages = [] if system_prompt is None else [{"role": "system", "content": system_prompt}]
        self._key = read_key() if key is None else key
        self._client: openai.AsyncOpenAI

    def _open(self) -> openai.AsyncOpenAI:
        """A new client of the package, whose connections belong to one event loop."""
        options = self._options
        try:
            # A proxy has another 127.0.0.1 than the server that the run started.
            http_client = _HttpClient(trust_env=options.serve is None, follow_redirects=False, headers=_UNPACKED)
        # A missing file, a malformed address, a missing package for SOCKS.
        except (OSError, ValueError, ImportError) as error:
            raise UsageError(
                "the environment variables for proxies (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY) or certificates "
                f"(SSL_CERT_FILE, SSL_CERT_DIR) cannot be used: {type(error).__name__}: {error}. Correct or unset them"
            ) from error
        http_client.seconds, http_client.window = options.timeout, self._window
        self._window.open()
        return openai.AsyncOpenAI(
            # Local servers need no key, but the package requires one.
            api_key=self._key or "none",
            base_url=self.base_url,
            timeout=openai.Timeout(options.timeout, connect=min(options.timeout, _CONNECT_TIMEOUT)),
            max_retries=options.max_retries,
            http_client=http_client,
        )

    def map(self, function: Callable[[Item], Awaitable[Result]], items: Sequence[Item]) -> Generator[Result]:
        """Yield the function's result for each item as soon as it is ready; an exception or `close` cancels the others.

        An event loop in another thread has up to `concurrency` calls under way, and as many results waiting.
        """
        self._client = client = self._open()
        concurrency, remaining = self._options.concurrency, iter(items)
        send, receive = anyio.create_memory_object_stream[tuple[Result | None, Exception | None]](concurrency)

        async def work() -> None:
            for item in remaining:
                try:
                    await send.send((await function(item), None))
                except Exception as error:
                    await send.send((None, error))

        async def run() -> None:
            try:
                async with anyio.create_task_group() as group:
                    for _ in range(min(concurrency, len(items))):
                        group.start_soon(work)
            finally:
                with anyio.move_on_after(1, shield=True):
                    await client.close()

        with send, receive, start_blocking_portal() as portal:
            portal.start_task_soon(run)
            for _ in items:
                result, error = portal.call(receive.receive)
                if error is not None:
                    raise error
                yield result  # type: ignore[misc]

    async def ask(
        self,
        messages: Messages,
        *,
        max_tokens: int,
        top_logprobs: int | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> Completion:
        """Ask for one reply, with greedy decoding unless `extra`, further fields of the request, says otherwise.

        Raises `ModelError` if every request would fail, otherwise `EndpointError`.
        """
        logprobs = {} if top_logprobs is None else {"logprobs": True, "top_logprobs": top_logprobs}
        fields = {"temperature": 0.0, **logprobs, **(extra or {}), "max_tokens": max_tokens}
        charge = Charge(self.budget)
        before = attempted.set(partial(charge.attempt, partial(self._highest_cost, messages, max_tokens)))
        try:
            completion = await self._send(messages, fields, self._options.chat.required)
        except LimitError:
            raise SpendingError(
                f"the next request to {self.model!r} might exceed the limit of {self._options.max_cost} US dollars; "
                "set a higher max_cost"
            ) from None
        finally:
            attempted.reset(before)
        if completion.usage.prompt_tokens:
            charge.settle(self._options.cost(completion.usage.prompt_tokens, completion.usage.completion_tokens))
        if len(completion.choices) != 1:
            raise EndpointError(f"{self.base_url} returned {len(completion.choices)} replies; expected 1")
        tokens = completion.choices[0].tokens
        if logprobs and (tokens is None or not all(token.top_logprobs for token in tokens[:1])):
            raise ModelError(
                f"model '{self.model}': {self.base_url} returned no log-probabilities, although the request has "
                f"logprobs=true and top_logprobs={top_logprobs}. {failures.NO_LOGPROBS}."
            )
        return completion

    async def completions(
        self, messages: Messages, n: int, *, max_tokens: int, temperature: float
    ) -> AsyncIterator[Completion]:
        """Ask for `n` sampled replies to the same messages and yield the server's answers as they arrive.

        One request asks for all, so that the prompt is paid once; missing replies are requested one by one. Only the
        servers' default temperature may be dropped. Raises as `ask`.
        """
        missing, fields = n, {"temperature": temperature, "max_tokens": max_tokens, **({"n": n} if n > 1 else {})}
        required = frozenset() if temperature == DEFAULT_TEMPERATURE else frozenset({"temperature"})
        while missing:
            completion = await self._send(messages, fields, required)
            count, together = len(completion.choices), "n" in fields.keys() - completion.dropped
            if count > missing or not (count or together):
                raise EndpointError(f"{self.base_url} returned {count} replies; expected {missing}")
            if together and count < 2:
                self.dropped |= {"n"}
            fields.pop("n", None)
            missing -= count
            yield completion

    async def tokenize(self, text: str) -> list[str]:
        """The tokens of a text, without special tokens; [] if the server has no such service."""
        # Fields of vLLM, then of llama.cpp.
        body = {"model": self.model, "prompt": text, "add_special_tokens": False, "return_token_strs": True}
        body |= {"content": text, "with_pieces": True}
        server = self._client.with_options(base_url=self.base_url.removesuffix("/v1"), max_retries=0)
        try:
            answer: Any = from_json(await server.post("/tokenize", body=body, cast_to=bytes))
            # llama.cpp returns bytes for a token that is a part of a character.
            tokens = answer.get("token_strs") or [part["piece"] for part in answer["tokens"]]
            return [plain(str(token)) for token in tokens]
        except (openai.APIStatusError, ValueError, LookupError, TypeError, AttributeError):
            return []
        except openai.APIError as error:
            raise self._explain(error) from None

    async def get(self, url: str) -> tuple[int, bytes]:
        """Status and body of the answer to a GET request, which is sent once; redirects are not followed."""
        try:
            return 200, await self._client.with_options(max_retries=0).get(url, cast_to=bytes)
        except openai.APIStatusError as error:
            return error.status_code, error.response.content
        except openai.APIError as error:
            raise self._explain(error) from None

    async def list_models(self) -> dict[str, str]:
        """The models that the server lists, with their owners: the names of vLLM and other programs."""
        url = f"{self.base_url}/models"
        status, content = await self.get(url)
        if status != 200:
            raise EndpointError(f"{url} answered {status}", status=status)
        return {model.id: str(model.owned_by) for model in parse(ModelList, content, "a list of models", url).data}

    async def check_model(self) -> list[str]:
        """Raise `UsageError` or `ModelError` if the model is not served; a name that is not listed may be an alias.

        A model that the server lists is not asked. Returns the names that are listed.
        """
        if not self._key and self.base_url == OPENAI_URL:
            raise UsageError(f"{OPENAI_URL} needs an API key; set the environment variable OPENAI_API_KEY")
        try:
            names = list(await self.list_models())
        except EndpointError as error:
            # The address may lack its /v1.
            if error.status not in (401, 403) and (error.status != 404 or self.base_url.endswith("/v1")):
                return []
            names = []
        if self.model in names:
            return names
        try:
            await self.ask([{"role": "user", "content": "Hi"}], max_tokens=1)
        except EndpointError as error:
            # Any other refusal is about this request, not about the model.
            if not names or error.status not in failures.REFUSED or self.model not in error.reason:
                return names
        except ModelError as error:
            if isinstance(error, QuotaError) or not names:
                raise
        else:
            return names
        instead = f"{self.base_url}/models lists them" if len(names) > _NAMES_SHOWN else None
        raise unknown_name(
            "model", self.model, names, f"on {self.base_url}, which serves {len(names):,}", instead=instead
        )

    async def _send(self, messages: Messages, fields: Mapping[str, Any], required: frozenset[str]) -> Completion:
        """Send a request, and again without each parameter that the server refuses and that is not required."""
        dropped = self.dropped & fields.keys()
        while True:
            try:
                completion = await self._create(messages, failures.without(fields, dropped))
                break
            except EndpointError as error:
                # Servers refuse `n` in words that do not name it.
                refused = (*error.refused, "n") if error.status in failures.REFUSED else ()
                left = [name for name in refused if name in fields and name not in dropped | required]
                if not left:
                    asked = " and ".join(name for name in error.refused if name in required)
                    advice = f". You asked for {asked}; leave it out to let the provider choose" if asked else ""
                    # Before the first reply, every other request would fail too.
                    if error.refused and not self.counts["requests"]:
                        raise ModelError(f"the model cannot be used: {error.reason}{advice}") from None
                    raise EndpointError(f"{error.reason}{advice}", status=error.status) from None
                # Other requests may have found out more meanwhile.
                dropped |= {left[0]} | (self.dropped & fields.keys())
        # Remembered only now, because an error may name a parameter for another reason.
        self.dropped |= dropped
        completion.dropped = dropped
        return completion

    def _highest_cost(self, messages: Messages, max_tokens: int) -> float:
        """What a reply may cost; a prompt may have as many tokens as the longest so far, whose images count."""
        parts = [part for message in messages for part in message["content"] if isinstance(part, Mapping)]
        prompt_tokens = self._most_prompt_tokens or _TOKENS_PER_IMAGE * sum(part["type"] != "text" for part in parts)
        size = sum(len(part.get("text", "").encode()) for part in parts)
        return self._options.cost(max(prompt_tokens, size // 3), max_tokens)

    def _explain(self, error: openai.APIError) -> EyechartError:
        return failures.explain(error, self.base_url, self._options.timeout, has_key=bool(self._key))

    async def _create(self, messages: Messages, fields: Mapping[str, Any]) -> Completion:
        # The raw answer, because openai returns HTML as a string and does not validate the body.
        create: Any = self._client.chat.completions.with_raw_response.create
        body = {**self._fields, **fields}
        try:
            raw = await create(model=self.model, messages=[*self._first, *messages], extra_body=body)
            completion = parse(Completion, raw.content, "a chat completion", self.base_url)
        except openai.APIError as error:
            self.counts["retries"] += failures.retries_of(error)
            raise self._explain(error) from None
        self._most_prompt_tokens = max(self._most_prompt_tokens, completion.usage.prompt_tokens)
        usage = completion.usage
        self.counts.update(requests=1, retries=raw.retries_taken, **usage.model_dump())
        self.counts["requests_without_usage"] += not usage.prompt_tokens
        return completion


class _HttpClient(openai.DefaultAsyncHttpxClient):
    """Limits the time and the length of a complete answer: the package's time limits restart with every byte."""

    seconds: float
    window: Window

    async def send(self, request: Any, **options: Any) -> Any:
        """Send a request, unless `attempted` refuses it."""
        return await attempted.get()(partial(self.window.attempt, partial(self._answer, request, **options)))

    async def _answer(self, request: Any, **options: Any) -> Any:
        """The complete answer to a request."""
        # httpx or httpx2, depending on the version of openai, which retries after their errors alone.
        package = sys.modules[type(request).__module__.partition(".")[0]]
        try:
            with anyio.fail_after(self.seconds):
                response = await super().send(request, **{**options, "stream": True})
                body = bytearray()
                async for part in response.aiter_raw():
                    body += part
                    if len(body) > _MOST_BYTES:
                        await response.aclose()
                        raise package.ReadError(f"the answer has more than {_MOST_BYTES:,} bytes", request=request)
        except TimeoutError:
            raise package.ReadTimeout("the answer was not complete in time", request=request) from None
        # Others may be malformed, such as the character set.
        sent = {name: response.headers.get(name, "") for name in _HEADERS_READ}
        headers = {name: value for name, value in sent.items() if value and value.isascii()}
        if response.status_code >= 500 and failures.is_final(body.decode(errors="replace")):
            # openai's client takes this header for the server's decision.
            headers["x-should-retry"] = "false"
        return type(response)(response.status_code, headers=headers, content=bytes(body), request=request)
