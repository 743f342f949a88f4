"""Results files of 10 MB, with 60,000 groups: each command that reads results ends within seconds, and well."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from eyechart.evaluators.cli import app
from tests.evaluators.finished_runs import ACCURACY, MODEL, answer, evaluated, write

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    groups = {
        f"kind {number}": {"accuracy": 0.5, "accuracy_ci95": [0.0, 1.0], "random_guess": 0.25, "n": 1}
        for number in range(60_000)
    }
    rows = [
        answer(f"q{place}", options=["x", "y"], answer="A", choice="AB"[place % 4 > 2], correct=place % 4 < 3)
        for place in range(12)
    ]
    scores = {**ACCURACY, "by_question_type": groups}
    found = evaluated(scores=scores, items=rows, settings={"protocol": "multiple_choice"})
    folder = write(tmp_path_factory.mktemp("large") / "run", [found])
    assert (folder / "results.json").stat().st_size > 1e7
    return folder


def call(*arguments: Any, code: int = 0) -> str:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == code, done.output
    return done.output


def test_a_report_leaves_out_what_cannot_be_read(run: Path, tmp_path: Path) -> None:
    call("report", run, "--out", tmp_path)
    page = (tmp_path / "report.html").read_text()
    # So many groups fit no chart.
    assert "50.00" in page and "kind 59999" not in page and len(page) < 1e6


def test_a_comparison(run: Path, tmp_path: Path) -> None:
    second = write(tmp_path / "second", [evaluated(items=[], settings={"protocol": "multiple_choice"})])
    assert "no predictions, so" in call("compare", run, second, code=1)


def test_publishing(run: Path, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# A model\n")
    output = call("publish", run, "--model-repo", MODEL, "--card", tmp_path / "README.md", code=2)
    assert "cannot be published" in output and len(output) < 1e4


def test_collecting_answer_files(run: Path) -> None:
    assert "no answer files: its reference answers are public" in " ".join(call("submit", run, code=2).split())


def test_the_leaderboard(run: Path, tmp_path: Path) -> None:
    output = call("leaderboard", "build", run, "--out", tmp_path / "space", code=1)
    assert "this board requires" in output and len(output) < 1e4
