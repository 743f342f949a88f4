"""Outputs: files that cannot be written, or only in part, and drives that they are on."""

import csv
import io
import json
import os
import re
import shutil
import stat
import unicodedata

import psutil
import pytest
from hypothesis import example, given, settings
from hypothesis.strategies import text

from eyechart.datasets_scripts import mini
from eyechart.datasets_scripts.common.errors import OutputError
from eyechart.datasets_scripts.common.files.csv_text import csv_text, unescaped
from eyechart.datasets_scripts.common.whole import write_whole
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.evaluators.backends.predictions.formats import read_predictions
from eyechart.evaluators.commands.running import network_drive
from eyechart.evaluators.evaluation import data
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.report import samples, write_report
from eyechart.evaluators.results import items
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.results.results_file import collect
from eyechart.evaluators.runs.run import write_run
from eyechart.evaluators.tasks import get_task
from eyechart.evaluators.text_to_score.files import write_scores
from tests.evaluators.command_line import invoke
from tests.evaluators.finished_runs import evaluation
from tests.evaluators.report.conftest import PERCEPTION
from tests.faults.fault import fault, rows
from tests.faults.helpers import contents, full_disk

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


@fault("the disk is full while a run's results are written", "earlier files are kept; there are no partial files")
def test_results(run):
    before = contents(run)
    with full_disk(), pytest.raises(OutputError, match="File too large"):
        write_run(run, collect([evaluation()], [], "2026-01-02"))
    assert contents(run) == before


@pytest.mark.parametrize(
    "name",
    rows(
        "its results can be written and read",
        ("a run's folder has a name that is not valid text", os.fsdecode(b"run\xff")),
        ("a run's folder has a name that looks like the start of a URL", "s3:/bucket"),
    ),
)
def test_odd_names(score, tmp_path, name, monkeypatch):
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


@pytest.mark.usefixtures("any_scores")
@fault("the disk is full while a comparison is written", "the previous file is kept; one line reports it; exit code 1")
def test_comparison(run, tmp_path):
    shutil.copytree(run, tmp_path / "other")
    (tmp_path / "a.json").write_text("former")
    with full_disk(100):
        done = invoke("compare", run, tmp_path / "other", "--out", tmp_path / "a.json")
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
    assert (tmp_path / "a.json").read_text() == "former"


@fault("a file is written to a device or to a symbolic link", "the device and the link are kept; the target is written")
def test_links(tmp_path):
    (tmp_path / "null").symlink_to("/dev/null")
    write_whole(tmp_path / "null", "text")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode) and (tmp_path / "null").is_symlink()
    (tmp_path / "real").write_text("former")
    (tmp_path / "link").symlink_to("real")
    write_whole(tmp_path / "link", "new")
    assert ((tmp_path / "real").read_text(), (tmp_path / "link").is_symlink()) == ("new", True)


@fault(
    "a folder exists where the predictions are to be written", "the run ends with one line; the results are complete"
)
def test_predictions_in_the_way(score, tmp_path):
    (tmp_path / "predictions.parquet").mkdir()
    done = score(tmp_path)
    assert done.exit_code == 2
    assert f"the results folder {tmp_path} cannot be written" in done.output and "Traceback" not in done.output
    assert sorted(file.name for file in tmp_path.iterdir()) == ["predictions.parquet", "results.json"]


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
@settings(max_examples=300)
@given(text(alphabet="'=+-@\t\r\n \u00a0\u200b\ufeff\uff1d\uff0b\uff0d\uff20\u22121a\".,", max_size=6))
@example("-0.5")
def test_formulas(cell):
    lines = csv_text([f"h{cell}", "score"], [[cell, -0.5], [-1, 0.25]])
    (_, number), (first, score), last = csv.reader(io.StringIO(lines, newline=""))
    assert (number, score, last) == ("score", "-0.5", ["-1", "0.25"]) and unescaped(first) == cell
    shown = unicodedata.normalize("NFKC", first).replace("\u2212", "-").strip("\u200b\ufeff\t\r\n ")
    assert not shown.startswith(("=", "+", "-", "@")) or re.fullmatch(r"[+-]\d+(\.\d+)?", first)


@fault("an id with a formula in a CSV file of predicted scores", "`eyechart score` finds its item")
def test_formulas_as_ids(tmp_path):
    write_scores(tmp_path / "scores.csv", ["=1+1", "'=1+1", "a"], [0.5, -0.5, 1.0])
    assert (tmp_path / "scores.csv").read_text() == "id,score\n'=1+1,0.5\n''=1+1,-0.5\na,1.0\n"
    _, answers = read_predictions(tmp_path / "scores.csv")
    assert [answer.id for answer in answers] == ["=1+1", "'=1+1", "a"]


@fault("a run has more rows than are asked, written and shown at once", "its results are the same; no part is larger")
def test_rows_in_parts(score, tmp_path, monkeypatch):
    assert score(tmp_path / "whole").exit_code == 0
    sizes = []
    answer = PredictionsFileBackend.answer

    def counted(backend, asked):
        sizes.append(len(asked))
        return answer(backend, asked)

    monkeypatch.setattr(PredictionsFileBackend, "answer", counted)
    for module, name in ((data, "_ROWS_PER_BLOCK"), (data, "_ROWS_AT_ONCE"), (items, "_ITEMS_PER_PART")):
        monkeypatch.setattr(module, name, 2)
    monkeypatch.setattr(samples, "_QUESTIONS_PER_PART", 2)
    assert score(tmp_path / "parts").exit_code == 0 and sizes == [2, 1]
    (whole,), (parts,) = (read_runs([tmp_path / name]) for name in ("whole", "parts"))
    assert parts.predictions.equals(whole.predictions)
    assert [task.scores for task in parts.results.tasks] == [task.scores for task in whole.results.tasks]
    pages = [(tmp_path / name / "report.html").read_text() for name in ("whole", "parts")]
    first, second = (re.findall(r"<script type=.application/json.[^<]*", page) for page in pages)
    assert first and first == second


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
