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
Content = str | bytes | Callable[[Path], object]
_FULL = (ENOSPC, EDQUOT, EFBIG)


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder to fill, which becomes `folder` when the block ends: complete or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with workplace(folder.parent) as place:
        unfinished = place / "unfinished"
        unfinished.mkdir()
        yield unfinished
        unfinished.rename(folder)


def write_whole(path: Path, content: Content) -> None:
    """Write a file, or replace an existing one; make its folder if it is missing.

    `content` is bytes, text (written as UTF-8), or a function that writes a file to a given path. If the file cannot be
    written (`OSError`), an existing one is unchanged.
    """
    path = path.resolve()
    # A device or a pipe is written to and must not be replaced; writing to a folder raises the right error.
    if path.exists() and not path.is_file():
        _write(path, content)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with workplace(path.parent) as place:
        _write(place / "unfinished", content)
        (place / "unfinished").replace(path)


def _write(path: Path, content: Content) -> None:
    if callable(content):
        content(path)
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def workplace(folder: Path) -> Iterator[Path]:
    """Yield a hidden folder for files to move into `folder`; it is removed when the block ends, or by the next call."""
    _remove_left(folder)
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
        if error.errno in _FULL:
            raise OutputError(_full(what, error)) from error
        raise UsageError(f"{what} cannot be written: {error.strerror or error}") from error


def disk_error(error: BaseException) -> OutputError | None:
    """The error to show if a full disk caused `error`, directly or inside a library's error; else None."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in _FULL:
            return OutputError(_full("a file", cause))
        cause = cause.__cause__ or cause.__context__
    return None


def _full(what: str, error: OSError) -> str:
    # Libraries replace the system's message by their own.
    reason = os.strerror(error.errno) if error.errno else error
    return f"{what} cannot be written: {reason}; free disk space and run the command again"


def _remove_left(folder: Path) -> None:
    """Remove what ended processes left; skip empty folders, whose process may be about to lock them."""
    for place in folder.glob(f"{UNFINISHED}*"):
        with suppress(OSError):
            if any(place.iterdir()) and (lock := lock_folder(place)) is not None:
                shutil.rmtree(place, ignore_errors=True)
                os.close(lock)


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
