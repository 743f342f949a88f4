"""A model behind an OpenAI-compatible chat-completions server: vLLM, SGLang, llama.cpp, `transformers serve`, OpenAI.

Servers silently ignore fields that they do not know. The answers are therefore checked: exactly one reply,
log-probabilities if requested, and the continuation of a prefilled reply.
"""

import base64
import contextlib
import copy
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import anyio
import anyio.to_thread
from PIL import Image

from eyechart.datasets_scripts.common.errors import DataError, EndpointError, ModelError
from eyechart.datasets_scripts.common.images import encoded_image
from eyechart.evaluators.backends.chat import joined
from eyechart.evaluators.backends.endpoint.client import ChatClient, Messages, ServerRecord
from eyechart.evaluators.backends.endpoint.completion import Completion, Usage
from eyechart.evaluators.backends.endpoint.failures import NO_PROMPT_LOGPROBS
from eyechart.evaluators.backends.endpoint.options import EndpointOptions, read_key
from eyechart.evaluators.backends.endpoint.prefill import Prefill, find_prefill
from eyechart.evaluators.backends.endpoint.refused_parameters import DROPPED, PROVIDER, SEPARATOR
from eyechart.evaluators.backends.endpoint.words import find_words, plain
from eyechart.evaluators.requests.types import IMAGE, Backend, Loss, OutputType, Request, Response

if TYPE_CHECKING:
    from eyechart.evaluators.backends.endpoint.serving import Server

FIRST_FAILURES = 5
"""If this many requests fail in the same way and none has succeeded, no more are sent."""
_COUNTS = ("requests", "retries", "prompt_tokens", "completion_tokens")
# Only the prompt's own tokens, without more probable ones.
_PROMPT_LOGPROBS: dict[str, Any] = {"prompt_logprobs": 0}
# What vLLM writes in place of the logarithm of a probability of 0.
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
        """Check address and key; nothing is sent.

        Raises:
            UsageError: The address or the key is malformed.
        """
        self._model = model
        self._options = options or EndpointOptions()
        self._server = server
        self.samples = self._options.chat.sampling is not None
        self._base_url = self._options.address
        read_key()
        self._record = ServerRecord()
        self._counts_before = Counter[str]()
        self._prefills: dict[OutputType, Prefill] = {}
        self._prefills_used: set[str] = set()
        self._first_tokens: dict[tuple[str, str], str | bool] = {}

    @property
    def name(self) -> str:
        """The model's name on the server."""
        return self._model

    def check(self, output_type: OutputType) -> None:
        """Raise `ModelError` if the run's server has ended; what a server can give is known only from its answers."""
        if self._server is not None:
            self._server.check()

    def identity(self) -> dict[str, Any]:
        """Model, server and decoding."""
        serve = self._options.serve
        return {
            "backend": "openai",
            "name": self.name,
            **({"base_url": self._base_url} if serve is None else {"serve": dict(serve)}),
            "decoding": PROVIDER if "temperature" in self._options.removed else self._options.chat.decoding,
            "top_logprobs": self._options.top_logprobs,
            **self._options.asked(),
        }

    def for_data(self, dataset: str) -> Self:
        """The same backend, with counts that start now."""
        bound = copy.copy(self)
        bound._counts_before, bound._prefills_used = self._record.counts.copy(), set()
        return bound

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        """Send requests concurrently and yield each response when it arrives.

        Raises:
            ModelError: The server refuses the key or the model, cannot be reached, cannot give the requested output,
                fails in the same way from the first request on, or was started by this run and has ended.
        """
        model = self._model if self._options.serve is None else self._options.served_name or self._model
        client = ChatClient(model, self._options, self._record)
        respond = partial(self._respond, client, anyio.Lock())
        try:
            with contextlib.closing(client.map(respond, requests)) as responses:
                for response in _until_hopeless(responses):
                    if response.error is not None:
                        self.check(response.request.output_type)
                    yield response
        except ModelError:
            self.check(OutputType.TEXT)
            raise

    def settings(self) -> dict[str, Any]:
        """Model, server, decoding, and the counts of requests and tokens since `for_data`.

        `served` lists the model names in the server's answers, and `prefill` how the server continues a prefilled
        reply. Responses carry these too, so that they are correct for stored responses, and the parameters that were
        dropped because the server refuses them. The counted requests include those that test prefilled replies.
        """
        return {
            **self.identity(),
            "served": sorted(self._record.served),
            "served_name": self._options.served_name,
            "prefill": sorted(self._prefills_used),
            "concurrency": self._options.concurrency,
            "timeout": self._options.timeout,
            "max_retries": self._options.max_retries,
            "asked": {name: self._record.counts[name] - self._counts_before[name] for name in _COUNTS},
        }

    async def _respond(self, client: ChatClient, lock: anyio.Lock, request: Request) -> Response:
        try:
            # In a thread, because large images take long to encode.
            messages = await anyio.to_thread.run_sync(to_chat_messages, request, abandon_on_cancel=True)
            prefill = None
            if request.prefill or request.continuations:
                # One request finds out how the server continues a reply, while the others wait.
                async with lock:
                    prefill = await self._prefill(client, request, messages)
            question = _Question(client, request, messages, prefill)
            if request.words:
                return await self._logits(question, lock)
            if request.continuations:
                return await _losses(question)
            sampling = self._options.chat.sampling
            fields = {} if sampling is None else sampling.fields(request.repeat)
            completion = await question.ask(max_tokens=request.max_new_tokens, **fields)
            (choice, *_) = completion.choices
            return question.respond(
                completion,
                text=question.text(choice.text),
                reasoning=choice.message.reasoning or None,
                finish_reason=completion.finish_reason,
            )
        except DataError as error:
            return Response(request, error=error)

    async def _prefill(self, client: ChatClient, request: Request, messages: Messages) -> Prefill:
        """How the server continues a prefilled reply."""
        output_type = request.output_type
        if output_type not in self._prefills:
            top_logprobs = None if output_type is OutputType.TEXT else self._options.top_logprobs
            self._prefills[output_type] = await find_prefill(client, messages, top_logprobs)
        self._prefills_used.add(self._prefills[output_type].name)
        return self._prefills[output_type]

    async def _logits(self, question: "_Question", lock: anyio.Lock) -> Response:
        completion = await question.ask(max_tokens=1, top_logprobs=self._options.top_logprobs)
        tokens = completion.choices[0].tokens
        if not tokens:
            raise EndpointError(f"{self._base_url} returned a reply without tokens")

        async def first_token(word: str, beginnings: Sequence[str]) -> str | None:
            # Without a prefilled reply, the word cannot be put into the prompt.
            if question.prefill is None:
                return None
            key = (question.request.prefill, word)
            async with lock:
                if key not in self._first_tokens:
                    self._first_tokens[key] = await _first_token(question, completion, word)
            first = self._first_tokens[key]
            if isinstance(first, str):
                # vLLM shows the space of a SentencePiece token in one of the two places only.
                return next((text for text in (first, first.lstrip()) if text in beginnings), None)
            return max(beginnings, key=len) if first else None

        logits, upper_bound_words = await find_words(tokens[0].likeliest, question.request, first_token)
        return question.respond(completion, logits=logits, upper_bound_words=upper_bound_words)


