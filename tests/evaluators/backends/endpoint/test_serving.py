"""`eyechart run` on servers: those that it starts, the tiny model on one, and a real one, `transformers serve`."""

import contextlib
import os
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import psutil
import pyarrow.parquet
import pytest

from eyechart.datasets_scripts import mini
from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.backends import resolve_backend
from eyechart.evaluators.backends.endpoint import serving
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.backends.endpoint.serving import Server
from eyechart.evaluators.requests.errors import ModelError
from eyechart.evaluators.requests.types import IMAGE, Request
from eyechart.evaluators.results.results_file import read_results
from tests.evaluators import running
from tests.evaluators.command_line import invoke

PROGRAM = Path(__file__).with_name("server_program.py")
ITEMS = 8


@pytest.fixture(autouse=True)
def programs(tmp_path, monkeypatch, impatient):
    """A folder with the servers' programs, which is found first."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, skipped in (("vllm", 0), ("llama-server", 0), ("python", 2)):
        (folder / name).write_text(f'#!/bin/sh\nshift {skipped}\nexec "{sys.executable}" "{PROGRAM}" "$@"\n')
        (folder / name).chmod(0o755)
    monkeypatch.setattr(serving, "get_path", lambda name: str(folder))
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    return folder


def run(*arguments, out, code=0):
    return invoke("run", "q_bench/perception", "--mini", "--limit", ITEMS, "--out", out, *arguments, code=code)


def is_running(folder):
    """Whether a server with this folder in its command is left."""
    commands = (" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"]))
    return any(PROGRAM.name in command and str(folder) in command for command in commands)


def test_a_run_starts_the_server_asks_it_by_the_name_that_it_serves_and_stops_it(tmp_path, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        # A proxy has another 127.0.0.1.
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    asked = tmp_path / "asked"
    command = f"vllm --name other --load 0.4 --asked {asked}"
    done = run("--model", "org/model", "--serve", command, out=tmp_path / "out")
    assert "starting vllm; log: " in done.output
    assert asked.read_text().splitlines() == ["other"] * ITEMS
    assert "loading org/model" in (tmp_path / "out" / "server.log").read_text()
    settings = read_results(tmp_path / "out").tasks[0].settings["model"]
    assert settings["name"] == "org/model" and settings["served"] == ["other"] and "base_url" not in settings
    assert settings["serve"] == {"command": command, "version": "1.2.3", "fingerprint": None}
    assert "--model-arg served_name" not in done.output, "who started the server knows what it serves"
    assert not is_running(tmp_path)


@pytest.mark.parametrize(
    "command", ["llama.cpp", "sglang", f"{sys.executable} {PROGRAM} -m {{model}} --port {{port}} --no-health"]
)
def test_each_program_is_given_model_and_address_in_its_own_way(command, tmp_path):
    model = tmp_path / "model.gguf"
    model.write_bytes(b"GGUF")
    server = Server(f"{command} --name alias", str(model), tmp_path / "server.log")
    with contextlib.closing(server):
        options = server.start(EndpointOptions())
        assert options.served_name == "alias" and options.serve["version"] == "b7" and options.serve["fingerprint"]


def test_models_that_transformers_has_in_its_cache_are_not_asked(programs, tmp_path):
    (programs / "vllm").rename(programs / "transformers")
    server = Server("transformers serve {model} --port {port} --name cached --load 0.4", "m", tmp_path / "server.log")
    begin = time.monotonic()
    with contextlib.closing(server):
        assert server.start(EndpointOptions()).served_name == "m" and time.monotonic() >= begin + 0.4, "it is ready"


def test_a_crash_ends_the_run_with_its_last_lines_and_the_next_run_goes_on(tmp_path):
    asked = tmp_path / "asked"
    program = tmp_path / "bin" / "vllm"
    whole = program.read_text()
    program.write_text(whole.replace('"$@"', f'"$@" --asked "{asked}" --crash-after 5'))
    server = ("aes_bench/empathy", "--model", "org/model", "--serve", "vllm", "--model-arg", "concurrency=1")
    done = run(*server, out=tmp_path / "out", code=1)
    output = " ".join(done.output.split())
    assert "vllm ended with exit code 3" in output
    assert done.output.rstrip().endswith("out of memory, so to say")
    failed = {failed.task for failed in read_results(tmp_path / "out").failed}
    assert failed == {"q_bench/perception", "aes_bench/empathy"}
    before = len(asked.read_text().splitlines())
    program.write_text(whole.replace('"$@"', f'"$@" --asked "{asked}"'))
    run(*server, out=tmp_path / "out")
    assert len(asked.read_text().splitlines()) - before == 2 * ITEMS - 4, "answers of the first server are kept"


def test_a_server_that_ends_before_it_answers_fails_the_run_with_its_last_lines(tmp_path):
    done = run("--model", "m", "--serve", "vllm --no-such-option", out=tmp_path / "out", code=1)
    assert "vllm ended with exit code 2" in done.output and "unrecognized arguments: --no-such-option" in done.output
    assert done.output.count("unrecognized arguments") == 1
    assert "unrecognized arguments" in (tmp_path / "out" / "server.log").read_text()


def test_a_server_that_was_killed_is_told_from_one_that_ended(tmp_path):
    server = Server("sh -c 'kill -9 $$' {model} {port}", "m", tmp_path / "server.log")
    with contextlib.closing(server), pytest.raises(ModelError, match="by SIGKILL"):
        server.start(EndpointOptions())


SERVER = ["--base-url", "http://127.0.0.1:9/v1", "--model", "m"]
MODEL = ["--model", "m"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--serve", "vllm"], "--model"),
        ([*MODEL, "--serve", "ollama {model}"], "vllm, sglang, llama.cpp"),
        ([*SERVER, "--serve", "vllm"], "--base-url"),
        ([*MODEL, "--serve", "vllm", "--model-arg", "served_name=n"], "--model-arg served_name"),
        ([*MODEL, "--serve", "vllm", "--device", "cpu", "--dtype", "float16"], "--device, --dtype"),
        ([*MODEL, "--serve", "vllm", "--model-arg", 'processor={"max_pixels": 9}'], "--model-arg processor"),
        ([*MODEL, "--serve", "vllm --port=80"], "--port"),
        ([*MODEL, "--serve", "vllm --a 'b"], "cannot be split"),
        ([*MODEL, "--serve", "/no/vllm {model} {port}"], "/no/vllm"),
        (SERVER[:2], "a server needs --model"),
        ([*SERVER, "--device", "cpu"], "--device has no effect on a server"),
        (["--model-arg", "timeot=3"], "did you mean 'timeout'?"),
        (["--model-arg", "trust_remote_code=maybe"], "--model-arg trust_remote_code='maybe' is not allowed"),
        (["--model-arg", "served_name=m"], "--model-arg served_name has no effect without a server"),
        ([*SERVER, "--model-arg", "concurrency=0"], "concurrency=0"),
        ([*SERVER, "--backend", "vllm"], "--backend is for a model that runs here"),
        (["--backend", "vllm", "--batch-size", "2"], "--model-arg max_num_seqs"),
        (["--backend", "vllm", "--device", "cpu"], "device has no effect with the backend vllm"),
        (["--backend", "vllm", "--model-arg", "hf_token=hf_1"], "--hf_token is a secret"),
        (["--backend", "vllm", "--temperature", "0.001"], "expected 0.01 to 2"),
    ],
)
def test_wrong_usage_is_explained_with_exit_code_2(arguments, named, tmp_path):
    done = run(*arguments, out=tmp_path, code=2)
    assert named in " ".join(done.output.split())


def test_one_server_is_not_started_by_several_processes(tmp_path, monkeypatch):
    variables = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "a", "MASTER_PORT": "1"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    done = run("--model", "m", "--serve", "vllm", out=tmp_path, code=2)
    assert "--tensor-parallel-size" in done.output


def test_a_run_on_a_server_gives_scores_settings_and_stored_answers(http, model_server, tmp_path):
    url = http.url_for("/v1")
    server = ("--base-url", url, "--model", "tiny", "--model-arg", "concurrency=3")
    server = (*server, "--mini", "--data-dir", f"kadis700k={mini.release('kadis700k')}")
    tasks = ("q_bench/perception", "q_bench/assessment", *server, "--limit", 12)
    invoke("run", *tasks, "--out", tmp_path / "out", code=0)
    perception, assessment = read_results(tmp_path / "out").tasks
    assert perception.scores["accuracy"] > perception.scores["random_guess"]
    assert assessment.scores["srcc"] > 0.5
    assert perception.model == "tiny"
    settings = assessment.settings["model"]
    assert settings["backend"] == "openai" and settings["base_url"] == url and settings["concurrency"] == 3
    # Two to see how a reply is continued, and two for the tokens of "fine" and "bad".
    assert settings["asked"]["requests"] == 2 + 2 + 12
    of_perception = perception.settings["model"]
    assert of_perception["asked"]["requests"] == 12, "each task counts its own"
    assert of_perception["prefill"] == [], "no reply of it was begun"
    assert of_perception["asked"]["prompt_tokens"] == of_perception["usage"]["prompt_tokens"]
    assert settings["served"] == ["tiny@main"] and settings["prefill"] == ["continue_final_message"]
    assert 0 < settings["usage"]["prompt_tokens"] < settings["asked"]["prompt_tokens"]
    rows = pyarrow.parquet.read_table(tmp_path / "out" / "predictions.parquet").to_pylist()
    assert len(rows) == 24
    upper_bound_words = [word for row in rows for word in row["upper_bound_words"] or []]
    assert Counter(upper_bound_words) == settings.get("upper_bound_words", {})
    asked = len(model_server.asked)
    invoke("run", *tasks, "--out", tmp_path / "again", code=0)
    assert len(model_server.asked) == asked, "answers are stored"
    for task, stored in zip((perception, assessment), read_results(tmp_path / "again").tasks, strict=True):
        assert stored.scores == task.scores
        first, second = ({**t.settings["model"], "asked": None} for t in (task, stored))
        assert first == second and second["served"], "what only an answer tells is stored with it"


def test_a_server_that_answers_under_another_name_is_a_caveat_until_that_is_confirmed(model_server, backend, questions):
    model_server.serves = "tiny-f32.gguf"
    doubtful, confirmed = backend("no/such-model"), backend("no/such-model", served_name="tiny-f32.gguf")
    first, again = (running.run("q_bench/perception", model, questions) for model in (doubtful, confirmed))
    settings = first.settings["model"]
    assert settings["name"] == "no/such-model" and settings["served"] == ["tiny-f32.gguf"]
    (caveat,) = [line for line in first.caveats if "--model-arg served_name" in line]
    assert "answered as 'tiny-f32.gguf', but 'no/such-model' was requested" in caveat
    assert again.caveats == [line for line in first.caveats if line != caveat]
    assert again.settings["model"]["served_name"] == "tiny-f32.gguf"
    assert doubtful.identity() == confirmed.identity(), "nothing is asked anew"


TRANSFORMERS_SERVE = "transformers serve {model} --device cpu --host 127.0.0.1 --port {port}"
QUESTION = "What distortion degrades the quality of the image?\n"


@pytest.fixture(scope="session")
def address(tmp_path_factory):
    """The base URL of a server of the tiny model. Without a cache, it cannot list its models."""
    server = Server(TRANSFORMERS_SERVE, tiny_vlm.NAME, tmp_path_factory.mktemp("serve") / "log.txt")
    try:
        options = server.start(EndpointOptions())
        assert options.served_name == str(tiny_vlm.folder())
        yield options.base_url
    finally:
        server.close()


@pytest.fixture
def on_server(address):
    return resolve_backend(str(tiny_vlm.folder()), endpoint=EndpointOptions(base_url=address, max_retries=1))


def texts(responses):
    answers = {response.request.id: response.text for response in responses}
    assert None not in answers.values()
    return answers


@pytest.mark.slow
def test_eight_clients_at_once_get_the_answers_of_the_model_run_here(on_server, here, make_picture):
    pictures = [make_picture(i, 40 + 7 * i) for i in range(12)]
    requests = [Request(f"text {i}", (f"How is picture {i}?",), (), max_new_tokens=6) for i in range(4)]
    requests += [Request(f"one {i}", (QUESTION, IMAGE), (picture,)) for i, picture in enumerate(pictures)]
    prompt = ("Which is better?\n", IMAGE, IMAGE, "\nA. The first B. The second")
    requests += [Request(f"two {i}", prompt, pair) for i, pair in enumerate(pairwise(pictures))]
    answers = texts(on_server.answer(requests))
    assert answers == texts(here.answer(requests))
    assert len(set(answers.values())) > 3, "the answers must differ for the comparison to mean something"
    asked = on_server.settings()["asked"]
    assert asked["requests"] == len(requests) and asked["retries"] == 0
    assert asked["prompt_tokens"] > 10 * len(requests) and asked["completion_tokens"] >= len(requests)


def test_transformers_serve_continues_a_prefilled_reply(on_server, make_picture):
    image = make_picture(0, 64)
    (whole,) = on_server.answer([Request("whole", (QUESTION, IMAGE), (image,))])
    head, _, rest = whole.text.partition(" ")
    assert rest
    assert texts(on_server.answer([Request("rest", (QUESTION, IMAGE), (image,), prefill=head)])) == {"rest": rest}
    assert on_server.settings()["prefill"] == ["last assistant message"]
