"""`eyechart run` and `score` end with a report, which shows its images."""

import json

import pytest
from typer.testing import CliRunner

from eyechart.evaluators.cli import app
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.report import REPORT_FILE
from eyechart.evaluators.tasks import get_task


@pytest.fixture
def score(tmp_path):
    """Scores answers to three questions, of which the last is wrong."""
    rows = load_data(get_task("q_bench/perception"), DataRequest(is_mini=True)).dataset.select(range(3))
    wrong = "B" if rows["answer"][2] == "A" else "A"
    answers = zip(rows["id"], [*rows["answer"][:2], wrong], strict=True)
    file = tmp_path / "answers.jsonl"
    file.write_text("".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in answers))
    command = ["score", "q_bench/perception", "--mini", "--predictions", str(file), "--limit", "3"]
    return lambda out: CliRunner().invoke(app, [*command, "--out", str(out)])


def test_a_run_has_its_report_with_images(score, tmp_path, read_page):
    done = score(tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert f"Report:  {tmp_path / 'out' / REPORT_FILE}" in done.output
    page = read_page(tmp_path / "out" / REPORT_FILE)
    verdicts = [sample["correct"] for sample in page.samples["samples"]]
    assert verdicts == [False, True, True]
    assert len(page.samples["images"]) == 3
    assert not (tmp_path / "out" / "report_files").exists()
