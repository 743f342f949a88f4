"""Models on a real vLLM and a real llama.cpp, compared with the same models run here; `.ci/servers` runs these.

vLLM has the bundled model, llama.cpp one of its kind. EYECHART_VLLM and EYECHART_LLAMA name programs not on PATH.
"""

import os
import re
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

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.backends import resolve_backend
from eyechart.evaluators.backends.endpoint.backend import OpenAIBackend
from eyechart.evaluators.backends.endpoint.client import ChatClient
from eyechart.evaluators.backends.endpoint.completion import Completion
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.backends.endpoint.serving import Server
from eyechart.evaluators.requests.errors import EndpointError, ModelError
from eyechart.evaluators.requests.types import Request
from eyechart.evaluators.results.results_file import read_results
from eyechart.evaluators.tasks import TASKS
from tests.evaluators.backends.endpoint.llama_cpp_model import write_gguf_files, write_transformers_folder
from tests.evaluators.command_line import invoke

pytestmark = pytest.mark.servers

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


MODEL = str(tiny_vlm.folder())
LENGTH = 1024
ENGINE = f"--dtype float32 --max-model-len {LENGTH} --enforce-eager"
VLLM_ARGUMENTS = f"""{ENGINE} --limit-mm-per-prompt '{{"image": 2}}' --max-logprobs 1280"""
VLLM_PROGRAM = os.environ.get("EYECHART_VLLM")
VLLM = f"{VLLM_PROGRAM} serve {{model}} --port {{port}}" if VLLM_PROGRAM else "vllm"


@pytest.fixture(scope="session")
def vllm(tmp_path_factory):
    """How the server of the bundled model is asked."""
    server = Server(f"{VLLM} {VLLM_ARGUMENTS}", MODEL, tmp_path_factory.mktemp("vllm") / "server.log")
    try:
        yield server.start(EndpointOptions(max_retries=1, top_logprobs=1280))
    finally:
        server.close()


def test_vllm_every_task_gives_the_replies_and_logits_of_the_model_run_here(vllm, tmp_path):
    compare_every_task(there(vllm, MODEL), MODEL, tmp_path, tolerance=1e-3)


def test_vllm_words_of_several_tokens_have_the_logits_of_their_first_tokens(vllm):
    compare_words_of_several_tokens(vllm, MODEL, tolerance=1e-3)


def test_vllm_closed_set_inference_gives_the_losses_of_the_model_run_here(vllm, tmp_path):
    task = ("q_bench/perception", "--set", "inference=closed-set", "--limit", 12)
    on_server = run(*task, *there(vllm, MODEL), out=tmp_path / "there")
    here = run(*task, "--model", MODEL, out=tmp_path / "here")
    assert on_server.keys() == here.keys()
    for key, row in here.items():
        assert on_server[key]["losses"] == pytest.approx(row["losses"], abs=1e-3)
        assert on_server[key]["loss_tokens"] == row["loss_tokens"]


def test_vllm_a_judge_gets_its_five_rounds_in_one_request(vllm):
    (completion,), requests = ask_several(vllm, 5)
    assert len(completion.choices) == 5 and requests == 1


def test_vllm_a_name_that_is_not_served_is_an_error_that_says_so(vllm):
    with pytest.raises(ModelError, match="no/such-model"):
        list(OpenAIBackend("no/such-model", replace(vllm, serve=None)).answer([Request("1", ("Hello",), ())]))


def test_vllm_a_context_too_small_names_the_option_that_helps(vllm):
    (response,) = OpenAIBackend(MODEL, vllm).answer([Request("1", ("Hello",), (), max_new_tokens=2 * LENGTH)])
    assert isinstance(response.error, EndpointError) and "--max-model-len" in str(response.error)


def test_vllm_a_server_killed_in_the_middle_loses_nothing_and_is_asked_nothing_twice(tmp_path):
    def engine(process, log):
        return int(re.search(r"EngineCore pid=(\d+)", log)[1])

    options = ["--model", MODEL, "--serve", f"{VLLM} {ENGINE}"]
    settings = kill_and_resume(
        options, lambda log: log.count('/chat/completions HTTP/1.1" 200'), engine, "EngineDeadError", tmp_path
    )
    assert settings["serve"]["version"] == "0.32.0"


