"""Outputs and interruption: files that cannot be written, processes that are killed or write at the same time."""

import csv
import io
import json
import os
import random
import re
import runpy
import shutil
import signal
import stat
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

import psutil
import pytest
from hypothesis import example, given, settings
from hypothesis.strategies import text

from eyechart.datasets_scripts import mini
from eyechart.datasets_scripts.common.files.csv_text import csv_text, unescaped
from eyechart.datasets_scripts.common.whole import UNFINISHED, whole_folder, write_whole
from eyechart.evaluators.commands.running import network_drive
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.report import write_report
from eyechart.evaluators.requests.errors import BadResultsError
from eyechart.evaluators.requests.keys import request_keys
from eyechart.evaluators.requests.store import ResponseStore
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.results.results_file import collect
from eyechart.evaluators.runs.run import write_run
from eyechart.evaluators.tasks import get_task
from tests.evaluators.command_line import invoke
from tests.evaluators.report.conftest import PERCEPTION
from tests.faults.conftest import contents, full_disk, writing
from tests.faults.fault import fault, rows

RESULTS = 40_000
"""Enough bytes for the results of a small run, but not for its report."""


@pytest.fixture(scope="module")
def score(tmp_path_factory):
    """Scores answers to three questions into a folder."""
    rows = load_data(get_task("q_bench/perception"), DataRequest(is_mini=True)).dataset.select(range(3))
    file = tmp_path_factory.mktemp("score") / "answers.jsonl"
    answers = zip(rows["id"], rows["answer"], strict=True)
    file.write_text("".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in answers))
    command = ["score", "q_bench/perception", "--mini", "--predictions", str(file), "--limit", "3", "--no-store"]
    return lambda out: invoke(*command, "--out", str(out))


@pytest.fixture
def run(tmp_path):
    """A finished run in a separate folder."""
    folder = tmp_path / "run"
    write_run(folder, collect([PERCEPTION], [], "2026-01-01T00:00:00+00:00"))
    return folder


@fault("a run's folder has a name that is not valid text", "its results can be written and read")
def test_odd_names(score, tmp_path, monkeypatch):
    name = os.fsdecode(b"run\xff")
    monkeypatch.chdir(tmp_path)
    assert score(name).exit_code == 0
    assert {path.name for path in (tmp_path / name).iterdir()} == {"predictions.parquet", "report.html", "results.json"}
    (run,) = read_runs([name])
    assert run.predictions is not None and run.predictions.num_rows == 3


@fault("the disk is full while a task's results are written", "the run ends with one line and exit code 1")
def test_results_of_a_run(score, tmp_path):
    done = score(tmp_path / "warm")
    assert done.exit_code == 0, done.output
    (tmp_path / "out").mkdir()
    with full_disk(100):
        done = score(tmp_path / "out")
    assert (done.exit_code, contents(tmp_path / "out")) == (1, {})
    assert (
        f"eyechart: the results folder {tmp_path / 'out'} cannot be written: File too large; free disk space"
        in done.stderr
    )
    assert "Traceback" not in done.output


@fault("the disk is full while a run's report is written", "the results are kept; one line reports it; exit code 1")
def test_report_of_a_run(score, tmp_path):
    with full_disk(RESULTS):
        done = score(tmp_path / "out")
    assert done.exit_code == 1 and f"the report in {tmp_path / 'out'} cannot be written: File too large" in done.stderr
    assert f"To try again: `eyechart report {tmp_path / 'out'}`" in done.stderr
    assert sorted(contents(tmp_path / "out")) == ["predictions.parquet", "results.json"]


@fault("something else exists where a run's report is to be written", "the run ends well; one line says what to do")
def test_report_in_the_way(score, tmp_path):
    (tmp_path / "report.html").mkdir()
    done = score(tmp_path)
    assert done.exit_code == 0 and f"the report in {tmp_path} cannot be written: Is a directory" in done.stderr
    assert f"To try again: `eyechart report {tmp_path}`" in done.stderr and (tmp_path / "results.json").exists()


