"""A model behind an OpenAI-compatible server; its answers are checked, as servers ignore fields they do not know."""

import base64
import contextlib
import copy
import io
import math
import re
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import anyio
import anyio.to_thread
from PIL import Image
from typing_extensions import override

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.datasets_scripts.common.images import encoded_image
from eyechart.evaluators.backends.chat import distinct_words, inseparable, joined, user_turn
from eyechart.evaluators.backends.endpoint.client import ChatClient, Messages
from eyechart.evaluators.backends.endpoint.completion import Completion
from eyechart.evaluators.backends.endpoint.failures import NO_PROMPT_LOGPROBS
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.backends.endpoint.prefill import NO_PREFILL, Prefill, find_prefill
from eyechart.evaluators.requests.errors import EndpointError, ModelError, SpendingError
from eyechart.evaluators.requests.types import Backend, Loss, OutputType, Request, Response

if TYPE_CHECKING:
    from eyechart.evaluators.backends.endpoint.serving import Server

FIRST_FAILURES = 5
_COUNTS = ("requests", "retries", "prompt_tokens", "completion_tokens", "requests_without_usage")
# The logarithm of a probability of 0 at vLLM, and of a very small one at OpenAI.
_NO_VALUE = -9999.0


class OpenAIBackend(Backend):
    """Answers with a model on a server, with greedy decoding unless the options set sampling or the server refuses it.

    Args:
        model: The model's name on the server.
        options: Options of the server; the defaults use OpenAI's.
        server: The server if this run started it; errors then say if it has ended.
    """

    billed_per_request = True

    def __init__(self, model: str, options: EndpointOptions | None = None, server: "Server | None" = None) -> None:
        """Check address and key, which may raise `UsageError`; nothing is sent."""
        self.name = model
        self._options = options or EndpointOptions()
        self._server = server
        self.samples = self._options.chat.sampling is not None
        served_name = None if self._options.serve is None else self._options.served_name
        self._client = ChatClient(served_name or model, self._options)
        self._counts_before = Counter[str]()
        self._limit: SpendingError | None = None
        self._metadata: set[tuple[str, str]] = set()
        # Shared by the backends that `for_data` makes; of prefills, there is one as soon as it is needed.
        self._prefills: list[Prefill] = []
        self._first_tokens: dict[tuple[str, str], str | None] = {}

    @override
    def check(self, output_type: OutputType) -> None:
        # What a server can give is known only from its answers.
        if self._server is not None and (ending := self._server.ending()):
            raise ModelError(ending)

    @override
    def identity(self) -> dict[str, Any]:
        serve = self._options.serve
        return {
            "backend": "openai",
            "name": self.name,
            **({"base_url": self._client.base_url} if serve is None else {"serve": serve}),
            "decoding": self._options.chat.decoding,
            "top_logprobs": self._options.top_logprobs,
            **self._options.asked(),
        }

    @override
    def for_data(self, dataset: str) -> Self:
        """The same backend, with counts that start now."""
        bound = copy.copy(self)
        bound._counts_before, bound._metadata = self._client.counts.copy(), set()
        return bound

    @override
    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        respond = partial(self._respond, anyio.Lock())
        try:
            with contextlib.closing(self._client.map(respond, requests)) as responses:
                for response in _until_hopeless(filter(None, responses)):
                    self._metadata |= response.response_metadata.items()
                    yield response
            # Only now, so that the answers to requests that were under way are stored.
            if self._limit is not None:
                raise self._limit
        except ModelError:
            self.check(OutputType.TEXT)
            raise

    @override
    def settings(self) -> dict[str, Any]:
        names = ("served_name", "concurrency", "timeout", "max_retries", "price", "max_cost")
        counts = {name: self._client.counts[name] - self._counts_before[name] for name in _COUNTS}
        asked: dict[str, float | None] = {**counts}
        if self._options.price is not None:
            cost = round(self._options.cost(counts["prompt_tokens"], counts["completion_tokens"]), 6)
            # Without the requests whose tokens the server did not count.
            is_known = counts["requests"] > counts["requests_without_usage"] or not counts["requests"]
            asked["cost"] = cost if is_known else None
        return {
            **self.identity(),
            **{name: sorted(value for key, value in self._metadata if key == name) for name in ("served", "prefill")},
            **{name: getattr(self._options, name) for name in names},
            "asked": asked,
        }

    async def _respond(self, lock: anyio.Lock, request: Request) -> Response | None:
        """The response to a request; None if it is not sent, as it might exceed the spending limit."""
        try:
            if self._limit is not None:
                return None
            # In a thread, because large images take long to encode.
            messages = await anyio.to_thread.run_sync(to_chat_messages, request, abandon_on_cancel=True)
            prefill = NO_PREFILL
            if request.prefill or request.continuations:
                # One request finds out how the server continues a reply, while the others wait.
                async with lock:
                    if not self._prefills:
                        self._prefills.append(await find_prefill(self._client, messages))
                prefill = self._prefills[0]
            question = _Question(self._client, request, messages, prefill)
            if request.words:
                return await self._logits(question, lock)
            if request.continuations:
                return await _losses(question)
            sampling = self._options.chat.sampling
            fields = {} if sampling is None else sampling.fields(repr((messages, request.prefill)), request.repeat)
            completion = await question.ask(max_tokens=request.max_new_tokens, **fields)
            (choice,) = completion.choices
            return question.respond(
                completion,
                text=prefill.rest(choice.text, request.prefill).strip(),
                reasoning=choice.reasoning or None,
                finish_reason=completion.finish_reason,
            )
        except DataError as error:
            return Response(request, error=error)
        except SpendingError as error:
            self._limit = error
            return None

    async def _logits(self, question: "_Question", lock: anyio.Lock) -> Response:
        completion = await question.ask(max_tokens=1, top_logprobs=self._options.top_logprobs)
        if not (tokens := completion.choices[0].tokens):
            raise EndpointError(f"{self._client.base_url} returned a reply without tokens")

        async def first_token(word: str) -> str | None:
            key = (question.request.prefill, word)
            async with lock:
                if key not in self._first_tokens:
                    self._first_tokens[key] = await question.first_token(completion, word)
            return self._first_tokens[key]

        logits, upper_bound_words = await find_words(tokens[0].likeliest, question.request, first_token)
        return question.respond(completion, logits=logits, upper_bound_words=upper_bound_words)


