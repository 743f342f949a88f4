"""What the tests on real servers share: runs on the server and here, compared, and a server that is killed.

The model run here and the one on the server have to be the same; what they are called may differ.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from eyechart.evaluators.backends import resolve_backend
from eyechart.evaluators.backends.endpoint.backend import OpenAIBackend
from eyechart.evaluators.backends.endpoint.client import ChatClient
from eyechart.evaluators.backends.endpoint.completion import Completion
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.requests.types import Request
from eyechart.evaluators.results.results_file import read_results
from eyechart.evaluators.tasks import TASKS
from tests.evaluators.command_line import invoke

HELLO = [{"role": "user", "content": "How are you?"}]
_KILLED_AFTER = 40

Rows = Mapping[tuple[str, str, str, str], Mapping[str, Any]]
"""Rows of predictions by task, dataset, id and pass."""


def run(*arguments: object, out: Path) -> Rows:
    """Evaluate demo data."""
    invoke("run", "--mini", "--out", out, *arguments, code=0)
    rows = pyarrow.parquet.read_table(out / "predictions.parquet").to_pylist()
    return {(row["task"], row["dataset"], row["id"], row["pass"]): row for row in rows}


def compare_every_task(there: Sequence[object], model_here: str, folder: Path, *, tolerance: float) -> None:
    """Replies have to be equal to those of the run with the options `there`; logits may differ by `tolerance` nats."""
    # The passes that a server is spared where they change nothing are asked too.
    limit = ("--limit", 6, "--set", "early_stop=false")
    on_server = run(*limit, *there, out=folder / "there")
    here = run(*limit, "--model", model_here, out=folder / "here")
    assert {task for task, *_ in here} == {task.name for task in TASKS}
    assert on_server.keys() == here.keys()
    assert {key: row["text"] for key, row in on_server.items()} == {key: row["text"] for key, row in here.items()}
    scored = [key for key, row in here.items() if row["logits"]]
    assert len(scored) == 7 * 6
    for key in scored:
        one, other = (dict(rows[key]["logits"]) for rows in (on_server, here))
        assert one.keys() == other.keys() and not on_server[key]["upper_bound_words"]
        # The engine gives logits and the server log-probabilities, which differ by a constant.
        shift = one["good"] - other["good"]
        assert one == pytest.approx({word: value + shift for word, value in other.items()}, abs=tolerance)


def compare_words_of_several_tokens(options: EndpointOptions, model_here: str, *, tolerance: float) -> None:
    """Such words have to have the logits of their first tokens, which need not be the longest that fit."""
    words = ("sharp", "blurry")
    request = Request(
        "1", ("Rate the quality of the image.\n",), (), prefill="The quality of the image is", words=words
    )
    (there,) = OpenAIBackend(options.served_name or "", replace(options, top_logprobs=1280)).answer([request])
    (here,) = resolve_backend(model_here).answer([request])
    assert there.error is None and not there.upper_bound_words
    assert there.logits is not None and here.logits is not None
    one, other = (logits["sharp"] - logits["blurry"] for logits in (there.logits, here.logits))
    assert one == pytest.approx(other, abs=tolerance)


def ask_several(options: EndpointOptions, n: int) -> tuple[list[Completion], int]:
    """Sampled replies as a judge asks for them, and the requests that were answered."""
    client = ChatClient(options.served_name or "", options)

    async def ask(n: int) -> list[Completion]:
        return [answer async for answer in client.completions(HELLO, n, max_tokens=8, temperature=1.0)]

    (completions,) = client.map(ask, [n])
    return completions, client.counts["requests"]


def kill_and_resume(
    options: Sequence[str], answered: Callable[[str], int], server: Callable[[int, str], int], ending: str, folder: Path
) -> Mapping[str, Any]:
    """A server killed in the middle of a run loses nothing, and the next run asks nothing twice.

    `answered` counts the answers in the server's log; `server` finds the process to kill by eyechart's process id and
    the log; `ending` is what the first run says of it. Returns the settings of the model in the second run's result.
    """
    command = ["run", "q_bench/perception", "--mini", *options]
    log = folder / "first" / "server.log"
    process = subprocess.Popen(
        [sys.executable, "-m", "eyechart.evaluators.cli", *command, "--out", folder / "first"],
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + 600
    while process.poll() is None and time.monotonic() < end and answered(_text(log)) < _KILLED_AFTER:
        time.sleep(0.05)
    os.kill(server(process.pid, _text(log)), signal.SIGKILL)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 1 and ending in errors and str(log) in errors
    invoke(*command, "--out", folder / "second", code=0)
    (task,) = read_results(folder / "second").tasks
    count = pyarrow.parquet.read_metadata(folder / "second" / "predictions.parquet").num_rows
    stored = task.timings["answers_from_store"]
    assert _KILLED_AFTER <= stored < count
    model: Mapping[str, Any] = task.settings["model"]
    assert model["asked"]["requests"] == count - stored
    return model


def _text(log: Path) -> str:
    return log.read_text(errors="replace") if log.exists() else ""
