"""Files and folders that appear complete or not at all: made beside their place, and moved there when they are done.

What a killed process had begun stays behind under a hidden name; the next one that writes into the same folder removes
it. A process that is still writing holds a lock, and its files are left alone.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from errno import EDQUOT, EFBIG, ENOSPC
from pathlib import Path

from eyechart.datasets_scripts.common.errors import EyechartError, OutputError, UsageError

UNFINISHED = ".eyechart-unfinished-"
"""How the names of hidden folders begin in which files are made."""
Content = str | bytes | Callable[[Path], object]
_FULL = (ENOSPC, EDQUOT, EFBIG)


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Give an empty folder to fill, which becomes `folder` when the block ends: complete or not at all.

    Raises:
        OSError: `folder` was made and filled meanwhile, or one of the two cannot be made.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with workplace(folder.parent) as place:
        unfinished = place / "unfinished"
        unfinished.mkdir()
        yield unfinished
        unfinished.rename(folder)


def write_whole(path: Path, content: Content) -> None:
    """Write a file in place of the one that was there.

    Args:
        path: The file, in a folder that exists.
        content: What is in it, text as UTF-8; or what writes a file whose path it is given.

    Raises:
        OSError: It cannot be written; what was there is there still.
    """
    path = path.resolve()
    # A device or a pipe takes what is written and must not be replaced; a folder says that it is one.
    if path.exists() and not path.is_file():
        _write(path, content)
        return
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
    """A hidden folder for what is to be moved into `folder`; removed when the block ends, or by the next one here."""
    _remove_left(folder)
    with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=folder, ignore_cleanup_errors=True) as place:
        lock = _lock(Path(place))
        try:
            yield Path(place)
        finally:
            if lock is not None:
                os.close(lock)


def unwritable(what: str, error: OSError) -> EyechartError:
    """The error for something that cannot be written: wrong usage, unless the disk is full.

    Args:
        what: Names it, as the subject of the message.
        error: Why it cannot be written.
    """
    if error.errno in _FULL:
        return OutputError(_full(what, error))
    return UsageError(f"{what} cannot be written: {error.strerror or error}")


def disk_error(error: BaseException) -> OutputError | None:
    """The error to show for one that a full disk led to, in whatever a library made of it; None for any other."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in _FULL:
            return OutputError(_full("a file", cause))
        cause = cause.__cause__ or cause.__context__
    return None


def _full(what: str, error: OSError) -> str:
    # Libraries put words of their own in the place of the system's.
    reason = os.strerror(error.errno) if error.errno else error
    return f"{what} cannot be written: {reason}; make room on the disk and repeat the command"


def _remove_left(folder: Path) -> None:
    """Remove what ended processes left; an empty folder may be one whose process is about to lock it."""
    for place in folder.glob(f"{UNFINISHED}*"):
        with suppress(OSError):
            if any(place.iterdir()) and (lock := _lock(place)) is not None:
                shutil.rmtree(place, ignore_errors=True)
                os.close(lock)


def _lock(place: Path) -> int | None:
    """The descriptor of a folder that is locked as long as it is open; None where locks are not to be had."""
    # Without locks nothing is known of other processes, and nothing of theirs is removed.
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
