"""Interruption: processes that are killed while writing, and processes that write at the same time."""

import json
import random
import runpy
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from eyechart.datasets_scripts.common.whole import UNFINISHED, whole_folder, write_whole
from eyechart.evaluators.requests.errors import BadResultsError
from eyechart.evaluators.requests.keys import request_keys
from eyechart.evaluators.requests.store import ResponseStore
from eyechart.evaluators.results.finished_runs import read_runs
from tests.faults.fault import fault, rows
from tests.faults.helpers import writing

SCRIPT = Path(__file__).resolve().parents[1] / "evaluators" / "backends" / "logging_model.py"
MODEL = runpy.run_path(str(SCRIPT))
COUNT = 2000
SECONDS = 0.004
KILLS = 8
# How far a process may get, in bytes of its log, of which a whole run makes 50,000.
FARTHEST = 2000


def hidden(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(UNFINISHED)]


@pytest.mark.parametrize(
    ("kind", "before"),
    [
        *rows(
            "the previous file is intact", ("a process is killed while it replaces a file of a run", "file", b"former")
        ),
        *rows(
            "the folder does not exist; the next start creates it",
            ("a process is killed while it creates a folder", "folder", None),
        ),
    ],
)
def test_killed(kind, before, tmp_path):
    target = tmp_path / "target"
    if before is not None:
        target.write_bytes(before)
    with writing(kind, target) as child:
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert (target.read_bytes() if target.exists() else None) == before
    assert len(hidden(tmp_path)) == 1
    if kind == "file":
        write_whole(target, b"new")
        assert target.read_bytes() == b"new"
    else:
        with whole_folder(target) as unfinished:
            (unfinished / "a").write_bytes(b"whole")
        assert (target / "a").read_bytes() == b"whole"


@fault("a killed process leaves a hidden folder", "the next process that writes there removes it")
def test_left(tmp_path):
    with writing("folder", tmp_path / "one") as child:
        child.kill()
        child.wait()
    assert len(hidden(tmp_path)) == 1
    write_whole(tmp_path / "other", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


@fault("two processes write into the same folder at the same time", "neither removes the other's unfinished files")
def test_alive(tmp_path):
    with writing("folder", tmp_path / "one"):
        begun = hidden(tmp_path)
        write_whole(tmp_path / "other", "text")
        assert hidden(tmp_path) == begun and len(begun) == 1


@fault("Ctrl-C while a file is being written", "the previous file is intact; no temporary files remain")
def test_interrupted(tmp_path):
    (tmp_path / "target").write_bytes(b"former")
    with writing("file", tmp_path / "target") as child:
        child.send_signal(signal.SIGINT)
        child.wait()
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("target", b"former")]


def start(folder, out, seconds=SECONDS):
    command = [sys.executable, str(SCRIPT), str(folder), "--count", str(COUNT), "--seconds", str(seconds), "--out", out]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    return child


def wait_for(child, path, size):
    while child.poll() is None and (not path.exists() or path.stat().st_size < size):
        time.sleep(0.001)


def finish(child):
    child.communicate(timeout=1800)
    assert child.returncode == 0


def lines(folder, out):
    """The requested ids and the answered ids, in order."""
    logged = {"asked": [], "got": []}
    path = folder / f"{out}.log"
    for line in path.read_text().splitlines() if path.exists() else ():
        what, _, id = line.partition(" ")
        logged[what].append(id)
    return logged


def stored(folder, copy):
    """The ids of the stored answers, read from a copy so that the store itself stays unchanged."""
    copy.mkdir()
    for name in ("responses.sqlite", "responses.sqlite-wal"):
        if (folder / name).exists():
            shutil.copy(folder / name, copy / name)
    requests = MODEL["make_requests"](COUNT)
    keys = request_keys({"model": "logging"}, requests)
    ids = {request.id: key for request, key in zip(requests, keys, strict=True)}
    with ResponseStore.open(copy / "responses.sqlite") as store:
        store.check()
        logged = store.get(ids.values())
    shutil.rmtree(copy)
    return {id for id, key in ids.items() if key in logged}


REWRITER = """
import sys
from pathlib import Path
from tests.evaluators.finished_runs import evaluated, item, write
results = [[evaluated(scores=None, items=[item(f"q{number}") for number in range(count)])] for count in (3, 3000)]
print("ready", flush=True)
while True:
    for result in results:
        write(Path(sys.argv[1]), result)
"""


@fault("a process is killed while it replaces a run's files", "its two files belong together, or the pair is refused")
def test_killed_pair(tmp_path):
    rng, outcomes = random.Random(0), set()
    for number in range(6):
        folder = tmp_path / str(number)
        with subprocess.Popen([sys.executable, "-c", REWRITER, folder], stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout.readline() == "ready\n"
            wait_for(child, folder / "predictions.parquet", 1)
            time.sleep(rng.uniform(0, 0.2))
            child.kill()
        try:
            (run,) = read_runs([folder])
            outcomes.add(run.predictions.num_rows)
        except BadResultsError as error:
            assert "does not belong to the results" in str(error)
    assert outcomes <= {3, 3000} and outcomes


@pytest.mark.slow
@fault("a run is killed at eight random moments", "no received answer is lost, and none is requested again")
def test_killed_run(tmp_path):
    rng = random.Random(20)
    (tmp_path / "whole").mkdir()
    finish(start(tmp_path / "whole", "run", seconds=0))
    folder = tmp_path / "killed"
    folder.mkdir()
    known = set()
    for number in range(KILLS):
        child = start(folder, f"{number}")
        wait_for(child, folder / f"{number}.log", rng.randrange(FARTHEST))
        time.sleep(rng.uniform(0, 2 * SECONDS))
        child.send_signal(signal.SIGKILL)
        child.communicate()
        assert child.returncode == -signal.SIGKILL, "it must not have finished before"
        run = lines(folder, f"{number}")
        assert not known & set(run["asked"])
        before, known = known, stored(folder, tmp_path / "copy")
        assert before | set(run["got"]) <= known
    assert len(known) > COUNT / 20, "the kills must have come while it worked"
    finish(start(folder, "last", seconds=0))
    assert not known & set(lines(folder, "last")["asked"])
    assert json.loads((folder / "last.json").read_text()) == json.loads((tmp_path / "whole" / "run.json").read_text())
    assert len(stored(folder, tmp_path / "copy")) == COUNT


@fault("two runs store answers at the same time", "both get all answers, and each answer is stored once")
def test_two_runs(tmp_path):
    children = [start(tmp_path, out, seconds=0) for out in ("one", "two")]
    for child in children:
        finish(child)
    expected = MODEL["plain"](map(MODEL["answer"], MODEL["make_requests"](COUNT)))
    for out in ("one", "two"):
        assert json.loads((tmp_path / f"{out}.json").read_text()) == json.loads(json.dumps(expected))
    assert len(stored(tmp_path, tmp_path / "copy")) == COUNT
    finish(start(tmp_path, "three", seconds=0))
    assert lines(tmp_path, "three")["asked"] == []
