"""The keys under which answers are stored: requests with equal keys are the same question."""

import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from PIL import Image

from eyechart.datasets_scripts.common.errors import BadImageError
from eyechart.datasets_scripts.common.images import encoded_bytes
from eyechart.evaluators.requests.types import IMAGE, Request
from eyechart.evaluators.requests.values import encode

_MOST_THREADS = 8


class RequestKeys:
    """Makes keys for the requests to one model: the SHA-256 of everything that an answer depends on.

    Row id and pass name are not part of it. An image is represented by the bytes of its file, or, if it is already
    decoded, by its mode, size and pixels.

    Examples:
        >>> (key,) = RequestKeys({"model": "a"}).keys([Request("row 1", ("Is it sharp?",), images=())])
        >>> key.hex()[:16]
        'ff255a9731ff260d'
    """

    def __init__(self, identity: dict[str, Any]) -> None:
        """Keep the result of `Backend.identity`."""
        self._identity = identity
        # Requests about a row share image objects, which are kept here so that no other object gets their id.
        self._digests: dict[int, tuple[Any, str | None]] = {}

    def keys(self, requests: Sequence[Request]) -> list[bytes | None]:
        """The key of each request, 32 bytes; None if one of its images cannot be read."""
        sources = {id(source): source for request in requests for source in request.images}
        unread = [source for number, source in sources.items() if number not in self._digests]
        if unread:
            # In threads, as reading files and hashing release Python's lock.
            with ThreadPoolExecutor(min(_MOST_THREADS, os.cpu_count() or 1)) as thread_pool:
                for source, digest in zip(unread, thread_pool.map(digest_or_none, unread), strict=True):
                    self._digests[id(source)] = (source, digest)
        return [self._key(request) for request in requests]

    def _key(self, request: Request) -> bytes | None:
        digests = [self._digests[id(source)][1] for source in request.images]
        if None in digests:
            return None
        asked = {
            # null marks the place of an image.
            "prompt": [None if part is IMAGE else part for part in request.prompt],
            "images": digests,
            "prefill": request.prefill,
            # Logits depend neither on the order of the words nor on which of them are required.
            "words": sorted(request.all_words),
            "continuations": request.continuations,
            "max_new_tokens": request.max_new_tokens,
            # The first repeat has the same key as a request that is asked once.
            **({"repeat": request.repeat} if request.repeat > 1 else {}),
        }
        return hashlib.sha256(encode({"identity": self._identity, "request": asked}, sort_keys=True)).digest()


def image_digest(source: Any) -> str:
    """A text that differs for different images, as in `Request.images`; raises `BadImageError` for unreadable ones."""
    if not isinstance(source, Image.Image):
        data = encoded_bytes(source.read() if hasattr(source, "read") else source)
        return f"file {hashlib.sha256(data).hexdigest()}"
    try:
        pixels = hashlib.sha256(source.tobytes()).hexdigest()
    # Pillow decodes on first use, and damaged files can raise any exception.
    except Exception as error:
        raise BadImageError(f"the image cannot be decoded: {type(error).__name__}: {error}") from error
    palette = hashlib.sha256(bytes(source.getpalette() or ())).hexdigest()
    return f"pixels {source.mode} {source.width}x{source.height} {palette} {pixels}"


def digest_or_none(source: Any) -> str | None:
    """The `image_digest`; None for an image that cannot be read, which is reported when it is prepared or sent."""
    try:
        return image_digest(source)
    except BadImageError:
        return None
