"""Prepares requests ahead of the model: groups that begin with the same image are rendered in worker threads."""

import math
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from PIL import Image

from eyechart.datasets_scripts.common.errors import BadImageError, DataError, EyechartError
from eyechart.evaluators.backends.chat import decode_image
from eyechart.evaluators.backends.local.recovery import model_failure
from eyechart.evaluators.backends.local.rendering import ImageInputs, RenderedPrompt
from eyechart.evaluators.requests.keys import digest_or_none, image_digest
from eyechart.evaluators.requests.types import OutputType, Request, Response
from eyechart.metrics.scoring.reasoning import LENGTH, STOP, opens_reasoning

_MOST_BYTES = 2**30


@dataclass
class PreparedRequests:
    """Requests that are ready for the model; `failed` are error responses to those that could not be prepared.

    `sources` are the images by key, as given: not decoded, because decoded images could fill the memory.
    """

    prompts: list[RenderedPrompt] = field(default_factory=list)
    sources: dict[str, Any] = field(default_factory=dict)
    inputs: dict[str, ImageInputs] = field(default_factory=dict)
    failed: list[Response] = field(default_factory=list)

    @property
    def nbytes(self) -> int:
        """Size of the pixels."""
        return sum(tensor.nbytes for inputs in self.inputs.values() for tensor in inputs.tensors.values())

    def add(self, other: "PreparedRequests") -> None:
        """Add others."""
        self.prompts += other.prompts
        self.sources |= other.sources
        self.inputs |= other.inputs
        self.failed += other.failed


class _Renderer(Protocol):
    """What `Renderer` does; each thread has its own."""

    def image(self, image: Image.Image) -> ImageInputs: ...

    def prompts(
        self, request: Request, images: list[Image.Image], keys: tuple[str, ...], sizes: Sequence[int]
    ) -> list[RenderedPrompt]: ...

    def forget_images(self) -> None: ...


def default_workers(device_type: str) -> int:
    """Threads that prepare images: 1 on a CPU, which the model needs itself, otherwise up to 8."""
    return 1 if device_type == "cpu" else min(8, os.cpu_count() or 1)


def group_by_image(requests: Sequence[Request]) -> list[list[Request]]:
    """Group requests by their first image, if they have one; groups of similar length are next to each other."""
    groups: dict[object, list[Request]] = {}
    # Requests about the same row have the same image object, which is read once.
    digests: dict[int, str | None] = {}
    for request in requests:
        digest = None
        for source in request.images[:1]:
            if id(source) not in digests:
                digests[id(source)] = digest_or_none(source)
            digest = digests[id(source)]
        groups.setdefault(digest or id(request), []).append(request)
    return sorted(groups.values(), key=lambda group: max(map(_length, group)))


class Preparer:
    """Prepares groups in `workers` threads, each of which makes a renderer."""

    def __init__(self, make_renderer: Callable[[], _Renderer], *, workers: int) -> None:
        """Keep the arguments; no thread starts yet."""
        self._make_renderer = make_renderer
        self._workers = workers
        self._idle: list[_Renderer] = []

    def windows(self, groups: Iterable[list[Request]], least: int) -> Generator[PreparedRequests]:
        """Yield windows of at least `least` sequences, or of 1 GiB of pixels; the next are prepared meanwhile."""
        waiting: deque[Future[PreparedRequests]] = deque()
        left = iter(groups)
        window = PreparedRequests()
        with ThreadPoolExecutor(self._workers, thread_name_prefix="eyechart-prepare") as thread_pool:
            try:
                while True:
                    # Enough for the next window, but limited, so that a long run does not keep all its images.
                    while len(waiting) < least + self._workers and _bytes_ready(waiting) <= _MOST_BYTES:
                        if (group := next(left, None)) is None:
                            break
                        waiting.append(thread_pool.submit(self._prepare, group))
                    if not waiting:
                        break
                    window.add(waiting.popleft().result())
                    if len(window.prompts) + len(window.failed) >= least or window.nbytes > _MOST_BYTES:
                        yield window
                        window = PreparedRequests()
                if window.prompts or window.failed:
                    yield window
            finally:
                for future in waiting:
                    future.cancel()

    def _prepare(self, requests: list[Request]) -> PreparedRequests:
        """Decode and render requests; those that fail become error responses."""
        # Each thread has its own renderer, because tokenizers are not thread-safe; reused, because copying one is slow.
        try:
            renderer = self._idle.pop()
        except IndexError:
            renderer = self._make_renderer()
        group = PreparedRequests()
        keys: dict[int, str] = {}
        images: dict[str, Image.Image] = {}
        try:
            for request in requests:
                try:
                    for source in request.images:
                        key = keys[id(source)] = keys.get(id(source)) or image_digest(source)
                        if key not in group.inputs:
                            images[key] = decode_image(source)
                            group.sources[key], group.inputs[key] = source, renderer.image(images[key])
                    shown = tuple(keys[id(source)] for source in request.images)
                    sizes = [group.inputs[key].tokens for key in shown]
                    group.prompts += renderer.prompts(request, [images[key] for key in shown], shown, sizes)
                except BadImageError as error:
                    group.failed.append(Response(request, error=error))
                except EyechartError:
                    raise
                # Processors can raise any kind of error; one bad item must not make the others fail.
                except Exception as error:
                    group.failed.append(Response(request, error=model_failure(error)))
        finally:
            renderer.forget_images()
            self._idle.append(renderer)
        return group


def respond(prompt: RenderedPrompt, output: Any, window: PreparedRequests, words: Sequence[str] = ()) -> Response:
    """The response to a sequence's request: its text, its logits in the order of `words`, its losses, or its error."""
    request = prompt.request
    if isinstance(output, DataError):
        return Response(request, error=output)
    # Unknown if the processor tiles several images differently from a single one, which was counted.
    reduced = [window.inputs[key].downscaled if prompt.is_placed else None for key in prompt.images]
    response = Response(
        request,
        rendered_prompt=prompt.text,
        images_downscaled=None if None in reduced else sum(map(bool, reduced)),
    )
    if request.output_type is OutputType.TEXT:
        # If the prompt itself opens the reasoning, the reply has no opening tag.
        text = f"<think>{output.text}" if opens_reasoning(prompt.text) else output.text
        return replace(response, text=text, finish_reason=LENGTH if output.is_cut else STOP)
    is_loss = request.output_type is OutputType.LOSSES
    values = [loss.total for loss in output] if is_loss else output
    if not all(map(math.isfinite, values)):
        kind = "losses of the continuations" if is_loss else f"logits of {', '.join(words)}"
        return Response(request, error=DataError(f"the model's {kind} are {values}"))
    return replace(response, **({"losses": output} if is_loss else {"logits": dict(zip(words, values, strict=True))}))


def _bytes_ready(waiting: Iterable[Future[PreparedRequests]]) -> int:
    """Size of the pixels that are prepared and waiting."""
    return sum(future.result().nbytes for future in waiting if future.done() and not future.exception())


def _length(request: Request) -> tuple[int, int, str]:
    return len(request.images), sum(len(part) for part in request.prompt if isinstance(part, str)), request.id
