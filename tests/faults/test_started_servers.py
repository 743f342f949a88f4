"""Servers that a run starts: they end with it."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from tests.faults.fault import fault, rows

# Starts a server that never answers, as `eyechart run --serve` does.
_RUN = """
import signal, sys
from pathlib import Path
from eyechart.evaluators.backends.endpoint import serving
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.commands.run import _stopped_at_end

# Whoever started the tests may ignore them.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
folder = Path(sys.argv[1])
serving._STOP_TIMEOUT = float(sys.argv[3])
server = serving.Server(f"{sys.executable} {folder}/server.py {sys.argv[2]} {{model}} {{port}}", "m", folder / "log")
with _stopped_at_end(server):
    server.start(EndpointOptions())
"""
# Starts a worker of some kind; both write their ids into the folder.
_SERVER = """
import os, signal, subprocess, sys, time
from pathlib import Path

def begin(name):
    (Path(__file__).parent / "pids" / f"{os.getpid()}.{name}").touch()
    time.sleep(600)

def deaf():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)

def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            deaf()
            begin("daemon")
        os._exit(0)

kind = sys.argv[1]
if kind == "worker" and os.fork() == 0:
    begin("worker")
if kind in ("session", "group", "parent") and os.fork() == 0:
    os.setsid()
    deaf()
    begin("worker")
if kind in ("daemon", "crash", "launcher"):
    daemon()
if kind == "deaf":
    deaf()
if kind == "crash":
    time.sleep(1)
    os.abort()
if kind == "launcher":
    time.sleep(1)
    sys.exit(0)
if kind == "parent":
    os.kill(os.getppid(), signal.SIGQUIT)
if kind == "group":
    time.sleep(1)
    os.killpg(0, signal.SIGKILL)
begin("server")
"""
COUNTS = {"alone": 1, "deaf": 1, "crash": 1, "launcher": 1, "group": 1}


def is_running(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_for(condition, what):
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


@contextlib.contextmanager
def started(kind, patience, folder):
    """A run with a server of a kind; at the end, the run and every process of the server have to end by themselves."""
    pids = folder / "pids"
    pids.mkdir()
    (folder / "server.py").write_text(_SERVER)
    command = [sys.executable, "-c", _RUN, str(folder), kind, str(patience)]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        wait_for(lambda: len([*pids.iterdir()]) == COUNTS.get(kind, 2), "the server starts")
        yield run
        output, _ = run.communicate(timeout=120)
        assert run.returncode != 0, output
        wait_for(lambda: not any(is_running(int(file.stem)) for file in pids.iterdir()), output)
    finally:
        run.kill()
        for file in pids.iterdir():
            if is_running(int(file.stem)):
                os.kill(int(file.stem), signal.SIGKILL)


SECOND = (signal.SIGINT, signal.SIGINT)


@pytest.mark.parametrize(
    ("kind", "signals", "patience"),
    rows(
        "no process of the server is left",
        ("a run is killed while its server runs", "alone", (signal.SIGKILL,), 1),
        ("a run is killed while its server, which ignores SIGTERM, runs", "deaf", (signal.SIGKILL,), 1),
        ("a run is killed while a worker of its server runs", "worker", (signal.SIGKILL,), 1),
        ("a run is killed while a worker in a session of its own runs", "session", (signal.SIGKILL,), 1),
        ("a run is killed while a daemon of its server runs", "daemon", (signal.SIGKILL,), 1),
        ("a run gets SIGTERM while a daemon of its server runs", "daemon", (signal.SIGTERM,), 1),
        ("the terminal of a run is closed (SIGHUP) while a daemon of its server runs", "daemon", (signal.SIGHUP,), 1),
        ("a run gets Ctrl-C while a worker in a session of its own runs", "session", (signal.SIGINT,), 1),
        ("a run gets Ctrl-C twice while its server, which ignores SIGTERM, runs", "deaf", SECOND, 600),
        ("a run gets Ctrl-C, then is killed", "session", (signal.SIGINT, signal.SIGKILL), 1),
        ("a server crashes, and leaves a daemon", "crash", (), 600),
        ("a server is a launcher that starts a daemon and ends", "launcher", (), 600),
        ("a server kills its process group, but not a worker in a session of its own", "group", (), 600),
        ("a server sends SIGQUIT to the process that started it", "parent", (), 1),
    ),
)
def test_nothing_is_left(kind, signals, patience, tmp_path):
    with started(kind, patience, tmp_path) as run:
        for number in signals:
            run.send_signal(number)
            time.sleep(0.5)


@pytest.mark.parametrize(
    ("kind", "signals"),
    rows(
        "the run ends, and no process of the server is left",
        ("the process that stops a server is killed", "worker", (signal.SIGKILL,)),
        ("the process that stops a server is killed; a worker has a session of its own", "session", (signal.SIGKILL,)),
        ("the process that stops a server is stopped itself, then Ctrl-C", "session", (signal.SIGSTOP, signal.SIGINT)),
    ),
)
def test_the_guardian_fails(kind, signals, tmp_path):
    with started(kind, 1, tmp_path) as run:
        (guardian,) = psutil.Process(run.pid).children()
        for process, number in zip((guardian, run), signals, strict=False):
            process.send_signal(number)


@fault("a run and the process that stops its server are killed together", "the next run ends the server's processes")
def test_the_next_run_cleans_up(tmp_path):
    with started("session", 600, tmp_path) as run:
        (guardian,) = psutil.Process(run.pid).children()
        for process in (run, guardian):
            process.kill()
        run.wait()
        (tmp_path / "server.py").write_text("")
        subprocess.run(run.args, capture_output=True, timeout=120)
        assert not [*tmp_path.glob(".eyechart-server-*")]


@fault("two runs with servers have the same `--out`", "the second does not end the server of the first")
def test_two_runs_in_a_folder(tmp_path):
    with started("session", 1, tmp_path) as run:
        (tmp_path / "server.py").write_text("")
        subprocess.run(run.args, capture_output=True, timeout=120)
        assert all(is_running(int(file.stem)) for file in (tmp_path / "pids").iterdir())
        run.terminate()
