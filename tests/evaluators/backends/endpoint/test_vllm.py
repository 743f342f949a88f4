"""The bundled model on a real vLLM, compared with the same model run here; `.ci/servers` installs it and runs these."""

import os
import re
import signal
import subprocess
import sys
import time

import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from eyechart.datasets_scripts.common.errors import EndpointError, ModelError
from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.backends.endpoint.backend import OpenAIBackend
from eyechart.evaluators.backends.endpoint.client import ChatClient
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.backends.endpoint.serving import Server
from eyechart.evaluators.cli import app
from eyechart.evaluators.requests.types import Request
from eyechart.evaluators.results.results_file import read_results
from eyechart.evaluators.tasks import TASKS

pytestmark = pytest.mark.servers

MODEL = str(tiny_vlm.folder())
LENGTH = 1024
ARGUMENTS = ["--dtype", "float32", "--max-model-len", str(LENGTH), "--enforce-eager"]
ARGUMENTS += ["--limit-mm-per-prompt", '{"image": 2}', "--max-logprobs", "1280"]
PROGRAM = os.environ.get("EYECHART_VLLM")
"""vLLM's program, where it is not on PATH."""
HELLO = [{"role": "user", "content": "How are you?"}]


@pytest.fixture(scope="session")
def options(tmp_path_factory):
    """How the server of the bundled model is asked."""
    server = Server("vllm", MODEL, ARGUMENTS, tmp_path_factory.mktemp("vllm") / "server.log", PROGRAM)
    try:
        yield server.start(EndpointOptions(max_retries=1, top_logprobs=1280), 600, lambda line: None)
    finally:
        server.close()


def run(*arguments, out):
    command = ["run", "--mini", "--out", out, *arguments]
    done = CliRunner().invoke(app, [str(argument) for argument in command])
    assert done.exit_code == 0, done.output
    rows = pyarrow.parquet.read_table(out / "predictions.parquet").to_pylist()
    return {(row["task"], row["dataset"], row["id"], row["pass"]): row for row in rows}


def there(options):
    return ("--model", MODEL, "--base-url", options.base_url, "--top-logprobs", 1280)


def test_every_task_gives_the_replies_and_logits_of_the_model_run_here(options, tmp_path):
    # The passes that a server is spared where they change nothing are asked too.
    limit = ("--limit", 6, "--set", "early_stop=false")
    on_server = run(*limit, *there(options), out=tmp_path / "there")
    here = run(*limit, "--model", MODEL, out=tmp_path / "here")
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
        assert one == pytest.approx({word: value + shift for word, value in other.items()}, abs=1e-3)


def test_closed_set_inference_gives_the_losses_of_the_model_run_here(options, tmp_path):
    task = ("q_bench/perception", "--set", "inference=closed-set", "--limit", 12)
    on_server = run(*task, *there(options), out=tmp_path / "there")
    here = run(*task, "--model", MODEL, out=tmp_path / "here")
    assert on_server.keys() == here.keys()
    for key, row in here.items():
        assert on_server[key]["losses"] == pytest.approx(row["losses"], abs=1e-3)
        assert on_server[key]["loss_tokens"] == row["loss_tokens"]


def test_a_judge_gets_its_five_rounds_in_one_request(options):
    with ChatClient(options.served_name, options) as client:
        (completion,) = client.completions(HELLO, 5, max_tokens=8, temperature=1.0)
        assert len(completion.choices) == 5 and client.record.requests == 1


def test_a_name_that_is_not_served_is_an_error_that_says_so(options):
    with ChatClient("no/such-model", options) as client, pytest.raises(ModelError, match="no/such-model"):
        client.ask(HELLO, max_tokens=1)


def test_a_context_too_small_names_the_option_that_helps(options):
    (response,) = OpenAIBackend(MODEL, options).answer([Request("1", ("Hello",), (), max_new_tokens=2 * LENGTH)])
    assert isinstance(response.error, EndpointError) and "--max-model-len" in str(response.error)


def test_a_server_killed_in_the_middle_loses_nothing_and_is_asked_nothing_twice(tmp_path):
    command = ["q_bench/perception", "--mini", "--model", MODEL, "--serve", "vllm"]
    command += ["--serve-args", "--dtype float32 --max-model-len 1024 --enforce-eager"]
    command += [] if PROGRAM is None else ["--serve-program", PROGRAM]
    log = tmp_path / "first" / "server.log"
    eyechart = [sys.executable, "-m", "eyechart.evaluators.cli", "run"]
    process = subprocess.Popen([*eyechart, *command, "--out", tmp_path / "first"], stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 600
    while process.poll() is None and time.monotonic() < end and _answered(log) < 40:
        time.sleep(0.05)
    engine = re.search(r"EngineCore pid=(\d+)", log.read_text(errors="replace"))
    assert engine is not None
    os.kill(int(engine[1]), signal.SIGKILL)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 1 and "EngineDeadError" in errors and str(log) in errors
    done = CliRunner().invoke(app, ["run", *command, "--out", str(tmp_path / "second")])
    assert done.exit_code == 0, done.output
    (task,) = read_results(tmp_path / "second").tasks
    count = pyarrow.parquet.read_metadata(tmp_path / "second" / "predictions.parquet").num_rows
    stored = task.timings["answers_from_store"]
    assert 40 <= stored < count
    assert task.settings["model"]["asked"]["requests"] == count - stored
    assert task.settings["model"]["serve"]["version"] == "0.32.0"


def _answered(log):
    return log.read_text(errors="replace").count('/chat/completions HTTP/1.1" 200') if log.exists() else 0
