"""Results files of 10 MB, with 60,000 groups: each command that reads results ends within seconds, and well."""

from pathlib import Path

import pytest

from tests.evaluators.command_line import invoke
from tests.evaluators.finished_runs import ACCURACY, MODEL, answer, evaluated, write

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("any_scores")]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    group = {"accuracy": 0.5, "accuracy_ci95": [0.0, 1.0], "random_guess": 0.25, "n": 1}
    groups = {f"kind {number}": group for number in range(60_000)}
    rows = [
        answer(f"q{place}", options=["x", "y"], answer="A", choice="AB"[place % 4 > 2], correct=place % 4 < 3)
        for place in range(12)
    ]
    scores = {**ACCURACY, "by_question_type": groups}
    found = evaluated(scores=scores, items=rows, settings={"protocol": "multiple_choice"})
    folder = write(tmp_path_factory.mktemp("large") / "run", [found])
    assert (folder / "results.json").stat().st_size > 1e7
    return folder


def test_a_report_leaves_out_what_cannot_be_read(run: Path, tmp_path: Path) -> None:
    invoke("report", run, "--out", tmp_path, code=0)
    page = (tmp_path / "report.html").read_text()
    # So many groups fit no chart.
    assert "50.00" in page and "kind 59999" not in page and len(page) < 1e6


def test_other_commands_say_what_is_wrong(run: Path, tmp_path: Path) -> None:
    second = write(tmp_path / "second", [evaluated(items=[], settings={"protocol": "multiple_choice"})])
    (tmp_path / "README.md").write_text("# A model\n")
    for arguments, code, expected in (
        (("compare", run, second), 1, "no predictions, so"),
        (("publish", run, "--model-repo", MODEL, "--card", tmp_path / "README.md"), 2, "cannot be published"),
        (("submit", run), 2, "no answer files: its reference answers are public"),
        (("leaderboard", "build", run, "--out", tmp_path / "space"), 1, "this board requires"),
    ):
        shown = " ".join(invoke(*arguments, code=code).output.split())
        assert expected in shown and len(shown) < 1e4, arguments
