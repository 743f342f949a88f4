"""Identifies a model's files by their contents.

The SHA-256 of a large file is kept under `EYECHART_HOME` while device, inode, size and time of change (ctime) stay the
same. Programs can set the time of modification, as `cp -p` and `rsync -t` do, but not the time of change.
"""

import contextlib
import hashlib
import os
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from eyechart.datasets_scripts.common.paths import eyechart_home
from eyechart.datasets_scripts.common.whole import write_whole

# Hashing a smaller file is as fast as looking up its SHA-256.
_SMALL = 4 * 2**20
# More bytes than this take some seconds to hash, so a message is printed.
_MUCH = 2**30
# Seconds within which two changes of a file can have the same, rounded time of change.
_ROUNDING = 2.0


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


def _record(status: os.stat_result) -> tuple[Path, str]:
    """The file that keeps a digest, and the file's size and time of change, which precede the digest there."""
    file = eyechart_home() / "file_digests" / f"{status.st_dev}-{status.st_ino}"
    return file, f"{status.st_size} {status.st_ctime_ns} "


def _known_digest(file: Path) -> str | None:
    """The kept digest of a large file; None if missing or the file has changed since."""
    record, state = _record(file.stat())
    with contextlib.suppress(OSError, ValueError):
        if match := re.fullmatch(f"{state}([0-9a-f]{{64}})", record.read_text("ascii")):
            return match[1]
    return None


def _content_digest(file: Path) -> str:
    started, status = time.time(), file.stat()
    if status.st_size <= _SMALL:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    if (known := _known_digest(file)) is not None:
        return known
    with file.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    # Do not keep the digest of a file that changed during hashing or just before it.
    if file.stat().st_ctime_ns == status.st_ctime_ns and started - status.st_ctime > _ROUNDING:
        record, state = _record(status)
        with contextlib.suppress(OSError):
            record.parent.mkdir(parents=True, exist_ok=True)
            write_whole(record, state + digest)
    return digest
