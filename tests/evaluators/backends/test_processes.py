"""Several processes: real ones, started as users start them, and what each hears of a failure in another."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet
import pytest

from eyechart.datasets_scripts.common.errors import MissingPredictionError, ModelError
from eyechart.evaluators.backends import processes
from eyechart.evaluators.backends.processes import ALONE, DistributedBackend, join_processes
from eyechart.evaluators.requests.types import Request, Response
from tests.evaluators.backends.logging_model import LoggingModel
from tests.evaluators.backends.threads import in_processes
from tests.evaluators.command_line import invoke

RUN = ["run", "q_bench/perception", "--limit", "21", "--no-store"]


def outcome(folder: Path) -> tuple[dict, list]:
    (task,) = json.loads((folder / "results.json").read_text())["tasks"]
    return task, pyarrow.parquet.read_table(folder / "predictions.parquet").to_pylist()


@pytest.mark.slow
def test_two_processes_give_the_results_of_one(tmp_path):
    """Of 21 rows one gets fewer."""
    invoke(*RUN, "--out", tmp_path / "1", code=0)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    command = [*torchrun, "-m", "eyechart.evaluators.cli", *RUN, "--out", str(tmp_path / "2")]
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "EYECHART_HOME": str(tmp_path / "home")}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Results: ") == 1, "one process prints"
    (expected, predictions), (observed, table) = outcome(tmp_path / "1"), outcome(tmp_path / "2")
    assert observed["scores"] == expected["scores"] and table == predictions
    assert observed["settings"]["model"]["processes"] == 2


def echo(request):
    """The id; one request has no answer, and another breaks the model."""
    if request.id == "broken":
        raise RuntimeError("this process has a broken accelerator")
    error = MissingPredictionError("no image") if request.id == "5" else None
    return Response(request, text=None if error else request.id, error=error)


def test_a_process_alone_joins_no_others():
    assert join_processes() is ALONE and (ALONE.rank, ALONE.count, ALONE.gather("x")) == (0, 1, ["x"])


def test_every_process_yields_the_same_responses_to_its_own_requests(monkeypatch):
    monkeypatch.setattr(processes, "_REQUESTS_PER_ROUND", 2)

    def ask(processes):
        requests = [Request(str(number), ("Why?",), (b"%d" % number,)) for number in range(7)]
        backend = DistributedBackend(LoggingModel(None, say=echo), processes).for_data("some")
        responses = list(backend.answer(requests))
        assert all(response.request is requests[int(response.request.id)] for response in responses)
        assert (backend.name, backend.settings()) == ("test/logging", {"backend": "logging", "processes": 3})
        return [(response.request.id, response.text, repr(response.error)) for response in responses]

    first, *others = in_processes(3, ask)
    assert others == [first] * 2
    error = repr(MissingPredictionError("no image"))
    assert sorted(first) == [(id, None if id == "5" else id, error if id == "5" else "None") for id in "0123456"]


def test_a_process_that_fails_makes_all_fail_with_its_reason():
    def ask(processes):
        requests = [Request("broken" if number == 6 else str(number), ("Why?",), ()) for number in range(8)]
        try:
            list(DistributedBackend(LoggingModel(None, say=echo), processes).answer(requests))
        except (ModelError, RuntimeError) as error:
            return f"{type(error).__name__}: {error}"

    observed = in_processes(2, ask)
    reason = "RuntimeError: this process has a broken accelerator"
    assert sorted(observed) == sorted([reason, f"ModelError: process {observed.index(reason)} of 2 failed: {reason}"])
