"""The bundled model on a real vLLM, compared with the same model run here; `.ci/servers` installs it and runs these."""

import os
import re
from dataclasses import replace

import pytest

from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.backends.endpoint.backend import OpenAIBackend
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.backends.endpoint.serving import Server
from eyechart.evaluators.requests.errors import EndpointError, ModelError
from eyechart.evaluators.requests.types import Request
from tests.evaluators.backends.endpoint import real_servers

pytestmark = pytest.mark.servers

MODEL = str(tiny_vlm.folder())
LENGTH = 1024
ENGINE = f"--dtype float32 --max-model-len {LENGTH} --enforce-eager"
ARGUMENTS = f"""{ENGINE} --limit-mm-per-prompt '{{"image": 2}}' --max-logprobs 1280"""
PROGRAM = os.environ.get("EYECHART_VLLM")
"""vLLM's program, where it is not on PATH."""
COMMAND = f"{PROGRAM} serve {{model}} --port {{port}}" if PROGRAM else "vllm"


@pytest.fixture(scope="session")
def options(tmp_path_factory):
    """How the server of the bundled model is asked."""
    server = Server(f"{COMMAND} {ARGUMENTS}", MODEL, tmp_path_factory.mktemp("vllm") / "server.log")
    try:
        yield server.start(EndpointOptions(max_retries=1, top_logprobs=1280))
    finally:
        server.close()


def there(options):
    return ("--model", MODEL, "--base-url", options.base_url, "--model-arg", "top_logprobs=1280")


def test_every_task_gives_the_replies_and_logits_of_the_model_run_here(options, tmp_path):
    real_servers.compare_every_task(there(options), MODEL, tmp_path, tolerance=1e-3)


def test_words_of_several_tokens_have_the_logits_of_their_first_tokens(options):
    real_servers.compare_words_of_several_tokens(options, MODEL, tolerance=1e-3)


def test_closed_set_inference_gives_the_losses_of_the_model_run_here(options, tmp_path):
    task = ("q_bench/perception", "--set", "inference=closed-set", "--limit", 12)
    on_server = real_servers.run(*task, *there(options), out=tmp_path / "there")
    here = real_servers.run(*task, "--model", MODEL, out=tmp_path / "here")
    assert on_server.keys() == here.keys()
    for key, row in here.items():
        assert on_server[key]["losses"] == pytest.approx(row["losses"], abs=1e-3)
        assert on_server[key]["loss_tokens"] == row["loss_tokens"]


def test_a_judge_gets_its_five_rounds_in_one_request(options):
    (completion,), requests = real_servers.ask_several(options, 5)
    assert len(completion.choices) == 5 and requests == 1


def test_a_name_that_is_not_served_is_an_error_that_says_so(options):
    with pytest.raises(ModelError, match="no/such-model"):
        list(OpenAIBackend("no/such-model", replace(options, serve=None)).answer([Request("1", ("Hello",), ())]))


def test_a_context_too_small_names_the_option_that_helps(options):
    (response,) = OpenAIBackend(MODEL, options).answer([Request("1", ("Hello",), (), max_new_tokens=2 * LENGTH)])
    assert isinstance(response.error, EndpointError) and "--max-model-len" in str(response.error)


def test_a_server_killed_in_the_middle_loses_nothing_and_is_asked_nothing_twice(tmp_path):
    def engine(process, log):
        return int(re.search(r"EngineCore pid=(\d+)", log)[1])

    options = ["--model", MODEL, "--serve", f"{COMMAND} {ENGINE}"]
    settings = real_servers.kill_and_resume(
        options, lambda log: log.count('/chat/completions HTTP/1.1" 200'), engine, "EngineDeadError", tmp_path
    )
    assert settings["serve"]["version"] == "0.32.0"
