"""A model with images on a real llama.cpp, compared with the same model run here; `.ci/servers --llama` runs these.

`EYECHART_LLAMA` names its server where that is not on PATH.
"""

import os
import subprocess

import pytest

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.backends.endpoint.backend import OpenAIBackend
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.backends.endpoint.serving import Server
from eyechart.evaluators.requests.errors import EndpointError
from eyechart.evaluators.requests.types import Request
from eyechart.evaluators.results.results_file import read_results
from tests.evaluators.backends.endpoint import real_servers
from tests.evaluators.backends.endpoint.llama_cpp_model import write_gguf_files, write_transformers_folder
from tests.evaluators.command_line import invoke

pytestmark = pytest.mark.servers

LENGTH, SLOTS = 1024, 5
ARGUMENTS = f"--ctx-size {LENGTH * SLOTS} --parallel {SLOTS} --jinja --threads 1"
ARGUMENTS += " -fa off --cache-type-k f32 --cache-type-v f32"
PROGRAM = os.environ.get("EYECHART_LLAMA")
COMMAND = f"{PROGRAM} -m {{model}} --port {{port}}" if PROGRAM else "llama.cpp"
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
    return f"{COMMAND} {ARGUMENTS} --mmproj {model.parent / 'vision.gguf'}"


@pytest.fixture(scope="session")
def options(model, command):
    """How the server of the model is asked."""
    try:
        server = Server(command, str(model.parent / "language.gguf"), model.parent / "log")
    except UsageError as error:
        pytest.skip(str(error))
    try:
        yield server.start(EndpointOptions(max_retries=1))
    finally:
        server.close()


def there(options, name="language.gguf"):
    return ("--model", name, "--base-url", options.base_url, "--model-arg", "top_logprobs=1280")


def test_every_task_gives_the_replies_and_logits_of_the_model_run_here(options, model, tmp_path):
    real_servers.compare_every_task(there(options), str(model), tmp_path, tolerance=TOLERANCE)


def test_words_of_several_tokens_have_the_logits_of_their_first_tokens(options, model):
    real_servers.compare_words_of_several_tokens(options, str(model), tolerance=TOLERANCE)


def test_closed_set_inference_is_refused_with_the_reason(options, tmp_path):
    task = ("q_bench/perception", "--mini", "--set", "inference=closed-set")
    done = invoke("run", *task, *there(options), "--out", tmp_path, code=1)
    assert "returns no prompt_logprobs" in done.output


def test_a_judge_gets_as_many_rounds_in_one_request_as_the_server_has_slots_and_more_one_by_one(options):
    (completion,), requests = real_servers.ask_several(options, SLOTS)
    assert len(completion.choices) == SLOTS and requests == 1
    completions, requests = real_servers.ask_several(options, SLOTS + 1)
    assert [len(completion.choices) for completion in completions] == [1] * (SLOTS + 1) and requests == SLOTS + 1


def test_a_name_that_is_not_served_is_answered_and_the_result_says_by_what(options, model, tmp_path):
    real_servers.run("q_bench/perception", "--limit", 2, *there(options, "no/such-model"), out=tmp_path)
    (task,) = read_results(tmp_path).tasks
    settings, served = task.settings["model"], str(model.parent / "language.gguf")
    assert settings["name"] == "no/such-model" and settings["served"] == [served]
    assert any(served in caveat and "--model-arg served_name" in caveat for caveat in task.caveats)


def test_a_context_too_small_names_the_option_that_helps(options):
    (response,) = OpenAIBackend("language.gguf", options).answer([Request("1", ("Hello " * LENGTH,), ())])
    assert isinstance(response.error, EndpointError) and "--ctx-size" in str(response.error)


def test_a_server_killed_in_the_middle_loses_nothing_and_is_asked_nothing_twice(options, model, command, tmp_path):
    def child(process, log):
        return int(subprocess.check_output(["pgrep", "-P", str(process)]))

    arguments = ["--model", str(model.parent / "language.gguf"), "--serve", command]
    settings = real_servers.kill_and_resume(
        arguments, lambda log: log.count("stop processing"), child, "was killed by SIGKILL", tmp_path
    )
    assert settings["serve"]["command"] == command and settings["served"] == [settings["name"]]
