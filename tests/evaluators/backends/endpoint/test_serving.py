"""`--serve`: a server that a run starts, asks and stops; here a small program under the names of real ones."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from eyechart.datasets_scripts.common.errors import ModelError, UsageError
from eyechart.evaluators.backends.endpoint import serving
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.backends.endpoint.serving import Server
from eyechart.evaluators.cli import app
from eyechart.evaluators.results.results_file import read_results

PROGRAM = Path(__file__).with_name("server_program.py")
ITEMS = 8


@pytest.fixture(autouse=True)
def programs(tmp_path, monkeypatch):
    """A folder on PATH with the servers' programs."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("vllm", "llama-server"):
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" "{PROGRAM}" "$@"\n')
        (folder / name).chmod(0o755)
    (folder / "sglang-python").write_text(f'#!/bin/sh\nshift 2\nexec "{sys.executable}" "{PROGRAM}" "$@"\n')
    (folder / "sglang-python").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    return folder


def invoke(*arguments, out, limit=ITEMS):
    command = ["run", "q_bench/perception", "--mini", "--limit", limit, "--out", out, *arguments]
    return CliRunner().invoke(app, [str(argument) for argument in command])


def settings_of(folder):
    (task,) = read_results(folder).tasks
    return task.settings["model"]


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=10).close()
    except OSError:
        return False
    return True


def wait_for(condition):
    """Wait until something holds; gives what it returned."""
    end = time.monotonic() + 120
    while not (found := condition()):
        assert time.monotonic() < end, "it never held"
        time.sleep(0.05)
    return found


def port_in(file):
    return wait_for(lambda: file.exists() and int(file.read_text() or 0))