@dataclass(frozen=True)
class _Question:
    """A request in the form in which it is sent to a server."""

    client: ChatClient
    request: Request
    messages: Messages
    prefill: Prefill

    async def ask(
        self, more: str = "", *, max_tokens: int, top_logprobs: int | None = None, **extra: Any
    ) -> Completion:
        """Ask for the reply after the prefill and `more`."""
        messages, head = self.messages, self.request.prefill + more
        if head:
            messages, extra = self.prefill.messages(messages, head), {**self.prefill.extra, **extra}
        return await self.client.ask(messages, max_tokens=max_tokens, top_logprobs=top_logprobs, extra=extra)

    async def first_token(self, completion: Completion, word: str) -> str | None:
        """The text of a word's first token, "" if it is unknown; None if the word is a single token.

        `completion` is the reply without the word.
        """
        # vLLM and llama.cpp return the tokens of a text. With other servers, the length of a prompt that ends in the
        # word shows only whether it has more than one token.
        before, more = self.request.prefill, f" {word}"
        tokens, longer = await self.client.tokenize(before), await self.client.tokenize(before + more)
        if tokens and longer[: len(tokens)] == tokens and len(longer) > len(tokens):
            return longer[len(tokens)]
        extended = await self.ask(more, max_tokens=1)
        return "" if extended.usage.prompt_tokens - completion.usage.prompt_tokens > 1 else None

    def respond(self, *completions: Completion, **answer: Any) -> Response:
        """The response, with what is known only from the server's answers."""
        prefill = {"prefill": self.prefill.name} if self.prefill.name else {}
        usage = sum((Counter(completion.usage.model_dump()) for completion in completions), Counter[str]())
        return Response(
            self.request, **answer, usage=dict(usage), response_metadata={**completions[-1].metadata, **prefill}
        )