@dataclass(frozen=True)
class _Question:
    """A request in the form in which it is sent to a server; `prefill` is None without a prefilled reply."""

    client: ChatClient
    request: Request
    messages: Messages
    prefill: Prefill | None

    async def ask(
        self, more: str = "", *, max_tokens: int, top_logprobs: int | None = None, **extra: Any
    ) -> Completion:
        """Ask for the reply after the prefill and `more`."""
        messages, head = self.messages, self.request.prefill + more
        if self.prefill is not None and head:
            messages, extra = self.prefill.messages(messages, head), {**self.prefill.extra, **extra}
        return await self.client.ask(messages, max_tokens=max_tokens, top_logprobs=top_logprobs, extra=extra)

    def text(self, reply: str) -> str:
        """The reply after the prefill."""
        return (reply if self.prefill is None else self.prefill.rest(reply, self.request.prefill)).strip()

    def respond(self, *completions: Completion, **answer: Any) -> Response:
        """The response, with the settings that are known only from the server's answers."""
        metadata = {
            "served": completions[0].model,
            "prefill": None if self.prefill is None else self.prefill.name,
            DROPPED: SEPARATOR.join(sorted(frozenset[str]().union(*(answer.dropped for answer in completions)))),
        }
        usage = Counter[str]()
        for completion in completions:
            usage.update(completion.usage.model_dump() if completion.usage else {})
        known = {name: value for name, value in metadata.items() if value}
        return Response(self.request, **answer, usage=dict(usage), response_metadata=known)


