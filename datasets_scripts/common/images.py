"""Opening one image from anywhere, with one kind of error for everything that can be wrong with it.

Pixels are delivered as the file stores them. The EXIF orientation is not applied: the opinion scores and the answers of
the benchmarks were collected, and their published numbers computed, on the stored pixels.
"""

import io
import os
import threading
import warnings
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TypeVar

from PIL import Image

from eyechart.datasets_scripts.common.errors import BadImageError
from eyechart.datasets_scripts.common.paths import open_regular

FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
"""Formats that are read, by Pillow's names. Pillow knows more, of which EPS would start another program."""
MAX_PIXELS = 100_000_000
"""Default limit of `open_image`; the largest images of the benchmarks have about 50 megapixels."""

Source = bytes | str | os.PathLike[str] | Mapping[str, object] | None
"""Encoded bytes, a path, a `{"bytes", "path"}` dict as `datasets.Image(decode=False)` gives it, or None for a row's
absent image, which cannot be read."""
Value = TypeVar("Value")


def open_image(
    source: Source,
    *,
    name: str | None = None,
    max_pixels: int = MAX_PIXELS,
) -> Image.Image:
    """Read and decode one image.

    Args:
        source: The image, see `Source`.
        name: What errors call the image; the path by default.
        max_pixels: Largest allowed width x height, checked on the header before any pixel is decoded. Pillow's own
            limit of about 179 megapixels holds besides.

    Returns:
        The decoded image, RGB, 8 bits a channel. Alpha is dropped, 16-bit grey is divided by 256, the EXIF orientation
        is left as it is.

    Raises:
        BadImageError: The image is missing, empty, corrupt, truncated, not an image, of another format than `FORMATS`,
            larger than `max_pixels`, or has pixels of 32 bits.
    """
    name = name or _path(source) or "image"
    return _decoded(encoded_bytes(source, name=name), name, max_pixels, _to_rgb)


def encoded_image(
    source: Source,
    *,
    name: str | None = None,
    max_pixels: int = MAX_PIXELS,
) -> tuple[bytes, str]:
    """Read one image without changing a byte, checked by decoding it.

    Args:
        source: As `open_image` takes it.
        name: As `open_image` takes it.
        max_pixels: As `open_image` takes it.

    Returns:
        The bytes of the file and their MIME type, by what they are and not by the file's name.

    Raises:
        BadImageError: As `open_image` raises it.
    """
    name = name or _path(source) or "image"
    data = encoded_bytes(source, name=name)
    return data, _decoded(data, name, max_pixels, _mime_type)


def _decoded(data: bytes, name: str, max_pixels: int, use: Callable[[Image.Image], Value]) -> Value:
    """What `use` makes of the decoded image, while Pillow's warnings are ignored."""
    with _quiet_pillow:
        try:
            with Image.open(io.BytesIO(data), formats=FORMATS) as image:
                _check_size(image.size, max_pixels, name)
                image.load()
                return use(image)
        except BadImageError as error:
            raise BadImageError(error.reason, path=name) from None
        except Image.DecompressionBombError as error:
            raise BadImageError(f"the image has more pixels than Pillow's limit allows: {error}", path=name) from error
        except Image.UnidentifiedImageError as error:
            raise BadImageError(f"not an image, or of another format than {', '.join(FORMATS)}", path=name) from error
        # Pillow's decoders raise whatever the damage led them to: OSError, SyntaxError, struct.error, IndexError, ...
        except Exception as error:
            reason = f"the image is corrupt or truncated: {type(error).__name__}: {error}"
            raise BadImageError(reason, path=name) from error


def _mime_type(image: Image.Image) -> str:
    # A JPEG with further pictures behind the first, as some cameras write it, is a JPEG to everyone else.
    kind = "JPEG" if image.format == "MPO" else str(image.format)
    return Image.MIME.get(kind, f"image/{kind.lower()}")


def encoded_bytes(source: Source, *, name: str | None = None) -> bytes:
    """Read one image without decoding it.

    Args:
        source: As `open_image` takes it.
        name: What errors call the image; the path by default.

    Returns:
        The bytes of the file, at least one.

    Raises:
        BadImageError: The image is missing or empty.
    """
    data = source.get("bytes") if isinstance(source, Mapping) else source
    path = _path(source)
    name = name or path or "image"
    if not isinstance(data, bytes):
        data = _read(path, name)
    if not data:
        raise BadImageError("the image is empty (0 bytes)", path=name)
    return data


def _path(source: Source) -> str | None:
    if isinstance(source, Mapping):
        path = source.get("path")
        return path if isinstance(path, str) else None
    return None if isinstance(source, bytes | None) else os.fspath(source)


def _read(path: str | None, name: str) -> bytes:
    if path is None:
        raise BadImageError("the image has neither bytes nor a path", path=name)
    try:
        with open_regular(path) as file:
            return file.read()
    except OSError as error:
        raise BadImageError(f"the image cannot be read: {error.strerror or error}", path=name) from error


def _check_size(size: tuple[int, int], max_pixels: int, name: str) -> None:
    width, height = size
    if width * height > max_pixels:
        reason = f"the image has {width} x {height} = {width * height:,} pixels; the limit is {max_pixels:,}"
        raise BadImageError(reason, path=name)


def _to_rgb(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format in ("PNG", "PPM")):
        # Pillow holds 16 bits also in 32. A plain conversion would clip everything above 255 to white.
        image = image.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    elif image.mode in ("I", "F"):
        raise BadImageError(
            f"the image has pixels of 32 bits (mode {image.mode}), of which black and white are unknown"
        )
    return image.convert("RGB")


class _QuietPillow:
    """Ignores Pillow's warnings while at least one thread is inside.

    `warnings.catch_warnings` alone is not made for threads: two overlapping uses can restore each other's filters.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._caught = warnings.catch_warnings()

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._caught = warnings.catch_warnings()
                self._caught.__enter__()
                warnings.filterwarnings("ignore", module=r"PIL\.")
            self._inside += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._caught.__exit__(None, None, None)


_quiet_pillow = _QuietPillow()
