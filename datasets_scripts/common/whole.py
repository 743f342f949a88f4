"""Files and folders that appear complete or not at all: written next to their place, and moved there when finished.

A killed process leaves its unfinished files under a hidden name; the next process that writes into the same folder
removes them. A process that is still writing holds a lock, and its files are not touched.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from errno import EDQUOT, EFBIG, ENOSPC
from pathlib import Path

from eyechart.datasets_scripts.common.errors import OutputError, UsageError

UNFINISHED = ".eyechart-unfinished-"
"""Prefix of the hidden folders for unfinished files."""


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder to fill, which becomes `folder` when the block ends: complete or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with workplace(folder.parent) as place:
        unfinished = place / "unfinished"
        unfinished.mkdir()
        yield unfinished
        unfinished.rename(folder)


def write_whole(path: Path, content: str | bytes | Callable[[Path], object]) -> None:
    """Write a file, or replace an existing one, which is unchanged if that fails; make its folder if it is missing.

    `content` is bytes, text (written as UTF-8), or a function that writes a file to a given path.
    """
    path = path.resolve()
    if not callable(content):
        data = content.encode() if isinstance(content, str) else content
        write_whole(path, lambda file: file.write_bytes(data))
    # A device or a pipe is written to and must not be replaced; writing to a folder raises the right error.
    elif path.exists() and not path.is_file():
        content(path)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        with workplace(path.parent) as place:
            content(place / "unfinished")
            (place / "unfinished").replace(path)


@contextmanager
def workplace(folder: Path) -> Iterator[Path]:
    """Yield a hidden folder for files to move into `folder`; it is removed when the block ends, or by the next call."""
    # What ended processes left goes; an empty folder's process may be about to lock it.
    for left in folder.glob(f"{UNFINISHED}*"):
        with suppress(OSError):
            if any(left.iterdir()) and (lock := lock_folder(left)) is not None:
                shutil.rmtree(left, ignore_errors=True)
                os.close(lock)
    with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=folder, ignore_cleanup_errors=True) as place:
        lock = lock_folder(Path(place))
        try:
            yield Path(place)
        finally:
            if lock is not None:
                os.close(lock)


@contextmanager
def writing(what: str) -> Iterator[None]:
    """Raise `OSError` within the block as a `UsageError` about `what`, or as an `OutputError` if the disk is full."""
    try:
        yield
    except OSError as error:
        if full := disk_error(error, what):
            raise full from error
        raise UsageError(f"{what} cannot be written: {error.strerror or error}") from error


def disk_error(error: BaseException, what: str = "a file") -> OutputError | None:
    """The error to show if a full disk caused `error`, directly or inside a library's error; else None."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in (ENOSPC, EDQUOT, EFBIG):
            # Libraries replace the system's message by their own.
            reason = f"{os.strerror(cause.errno)}; free disk space and run the command again"
            return OutputError(f"{what} cannot be written: {reason}")
        cause = cause.__cause__ or cause.__context__
    return None


def lock_folder(place: Path) -> int | None:
    """The descriptor of a folder, which is locked as long as it is open; None if it cannot be locked."""
    # Without locks, nothing of other processes is removed: they may still be writing.
    if sys.platform == "win32":
        return None
    import fcntl

    descriptor = os.open(place, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
