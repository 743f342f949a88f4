"""Telling the files of one model from those of another by their contents.

Contents of large files are hashed once: their SHA-256 is kept under `EYECHART_HOME` for as long as device, inode, size
and time of change (ctime) stay the same. Unlike the time of modification, which `cp -p` and `rsync -t` copy, a program
cannot set the time of change.
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

# Smaller files are hashed as fast as their SHA-256 is looked up.
_SMALL = 4 * 2**20
# Bytes that take so long to hash that it is said: some seconds.
_MUCH = 2**30
# Seconds for which the time of change may stay the same although a file changes, as it is rounded.
_ROUNDING = 2.0


def files_digest(path: str | Path) -> str:
    """Identifies the files of a model; where more than 1 GiB of them is to be hashed, a line on stderr says so.

    Args:
        path: Its folder, of which hidden files and folders (such as `.git`) do not count, or its only file.

    Returns:
        The SHA-256, in hexadecimal, over names and contents.
    """
    root = Path(path)
    files = {_name(file, root): file for file in sorted(root.rglob("*"))} if root.is_dir() else {"": root}
    files = {name: file for name, file in files.items() if "/." not in f"/{name}" and file.is_file()}
    large = [file for file in files.values() if file.stat().st_size > _SMALL]
    unread = sum(file.stat().st_size for file in large if _kept_digest(file) is None)
    if unread > _MUCH:
        print(f"Reading {unread / 1e9:.1f} GB of weights once, to tell models apart", file=sys.stderr, flush=True)
    # Hashing lets other threads run, so that the parts of large models are hashed at once.
    with ThreadPoolExecutor() as threads:
        contents = threads.map(_content_digest, files.values())
        digest = hashlib.sha256()
        for name, content in zip(files, contents, strict=True):
            digest.update(os.fsencode(name) + b"\0" + content.encode())
    return digest.hexdigest()


def _name(file: Path, root: Path) -> str:
    return file.relative_to(root).as_posix()


def _place(status: os.stat_result) -> Path:
    """Where the digest of a file is kept."""
    return eyechart_home() / "file_digests" / f"{status.st_dev}-{status.st_ino}"


def _state(status: os.stat_result) -> str:
    """What stays the same as long as the contents do."""
    return f"{status.st_size} {status.st_ctime_ns} "


def _kept_digest(file: Path) -> str | None:
    """The digest that is kept of a large file; None where there is none, or the file has changed since."""
    status = file.stat()
    with contextlib.suppress(OSError, ValueError):
        known = _place(status).read_text("ascii").removeprefix(_state(status))
        if re.fullmatch("[0-9a-f]{64}", known):
            return known
    return None


def _content_digest(file: Path) -> str:
    """The SHA-256 of a file's contents, in hexadecimal."""
    started, status = time.time(), file.stat()
    if status.st_size <= _SMALL:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    known = _kept_digest(file)
    if known is not None:
        return known
    with file.open("rb") as opened:
        found = hashlib.file_digest(opened, "sha256").hexdigest()
    # A file that changes meanwhile is read again the next time, and so is one that has changed just now.
    if file.stat().st_ctime_ns == status.st_ctime_ns and started - status.st_ctime > _ROUNDING:
        with contextlib.suppress(OSError):
            _place(status).parent.mkdir(parents=True, exist_ok=True)
            write_whole(_place(status), _state(status) + found)
    return found
