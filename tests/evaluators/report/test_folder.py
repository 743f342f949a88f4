"""Where a report is written, and what of a former one it replaces."""

from typer.testing import CliRunner

from eyechart.evaluators.cli import app
from eyechart.evaluators.report import write_report
from tests.evaluators.report.conftest import PERCEPTION


def test_a_report_of_several_runs_leaves_the_page_of_each_as_it_is(make_run, tmp_path, monkeypatch):
    first, second = make_run(PERCEPTION), make_run(PERCEPTION, name="second")
    alone = write_report([first]).read_text()
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["report", str(first), str(second), "--no-files"])
    assert done.output == "The report is in eyechart_report/report.html\n"
    assert (tmp_path / "eyechart_report" / "report.html").exists()
    assert (first / "report.html").read_text() == alone
    assert not (second / "report.html").exists()


def test_figures_and_tables_are_files_too(make_run):
    folder = make_run(PERCEPTION)
    write_report([folder])
    names = {path.name for path in (folder / "report_files").iterdir()}
    figures = [f"q_bench_perception_llvisionqa_dev_{name}" for name in ("groups", "radar")]
    tables = [f"q_bench_perception_llvisionqa_dev_table_{number}" for number in (7, 8)]
    written = [
        *(f"{figure}.{end}" for figure in figures for end in ("svg", "pdf", "png")),
        *(f"{table}.{end}" for table in tables for end in ("csv", "md", "tex")),
    ]
    assert names == {*written, "written_by_eyechart.txt"}
    assert (folder / "report_files" / "written_by_eyechart.txt").read_text().splitlines() == written
    for figure in figures:
        content = {end: (folder / "report_files" / f"{figure}.{end}").read_bytes() for end in ("pdf", "png")}
        assert content["png"].startswith(b"\x89PNG")
        # 3.25 inches, of 72 units each: a column of a paper.
        assert content["pdf"].startswith(b"%PDF") and b"/MediaBox [ 0 0 234 " in content["pdf"]
