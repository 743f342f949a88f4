"""Scores over the steps of a model, from runs whose answers are made up."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.comparison.history import read_history
from eyechart.evaluators.report.charts import history_chart
from tests.evaluators.command_line import invoke
from tests.evaluators.comparison.test_compare import choices
from tests.evaluators.finished_runs import write

pytestmark = pytest.mark.usefixtures("any_scores")

MARKS = {250: "1" * 40 + "0" * 60, 500: "1" * 70 + "0" * 30, 2000: "1" * 90 + "0" * 10}
"""Right and wrong answers by step."""


def checkpoint(folder: Path, name: str, marks: str, step: int | None = None, **fields: Any) -> None:
    """A run of a checkpoint; with a step, its command gave it."""
    write(folder / name, [choices(marks, **fields)])
    if step is not None:
        file = folder / name / "results.json"
        results = json.loads(file.read_text()) | {"request": {"model_arg": [f"step={step}"]}}
        file.write_text(json.dumps(results))


def test_scores_over_steps_as_table_and_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The steps are given, in the model's name and in the folder's; their order is that of numbers."""
    monkeypatch.chdir(tmp_path)
    checkpoint(tmp_path / "runs", "last", MARKS[2000], 2000, model="me/vlm")
    checkpoint(tmp_path / "runs", "a/b", MARKS[250], model="me/vlm-step250")
    checkpoint(tmp_path / "runs", "checkpoint-500", MARKS[500], model="me/vlm")
    shown = invoke("compare", "--history", "runs", code=0).output
    assert re.findall(r"^ +(\d+) +([\d.]+) %", shown, re.MULTILINE) == [
        ("250", "40.00"),
        ("500", "70.00"),
        ("2000", "90.00"),
    ]
    (history,) = read_history(Path("runs")).tasks
    chart = history_chart(history)
    assert (chart.labels, chart.places) == (("250", "500", "2000"), (250, 500, 2000))
    assert [cell.value for cell in chart.rows[0].cells] == [40, 70, 90]
    figures = sorted(path.name for path in Path("eyechart_history").iterdir())
    assert figures == [f"{chart.key}.{suffix}" for suffix in ("pdf", "png", "svg")]
    svg = Path("eyechart_history", f"{chart.key}.svg").read_text()
    assert all(f">{label}<" in svg for label in ("250", "500", "2000", "step", "accuracy, in %"))


def test_a_task_with_other_settings_is_refused_unless_allowed(tmp_path: Path) -> None:
    for step in (250, 500):
        checkpoint(tmp_path, f"step-{step}", MARKS[step], settings={"extraction": "declared"})
    checkpoint(tmp_path, "step-2000", MARKS[2000], settings={"extraction": "strict"})
    command = ("compare", "--history", tmp_path, "--out", tmp_path / "figures")
    refused = invoke(*command, code=1)
    assert "extraction is 'declared' in A and 'strict' in B" in refused.output and "--allow" in refused.output
    assert not (tmp_path / "figures").exists()
    assert "expected a folder, for several figures" in invoke(*command[:-1], tmp_path / "h.json", code=2).output
    allowed = invoke(*command, "--allow", "extraction", code=0)
    assert "also differ in extraction" in allowed.output and "90.00 %" in allowed.output


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "has no run below it; a history needs two or more"),
        (["checkpoint-500"], "has one run below it"),
        (["checkpoint-500", "final"], "no step is known of the run .*final: .*--model-arg step=500"),
        (["a-500", "b/step_500", "c/step-500"], "no step is known of the run .*a-500"),
        (["b/step_500", "c/step-500"], "b/step_500 and .*c/step-500 both have step 500; keep one"),
    ],
)
def test_runs_without_a_history_are_refused(names: list[str], message: str, tmp_path: Path) -> None:
    for name in names:
        checkpoint(tmp_path, name, MARKS[500], model="me/vlm")
    with pytest.raises(UsageError, match=message):
        read_history(tmp_path)
