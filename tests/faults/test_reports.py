"""Reports: untrusted or edited results and replies."""

import json
import os
import re

import pyarrow
import pyarrow.parquet
import pytest

from eyechart.datasets_scripts.common.errors import BadResultsError
from eyechart.evaluators.report import write_report
from eyechart.evaluators.results.results_file import LeftOut, collect
from eyechart.evaluators.runs.run import write_run
from tests.evaluators.command_line import invoke
from tests.evaluators.finished_runs import seal
from tests.evaluators.report.conftest import PERCEPTION, Page, choice, replaced
from tests.faults.fault import fault, rows

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"' & {{ 7*7 }} \u2028"
REFUSED = "the report is refused; the error names the file"


def write(folder, evaluation=PERCEPTION):
    write_run(folder, collect([evaluation], [], "2026-01-01T00:00:00+00:00"))
    return folder


def page_of(folder, **options):
    return Page(write_report([folder], **options).read_text(encoding="utf-8"))


@fault("the model's name, replies, settings and data contain scripts and images", "the report shows them as text")
def test_markup(tmp_path):
    evaluation = replaced(
        PERCEPTION,
        model=EVIL,
        scores={**PERCEPTION.scores, "by_concern": {EVIL: PERCEPTION.scores["by_concern"]["other"]}},
        settings={EVIL: EVIL, "data": {"source": EVIL, "is_mini": False}},
        items=[choice(EVIL, EVIL, question=EVIL, options=[EVIL, "No"])],
        left_out=[LeftOut(id=EVIL, reason=EVIL)],
        warnings=[EVIL],
        caveats=[EVIL],
    )
    page = page_of(write(tmp_path, evaluation))
    assert page.open == []
    assert [a.get("id") or a.get("type") for a in page.all("script")] == ["samples-data", None]
    assert page.all("img") == []
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert page.holds(EVIL.strip())
    (sample,) = page.samples["samples"]
    assert sample["text"] == sample["id"] == sample["question"] == sample["options"][0] == EVIL


@fault(
    "results were edited so that the names of the task and dataset lead out of the folder",
    "no file outside the run's folder is written",
)
def test_names_that_lead_up(tmp_path):
    file = write(tmp_path / "run") / "results.json"
    raw = json.loads(file.read_text())
    raw["tasks"][0].update(task="../../q_bench/perception", dataset="<b>/etc")
    file.write_text(json.dumps(raw))
    write_report([tmp_path / "run"])
    assert {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*")} == {"run"}
    assert all(re.fullmatch(r"[\w.]+", path.name) for path in (tmp_path / "run" / "report_files").iterdir())


@fault("a run's predictions are missing", "the report shows the scores and says that there are no samples")
def test_missing_predictions(tmp_path):
    (write(tmp_path, replaced(PERCEPTION, scores={"accuracy": 0.75, "n": 4})) / "predictions.parquet").unlink()
    page = page_of(tmp_path)
    assert page.holds("75.00 %") and page.holds("has no predictions")


@fault("a run's predictions are damaged", REFUSED)
def test_damaged_predictions(tmp_path):
    (write(tmp_path) / "predictions.parquet").write_bytes(b"PAR1 and nothing more")
    seal(tmp_path)
    with pytest.raises(BadResultsError, match=r"predictions\.parquet: cannot be read as predictions"):
        write_report([tmp_path])


@pytest.mark.parametrize(
    ("column", "values", "reason"),
    rows(
        REFUSED,
        ("scores of items are strings", "own_score", ["high", "low"], "its column own_score has type string; expected"),
        ("options are numbers", "options", [1, 2], "its column options has type int64; expected list<"),
        ("replies are lists", "text", [["A"], ["B"]], "its column text has type list<.*>; expected string"),
        ("the ids are missing", "id", None, "some or all rows have no id"),
    ),
)
def test_other_types(tmp_path, column, values, reason):
    file = write(tmp_path) / "predictions.parquet"
    table = pyarrow.parquet.read_table(file).slice(0, 2).drop_columns(column)
    if values is not None:
        table = table.append_column(column, pyarrow.array(values))
    pyarrow.parquet.write_table(table, file)
    seal(tmp_path)
    with pytest.raises(BadResultsError, match=rf"predictions\.parquet: {reason}"):
        write_report([tmp_path])


@pytest.mark.parametrize(
    "make",
    rows(
        "one line reports it without waiting; nothing is read; exit code 1",
        ("a run's results are a named pipe", os.mkfifo),
        ("a run's results are a link to /dev/zero", lambda path: path.symlink_to("/dev/zero")),
    ),
)
def test_results_that_never_end(tmp_path, make):
    file = write(tmp_path) / "results.json"
    file.unlink()
    make(file)
    done = invoke("report", str(tmp_path))
    assert done.exit_code == 1
    assert "it is a folder, a pipe or a device; expected a regular file" in done.output


@fault("results written by a later version of eyechart", "one line names the version that can read them; exit code 1")
def test_later_version(tmp_path):
    file = write(tmp_path) / "results.json"
    file.write_text(file.read_text().replace('"schema": 1', '"schema": 2'))
    done = invoke("report", str(tmp_path))
    assert done.exit_code == 1
    assert "its schema is 2" in done.output and "Traceback" not in done.output


@fault(
    "the list of a report's files was edited to name other files", "the next report removes its own files and no others"
)
def test_edited_list(tmp_path):
    files = write(tmp_path) / "report_files"
    write_report([tmp_path])
    (files / "own_notes.md").write_text("mine")
    with (files / "written_by_eyechart.txt").open("a") as names:
        names.write("../results.json\n..\n.\n\n\x00\nnever_there.svg\n")
    write(tmp_path, replaced(PERCEPTION, scores=None))
    write_report([tmp_path])
    assert [path.name for path in files.iterdir()] == ["own_notes.md"]
    (files / "own_notes.md").unlink()
    write(tmp_path)
    write_report([tmp_path])
    write_report([tmp_path], files=False)
    assert not files.exists() and (tmp_path / "results.json").exists()
