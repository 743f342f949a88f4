"""Rendering ahead of the model: groups of requests that begin with the same image, prepared in worker threads."""

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
from eyechart.evaluators.backends.local.rendering import ImageInputs, Prompt
from eyechart.evaluators.requests.keys import image_digest
from eyechart.evaluators.requests.types import OutputType, Request, Response
from eyechart.metrics.scoring.reasoning import LENGTH, STOP, opens_reasoning

_MOST_BYTES = 2**30


@dataclass
class PreparedRequests:
    """Requests ready for the model.

    Attributes:
        prompts: Their sequences.
        sources: Key to image, as the request gave it: decoded, the images of a window can fill the memory.
        inputs: Key to the image's pixels.
        failed: Responses to the requests that cannot be asked.
    """

    prompts: list[Prompt] = field(default_factory=list)
    sources: dict[str, Any] = field(default_factory=dict)
    inputs: dict[str, ImageInputs] = field(default_factory=dict)
    failed: list[Response] = field(default_factory=list)

    @property
    def nbytes(self) -> int:
        """Size of the pixels."""
        return sum(tensor.nbytes for inputs in self.inputs.values() for tensor in inputs.tensors.values())


class RequestRenderer(Protocol):
    """What makes sequences of requests, and pixels of images; each thread has its own."""

    def image(self, image: Image.Image) -> ImageInputs:
        """Preprocess one image, in RGB."""

    def prompts(
        self, request: Request, images: list[Image.Image], keys: tuple[str, ...], sizes: Sequence[int]
    ) -> list[Prompt]:
        """Render a request whose images have these keys and these numbers of tokens."""

    def forget_images(self) -> None:
        """Free the pixels of the images seen so far."""


def default_workers(device_type: str) -> int:
    """Threads that prepare images: one next to a model on the CPU, which needs the CPU itself, else up to 8."""
    return 1 if device_type == "cpu" else min(8, os.cpu_count() or 1)


def group_by_image(requests: Sequence[Request]) -> list[list[Request]]:
    """Requests by their first image, similar lengths near each other.

    Requests without an image are a group each.
    """
    groups: dict[object, list[Request]] = {}
    # Requests about the same row hold the same image object, which is read once.
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
        make_renderer: Makes a renderer; there are as many as threads.
        workers: Number of threads.
    """

    def __init__(self, make_renderer: Callable[[], RequestRenderer], *, workers: int) -> None:
        """Start no thread yet."""
        self._make_renderer = make_renderer
        self._workers = workers
        self._idle: list[RequestRenderer] = []

    def windows(self, groups: Iterable[list[Request]], least: int) -> Generator[PreparedRequests]:
        """Prepared groups, joined to windows of at least `least` sequences; the next ones are prepared meanwhile.

        Args:
            groups: The groups.
            least: Sequences to wait for before the model runs, unless their pixels fill 1 GiB.
        """
        waiting: deque[Future[PreparedRequests]] = deque()
        left = iter(groups)
        window = PreparedRequests()
        with ThreadPoolExecutor(self._workers, thread_name_prefix="eyechart-prepare") as thread_pool:
            try:
                while True:
                    # Enough for the next window, bounded so that a long run does not hold all of its images.
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
        # Each thread takes one for itself, as tokenizers must not be shared; they are kept, as copying one takes long.
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
    """Size of the pixels that are prepared and wait."""
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
        # Processors raise whatever the input led them to; one bad item must not take the others along.
        except Exception as error:
            group.failed.append(Response(request, error=model_failure(error)))
    return group


def respond(prompt: Prompt, found: Any, window: PreparedRequests, words: Sequence[str] = ()) -> Response:
    """The response to a sequence's request.

    Args:
        prompt: The sequence.
        found: Its request's text, logits in the order of the words, or losses; or why there is nothing.
        window: Where the sequence comes from, for what became of its images.
        words: The words whose logits these are.
    """
    request = prompt.request
    if isinstance(found, DataError):
        return Response(request, error=found)
    # Images that are cut otherwise among others were prepared alone to count them.
    reduced = [window.inputs[key].downscaled if prompt.is_placed else None for key in prompt.images]
    response = Response(
        request,
        rendered_prompt=prompt.text,
        images_downscaled=None if None in reduced else sum(map(bool, reduced)),
    )
    if request.output_type is OutputType.TEXT:
        # The reply to a prompt that opens reasoning has no tag of its own.
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
    """Decode and preprocess an image, unless an equal one was; gives its key."""
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
        # Found again when it is prepared, and reported then.
        return id(request)


def _length(request: Request) -> tuple[int, int, str]:
    return len(request.images), sum(len(part) for part in request.prompt if isinstance(part, str)), request.id
