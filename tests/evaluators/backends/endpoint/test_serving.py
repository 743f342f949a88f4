"""`--serve`: a server that a run starts, asks and stops; here a small program under the names of real ones."""

import contextlib
import os
import sys
import time
from pathlib import Path

import psutil
import pytest

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.backends.endpoint import serving
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.backends.endpoint.serving import Server
from eyechart.evaluators.requests.errors import ModelError
from eyechart.evaluators.results.results_file import read_results
from tests.evaluators.command_line import invoke

PROGRAM = Path(__file__).with_name("server_program.py")
ITEMS = 8


@pytest.fixture(autouse=True)
def programs(tmp_path, monkeypatch):
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


def settings_of(folder):
    (task,) = read_results(folder).tasks
    return task.settings["model"]


def test_a_run_starts_the_server_asks_it_by_the_name_that_it_serves_and_stops_it(tmp_path, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        # A proxy has another 127.0.0.1.
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    asked = tmp_path / "asked"
    command = f"vllm --name other --load 1 --asked {asked}"
    done = run("--model", "org/model", "--serve", command, out=tmp_path / "out")
    assert "starting vllm; log: " in done.output
    assert asked.read_text().splitlines() == ["other"] * ITEMS
    assert "loading org/model" in (tmp_path / "out" / "server.log").read_text()
    settings = settings_of(tmp_path / "out")
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
    run("--model", model, "--serve", f"{command} --name alias", out=tmp_path / "out")
    settings = settings_of(tmp_path / "out")
    assert settings["serve"]["version"] == "b7" and settings["served"] == ["alias"]
    assert settings["serve"]["fingerprint"]


def test_models_that_transformers_has_in_its_cache_are_not_asked(programs, tmp_path):
    (programs / "vllm").rename(programs / "transformers")
    server = Server("transformers serve {model} --port {port} --name cached --load 1", "m", tmp_path / "server.log")
    begin = time.monotonic()
    with contextlib.closing(server):
        assert server.start(EndpointOptions()).served_name == "m" and time.monotonic() >= begin + 1, "it is ready"


def test_a_crash_ends_the_run_with_its_last_lines_and_the_next_run_goes_on(tmp_path):
    asked, model = tmp_path / "asked", tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    program = tmp_path / "bin" / "vllm"
    whole = program.read_text()
    program.write_text(whole.replace('"$@"', f'"$@" --asked "{asked}" --crash-after 5'))
    server = ("aes_bench/empathy", "--model", model, "--serve", "vllm", "--concurrency", 1)
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
    (model / "config.json").write_text('{"changed": true}')
    run(*server, out=tmp_path / "out")
    assert len(asked.read_text().splitlines()) - before == 4 * ITEMS - 4, "and not those of another model in its place"


def test_a_server_that_ends_before_it_answers_fails_the_run_with_its_last_lines(tmp_path):
    done = run("--model", "m", "--serve", "vllm --no-such-option", out=tmp_path / "out", code=1)
    assert "vllm ended with exit code 2" in done.output and "unrecognized arguments: --no-such-option" in done.output
    assert done.output.count("unrecognized arguments") == 1
    assert "unrecognized arguments" in (tmp_path / "out" / "server.log").read_text()


def test_errors_are_shown_that_a_server_wrote_long_before_it_ended(tmp_path):
    server = Server("vllm", "m", tmp_path / "server.log")
    assert server.last_lines() == ""
    errors, leaked = [f"ERROR ValueError: {i} heads" for i in range(6)], [f"leaked {i}" for i in range(30)]
    # Of a long log, the last 64 KiB are read.
    head, tail = "\n".join(["loading", *errors, *errors]), "\n\n".join(leaked)
    server.log.write_text(errors[-1] + "\n" + head.ljust(2**16 - len(tail), "\n") + tail)
    assert server.last_lines().splitlines() == [*errors[1:], "...", *leaked[10:]]


def test_a_server_that_was_killed_is_told_from_one_that_ended(tmp_path):
    server = Server("sh -c 'kill -9 $$' {model} {port}", "m", tmp_path / "server.log")
    with contextlib.closing(server), pytest.raises(ModelError, match="by SIGKILL"):
        server.start(EndpointOptions())


@pytest.mark.parametrize(
    ("command", "arguments", "named"),
    [
        ("vllm", [], "--model"),
        ("ollama {model}", ["--model", "m"], "vllm, sglang, llama.cpp"),
        ("vllm", ["--model", "m", "--base-url", "http://127.0.0.1:9/v1"], "--base-url"),
        ("vllm", ["--model", "m", "--model-arg", "served_name=n"], "--model-arg served_name"),
        ("vllm", ["--model", "m", "--device", "cpu", "--dtype", "float16"], "--device, --dtype"),
        ("vllm", ["--model", "m", "--model-arg", 'processor={"max_pixels": 9}'], "--model-arg processor"),
        ("vllm --port=80", ["--model", "m"], "--port"),
        ("vllm --a 'b", ["--model", "m"], "cannot be split"),
        ("/no/vllm {model} {port}", ["--model", "m"], "/no/vllm"),
    ],
)
def test_wrong_usage_is_explained_with_exit_code_2(command, arguments, named, tmp_path):
    done = run("--serve", command, *arguments, out=tmp_path, code=2)
    assert named in " ".join(done.output.split())


def test_one_server_is_not_started_by_several_processes(tmp_path, monkeypatch):
    variables = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "a", "MASTER_PORT": "1"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    done = run("--model", "m", "--serve", "vllm", out=tmp_path, code=2)
    assert "--tensor-parallel-size" in done.output


def test_a_program_that_is_not_there_is_named(programs, tmp_path, monkeypatch):
    (programs / "llama-server").unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="the program llama-server"):
        Server("llama.cpp", "m", tmp_path / "server.log")
