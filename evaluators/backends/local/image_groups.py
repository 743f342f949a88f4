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
from eyechart.evaluators.requests.keys import image_digest
from eyechart.evaluators.requests.types import OutputType, Request, Response
from eyechart.metrics.scoring.reasoning import LENGTH, STOP, opens_reasoning

_MOST_BYTES = 2**30


@dataclass
class PreparedRequests:
    """Requests that are ready for the model.

    Attributes:
        prompts: The sequences of the requests.
        sources: Key to image, as given in the request; not decoded, because decoded images could fill the memory.
        inputs: Key to the image's pixels.
        failed: Error responses to requests that could not be prepared.
    """

    prompts: list[RenderedPrompt] = field(default_factory=list)
    sources: dict[str, Any] = field(default_factory=dict)
    inputs: dict[str, ImageInputs] = field(default_factory=dict)
    failed: list[Response] = field(default_factory=list)

    @property
    def nbytes(self) -> int:
        """Size of the pixels."""
        return sum(tensor.nbytes for inputs in self.inputs.values() for tensor in inputs.tensors.values())


class RequestRenderer(Protocol):
    """Renders requests to sequences and images to pixels; each thread has its own."""

    def image(self, image: Image.Image) -> ImageInputs:
        """Preprocess one image, in RGB."""

    def prompts(
        self, request: Request, images: list[Image.Image], keys: tuple[str, ...], sizes: Sequence[int]
    ) -> list[RenderedPrompt]:
        """Render a request whose images have these keys and these numbers of tokens."""

    def forget_images(self) -> None:
        """Free the cached pixels of all images so far."""


def default_workers(device_type: str) -> int:
    """Threads that prepare images: 1 on a CPU, which the model needs itself, otherwise up to 8."""
    return 1 if device_type == "cpu" else min(8, os.cpu_count() or 1)


def group_by_image(requests: Sequence[Request]) -> list[list[Request]]:
    """Group requests by their first image, groups of similar length next to each other.

    A request without an image is a group of its own.
    """
    groups: dict[object, list[Request]] = {}
    # Requests about the same row have the same image object, which is read once.
    keys: dict[int, object] = {}
    for request in requests:
        place = id(request.images[0]) if request.images else id(request)
        if place not in keys:
            keys[place] = _first_image(request)
        groups.setdefault(keys[place], []).append(request)
    return sorted(groups.values(), key=lambda group: max(map(_length, group)))


class Preparer:
    """Prepares groups in threads.

    Args:
        make_renderer: Makes a renderer; called once per thread.
        workers: Number of threads.
    """

    def __init__(self, make_renderer: Callable[[], RequestRenderer], *, workers: int) -> None:
        """Keep the arguments; no thread starts yet."""
        self._make_renderer = make_renderer
        self._workers = workers
        self._idle: list[RequestRenderer] = []

    def windows(self, groups: Iterable[list[Request]], least: int) -> Generator[PreparedRequests]:
        """Yield prepared groups in windows of at least `least` sequences; the next windows are prepared meanwhile.

        Args:
            groups: The groups.
            least: Minimum number of sequences in a window; fewer if their pixels exceed 1 GiB.
        """
        waiting: deque[Future[PreparedRequests]] = deque()
        left = iter(groups)
        window = PreparedRequests()
        with ThreadPoolExecutor(self._workers, thread_name_prefix="eyechart-prepare") as thread_pool:
            try:
                while True:
                    # Enough for the next window, but limited, so that a long run does not keep all its images.
                    while len(waiting) < least + self._workers and not (
                        waiting and _bytes_ready(waiting) > _MOST_BYTES
                    ):
                        if (group := next(left, None)) is None:
                            break
                        waiting.append(thread_pool.submit(self._prepare, group))
                    if not waiting:
                        break
                    _add(window, waiting.popleft().result())
                    if len(window.prompts) + len(window.failed) >= least or window.nbytes > _MOST_BYTES:
                        yield window
                        window = PreparedRequests()
                if window.prompts or window.failed:
                    yield window
            finally:
                for future in waiting:
                    future.cancel()

    def _prepare(self, requests: list[Request]) -> PreparedRequests:
        # Each thread has its own renderer, because tokenizers are not thread-safe; reused, because copying one is slow.
        try:
            renderer = self._idle.pop()
        except IndexError:
            renderer = self._make_renderer()
        try:
            return prepare(requests, renderer)
        finally:
            renderer.forget_images()
            self._idle.append(renderer)


