"""Runs that are tracked, read back with the trackers themselves: trackio on its own server, MLflow, Weights & Biases.

The trackers are extras, so each test is skipped where its tracker is not installed.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.results.finished_runs import read_runs

TASK = "q_bench/perception"
SERVE = """
import threading, trackio
url = trackio.show(open_browser=False, block_thread=False)[-1]
print(url, flush=True)
threading.Event().wait()
"""
READ_TRACKIO = """
import json, trackio
from trackio.sqlite_storage import SQLiteStorage
found = []
for run in trackio.Api().runs("vlm"):
    logs = [log for log in SQLiteStorage.get_logs("vlm", run.name) if len(log) > 2]
    traces = SQLiteStorage.get_traces("vlm", run.name)
    files = [artifact["name"] for artifact in SQLiteStorage.list_artifacts("vlm")]
    found.append({"name": run.name, "config": run.config, "logs": logs, "traces": traces, "files": files})
print(json.dumps(found))
"""
READ_MLFLOW = """
import json, mlflow
client = mlflow.MlflowClient()
runs = client.search_runs([client.get_experiment_by_name("vlm").experiment_id])
key = "q_bench/perception/accuracy"
print(json.dumps([
    {"name": run.info.run_name, "status": run.info.status, "config": run.data.params, "scores": run.data.metrics,
     "steps": [point.step for point in client.get_metric_history(run.info.run_id, key)],
     "files": [file.path for file in client.list_artifacts(run.info.run_id)]}
    for run in runs
]))
"""


def python(folder: Path, *arguments: str, **variables: str) -> str:
    """What Python prints in a process of its own, as the trackers read their variables once."""
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "tracking with" not in done.stderr, done.stderr
    return done.stdout


@contextmanager
def ending(server: "subprocess.Popen[str]") -> Iterator[None]:
    """End a server after the block, also after a failure."""
    try:
        yield
    finally:
        server.terminate()


def tracked(folder: Path, name: str, *track: str, **variables: str) -> dict[str, Any]:
    """Track a run of a model in a folder of this name; its headline score as a tracker has it."""
    (folder / name).symlink_to(tiny_vlm.folder())
    job = ("run", TASK, "--mini", "--limit", "4", "--model", f"./{name}", "--out", f"runs/{name}")
    trackers = [word for tracker in track for word in ("--track", tracker)]
    python(folder, "-m", "eyechart.evaluators", *job, *trackers, **variables)
    (run,) = read_runs([folder / "runs" / name])
    ((_, result),) = run.tasks.items()
    scores = result.scores or {}
    low, high = scores["accuracy_ci95"]
    values = {"accuracy": scores["accuracy"], "low": low, "high": high, "n": 4}
    return {f"{TASK}/{key}": value for key, value in values.items()}


@pytest.mark.slow
def test_trackio_has_a_run_for_each_checkpoint(tmp_path: Path) -> None:
    pytest.importorskip("trackio")
    home = {"TRACKIO_DIR": str(tmp_path / "server")}
    server = subprocess.Popen(
        [sys.executable, "-c", SERVE],
        env={**os.environ, **home},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    with server, ending(server):
        lines = iter(server.stdout)
        address = next(line.strip() for line in lines if line.startswith("http"))
        # The token of the server is part of its address, or apart.
        bare, _, token = address.partition("?write_token=")
        apart = {"TRACKIO_SERVER_URL": bare, "TRACKIO_WRITE_TOKEN": token}
        expected = {}
        for step, access in ((500, {"TRACKIO_SERVER_URL": address}), (1000, apart)):
            client = {**access, "TRACKIO_DIR": str(tmp_path / "client")}
            expected[step] = tracked(tmp_path, f"checkpoint-{step}", "trackio:vlm", **client)
    found = {run["config"]["step"]: run for run in json.loads(python(tmp_path, "-c", READ_TRACKIO, **home))}
    assert found.keys() == expected.keys()
    for step, run in found.items():
        (log,) = run["logs"]
        log.pop("timestamp")
        assert log == {**expected[step], "step": step}
        assert (run["name"], run["config"]["limit"]) == (f"checkpoint-{step}", 4)
        assert run["config"][f"{TASK}/extraction"] == "declared"
        assert len({trace["metadata"]["id"] for trace in run["traces"]}) == len(run["traces"]) == 4
        roles = [message["role"] for message in run["traces"][0]["messages"]]
        assert roles == ["user", "assistant"] and run["traces"][0]["messages"][1]["content"]
        assert {"report.html", "results.json"} <= {*run["files"]}


@pytest.mark.slow
def test_mlflow_has_scores_settings_and_report(tmp_path: Path) -> None:
    pytest.importorskip("mlflow")
    store = {"MLFLOW_TRACKING_URI": f"sqlite:///{tmp_path}/mlflow.db", "MLFLOW_EXPERIMENT_NAME": "vlm"}
    expected = tracked(tmp_path, "global_step_20", "mlflow", **store)
    (run,) = json.loads(python(tmp_path, "-c", READ_MLFLOW, **store))
    assert (run["name"], run["status"], run["steps"]) == ("global_step_20", "FINISHED", [20])
    assert (run["scores"], run["config"]["limit"], run["files"]) == (expected, "4", ["report.html", "results.json"])


def test_wandb_has_scores_settings_and_report_offline_and_mlflow_too(tmp_path: Path) -> None:
    for name in ("wandb", "mlflow"):
        pytest.importorskip(name)
    store = {"MLFLOW_TRACKING_URI": f"sqlite:///{tmp_path}/mlflow.db"}
    expected = tracked(tmp_path, "checkpoint-7", "mlflow:vlm", "wandb:vlm", WANDB_MODE="offline", **store)
    (run,) = json.loads(python(tmp_path, "-c", READ_MLFLOW, **store))
    assert (run["scores"], run["files"]) == (expected, ["report.html", "results.json"])
    (file,) = tmp_path.glob("wandb/offline-run-*/run-*.wandb")
    content = file.read_bytes()
    for text in (f"{TASK}/accuracy", f"{TASK}/high", f"{TASK}/extraction", "checkpoint-7", "report.html"):
        assert text.encode() in content
