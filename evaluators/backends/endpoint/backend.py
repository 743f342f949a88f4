"""A model behind an OpenAI-compatible chat-completions server: vLLM, SGLang, llama.cpp, `transformers serve`, OpenAI.

Servers silently ignore fields that they do not know. The answers are therefore checked: exactly one reply,
log-probabilities if requested, and the continuation of a prefilled reply.
"""

import copy
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Self

from eyechart.datasets_scripts.common.errors import DataError, EndpointError
from eyechart.evaluators.backends.endpoint.client import ChatClient, Messages, ServerRecord, read_key, resolve_address
from eyechart.evaluators.backends.endpoint.failures import FirstFailures
from eyechart.evaluators.backends.endpoint.first_tokens import FirstTokens
from eyechart.evaluators.backends.endpoint.losses import check_losses, respond_with_losses
from eyechart.evaluators.backends.endpoint.messages import to_chat_messages
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.backends.endpoint.prefill import Way, find_way
from eyechart.evaluators.backends.endpoint.question import Question
from eyechart.evaluators.backends.endpoint.refused_parameters import PROVIDER
from eyechart.evaluators.backends.endpoint.thread_pool import map_unordered
from eyechart.evaluators.backends.endpoint.words import find_words
from eyechart.evaluators.requests.types import Backend, OutputType, Request, Response


class OpenAIBackend(Backend):
    """Answers with a model on a server, with greedy decoding unless the options set sampling or the server refuses it.

    Args:
        model: The model's name on the server.
        options: Options of the server; the defaults use OpenAI's.
    """

    billed_per_request = True

    def __init__(self, model: str, options: EndpointOptions | None = None) -> None:
        """Check address and key; nothing is sent.

        Raises:
            UsageError: The address or the key is malformed.
        """
        self._model = model
        self._options = options or EndpointOptions()
        self.samples = self._options.chat.sampling is not None
        self._base_url = resolve_address(self._options)
        read_key()
        self._record = ServerRecord()
        self._asked_before = self._record.totals()
        self._ways: dict[OutputType, Way] = {}
        self._ways_used: set[str] = set()
        self._first_tokens = FirstTokens()

    @property
    def name(self) -> str:
        """The model's name on the server."""
        return self._model

    def check(self, output_type: OutputType) -> None:
        """Refuse nothing: what the server can give is known only from its answers."""
        return

    def identity(self) -> dict[str, Any]:
        """Model, server and decoding."""
        serve = self._options.serve
        return {
            "backend": "openai",
            "name": self.name,
            **({"base_url": self._base_url} if serve is None else {"serve": serve.settings()}),
            "decoding": PROVIDER if "temperature" in self._options.removed else self._options.chat.decoding,
            "top_logprobs": self._options.top_logprobs,
            **self._options.asked(),
        }

    def for_data(self, dataset: str) -> Self:
        """The same backend, with counts that start now."""
        bound = copy.copy(self)
        bound._asked_before, bound._ways_used = self._record.totals(), set()
        return bound

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        """Send requests concurrently and yield each response when it arrives.

        Raises:
            ModelError: The server refuses the key or the model, cannot be reached, cannot give the requested output, or
                fails in the same way from the first request on.
        """
        asked_for = self._model if self._options.serve is None else self._options.served_name or self._model
        with ChatClient(asked_for, self._options, self._record) as client:
            # A new lock for each call: threads abandoned by an earlier call may still hold theirs.
            respond = partial(self._respond, client, threading.Lock())
            first_failures = FirstFailures()
            for response in map_unordered(respond, requests, self._options.concurrency):
                first_failures.count(response.error)
                yield response

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
            "prefill": sorted(self._ways_used),
            "concurrency": self._options.concurrency,
            "timeout": self._options.timeout,
            "max_retries": self._options.max_retries,
            "asked": {name: count - self._asked_before[name] for name, count in self._record.totals().items()},
        }

    def _respond(self, client: ChatClient, lock: threading.Lock, request: Request) -> Response:
        try:
            messages = to_chat_messages(request)
            question = Question(client, lock, request, messages, self._way(client, lock, request, messages))
            if request.words:
                return self._score(question)
            if request.continuations:
                return respond_with_losses(question)
            sampling = self._options.chat.sampling
            fields = {} if sampling is None else sampling.fields(request.repeat)
            completion = question.ask(max_tokens=request.max_new_tokens, extra=fields)
            (choice, *_) = completion.choices
            return question.respond(
                completion,
                text=question.text(choice),
                reasoning=choice.message.reasoning or None,
                finish_reason=completion.finish_reason,
            )
        except DataError as error:
            return Response(request, error=error)

    def _score(self, question: Question) -> Response:
        request = question.request
        completion = question.ask(max_tokens=1, top_logprobs=self._options.top_logprobs)
        tokens = completion.choices[0].tokens
        if not tokens:
            raise EndpointError(f"{self._base_url} returned a reply without tokens")

        logits, upper_bound_words = find_words(
            tokens[0].likeliest,
            request.words,
            partial(self._first_tokens.choose, question, completion),
            optional=request.optional_words,
            opens_reply=not request.prefill,
        )
        return question.respond(completion, logits=logits, upper_bound_words=upper_bound_words)

    def _way(self, client: ChatClient, lock: threading.Lock, request: Request, messages: Messages) -> Way | None:
        """How the server continues a prefilled reply; None without a prefilled reply."""
        wants_text = request.output_type is OutputType.TEXT
        if not request.prefill and not request.continuations:
            return None
        # One request tests it while the others wait.
        with lock:
            if request.output_type not in self._ways:
                if request.continuations:
                    check_losses(client, messages)
                top_logprobs = None if wants_text else self._options.top_logprobs
                self._ways[request.output_type] = find_way(client, messages, top_logprobs)
            way = self._ways[request.output_type]
            self._ways_used.add(way.name)
            return way
