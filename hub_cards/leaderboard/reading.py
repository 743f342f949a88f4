"""Reads untrusted entries in a process with bounds on memory and time, as a small file can unpack to any size."""

import atexit
import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.requests.errors import BadResultsError
from eyechart.hub_cards.leaderboard.entries import Entry, read_entry

MOST_MEMORY = 3_000_000_000
"""Bytes of address space of the process that reads an entry; 0.6 GB of it are libraries."""
MOST_SECONDS = 60


def read_bounded(folder: Path, root: Path) -> Entry:
    """Read an entry below `root`; raises DataError if that fails or needs too much memory or time."""
    if _reader().poll() is not None:
        _reader.cache_clear()
    reader = _reader()
    assert reader.stdin is not None and reader.stdout is not None
    try:
        reader.stdin.write(json.dumps([str(folder.absolute()), str(root.absolute())]).encode() + b"\n")
        reader.stdin.flush()
        # Written by `serve`, which is this program; an entry gives values and no pickle.
        entry = pickle.load(reader.stdout)
    # Also if the memory of this process is full.
    except Exception as error:
        _end(reader)
        limits = f"{MOST_SECONDS} s and {MOST_MEMORY:,} bytes of memory"
        raise BadResultsError(f"cannot be read within {limits}, or crashes the reader", path=folder) from error
    if isinstance(entry, DataError):
        raise entry
    assert isinstance(entry, Entry)
    return entry


@cache
def _reader() -> subprocess.Popen[bytes]:
    """The process; it ends with this one."""
    # Arrow's other allocators reserve more address space than they use.
    environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"}
    command = [sys.executable, "-P", "-c", f"from {__name__} import serve; serve()"]
    reader = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
    )
    atexit.register(_end, reader)
    return reader


def _end(reader: subprocess.Popen[bytes]) -> None:
    reader.kill()
    reader.communicate()


def serve() -> None:
    """Read the entries that are named on standard input, and write what each contains to standard output."""
    # Windows cannot bound the memory of a process, and has no alarm.
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    for line in sys.stdin.buffer:
        folder, root = map(Path, json.loads(line))
        _alarm(MOST_SECONDS)
        try:
            entry: Entry | DataError = read_entry(folder, root)
        except Exception as error:
            entry = error if isinstance(error, DataError) else DataError(unexpected(error))
        _alarm(0)
        # The other process may have ended.
        with contextlib.suppress(BrokenPipeError):
            pickle.dump(entry, sys.stdout.buffer)
            sys.stdout.buffer.flush()


def _alarm(seconds: int) -> None:
    # The signal ends the process.
    if sys.platform != "win32":
        signal.alarm(seconds)


def unexpected(error: Exception) -> str:
    """The reason against an entry that cannot be checked."""
    return f"cannot be checked: {type(error).__name__}: {error!s:.200}"
