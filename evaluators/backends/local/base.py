"""What both kinds of local models do with requests: prepare them ahead; go on if memory runs out or an item fails."""

import math
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeVar

from eyechart.datasets_scripts.common.errors import DataError, EyechartError, UsageError
from eyechart.evaluators.backends.local.image_groups import PreparedRequests, Preparer, PromptRenderer, model_failure
from eyechart.evaluators.backends.local.loading import Origin
from eyechart.evaluators.backends.local.rendering import RenderedPrompt
from eyechart.evaluators.requests.types import Answer, Backend, Request, Response
from eyechart.metrics.scoring.reasoning import opens_reasoning

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
# Batches that are prepared together: more of them fill batches better but keep more images in memory.
_BATCHES_PLANNED = 4
# Parameters.
_SMALL = 100_000_000
# Settings that do not change replies, or that the fingerprint covers.
_WITHOUT_EFFECT = frozenset({"batch_size", "prefix_sharing", "revision", "name", "device_map"})


class LocalBackend(Backend):
    """A transformers model on this machine.

    `batch_size` is in sequences, or images, per forward pass, and is halved, for the rest of the run, when memory runs
    out. None is 64, or 8 for a model of over 100 million parameters on a CPU, where more is not faster.
    """

    def __init__(
        self,
        model: "PreTrainedModel",
        make_renderer: Callable[[], PromptRenderer],
        *,
        name: str,
        batch_size: int | None,
        origin: Origin | None,
    ) -> None:
        """Raise `UsageError` for a batch size below 1."""
        if batch_size is not None and batch_size < 1:
            raise UsageError(f"batch_size={batch_size} is not allowed; it must be at least 1, or None to choose it.")
        self.name = name
        # Switches off dropout, which may still be on after training.
        self._model = model.eval()
        self._origin = origin or Origin()
        on_cpu = model.device.type == "cpu"
        self._batch_size = batch_size or (8 if on_cpu and model.num_parameters() > _SMALL else 64)
        # A CPU is needed by the model itself.
        self._preparer = Preparer(make_renderer, workers=1 if on_cpu else min(8, os.cpu_count() or 1))

    def identity(self) -> dict[str, Any] | None:
        """The model's weights, dtype and preprocessing; None if its weights are unknown."""
        if self._origin.fingerprint is None:
            return None
        import transformers

        with_effect = {name: value for name, value in self.settings().items() if name not in _WITHOUT_EFFECT}
        return {**with_effect, "fingerprint": self._origin.fingerprint, "transformers": transformers.__version__}

    def _windows(self, requests: Sequence[Request]) -> Generator[PreparedRequests]:
        return self._preparer.windows(requests, _BATCHES_PLANNED * self._batch_size)

    def _respond(
        self,
        window: PreparedRequests,
        prompts: Sequence[RenderedPrompt],
        run: Callable[[Sequence[RenderedPrompt], int], Sequence[Answer]],
    ) -> Iterator[Response]:
        """Respond to the requests of prompts; `run` takes prompts and a batch size, and gives each prompt's answer."""

        def run_in_batches(prompts: Sequence[RenderedPrompt]) -> Sequence[Answer]:
            answers, self._batch_size = fitting(partial(run, prompts), self._batch_size)
            return answers

        # A request for losses has several prompts, one for each continuation.
        for _, results in groupby(each_alone(prompts, run_in_batches), key=lambda result: id(result[0].request)):
            (prompt, *_), outputs = zip(*results, strict=True)
            # Unknown if the processor tiles several images differently from a single one, which was counted.
            downscaled = [window.inputs[key].downscaled if prompt.is_placed else None for key in prompt.images]
            yield make_response(prompt.request, prompt.text, outputs, downscaled)


def make_response(request: Request, prompt: str, outputs: Sequence[Any], downscaled: Sequence[bool | None]) -> Response:
    """The response to a request, from the outputs of its sequences: its text, logits or losses, or an error."""
    answer = outputs[0]
    if errors := [output for output in outputs if isinstance(output, DataError)]:
        return Response(request, error=errors[0])
    losses = [loss for output in outputs for loss in output.losses or ()]
    values = [loss.total for loss in losses] or [*(answer.logits or {}).values()]
    if not all(map(math.isfinite, values)):
        kind = "losses of the continuations" if losses else f"logits of {', '.join(answer.logits)}"
        return Response(request, error=DataError(f"the model's {kind} are {values}"))
    # If the prompt itself opens the reasoning, the reply has no opening tag.
    is_open = answer.text is not None and opens_reasoning(prompt)
    return Response(
        request,
        text=f"<think>{answer.text}" if is_open else answer.text,
        finish_reason=answer.finish_reason,
        logits=answer.logits,
        losses=tuple(losses) or None,
        rendered_prompt=prompt,
        images_downscaled=None if None in downscaled else sum(map(bool, downscaled)),
    )


def fitting(run: Callable[[int], _Result], batch_size: int) -> tuple[_Result, int]:
    """Run with half the batch size each time memory runs out; returns the result and the size that fitted."""
    from accelerate.utils.memory import clear_device_cache, should_reduce_batch_size

    while True:
        try:
            return run(batch_size), batch_size
        except RuntimeError as error:
            if not should_reduce_batch_size(error):
                raise
            if batch_size == 1:
                raise MemoryError(f"out of memory even with batch size 1: {error}") from error
        # Outside of `except`, where the traceback's frames hold the tensors that filled the memory.
        clear_device_cache(garbage_collection=True)
        batch_size //= 2


def each_alone(
    items: Sequence[_Item], run: Callable[[Sequence[_Item]], Sequence[_Result]]
) -> Iterator[tuple[_Item, _Result | DataError]]:
    """Run items together or, if that fails, one by one, and yield each in order with its result or the error.

    An EyechartError concerns all items and is raised.
    """
    results: Sequence[_Result | DataError] | None = None
    try:
        results = run(items) if items else ()
    except EyechartError:
        raise
    # Models can raise any kind of error.
    except Exception as error:
        if len(items) == 1:
            results = [model_failure(error)]
    # Outside of `except`, as in `fitting`.
    if results is None:
        for item in items:
            yield from each_alone([item], run)
    else:
        yield from zip(items, results, strict=True)
