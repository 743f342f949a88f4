"""Several real processes, started as users start them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from eyechart.evaluators.cli import app

RUN = ["run", "q_bench/perception", "--limit", "20"]


def launch(arguments: list[str], count: int, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in so many processes; a port of its own lets several tests run at once."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(count)]
    return subprocess.run(
        [*torchrun, *arguments],
        env={**os.environ, "OMP_NUM_THREADS": "1", "EYECHART_HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )


def outcome(folder: Path) -> tuple[dict, list]:
    (task,) = json.loads((folder / "results.json").read_text())["tasks"]
    return task, pyarrow.parquet.read_table(folder / "predictions.parquet").to_pylist()


@pytest.mark.slow
def test_three_processes_give_the_results_of_one(tmp_path):
    """Of 20 rows one gets fewer; two processes with equal parts: `backends/local/test_exactness.py`."""
    alone = CliRunner().invoke(app, [*RUN, "--no-store", "--out", str(tmp_path / "1")])
    assert alone.exit_code == 0, alone.output
    expected, predictions = outcome(tmp_path / "1")
    command = ["-m", "eyechart.evaluators.cli", *RUN, "--no-store", "--out", str(tmp_path / "3")]
    done = launch(command, 3, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Results are in") == 1, "one process prints"
    found, table = outcome(tmp_path / "3")
    assert found["scores"] == expected["scores"]
    assert found["settings"]["model"]["processes"] == 3
    assert table == predictions


BROKEN = """
import os, signal, sys
from pathlib import Path
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.runs.plan import make_plan
from eyechart.evaluators.backends.processes import join_processes
from eyechart.evaluators.runs.run import RunOptions, execute

def answer(messages):
    if os.environ["RANK"] == "1":
        if sys.argv[2] == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        raise RuntimeError("this process has a broken accelerator")
    return "A"

plan = make_plan(["q_bench/perception"], limit=8, is_mini=True)
folder = Path(sys.argv[1])
done = execute(plan, lambda: FunctionBackend(answer), RunOptions(), folder, processes=join_processes())
sys.exit(0 if done else 1)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("way", "reason"), [("raise", "this process has a broken accelerator"), ("kill", "SIGKILL")])
def test_a_process_that_fails_makes_the_run_fail_with_its_reason(tmp_path, way, reason):
    script = tmp_path / "broken.py"
    script.write_text(BROKEN)
    done = launch([str(script), str(tmp_path / "out"), way], 2, tmp_path)
    assert done.returncode != 0
    assert reason in done.stderr.replace("\n", " "), done.stderr
    if way == "raise":
        assert "process 1 of 2 failed: RuntimeError" in done.stderr
        results = json.loads((tmp_path / "out" / "results.json").read_text())
        assert not results["tasks"]
