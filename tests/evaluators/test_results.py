import json
import math

import pyarrow.parquet
import pydantic
import pytest

from eyechart.evaluators.results import FailedTask
from eyechart.evaluators.results import collect
from eyechart.evaluators.results import read_results
from eyechart.evaluators.results import write_run
from eyechart.evaluators.types import Evaluation


def evaluation(**changes):
    values = {
        "task": "q_bench/assessment",
        "subset": "kadis700k",
        "split": "test",
        "model": "some/model",
        "scores": {"srcc": 0.5, "plcc": math.nan, "srcc_ci95": [0.4, math.inf]},
        "settings": {"data": {"is_mini": False}},
        "left_out": [{"id": "x", "path": None, "reason": "the image is empty", "split": "test"}],
        "predictions": [
            {"id": "a", "pass": "main", "text": None, "logits": {"good": 1.5, "poor": -2.0}, "quality": 3.0},
            {"id": "b", "pass": "main", "text": "B", "logits": None, "options": ["x", "y"], "answer": "A"},
        ],
        "timings": {"model_seconds": 1.0},
    }
    return Evaluation(**{**values, **changes})


def test_the_file_has_the_documented_keys_and_reads_back(tmp_path):
    failed = [FailedTask(task="q_bench/perception", subset="llvisionqa", error="no data")]
    write_run(tmp_path, collect([evaluation()], failed, "2026-01-01"), [evaluation()])
    raw = json.loads((tmp_path / "results.json").read_text())
    assert raw["schema"] == 1
    assert set(raw) == {"schema", "environment", "tasks", "failed"}
    documented = {"task", "subset", "split", "model", "scores", "settings", "left_out", "timings"}
    assert documented <= set(raw["tasks"][0])
    assert raw["environment"]["packages"]["eyechart"]
    results = read_results(tmp_path)
    assert results.tasks[0].left_out[0].reason == "the image is empty"
    assert results.failed[0].error == "no data"


def test_undefined_scores_become_null_in_standard_json(tmp_path):
    write_run(tmp_path, collect([evaluation()], [], "2026-01-01"), [evaluation()])
    text = (tmp_path / "results.json").read_text()
    assert "NaN" not in text and "Infinity" not in text
    assert json.loads(text)["tasks"][0]["scores"] == {"srcc": 0.5, "plcc": None, "srcc_ci95": [0.4, None]}


def test_predictions_keep_text_logits_and_options(tmp_path):
    write_run(tmp_path, collect([evaluation()], [], "2026-01-01"), [evaluation()])
    rows = pyarrow.parquet.read_table(tmp_path / "predictions.parquet").to_pylist()
    assert dict(rows[0]["logits"]) == {"good": 1.5, "poor": -2.0}
    assert (rows[0]["quality"], rows[0]["text"]) == (3.0, None)
    assert (rows[1]["text"], rows[1]["options"], rows[1]["answer"]) == ("B", ["x", "y"], "A")


def test_a_failed_write_leaves_the_former_file(tmp_path, monkeypatch):
    write_run(tmp_path, collect([evaluation()], [], "2026-01-01"), [evaluation()])
    before = (tmp_path / "predictions.parquet").read_bytes()

    def fail(*args, **kwargs):
        raise OSError("No space left on device")

    monkeypatch.setattr("pyarrow.parquet.write_table", fail)
    with pytest.raises(OSError, match="No space"):
        write_run(tmp_path, collect([evaluation()], [], "2026-01-02"), [evaluation()])
    assert (tmp_path / "predictions.parquet").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["predictions.parquet", "results.json"]


def test_a_file_of_another_schema_is_refused(tmp_path):
    write_run(tmp_path, collect([evaluation()], [], "2026-01-01"), [evaluation()])
    path = tmp_path / "results.json"
    path.write_text(path.read_text().replace('"schema": 1', '"schema": 2'))
    with pytest.raises(pydantic.ValidationError, match="schema"):
        read_results(path)