def _bytes_ready(waiting: Iterable[Future[PreparedRequests]]) -> int:
    """Size of the pixels that are prepared and waiting."""
    ready = (future for future in waiting if future.done() and not future.exception())
    return sum(future.result().nbytes for future in ready)


def prepare(requests: Sequence[Request], renderer: RequestRenderer) -> PreparedRequests:
    """Decode and render requests; those that fail become error responses."""
    group = PreparedRequests()
    by_source: dict[int, str] = {}
    images: dict[str, Image.Image] = {}
    for request in requests:
        try:
            for source in request.images:
                if id(source) not in by_source:
                    by_source[id(source)] = _prepare_image(source, group, images, renderer)
            keys = tuple(by_source[id(source)] for source in request.images)
            sizes = [group.inputs[key].tokens for key in keys]
            group.prompts += renderer.prompts(request, [images[key] for key in keys], keys, sizes)
        except BadImageError as error:
            group.failed.append(Response(request, error=error))
        except EyechartError:
            raise
        # Processors can raise any kind of error; one bad item must not make the others fail.
        except Exception as error:
            group.failed.append(Response(request, error=model_failure(error)))
    return group


def respond(prompt: RenderedPrompt, found: Any, window: PreparedRequests, words: Sequence[str] = ()) -> Response:
    """The response to a sequence's request.

    Args:
        prompt: The sequence.
        found: The text, the logits in the order of the words, the losses, or the error.
        window: The window of the sequence, for its images.
        words: The words of the logits.
    """
    request = prompt.request
    if isinstance(found, DataError):
        return Response(request, error=found)
    # Unknown if the processor tiles several images differently from a single one, which was counted.
    reduced = [window.inputs[key].downscaled if prompt.is_placed else None for key in prompt.images]
    response = Response(
        request,
        rendered_prompt=prompt.text,
        images_downscaled=None if None in reduced else sum(map(bool, reduced)),
    )
    if request.output_type is OutputType.TEXT:
        # If the prompt itself opens the reasoning, the reply has no opening tag.
        text = f"<think>{found.text}" if opens_reasoning(prompt.text) else found.text
        return replace(response, text=text, finish_reason=LENGTH if found.is_cut else STOP)
    if request.output_type is OutputType.LOSSES:
        totals = [loss.total for loss in found]
        if not all(map(math.isfinite, totals)):
            return Response(request, error=DataError(f"the model's losses of the continuations are {totals}"))
        return replace(response, losses=found)
    if not all(math.isfinite(value) for value in found):
        return Response(request, error=DataError(f"the model's logits of {', '.join(words)} are {found}"))
    return replace(response, logits=dict(zip(words, found, strict=True)))


def _prepare_image(
    source: object, group: PreparedRequests, images: dict[str, Image.Image], renderer: RequestRenderer
) -> str:
    """Decode and preprocess an image, unless an equal one already was; returns its key."""
    key = image_digest(source)
    if key not in images:
        images[key] = decode_image(source)
        group.sources[key], group.inputs[key] = source, renderer.image(images[key])
    return key


def _add(window: PreparedRequests, group: PreparedRequests) -> None:
    window.prompts += group.prompts
    window.sources |= group.sources
    window.inputs |= group.inputs
    window.failed += group.failed


def _first_image(request: Request) -> object:
    if not request.images:
        return id(request)
    try:
        return image_digest(request.images[0])
    except BadImageError:
        # The error occurs again when the image is prepared, and is reported then.
        return id(request)


def _length(request: Request) -> tuple[int, int, str]:
    return len(request.images), sum(len(part) for part in request.prompt if isinstance(part, str)), request.id