SLOTS = 5
LLAMA_ARGUMENTS = f"--ctx-size {LENGTH * SLOTS} --parallel {SLOTS} --jinja --threads 1"
LLAMA_ARGUMENTS += " -fa off --cache-type-k f32 --cache-type-v f32"
LLAMA_PROGRAM = os.environ.get("EYECHART_LLAMA")
LLAMA = f"{LLAMA_PROGRAM} -m {{model}} --port {{port}}" if LLAMA_PROGRAM else "llama.cpp"
# llama.cpp looks its GELU up in a table of 16-bit numbers, in the projector and in the vision tower.
TOLERANCE = 0.02


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """Folder of the model as transformers loads it, and beside it the files for llama.cpp."""
    folder = tmp_path_factory.mktemp("llama.cpp") / "transformers"
    write_transformers_folder(folder)
    write_gguf_files(folder, folder.parent / "language.gguf", folder.parent / "vision.gguf")
    return folder


@pytest.fixture(scope="session")
def command(model):
    return f"{LLAMA} {LLAMA_ARGUMENTS} --mmproj {model.parent / 'vision.gguf'}"


@pytest.fixture(scope="session")
def llama(model, command):
    """How the server of the model is asked."""
    try:
        server = Server(command, str(model.parent / "language.gguf"), model.parent / "log")
    except UsageError as error:
        pytest.skip(str(error))
    try:
        yield server.start(EndpointOptions(max_retries=1))
    finally:
        server.close()


def there(options, name):
    return ("--model", name, "--base-url", options.base_url, "--model-arg", "top_logprobs=1280")


def test_llama_every_task_gives_the_replies_and_logits_of_the_model_run_here(llama, model, tmp_path):
    compare_every_task(there(llama, "language.gguf"), str(model), tmp_path, tolerance=TOLERANCE)


def test_llama_words_of_several_tokens_have_the_logits_of_their_first_tokens(llama, model):
    compare_words_of_several_tokens(llama, str(model), tolerance=TOLERANCE)


def test_llama_closed_set_inference_is_refused_with_the_reason(llama, tmp_path):
    task = ("q_bench/perception", "--mini", "--set", "inference=closed-set")
    done = invoke("run", *task, *there(llama, "language.gguf"), "--out", tmp_path, code=1)
    assert "returns no prompt_logprobs" in done.output


def test_llama_a_judge_gets_as_many_rounds_in_one_request_as_the_server_has_slots_and_more_one_by_one(llama):
    (completion,), requests = ask_several(llama, SLOTS)
    assert len(completion.choices) == SLOTS and requests == 1
    completions, requests = ask_several(llama, SLOTS + 1)
    assert [len(completion.choices) for completion in completions] == [1] * (SLOTS + 1) and requests == SLOTS + 1


def test_llama_a_name_that_is_not_served_is_answered_and_the_result_says_by_what(llama, model, tmp_path):
    run("q_bench/perception", "--limit", 2, *there(llama, "no/such-model"), out=tmp_path)
    (task,) = read_results(tmp_path).tasks
    settings, served = task.settings["model"], str(model.parent / "language.gguf")
    assert settings["name"] == "no/such-model" and settings["served"] == [served]
    assert any(served in caveat and "--model-arg served_name" in caveat for caveat in task.caveats)


def test_llama_a_context_too_small_names_the_option_that_helps(llama):
    (response,) = OpenAIBackend("language.gguf", llama).answer([Request("1", ("Hello " * LENGTH,), ())])
    assert isinstance(response.error, EndpointError) and "--ctx-size" in str(response.error)


def test_llama_a_server_killed_in_the_middle_loses_nothing_and_is_asked_nothing_twice(llama, model, command, tmp_path):
    def child(process, log):
        return int(subprocess.check_output(["pgrep", "-P", str(process)]))

    arguments = ["--model", str(model.parent / "language.gguf"), "--serve", command]
    settings = kill_and_resume(
        arguments, lambda log: log.count("stop processing"), child, "was killed by SIGKILL", tmp_path
    )
    assert settings["serve"]["command"] == command and settings["served"] == [settings["name"]]
