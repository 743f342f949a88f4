"""What identifies a question to a model: digests of model files, of images, and of whole requests.

Requests with equal digests, or keys, are the same question. The SHA-256 of a large model file is kept under
`EYECHART_HOME` while device, inode, size and time of change (ctime) stay the same. Programs can set the time of
modification, as `cp -p` and `rsync -t` do, but not the time of change.
"""

import contextlib
import hashlib
import os
import re
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any

from PIL import Image

from eyechart.datasets_scripts.common.errors import BadImageError
from eyechart.datasets_scripts.common.images import encoded_bytes
from eyechart.datasets_scripts.common.paths import eyechart_home
from eyechart.datasets_scripts.common.whole import write_whole
from eyechart.evaluators.requests.types import IMAGE, Request
from eyechart.evaluators.requests.values import encode

_SMALL = 4 * 2**20
# More bytes than this take some seconds to hash, so a message is printed.
_MUCH = 2**30
# Seconds within which two changes of a file can have the same, rounded time of change.
_ROUNDING = 2.0


def request_keys(identity: dict[str, Any], requests: Sequence[Request]) -> list[bytes | None]:
    """The keys of requests to a model with this `Backend.identity`: the SHA-256 of everything an answer depends on.

    Row id and pass name are not part of it. An image is represented by the bytes of its file, or, if it is already
    decoded, by its mode, size and pixels. A request has no key if one of its images cannot be read.

    Examples:
        >>> (key,) = request_keys({"model": "a"}, [Request("row 1", ("Is it sharp?",), images=())])
        >>> key.hex()[:16]
        'ff255a9731ff260d'
    """
    digests = image_digests(source for request in requests for source in request.images)
    # The key is the digest of {"identity": ..., "request": ...}, whose first part is the same for all requests.
    start = hashlib.sha256(encode({"identity": identity}, sort_keys=True)[:-1] + b',"request":')
    return [_key(start, request, [digests[id(source)] for source in request.images]) for request in requests]


def _key(start: Any, request: Request, digests: list[str | None]) -> bytes | None:
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
    key = start.copy()
    key.update(encode(asked, sort_keys=True) + b"}")
    return bytes(key.digest())


def image_digests(sources: Iterable[Any]) -> dict[int, str | None]:
    """The `image_digest` of each image object by its `id`; each is read once, and None if that is not possible."""
    by_id = {id(source): source for source in sources}
    # In threads, as reading files and hashing release Python's lock; several in each, as handing over takes time too.
    images = list(by_id.values())
    parts = (images[start : start + 16] for start in range(0, len(images), 16))
    with ThreadPoolExecutor() as thread_pool:
        digests = thread_pool.map(lambda part: [*map(_digest_or_none, part)], parts)
        return dict(zip(by_id, chain.from_iterable(digests), strict=True))


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


def _digest_or_none(source: Any) -> str | None:
    try:
        return image_digest(source)
    # It is reported when the image is prepared or sent.
    except BadImageError:
        return None


def files_digest(path: str | Path) -> str:
    """The SHA-256, in hexadecimal, of names and contents of a model's files without hidden ones, or of its only file.

    Prints a line to stderr if more than 1 GiB must be hashed.
    """
    root = Path(path)
    files = {file.relative_to(root).as_posix(): file for file in sorted(root.rglob("*"))} or {"": root}
    files = {name: file for name, file in files.items() if "/." not in f"/{name}" and file.is_file()}
    unread = sum(file.stat().st_size for file in files.values() if _known_digest(file) is None)
    if unread > _MUCH:
        print(f"Hashing {unread / 1e9:.1f} GB of weights, once, to identify the model", file=sys.stderr, flush=True)
    # Hashing releases the GIL, so the files of large models are hashed in parallel.
    with ThreadPoolExecutor() as threads:
        contents = threads.map(_content_digest, files.values())
        digest = hashlib.sha256()
        for name, content in zip(files, contents, strict=True):
            digest.update(os.fsencode(name) + b"\0" + content.encode())
    return digest.hexdigest()


def _record(file: Path) -> tuple[Path, str]:
    """Where the digest of a file is kept, and the file's size and time of change, which precede the digest there."""
    status = file.stat()
    path = eyechart_home() / "file_digests" / f"{status.st_dev}-{status.st_ino}"
    return path, f"{status.st_size} {status.st_ctime_ns} "


def _known_digest(file: Path) -> str | None:
    """The kept digest of a large file; None if missing or the file has changed since."""
    path, state = _record(file)
    with contextlib.suppress(OSError, ValueError):
        if match := re.fullmatch(f"{state}([0-9a-f]{{64}})", path.read_text("ascii")):
            return match[1]
    return None


def _content_digest(file: Path) -> str:
    if known := _known_digest(file):
        return known
    started, record = time.time(), _record(file)
    with file.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    # Hashing a small file is as fast as looking up its digest. Do not keep the digest of a file that changed during
    # hashing or just before it.
    status = file.stat()
    if status.st_size > _SMALL and _record(file) == record and started - status.st_ctime > _ROUNDING:
        path, state = record
        with contextlib.suppress(OSError):
            write_whole(path, state + digest)
    return digest