def test_a_run_starts_the_server_asks_it_by_the_name_that_it_serves_and_stops_it(tmp_path):
    child, asked = tmp_path / "child", tmp_path / "asked"
    arguments = f"--name other --load 1 --child {child} --asked {asked}"
    done = invoke("--model", "org/model", "--serve", "vllm", "--serve-args", arguments, out=tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "starting vllm; log: " in done.output
    assert asked.read_text().splitlines() == ["other"] * ITEMS
    assert "loading org/model" in (tmp_path / "out" / "server.log").read_text()
    settings = settings_of(tmp_path / "out")
    assert settings["name"] == "org/model" and settings["served"] == ["other"] and "base_url" not in settings
    assert settings["serve"] == {
        "program": "vllm",
        "version": "1.2.3",
        "arguments": arguments.split(),
        "fingerprint": None,
    }
    assert "--served-name" not in done.output, "who started the server knows what it serves"
    wait_for(lambda: not listens(port_in(child)))


@pytest.mark.parametrize(
    ("program", "more", "version"),
    [("llama.cpp", (), "b7"), ("sglang", ("--serve-program", "sglang-python"), "0.9")],
)
def test_each_program_is_given_model_and_address_in_its_own_way(program, more, version, tmp_path):
    model = tmp_path / "model.gguf"
    model.write_bytes(b"GGUF")
    done = invoke("--model", model, "--serve", program, *more, out=tmp_path / "out")
    assert done.exit_code == 0, done.output
    settings = settings_of(tmp_path / "out")
    assert settings["serve"]["version"] == version and settings["served"] == [str(model)]
    assert len(settings["serve"]["fingerprint"]) == 64


def test_a_crash_ends_the_run_with_its_last_lines_and_the_next_run_goes_on(tmp_path):
    asked, model, child = tmp_path / "asked", tmp_path / "model", tmp_path / "child"
    model.mkdir()
    (model / "config.json").write_text("{}")
    program = tmp_path / "bin" / "vllm"
    crashing = program.read_text().replace('"$@"', f'"$@" --asked "{asked}" --crash-after 5 --child "{child}"')
    program.with_name("crashing").write_text(crashing)
    program.with_name("crashing").chmod(0o755)
    server = ("aes_bench/empathy", "--model", model, "--serve", "vllm", "--concurrency", 1)
    done = invoke(*server, "--serve-program", "crashing", out=tmp_path / "out")
    assert done.exit_code == 1
    output = " ".join(done.output.split())
    assert "vllm ended with exit code 3" in output
    assert done.output.rstrip().endswith("out of memory, so to say")
    assert {failed.task for failed in read_results(tmp_path / "out").failed} == {
        "q_bench/perception",
        "aes_bench/empathy",
    }
    wait_for(lambda: not listens(port_in(child)))
    before = len(asked.read_text().splitlines())
    program.write_text(program.read_text().replace('"$@"', f'"$@" --asked "{asked}"'))
    done = invoke(*server, out=tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert len(asked.read_text().splitlines()) - before == 2 * ITEMS - 4, "answers of the first server are kept"
    (model / "config.json").write_text('{"changed": true}')
    invoke(*server, out=tmp_path / "out")
    assert len(asked.read_text().splitlines()) - before == 4 * ITEMS - 4, "and not those of another model in its place"


def test_a_server_that_ends_before_it_answers_fails_the_run_with_its_last_lines(tmp_path):
    done = invoke("--model", "m", "--serve", "vllm", "--serve-args", "--no-such-option", out=tmp_path / "out")
    assert done.exit_code == 1
    assert "vllm ended with exit code 2" in done.output and "unrecognized arguments: --no-such-option" in done.output
    assert done.output.count("unrecognized arguments") == 1
    assert "unrecognized arguments" in (tmp_path / "out" / "server.log").read_text()


def test_errors_are_shown_that_a_server_wrote_long_before_it_ended(tmp_path):
    server = Server("vllm", "m", [], tmp_path / "server.log")
    assert server.last_words() == ""
    lines = ["loading", *["ERROR ValueError: too many heads"] * 2, *[f"leaked {i}" for i in range(30)]]
    server.log.write_text("\n\n".join(lines))
    assert server.last_words().splitlines() == ["ERROR ValueError: too many heads", "...", *lines[-20:]]


def test_a_server_that_never_answers_is_stopped_even_if_it_passes_over_the_signal(tmp_path, monkeypatch):
    monkeypatch.setattr(serving, "_STOP_TIMEOUT", 0.5)
    child = tmp_path / "child"
    server = Server("vllm", "m", ["--load", "1000", "--deaf", "--child", str(child)], tmp_path / "server.log")
    lines = []
    with pytest.raises(ModelError, match=r"vllm did not answer within 3 s \(--serve-timeout\)"):
        server.start(EndpointOptions(), 3, lines.append)
    assert "loading m" in lines, "what it does meanwhile is shown"
    assert server.ending() == "", "it did not end by itself"
    wait_for(lambda: not listens(port_in(child)))


def test_a_proxy_of_the_environment_is_not_asked_for_the_server(tmp_path, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    done = invoke("--model", "m", "--serve", "vllm", out=tmp_path / "out")
    assert done.exit_code == 0, done.output


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_server_is_stopped_where_the_run_is_interrupted(number, tmp_path):
    child = tmp_path / "child"
    command = [sys.executable, "-m", "eyechart.evaluators.cli", "run", "q_bench/perception", "--mini", "--model", "m"]
    command += ["--serve", "vllm", "--serve-args", f"--load 1000 --child {child}", "--out", str(tmp_path / "out")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert listens(port_in(child))
    process.send_signal(number)
    output, _ = process.communicate(timeout=120)
    assert process.returncode not in (0, -number), output
    wait_for(lambda: not listens(port_in(child)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--serve", "vllm"], "--serve needs --model, the model to serve"),
        (["--serve", "ollama", "--model", "m"], "'ollama' is not one of"),
        (["--serve-args", "--seed 1"], "--serve-args has no effect without --serve"),
        (["--serve", "vllm", "--model", "m", "--base-url", "http://127.0.0.1:9/v1"], "--base-url is for a server that"),
        (
            ["--serve", "vllm", "--model", "m", "--served-name", "n"],
            "--served-name is for a server that is already running",
        ),
        (["--serve", "vllm", "--model", "m", "--backend", "transformers"], "--backend transformers does not use one"),
        (
            ["--serve", "vllm", "--model", "m", "--device", "cpu", "--dtype", "float16"],
            "--device, --dtype has no effect on a server",
        ),
        (
            ["--serve", "vllm", "--model", "m", "--model-arg", "max_pixels=9"],
            "pass the server's own options with --serve-args",
        ),
        (["--serve", "vllm", "--model", "m", "--serve-args", "--port=80"], "--serve-args contains --port"),
        (["--serve", "vllm", "--model", "m", "--serve-args", "--api-key k"], "--serve-args contains --api-key"),
        (["--serve", "vllm", "--model", "m", "--serve-args", "--a 'b"], "cannot be split into words"),
        (["--serve", "llama.cpp", "--model", "org/model"], "llama.cpp needs a GGUF file"),
        (
            ["--serve", "vllm", "--model", "m", "--serve-program", "/no/vllm"],
            "--serve-program /no/vllm is not an executable program",
        ),
    ],
)
def test_wrong_usage_is_explained_with_exit_code_2(arguments, message, tmp_path):
    done = invoke(*arguments, out=tmp_path)
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())


def test_one_server_is_not_started_by_several_processes(tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    done = invoke("--model", "m", "--serve", "vllm", out=tmp_path)
    assert done.exit_code == 2 and "--tensor-parallel-size" in done.output


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("vllm", r"Install it \(pip install vllm\), or give the path of the program: --serve-program PATH"),
        ("sglang", r'pip install "sglang\[all\]"\), or give the path of the Python of the environment'),
        ("llama.cpp", "see https://github.com/ggml-org/llama.cpp"),
    ],
)
def test_a_program_that_is_not_there_says_how_to_get_it(program, message, programs, tmp_path, monkeypatch):
    shutil.rmtree(programs)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match=message):
        Server(program, str(PROGRAM), [], tmp_path / "server.log")