async def _first_token(question: _Question, completion: Completion, word: str) -> str | bool:
    """The text of a word's first token, or whether the word has several tokens if the server does not return them.

    vLLM and llama.cpp return the tokens of a text at `/tokenize`. With other servers, the length of a prompt that ends
    in the word shows only that the word has more than one token. The longest returned token with which the word begins
    is then assumed to be its first token. This is wrong if the tokenizer splits the word after a shorter token.
    """
    before, more = question.request.prefill, f" {word}"
    tokens, first = await question.client.tokenize(before), await question.client.tokenize(before + more)
    if tokens is not None and first is not None and first[: len(tokens)] == tokens and len(first) > len(tokens):
        return plain(first[len(tokens)])
    longer = await question.ask(more, max_tokens=1)
    return (longer.usage or Usage()).prompt_tokens - (completion.usage or Usage()).prompt_tokens > 1


async def _losses(question: _Question) -> Response:
    """The loss of each continuation, from the log-probabilities that vLLM returns for a prompt's tokens.

    Two prompts are compared: one with the text as part of a prefilled reply, and one without it. The text's tokens are
    those at the end of the first prompt that the second does not have, as with a local model.
    """
    prefill = question.request.prefill
    completions = [await question.ask(max_tokens=1, **_PROMPT_LOGPROBS)]
    before = _prompt_tokens(question, completions[0])
    losses = []
    for continuation in question.request.continuations:
        more = joined(prefill, continuation)[len(prefill) :]
        completions.append(await question.ask(more, max_tokens=1, **_PROMPT_LOGPROBS))
        tokens = _prompt_tokens(question, completions[-1])
        values = [value for _, value in tokens[len(before) :]]
        if not values or [token for token, _ in tokens[: len(before)]] != [token for token, _ in before]:
            raise ModelError(
                f"model '{question.client.model}': the tokens of '{continuation}' cannot be separated from those of "
                "the text before it."
            )
        if min(values) <= _NO_VALUE:
            raise EndpointError(f"the server returned a probability of 0 for '{continuation}'")
        losses.append(Loss(-sum(values), len(values)))
    return question.respond(*completions, losses=tuple(losses))


def _prompt_tokens(question: _Question, completion: Completion) -> list[tuple[str, float]]:
    """Id and log-probability of each token of the prompt except the first, which has no log-probability."""
    positions = completion.prompt_logprobs
    if not positions:
        client = question.client
        raise ModelError(f"model '{client.model}': {client.base_url} returns no prompt_logprobs. {NO_PROMPT_LOGPROBS}.")
    # The prompt's own token comes first at each position.
    return [next((id, token.logprob) for id, token in tokens.items()) for tokens in positions if tokens]


def _until_hopeless(responses: Iterable[Response]) -> Iterator[Response]:
    """The responses; raises `ModelError` if the first `FIRST_FAILURES` requests failed in the same way."""
    way, count, is_answered = "", 0, False
    for response in responses:
        is_answered |= response.error is None
        if not is_answered and isinstance(response.error, EndpointError):
            # Without numbers, because counts of tokens and retries differ.
            before, way = way, re.sub(r"\d+", "0", response.error.reason)
            count = count + 1 if way == before else 1
            if count >= FIRST_FAILURES:
                raise ModelError(
                    f"stopped, because the first {count} requests all failed in the same way: {response.error}."
                )
        yield response


def to_chat_messages(request: Request) -> list[dict[str, Any]]:
    """One user turn with texts and images, as data URLs, in the prompt's order, without the prefilled reply.

    Raises:
        BadImageError: An image cannot be read. It is checked here, because servers report it in many ways or not.
    """
    images = iter(request.images)
    content = [
        {"type": "image_url", "image_url": {"url": _data_url(next(images))}}
        if part is IMAGE
        else {"type": "text", "text": part}
        for part in request.prompt
    ]
    return [{"role": "user", "content": content}]


def _data_url(source: Any) -> str:
    """The image file unchanged, as a data URL; a PIL image, which has no file, is encoded as PNG.

    The server decides how to decode the file, for example whether it applies the EXIF orientation.
    """
    if isinstance(source, Image.Image):
        buffer = io.BytesIO()
        source.convert("RGB").save(buffer, "PNG")
        data, kind = buffer.getvalue(), "image/png"
    else:
        data, kind = encoded_image(source.read() if hasattr(source, "read") else source)
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"
