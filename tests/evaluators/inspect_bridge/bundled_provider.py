"""The bundled model as a provider of inspect-ai: `bundled/tiny`, and `bundled/silent` without log-probabilities."""

import base64
import functools
import math
from typing import Any

import anyio
import anyio.to_thread
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    GenerateConfig,
    Logprob,
    Logprobs,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    TopLogprob,
    modelapi,
)

from eyechart.evaluators.backends import resolve_backend
from eyechart.evaluators.requests.types import IMAGE, Request

WORDS = ("good", "poor", "fine", "bad", "high", "low")
_USAGE = ModelUsage(input_tokens=10, output_tokens=1, total_tokens=11)


@functools.cache
def bundled_model() -> Any:
    return resolve_backend(None)


@modelapi(name="bundled")
class Bundled(ModelAPI):
    """Answers one request after the other."""

    def __init__(
        self, model_name: str, base_url: Any = None, api_key: Any = None, config: Any = None, **arguments: Any
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config or GenerateConfig())
        self._lock = anyio.Lock()

    async def generate(self, input: Any, tools: Any, tool_choice: Any, config: GenerateConfig) -> ModelOutput:
        user, *begun = input
        prompt = tuple(IMAGE if part.type == "image" else part.text for part in user.content)
        images = [base64.b64decode(part.image.partition(",")[2]) for part in user.content if part.type == "image"]
        request = Request(
            "item",
            prompt,
            tuple({"bytes": data, "path": None} for data in images),
            prefill=begun[0].text if begun else "",
            words=WORDS if config.logprobs else (),
            max_new_tokens=config.max_tokens or 32,
        )
        async with self._lock:
            (response,) = await anyio.to_thread.run_sync(lambda: list(bundled_model().answer([request])))
        assert response.error is None
        if response.logits is None or self.model_name == "silent":
            reason = "max_tokens" if response.finish_reason == "length" else "stop"
            output = ModelOutput.from_content("bundled", response.text or "good", stop_reason=reason)
            output.usage = _USAGE
            return output
        # Of these words only, which changes all log-probabilities by the same amount.
        total = math.log(sum(map(math.exp, response.logits.values())))
        top = [TopLogprob(token=f" {word}", logprob=value - total) for word, value in response.logits.items()]
        top.sort(key=lambda each: -each.logprob)
        first = Logprob(token=top[0].token, logprob=top[0].logprob, top_logprobs=top)
        message = ChatMessageAssistant(content=top[0].token)
        choice = ChatCompletionChoice(message=message, logprobs=Logprobs(content=[first]))
        return ModelOutput(model="bundled", choices=[choice], usage=_USAGE)