async def find_words(
    likeliest: Mapping[str, float], request: Request, first_token: Callable[[str], Awaitable[str | None]]
) -> tuple[dict[str, float], tuple[str, ...]]:
    """The log-probability of each word's first token, and the words for which it is only an upper bound.

    `likeliest` has those of the most probable tokens at one position. A word whose token is not among them gets the
    smallest; an optional word is left out if it begins with the same token as another.
    """
    values = {token: value for token, value in likeliest.items() if value > _NO_VALUE} or dict(likeliest)
    lowest = min(values.values())
    if lowest == -math.inf:
        raise EndpointError("the server returned a probability of 0 for each of the most probable tokens")
    tokens: dict[str, str | None] = {}
    for word in request.all_words:
        # A space comes before a word in the reply; whether one opens a reply is unknown, so the more probable counts.
        matches = [text for text in (f" {word}", word) if text in values]
        beginnings = [text for text in values if text.strip() and f" {word}".startswith((text, f" {text}"))]
        if not request.prefill:
            matches.sort(key=lambda text: -values[text])
        elif beginnings and not matches and (first := await first_token(word)) is not None:
            # vLLM shows the space of a SentencePiece token in one of the two places only.
            texts = [first, first.lstrip()] if first else sorted(beginnings, key=len, reverse=True)
            matches = [text for text in texts if text in beginnings]
        tokens[word] = next(iter(matches), None)
    words = distinct_words(tokens, request.words)
    logits = {word: lowest if (token := tokens[word]) is None else values[token] for word in words}
    return logits, tuple(word for word in words if tokens[word] is None)


async def _losses(question: _Question) -> Response:
    """The loss of each continuation: of the tokens that a prompt with it has after those of a prompt without it."""
    prefill = question.request.prefill
    # Only the prompt's own tokens, without more probable ones.
    completions = [await question.ask(max_tokens=1, prompt_logprobs=0)]
    before = _prompt_tokens(question.client, completions[0])
    losses = []
    for continuation in question.request.continuations:
        more = joined(prefill, continuation)[len(prefill) :]
        completions.append(await question.ask(more, max_tokens=1, prompt_logprobs=0))
        tokens = _prompt_tokens(question.client, completions[-1])
        values = [value for _, value in tokens[len(before) :]]
        if not values or [id for id, _ in tokens[: len(before)]] != [id for id, _ in before]:
            raise inseparable(question.client.model, continuation)
        if min(values) <= _NO_VALUE:
            raise EndpointError(f"the server returned a probability of 0 for '{continuation}'")
        losses.append(Loss(-sum(values), len(values)))
    return question.respond(*completions, losses=tuple(losses))


def _prompt_tokens(client: ChatClient, completion: Completion) -> list[tuple[str, float]]:
    """Id and log-probability of each token of the prompt except the first, which has no log-probability."""
    if not completion.prompt_logprobs:
        raise ModelError(f"model '{client.model}': {client.base_url} returns no prompt_logprobs. {NO_PROMPT_LOGPROBS}.")
    # The prompt's own token comes first at each position.
    own_tokens = [next(iter(tokens.items())) for tokens in completion.prompt_logprobs if tokens]
    return [(id, token.logprob) for id, token in own_tokens]


def _until_hopeless(responses: Iterable[Response]) -> Iterator[Response]:
    """The responses; raises `ModelError` if the first `FIRST_FAILURES` requests failed in the same way."""
    reasons = deque[str](maxlen=FIRST_FAILURES)
    is_answered = False
    for response in responses:
        is_answered |= response.error is None
        if not is_answered and isinstance(response.error, EndpointError):
            # Without numbers, because counts of tokens and retries differ.
            reasons.append(re.sub(r"\d+", "0", response.error.reason))
            if reasons.count(reasons[0]) == FIRST_FAILURES:
                raise ModelError(
                    f"stopped, because the first {FIRST_FAILURES} requests all failed in the same way: "
                    f"{response.error}."
                )
        yield response


def to_chat_messages(request: Request) -> list[dict[str, Any]]:
    """One user turn of texts and images (data URLs), without the prefill; raises `BadImageError` for a bad image."""
    images = [{"type": "image_url", "image_url": {"url": data_url(image)}} for image in request.images]
    return [user_turn(request, images)]


def data_url(source: Any) -> str:
    """The image file unchanged, so that the server decodes it in its way; a PIL image, which has no file, as PNG."""
    if isinstance(source, Image.Image):
        buffer = io.BytesIO()
        source.convert("RGB").save(buffer, "PNG")
        data, kind = buffer.getvalue(), "image/png"
    else:
        data, kind = encoded_image(source.read() if hasattr(source, "read") else source)
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"