@fault(
    "a folder exists where the predictions are to be written", "the run ends with one line; the results are complete"
)
def test_predictions_in_the_way(score, tmp_path):
    (tmp_path / "predictions.parquet").mkdir()
    done = score(tmp_path)
    assert done.exit_code == 2
    assert f"the results folder {tmp_path} cannot be written" in done.output and "Traceback" not in done.output
    assert sorted(file.name for file in tmp_path.iterdir()) == ["predictions.parquet", "results.json"]


@pytest.mark.usefixtures("any_scores")
@fault("the disk is full while a report is rewritten", "the previous page, figures and tables are all kept")
def test_former_report(run):
    write_report([run])
    before = contents(run)
    with full_disk(RESULTS):
        done = invoke("report", str(run))
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
    after = contents(run)
    changed = [name for name in before if after.get(name) != before[name]]
    assert (changed, after.keys() - before.keys()) == ([], set())


@fault("a file is written to a device or to a symbolic link", "the device and the link are kept; the target is written")
def test_links(tmp_path):
    (tmp_path / "null").symlink_to("/dev/null")
    write_whole(tmp_path / "null", "text")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode) and (tmp_path / "null").is_symlink()
    (tmp_path / "real").write_text("former")
    (tmp_path / "link").symlink_to("real")
    write_whole(tmp_path / "link", "new")
    assert ((tmp_path / "real").read_text(), (tmp_path / "link").is_symlink()) == ("new", True)


@fault("the disk is full while a dataset is exported", "one line reports it; exit code 1; no partial export remains")
def test_export(tmp_path):
    mini.release("llvisionqa")
    with full_disk(3000):
        done = invoke("export", "llvisionqa", "--mini", "--out", str(tmp_path / "out"))
    assert (done.exit_code, done.stderr.count("\n"), list(tmp_path.iterdir())) == (1, 1, [])
    assert done.stderr.startswith("eyechart: a file cannot be written: File too large; free disk space")


@fault(
    "an id, a model's name or a heading is a formula, also behind a tab, CR, blank or invisible sign, or full-width",
    "it begins with an apostrophe in every CSV file, and is read back unchanged; numbers stay numbers",
)
@settings(max_examples=100)
@given(text(alphabet="'=+-@\t\r\n \u00a0\u200b\ufeff\uff1d\uff0b\uff0d\uff20\u22121a\".,", max_size=6))
@example("-0.5")
def test_formulas(cell):
    lines = csv_text([f"h{cell}", "score"], [[cell, -0.5], [-1, 0.25]])
    (_, number), (first, score), last = csv.reader(io.StringIO(lines, newline=""))
    assert (number, score, last) == ("score", "-0.5", ["-1", "0.25"]) and unescaped(first) == cell
    shown = unicodedata.normalize("NFKC", first).replace("\u2212", "-").strip("\u200b\ufeff\t\r\n ")
    assert not shown.startswith(("=", "+", "-", "@")) or re.fullmatch(r"[+-]\d+(\.\d+)?", first)


MOUNTS = """\
sysfs /sys sysfs rw,nosuid 0 0
/dev/sda1 / ext4 rw,relatime 0 0
auto.home /home autofs rw 0 0
server:/export /home nfs4 rw,vers=4.2 0 0
/dev/sdb1 /home/me/scratch xfs rw 0 0
//share/data /mnt/team\\040data cifs rw 0 0
user@host: /mnt/far fuse.sshfs rw 0 0
tmpfs /mnt/far/quick tmpfs rw 0 0
"""


def mount(tmp_path, monkeypatch, lines):
    """Mount these file systems, in the form of /proc/self/mounts."""
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "mounts").write_text(lines)
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path))


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        *rows(
            "no warning",
            ("the store on a local disk", "/var/cache/eyechart", ""),
            ("a local disk mounted inside an NFS folder", "/home/me/scratch/eyechart", ""),
            ("a folder whose name starts with the name of a network drive", "/home-of-me", ""),
            ("an in-memory file system mounted inside a network drive", "/mnt/far/quick/eyechart", ""),
        ),
        *rows("a warning that names NFS", ("the store in a home folder on NFS", "/home/me/.cache/eyechart", "nfs4")),
        *rows("a warning", ("a network drive with a space in its mount point", "/mnt/team data/eyechart", "cifs")),
    ],
)
def test_stored_answers_on_network_drives(tmp_path, monkeypatch, folder, kind):
    mount(tmp_path, monkeypatch, MOUNTS)
    assert network_drive(folder) == kind


