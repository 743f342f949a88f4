"""Runs a server, and stops it with every process that it started, when it is told to or when its parent ends.

The server gets some seconds to end by itself, unless a second signal comes. `serving` starts this file by its path,
without the package. On Linux, processes whose own parents have ended (daemons) become children of this one; elsewhere
they are not stopped.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time

import psutil

_INTERVAL, _KILL_TIMEOUT = 0.1, 10.0
# https://man7.org/linux/man-pages/man2/prctl.2.html
_PARENT_DEATH_SIGNAL, _CHILD_SUBREAPER = 1, 36


def main(patience: float, parent: int, command: list[str]) -> int:
    """Run a server; returns its exit code, which is negative if a signal ended it."""
    received: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, frame: received.append(number))
    _prctl(_CHILD_SUBREAPER, 1)
    server = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, preexec_fn=lambda: _prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    )
    end = None
    while not _has_ended(server):
        if received or os.getppid() != parent:
            if end is None:
                end = time.monotonic() + patience
                _signal_all(signal.SIGTERM)
            elif len(received) > 1 or time.monotonic() > end:
                break
        time.sleep(_INTERVAL)
    # Some processes cannot be ended while a driver works for them.
    end = time.monotonic() + _KILL_TIMEOUT
    while _signal_all(signal.SIGKILL) and time.monotonic() < end:
        _has_ended(server)
        time.sleep(_INTERVAL / 10)
    return server.returncode or 0


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value)


def _has_ended(server: "subprocess.Popen[bytes]") -> bool:
    """Whether the server has ended; also collects all other children that have."""
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == server.pid:
                server.returncode = os.waitstatus_to_exitcode(ended[1])
    return server.returncode is not None


def _signal_all(number: signal.Signals) -> bool:
    """Send a signal to all descendants; returns whether there are any."""
    descendants = psutil.Process().children(recursive=True)
    for process in descendants:
        with contextlib.suppress(psutil.Error):
            process.send_signal(number)
    return bool(descendants)


if __name__ == "__main__":
    try:
        code = main(float(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
    except OSError as error:
        sys.exit(f"{sys.argv[3]}: {error.strerror}")
    if code < 0:
        # SIGKILL cannot be set.
        with contextlib.suppress(OSError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)
