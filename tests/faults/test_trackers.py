"""Trackers: unknown, not installed, unavailable, or failing while a run goes on."""

import sys
from importlib.util import find_spec

import pytest

from eyechart.evaluators.results.results_file import read_results
from tests.evaluators.command_line import invoke
from tests.faults.fault import rows
from tests.faults.test_command_line import PERCEPTION, REFUSED, refused

MISSING = next((name for name in ("wandb", "mlflow", "trackio") if find_spec(name) is None), "")
TRACKER = """
def fail(*values, **options):
    raise ConnectionError("no server at http://127.0.0.1:9")

def accept(*values, **options):
    pass

end_run = set_experiment = start_run = log_params = log_metrics = log_artifact = accept
{} = fail
"""
"""A package with MLflow's functions, one of which cannot reach its server."""


@pytest.mark.parametrize(
    ("tracker", "message"),
    rows(
        REFUSED,
        ("an unknown tracker", "wndb", "unknown tracker 'wndb' in --track; did you mean 'wandb'?"),
        ("a tracker without the project's name", "wandb:", "--track wandb: names no project; write wandb:PROJECT"),
        ("a tracker that is not installed", MISSING, f"pip install 'eyechart[{MISSING}]'"),
    ),
)
def test_trackers_that_cannot_be_used(tracker, message, tmp_path, monkeypatch):
    if not tracker:
        pytest.skip("all trackers are installed")
    # Weights & Biases makes a folder of its name.
    (tmp_path / "wandb").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    refused(invoke(*PERCEPTION, "--track", tracker, "--out", tmp_path / "run"), message)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("again", rows(REFUSED, ("a tracker that is given twice", "mlflow:vlm")))
def test_a_tracker_that_is_given_twice(again, tmp_path, monkeypatch):
    (tmp_path / "mlflow.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    result = invoke(*PERCEPTION, "--track", "mlflow", "--track", again, "--out", tmp_path / "run")
    refused(result, "--track mlflow is given 2 times; name each tracker once")


@pytest.mark.parametrize(
    "function",
    rows(
        "one line says so; the run goes on and finishes",
        ("a tracker that is down when the run begins", "set_experiment"),
        ("a tracker that fails when a task finishes", "log_metrics"),
        ("a tracker that refuses the report", "log_artifact"),
    ),
)
def test_trackers_that_fail(function, tmp_path, monkeypatch):
    (tmp_path / "mlflow.py").write_text(TRACKER.format(function))
    monkeypatch.syspath_prepend(tmp_path)
    # Another test may have imported the real one.
    monkeypatch.delitem(sys.modules, "mlflow", raising=False)
    done = invoke(*PERCEPTION, "--track", "mlflow", "--out", tmp_path / "run", code=0)
    lines = [line for line in done.stderr.splitlines() if "tracking" in line]
    assert lines == [
        "warning: tracking with mlflow: ConnectionError: no server at http://127.0.0.1:9. The run goes on."
    ]
    (result,) = read_results(tmp_path / "run").tasks
    assert result.scores and (tmp_path / "run" / "report.html").is_file()
    del sys.modules["mlflow"]