@fault("a system that does not list its mounted file systems", "no warning")
def test_no_list_of_file_systems(tmp_path, monkeypatch):
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path))
    assert network_drive(tmp_path) == ""


@fault("a run with the store on a network drive", "it warns before it starts and says what to do")
def test_a_run_says_so(tmp_path, monkeypatch):
    mount(tmp_path, monkeypatch, f"/dev/sda1 / ext4 rw 0 0\nserver:/export {tmp_path} nfs rw 0 0\n")
    monkeypatch.setenv("EYECHART_HOME", str(tmp_path / "home"))
    arguments = ["run", "aes_bench/assessment", "--mini", "--limit", "1", "--out", str(tmp_path / "run")]
    done = invoke(*arguments)
    assert done.exit_code == 0
    before, warning, _ = done.output.partition("are on a network drive (nfs)")
    assert warning and "1 answers" not in before
    assert "Set EYECHART_HOME to a local folder." in " ".join(done.output.split())


SCRIPT = Path(__file__).resolve().parents[1] / "evaluators" / "backends" / "logging_model.py"
MODEL = runpy.run_path(str(SCRIPT))
COUNT = 2000
SECONDS = 0.004
KILLS = 4
# How far a process may get, in bytes of its log, of which a whole run makes 50,000.
FARTHEST = 2000


def hidden(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(UNFINISHED)]


def killed(kind, target):
    """Kill a process while it writes a file or folder."""
    with writing(kind, target) as child:
        child.kill()
        child.wait()
    assert len(hidden(target.parent)) == 1


@fault("a process is killed while it replaces a file of a run", "the previous file is intact")
def test_killed_file(tmp_path):
    target = tmp_path / "target"
    target.write_bytes(b"former")
    killed("file", target)
    assert target.read_bytes() == b"former"
    write_whole(target, b"new")
    assert target.read_bytes() == b"new"


@fault("a process is killed while it creates a folder", "the folder does not exist; the next start creates it")
def test_killed_folder(tmp_path):
    target = tmp_path / "target"
    killed("folder", target)
    assert not target.exists()
    with whole_folder(target) as unfinished:
        (unfinished / "a").write_bytes(b"whole")
    assert (target / "a").read_bytes() == b"whole"


@fault("a killed process leaves a hidden folder", "the next process that writes there removes it")
def test_left(tmp_path):
    killed("folder", tmp_path / "one")
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
import os, sys
from pathlib import Path
from eyechart.evaluators.results.results_file import collect
from eyechart.evaluators.runs.run import write_run
from tests.evaluators.finished_runs import evaluated, item
runs = [collect([evaluated(scores=None, items=[item(f"q{n}") for n in range(count)])], [], "") for count in (3, 3000)]
for folder in sys.stdin:
    if (writer := os.fork()) == 0:
        for run in runs * 10_000:
            write_run(Path(folder.strip()), run)
    print(writer, flush=True)
    os.waitpid(writer, 0)
"""


@fault("a process is killed while it replaces a run's files", "its two files belong together, or the pair is refused")
def test_killed_pair(tmp_path):
    rng, outcomes = random.Random(0), set()
    command, pipes = [sys.executable, "-c", REWRITER], {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as child:
        for number in range(6):
            folder = tmp_path / str(number)
            print(folder, file=child.stdin, flush=True)
            writer = int(child.stdout.readline())
            wait_for(child, folder / "predictions.parquet", 1)
            time.sleep(rng.uniform(0, 0.2))
            os.kill(writer, signal.SIGKILL)
            try:
                (run,) = read_runs([folder])
                outcomes.add(run.predictions.num_rows)
            except BadResultsError as error:
                assert "does not belong to the results" in str(error)
    assert outcomes <= {3, 3000} and outcomes


@pytest.mark.slow
@fault("a run is killed at four random moments", "no received answer is lost, and none is requested again")
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
