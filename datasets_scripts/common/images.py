"""Opening an image from any source; every problem with it becomes a `BadImageError`.

Pixels are returned as stored in the file. The EXIF orientation is not applied: the benchmarks' opinion scores and
answers were collected, and their published numbers computed, on the stored pixels.
"""

import io
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import TypeVar

from PIL import Image

from eyechart.datasets_scripts.common.errors import BadImageError
from eyechart.datasets_scripts.common.paths import open_regular

FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
"""Formats that are read, by Pillow's names. Pillow supports more, but EPS, for example, starts another program."""
MAX_PIXELS = 100_000_000
"""Limit of one image, and of all that threads decode at once; the benchmarks have up to about 50 megapixels."""
# Pillow's memory comes in blocks. Blocks of this size are given back when an image is freed; the default ones of 16 MiB
# remain with the thread that decoded it.
Image.core.set_block_size(64 * 2**20)

Source = bytes | str | os.PathLike[str] | Mapping[str, object] | None
"""Encoded bytes, a path, a `{"bytes", "path"}` dict as of `datasets.Image(decode=False)`, or None, an error."""
Value = TypeVar("Value")


def open_image(source: Source) -> Image.Image:
    """Read and decode one image: RGB, 8 bits per channel; alpha is dropped, 16-bit grey is divided by 256.

    Raises:
        BadImageError: The image is missing, empty, corrupt, truncated, not in one of the `FORMATS`, larger than
            `MAX_PIXELS` (checked in the header before any pixel is decoded), or has 32-bit pixels.
    """
    return _decoded(source, _to_rgb)[1]


def encoded_image(source: Source) -> tuple[bytes, str]:
    """Read one image's bytes and their true MIME type, and check it by decoding it; as `open_image`."""
    return _decoded(source, _mime_type)


def encoded_bytes(source: Source) -> bytes:
    """The bytes of an image, never empty; errors as `open_image`."""
    data = source.get("bytes") if isinstance(source, Mapping) else source
    path = _path(source)
    if not isinstance(data, bytes):
        if path is None:
            raise BadImageError("the image has neither bytes nor a path", path="image")
        try:
            with open_regular(path) as file:
                data = file.read()
        except OSError as error:
            raise BadImageError(f"the image cannot be read: {error.strerror or error}", path=path) from error
    if not data:
        raise BadImageError("the image is empty (0 bytes)", path=path or "image")
    return data


def _decoded(source: Source, use: Callable[[Image.Image], Value]) -> tuple[bytes, Value]:
    """An image's bytes, and `use(image)` of the decoded one; Pillow's warnings are ignored."""
    data, name = encoded_bytes(source), _path(source) or "image"
    cause: Exception | None = None
    with _warnings.ignored(), decoding.in_turn():
        try:
            with closing(Image.open(io.BytesIO(data), formats=FORMATS)) as image:
                pixels = image.width * image.height
                if pixels > MAX_PIXELS:
                    size = f"{image.width} x {image.height} = {pixels:,}"
                    raise BadImageError(f"the image has {size} pixels; the limit is {MAX_PIXELS:,}")
                decoding.wait(pixels)
                image.load()
                return data, use(image)
        except BadImageError as error:
            reason = error.reason
        except Image.DecompressionBombError as error:
            reason, cause = f"the image has more pixels than Pillow's limit allows: {error}", error
        except Image.UnidentifiedImageError as error:
            reason, cause = f"not an image, or not in a supported format ({', '.join(FORMATS)})", error
        # A damaged image can make Pillow's decoders raise anything: OSError, SyntaxError, struct.error, IndexError, ...
        except Exception as error:
            reason, cause = f"the image is corrupt or truncated: {type(error).__name__}: {error}", error
        raise BadImageError(reason, path=name) from cause


def _mime_type(image: Image.Image) -> str:
    # Some cameras append further pictures to a JPEG. Pillow calls it MPO, all other software JPEG.
    kind = "JPEG" if image.format == "MPO" else str(image.format)
    return Image.MIME.get(kind, f"image/{kind.lower()}")


def _path(source: Source) -> str | None:
    path = source.get("path") if isinstance(source, Mapping) else source
    return os.fspath(path) if isinstance(path, str | os.PathLike) else None


def _to_rgb(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format in ("PNG", "PPM")):
        # Pillow also stores 16 bits in 32. A plain conversion would clip all values above 255 to white.
        image = image.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    elif image.mode in ("I", "F"):
        raise BadImageError(f"the image has 32-bit pixels (mode {image.mode}); convert it to 8 or 16 bits")
    return image.convert("RGB")


class _Warnings:
    """Ignores Pillow's warnings in blocks; `warnings.catch_warnings` alone is not thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._caught = warnings.catch_warnings()

    @contextmanager
    def ignored(self) -> Iterator[None]:
        with self._lock:
            if self._inside == 0:
                self._caught = warnings.catch_warnings()
                self._caught.__enter__()
                warnings.filterwarnings("ignore", module=r"PIL\.")
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    self._caught.__exit__(None, None, None)


class _Decoding:
    """Limits the number of pixels that all threads decode at once."""

    def __init__(self) -> None:
        self._free = MAX_PIXELS
        self._changed = threading.Condition()
        self._thread = threading.local()

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """Count the pixels that this thread decodes until the outermost of these blocks ends."""
        is_outermost = not hasattr(self._thread, "pixels")
        if is_outermost:
            self._thread.pixels = 0
        try:
            yield
        finally:
            if is_outermost:
                with self._changed:
                    self._free += self._thread.pixels
                    self._changed.notify_all()
                del self._thread.pixels

    def wait(self, pixels: int) -> None:
        """Wait until there is room for more pixels; a thread that has some does not wait, as others wait for it."""
        with self._changed:
            self._changed.wait_for(lambda: self._thread.pixels or pixels <= self._free)
            self._free -= pixels
            self._thread.pixels += pixels


_warnings = _Warnings()
decoding = _Decoding()
