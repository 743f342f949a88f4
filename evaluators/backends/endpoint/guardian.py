"""Runs a server, and stops it with every process that it started, when it is told to or when its parent ends.

The server gets some seconds to end by itself, unless a second signal comes. `serving` starts this file by its path,
without the package. The processes of a server are those with its marker in their environment, and their descendants; on
Linux, processes whose own parents have ended (daemons) become children of this one.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time

import psutil

MARKER = "EYECHART_SERVER"
KILL_TIMEOUT, _INTERVAL = 10.0, 0.1
# https://man7.org/linux/man-pages/man2/prctl.2.html
_PARENT_DEATH_SIGNAL, _CHILD_SUBREAPER = 1, 36


def main(patience: float, parent: int, command: list[str]) -> int:
    """Run a server; returns its exit code, which is negative if a signal ended it."""
    received: list[int] = []
    marker = os.environ[MARKER]
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, lambda number, frame: received.append(number))
    _prctl(_CHILD_SUBREAPER, 1)
    # In a session of its own, so that signals to its group do not reach this process.
    server = subprocess.Popen(
        command, start_new_session=True, preexec_fn=lambda: _prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    )
    end = None
    while not _has_ended(server):
        if received or os.getppid() != parent:
            if end is None:
                end = time.monotonic() + patience
                _signal_all(marker, signal.SIGTERM)
            elif len(received) > 1 or time.monotonic() > end:
                break
        time.sleep(_INTERVAL)
    kill_all(marker)
    _has_ended(server)
    return server.returncode or 0


def kill_all(marker: str) -> None:
    """Kill all processes of a server, except those for which a driver works for longer."""
    end = time.monotonic() + KILL_TIMEOUT
    while _signal_all(marker, signal.SIGKILL) and time.monotonic() < end:
        time.sleep(_INTERVAL / 10)


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


def _signal_all(marker: str, number: signal.Signals) -> bool:
    """Send a signal to all processes of a server but this one; returns whether one of them still runs."""
    processes: set[psutil.Process] = set()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(MARKER) == marker:
                processes |= {process, *process.children(recursive=True)}
    is_running = False
    for process in processes - {psutil.Process()}:
        with contextlib.suppress(psutil.Error):
            process.send_signal(number)
            is_running |= process.status() != psutil.STATUS_ZOMBIE
    return is_running


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
