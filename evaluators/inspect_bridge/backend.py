"""A model of inspect-ai as a backend and as a judge, for threads that inspect's event loop started."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import anyio.from_thread
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    Content,
    ContentImage,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    Model,
    ModelOutput,
)
from typing_extensions import override

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.backends.chat import user_turn
from eyechart.evaluators.backends.endpoint.backend import data_url, find_words
from eyechart.evaluators.inspect_bridge.providers import CONTINUING, HINT
from eyechart.evaluators.requests.errors import EndpointError, ModelError
from eyechart.evaluators.requests.types import Backend, OutputType, Request, Response
from eyechart.metrics.scoring.judging.prompts import Messages
from eyechart.metrics.scoring.reasoning import CONTENT_FILTER, LENGTH, STOP

_FINISH_REASONS = {"stop": STOP, "max_tokens": LENGTH, "model_length": LENGTH, "content_filter": CONTENT_FILTER}
_MOST_LOGPROBS = 20


class InspectBackend(Backend):
    """Asks a model of inspect-ai; keeps what was said."""

    billed_per_request = True
    samples = True

    def __init__(self, model: Model) -> None:
        """Ask nothing yet."""
        self.name = str(model)
        self._model = model
        # A provider of one's own is one's own responsibility.
        is_theirs = type(model.api).__module__.startswith("inspect_ai.")
        self._continues = not is_theirs or self.name.partition("/")[0] in CONTINUING
        self.messages: list[ChatMessage] = []
        """All conversations, one after the other."""
        self.outputs: list[ModelOutput] = []

    @override
    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        for request in requests:
            try:
                yield self._logits(request) if request.words else self._reply(request)
            except DataError as error:
                yield Response(request, error=error)

    @override
    def settings(self) -> dict[str, Any]:
        return {"backend": "inspect-ai", "name": self.name}

    def _ask(self, request: Request, config: GenerateConfig) -> ModelOutput:
        if request.prefill and not self._continues:
            reason = f"inspect-ai's provider of {self.name} begins a new one"
            raise ModelError(f"the task needs a model that continues the reply {request.prefill!r}; {reason}; {HINT}")
        messages = to_inspect(request)
        output: ModelOutput = anyio.from_thread.run(_generate, self._model, messages, config)
        if output.error or not output.choices:
            raise EndpointError(f"{self.name} gave no reply: {output.error or 'the output is empty'}")
        self.messages += [*messages, output.message]
        self.outputs.append(output)
        return output

    def _reply(self, request: Request) -> Response:
        output = self._ask(request, GenerateConfig(max_tokens=request.max_new_tokens))
        content = output.message.content
        thoughts = [part.reasoning for part in content if isinstance(part, ContentReasoning)] if content else []
        return Response(
            request,
            text=output.completion.removeprefix(request.prefill).strip(),
            reasoning="\n".join(thoughts) or None,
            finish_reason=_FINISH_REASONS.get(output.stop_reason),
        )

    def _logits(self, request: Request) -> Response:
        output = self._ask(request, GenerateConfig(max_tokens=1, logprobs=True, top_logprobs=_MOST_LOGPROBS))
        tokens = output.choices[0].logprobs
        if tokens is None or not tokens.content or not tokens.content[0].top_logprobs:
            raise ModelError(f"the task needs {OutputType.LOGITS.value}, and {self.name} returned none; {HINT}")
        likeliest = {top.token: top.logprob for top in reversed(tokens.content[0].top_logprobs)}
        logits, bounds = anyio.from_thread.run(find_words, likeliest, request, _unknown_token)
        if set(request.words) <= set(bounds):
            others = ", ".join(map(repr, list(likeliest)[-5:]))
            raise ModelError(f"{self.name} gave none of the words {', '.join(request.words)}, but {others}")
        return Response(request, logits=logits, upper_bound_words=bounds)


@dataclass(frozen=True)
class InspectJudge:
    """A model of inspect-ai as a judge."""

    model: Model

    @property
    def name(self) -> str:
        """Its name in results."""
        return str(self.model)

    def __call__(self, messages: Messages, n: int) -> list[str]:
        """Ask n times."""
        kinds = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
        said = [kinds[message["role"]](content=message["content"]) for message in messages]
        return [anyio.from_thread.run(_generate, self.model, said, GenerateConfig()).completion for _ in range(n)]


async def _generate(model: Model, messages: list[ChatMessage], config: GenerateConfig) -> ModelOutput:
    return await model.generate(messages, config=config)


async def _unknown_token(word: str) -> str | None:
    return None


def to_inspect(request: Request, *, images: Iterable[str] | None = None) -> list[ChatMessage]:
    """The messages of a request, with its images as data URLs, unless paths or addresses are given for them.

    A begun reply is an assistant message at the end.
    """
    if images is None:
        images = map(data_url, request.images)
    turn = user_turn(request, ({"image": image} for image in images))
    content: list[Content] = [
        ContentImage(image=part["image"]) if "image" in part else ContentText(text=part["text"])
        for part in turn["content"]
    ]
    begun = [ChatMessageAssistant(content=request.prefill)] if request.prefill else []
    return [ChatMessageUser(content=content), *begun]
