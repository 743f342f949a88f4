"""Prepares requests ahead of the model: groups that begin with the same image are rendered in worker threads."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from PIL import Image

from eyechart.datasets_scripts.common.errors import BadImageError, DataError, EyechartError
from eyechart.datasets_scripts.common.images import decoding
from eyechart.evaluators.backends.chat import decode_image
from eyechart.evaluators.backends.local.rendering import ImageInputs, RenderedPrompt
from eyechart.evaluators.requests.keys import image_digest, image_digests
from eyechart.evaluators.requests.types import Request, Response

_Item = TypeVar("_Item")
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


class PromptRenderer(Protocol):
    """Makes the model's inputs; each thread has its own."""

    def prompts(
        self,
        request: Request,
        keys: tuple[str, ...],
        images: Mapping[str, Image.Image],
        inputs: dict[str, ImageInputs],
    ) -> list[RenderedPrompt]:
        """Render a request with the RGB images of `keys`: one sequence, or one for each continuation.

        Images that are not among the `inputs` are preprocessed and added.
        """

    def forget_images(self) -> None:
        """Free what is cached of all images so far."""
        return


def group_by_image(requests: Sequence[Request]) -> list[list[Request]]:
    """Group requests by their first image, if they have one; groups of similar length are next to each other."""
    digests = image_digests(source for request in requests for source in request.images[:1])
    groups: dict[object, list[Request]] = {}
    for request in requests:
        digest = digests[id(request.images[0])] if request.images else None
        groups.setdefault(digest or id(request), []).append(request)
    return sorted(groups.values(), key=lambda group: max(map(_length, group)))


def _length(request: Request) -> tuple[int, int, str]:
    return len(request.images), sum(len(part) for part in request.prompt if isinstance(part, str)), request.id


def batches(items: Sequence[_Item], size: int) -> Iterator[Sequence[_Item]]:
    """Divide items into batches of this size; the last one may be smaller."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


@dataclass
class Preparer:
    """Prepares groups in threads, each of which makes a renderer."""

    make_renderer: Callable[[], PromptRenderer]
    workers: int
    _idle: list[PromptRenderer] = field(default_factory=list)

    def windows(self, requests: Sequence[Request], least: int) -> Generator[PreparedRequests]:
        """Yield windows of at least `least` sequences, or of 1 GiB of pixels; the next are prepared meanwhile."""
        waiting: deque[Future[PreparedRequests]] = deque()
        left = deque(group_by_image(requests))
        window = PreparedRequests()
        thread_pool = ThreadPoolExecutor(self.workers, thread_name_prefix="eyechart-prepare")
        try:
            while left or waiting:
                # Enough for the next window, but limited, so that a long run does not keep all its images.
                while left and len(waiting) < least + self.workers and _bytes_ready(waiting) <= _MOST_BYTES:
                    waiting.append(thread_pool.submit(self._prepare, left.popleft()))
                window.add(waiting.popleft().result())
                is_full = len(window.prompts) + len(window.failed) >= least or window.nbytes > _MOST_BYTES
                if is_full or not (left or waiting):
                    yield window
                    window = PreparedRequests()
        finally:
            thread_pool.shutdown(cancel_futures=True)

    @decoding.in_turn()
    def _prepare(self, requests: list[Request]) -> PreparedRequests:
        """Decode and render requests; those that fail become error responses."""
        # Each thread has its own renderer, because tokenizers are not thread-safe; reused, because copying one is slow.
        try:
            renderer = self._idle.pop()
        except IndexError:
            renderer = self.make_renderer()
        group = PreparedRequests()
        keys: dict[int, str] = {}
        images: dict[str, Image.Image] = {}
        try:
            for request in requests:
                try:
                    for source in request.images:
                        key = keys[id(source)] = keys.get(id(source)) or image_digest(source)
                        if key not in images:
                            images[key], group.sources[key] = decode_image(source), source
                    shown = tuple(keys[id(source)] for source in request.images)
                    group.prompts += renderer.prompts(request, shown, images, group.inputs)
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


def _bytes_ready(waiting: Iterable[Future[PreparedRequests]]) -> int:
    """Size of the pixels that are prepared and waiting."""
    return sum(future.result().nbytes for future in waiting if future.done() and not future.exception())


def model_failure(error: Exception) -> DataError:
    """The error of an item for which the model or its processor raised."""
    return DataError(f"the model failed on it: {type(error).__name__}: {error}")
