"""Servers: permanent faults stop the run, and servers that a run starts end with it."""

import contextlib
import gzip
import itertools
import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Response

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.backends.endpoint import serving
from eyechart.evaluators.backends.endpoint.client import ChatClient
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.backends.endpoint.serving import Server
from eyechart.evaluators.requests.errors import EndpointError, ModelError, QuotaError
from eyechart.evaluators.requests.types import IMAGE, Request
from tests.evaluators.command_line import invoke
from tests.evaluators.providers import NO_TEMPERATURE
from tests.evaluators.scripted_server import json_response, refusal
from tests.faults.conftest import GOOD, hostile, scored
from tests.faults.fault import fault, row, rows

STOPS = "one request is sent, and the run stops with the reason and the option that helps, if there is one"
FIVE = "after five requests the run stops, and the error names the option that helps"
NO_QUOTA = "insufficient_quota"
NO_IMAGES = "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"
VLLM_LOGPROBS = (
    "Requested sample logprobs of 200, which is greater than max allowed: 20 (parameter=logprobs, value=200)"
)
OPENAI_LOGPROBS = "Invalid 'top_logprobs': integer above maximum value. Expected a value <= 20, but got 200 instead."
VLLM_CONTEXT = (
    "This model's maximum context length is 512 tokens. However, your prompt contains at least 600 input tokens, which "
    "exceeds this limit even without any output tokens. Please reduce the length of the input prompt. "
    "(parameter=input_tokens, value=600)"
)
LLAMA_CPP_CONTEXT = "request (613 tokens) exceeds the available context size (512 tokens), try increasing it"
VLLM_LENGTH = "max_tokens=600 cannot be greater than max_model_len=512. Please request fewer output tokens."
OPENAI_LENGTH = "max_tokens is too large: 9000. This model supports at most 4096 completion tokens, whereas you ..."
# https://github.com/spiceai/spiceai/issues/7126
OPENAI_REASONING = (
    "Could not finish the message because max_tokens or model output limit was reached. Please try again with higher "
    "max_tokens."
)
VLLM_IMAGES = "At most 1 image(s) may be provided in one prompt."


@pytest.mark.parametrize(
    ("answer", "error", "reason"),
    rows(
        STOPS,
        ("a server refuses the key (401)", refusal(401, "no such"), ModelError, "cannot be used: .* 401: no such"),
        ("a server requires a key and none is set", refusal(401), ModelError, "variable OPENAI_API_KEY"),
        ("a server does not know the model (404)", refusal(404, "no such"), ModelError, "used: .* 404: no such"),
        ("a server accepts no images", refusal(500, NO_IMAGES), ModelError, r"Start llama\.cpp.*--mmproj"),
        ("more log-probabilities than vLLM allows", refusal(400, VLLM_LOGPROBS), ModelError, "smaller --model-arg top"),
        ("more log-probabilities than OpenAI allows", refusal(400, OPENAI_LOGPROBS), ModelError, "--model-arg top_log"),
        ("an error repeats a known word a million times", refusal(400, "logprobs " * 10**6), ModelError, "logprobs"),
        ("the account's credit runs out (402)", refusal(402), QuotaError, "used: .* answered 402: some reason"),
        ("the quota runs out (429)", refusal(429, code=NO_QUOTA), QuotaError, "used: .* 429: some"),
    ),
)
def test_a_permanent_fault_stops_the_run(script, backend, make_picture, answer, error, reason):
    script.say(answer)
    words = ("good", "poor") if "logprobs" in reason or "logpr" in reason else None
    requests = [Request(str(i), ("What is this?", IMAGE), (make_picture(0),), words=words) for i in range(50)]
    with pytest.raises(error, match=reason):
        list(backend(concurrency=1, max_retries=0 if error is QuotaError else 4, top_logprobs=200).answer(requests))
    time.sleep(0.05)
    # The thread may have taken the next request; none is sent again.
    assert len(script.bodies) <= 2 and set(script.attempts) == {"0"}


@fault("a provider refuses a parameter in every form", "the run stops at once and gives the provider's reason")
def test_a_parameter_in_every_form(script, backend):
    script.say(json_response(NO_TEMPERATURE.error, 400))
    with pytest.raises(ModelError, match=r"cannot be used: .*'temperature' is not supported with this model"):
        list(backend(concurrency=1).answer([Request("x", ("Every form?",), ())]))
    assert ["temperature" in body for body in script.bodies] == [True, False]


@pytest.mark.parametrize(
    ("message", "remedy"),
    rows(
        FIVE,
        ("prompts are longer than vLLM's context", VLLM_CONTEXT, r"smaller --max-new-tokens.*vLLM: --max-model-len"),
        ("prompts are longer than llama.cpp's context", LLAMA_CPP_CONTEXT, r"llama\.cpp: --ctx-size"),
        ("replies may be longer than OpenAI's model allows", OPENAI_LENGTH, "Set a smaller --max-new-tokens"),
        ("replies may be longer than vLLM's context", VLLM_LENGTH, r"smaller --max-new-tokens.*--max-model-len"),
        ("replies are too short for the reasoning of OpenAI's model", OPENAI_REASONING, "a larger --max-new-tokens"),
        ("prompts have more images than vLLM accepts", VLLM_IMAGES, "a larger --limit-mm-per-prompt"),
        ("all requests fail for an unknown reason", "an error of another kind, 12", "first 5 requests all failed"),
    ),
)
def test_a_server_that_fails_in_the_same_way_from_the_start(script, backend, message, remedy):
    counted = itertools.count(600)
    script.say(lambda request: refusal(400, message.replace("600", str(next(counted)))))
    requests = [Request(str(i), ("What is this?",), ()) for i in range(500)]
    with pytest.raises(ModelError, match=remedy):
        list(backend(concurrency=2).answer(requests))
    assert len(script.bodies) <= 5 + 4


@fault("a server answers only one request of 25", "the other items have errors; the run continues")
def test_failures_of_other_kinds_or_after_an_answer_are_errors_of_their_items(script, backend):
    faults = [refusal(400, f"reason {'ab'[i % 2]}") for i in range(12)]
    script.say(*faults, GOOD, *[refusal(400, "reason c")] * 12)
    requests = [Request(str(i), ("What is this?",), ()) for i in range(25)]
    responses = list(backend(concurrency=1).answer(requests))
    assert [response.error is None for response in responses].count(True) == 1 and len(responses) == 25


@pytest.fixture(scope="module")
def other():
    """Another server, to which nothing may be sent."""
    with HTTPServer() as server:
        yield server


@fault("a server redirects to another server (307)", "nothing is sent there, and the error names the other address")
def test_a_server_that_points_elsewhere(script, backend, other):
    script.say(Response("", 307, {"Location": other.url_for("/v1/chat/completions")}))
    with pytest.raises(ModelError, match=rf"answered 307, a redirect to http://localhost:{other.port}/v1/chat/co"):
        list(backend().answer([Request("x", ("What?",), ())]))
    assert other.log == []


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    rows(
        "the run stops and names the variable, without its password",
        ("SSL_CERT_FILE names a missing file", "SSL_CERT_FILE", "/nowhere/certificates.pem", "FileNotFoundError"),
        ("the proxy's address has an unknown scheme", "ALL_PROXY", "ftp://me:secret@127.0.0.1:1", "Unknown scheme"),
    ),
)
def test_an_environment_without_a_client(backend, monkeypatch, name, value, reason):
    monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match=rf"the environment variables for proxies .*{reason}") as caught:
        list(backend().answer([Request("x", ("What?",), ())]))
    assert name in str(caught.value) and "secret" not in str(caught.value)


@fault("an address lacks its /v1 (404)", "the run stops, and the error suggests the address with it")
def test_an_address_without_v1(http, backend):
    address = http.url_for("").rstrip("/")
    for status in (404, 405):
        http.expect_oneshot_request("/chat/completions", method="POST").respond_with_response(refusal(status))
        with pytest.raises(ModelError, match=f"answered {status}.*try --base-url {address}/v1"):
            list(backend(base_url=address).answer([Request("x", ("What?",), ())]))


@fault("a run stops while other requests are in flight", "they are not repeated")
def test_what_is_under_way_when_all_stops_is_not_asked_again(script, backend, make_picture, monkeypatch):
    # Long enough that the run stops before the first retry.
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.5)
    script.say(refusal(500), refusal(500), refusal(500), refusal(401))
    requests = [Request(str(i), ("What is this?", IMAGE), (make_picture(0),)) for i in range(50)]
    with pytest.raises(ModelError):
        list(backend(concurrency=4, max_retries=9).answer(requests))
    time.sleep(1.6)
    assert len(script.bodies) <= 6, "with its retries, each of three would have been asked thrice by now"


@fault("no server listens at the address", "the run stops and gives the reason")
def test_a_server_that_is_not_there_stops_all(ask):
    with pytest.raises(ModelError, match=r"cannot reach a server at http://127\.0\.0\.1:9/v1 after 2 retries"):
        ask(base_url="http://127.0.0.1:9/v1", max_retries=2)


@pytest.mark.parametrize(
    "logprobs",
    rows(
        "the run stops and gives the reason",
        ("a server stops returning log-probabilities", {}),
        ("a server returns one log-probability", {"logprobs": {"content": [{"token": "x", "logprob": -1}]}}),
    ),
)
def test_a_server_that_loses_logprobs(script, backend, logprobs):
    script.say(scored((" good", -1), (" poor", -2)), {"choices": [{"message": {"content": "x"}, **logprobs}]})
    requests = [Request(str(i), ("Rate.",), (), words=("good", "poor")) for i in range(2)]
    responses = backend(concurrency=1).answer(requests)
    assert next(responses).logits == {"good": -1, "poor": -2}
    with pytest.raises(ModelError, match="returned no log-probabilities"):
        list(responses)


DRIP = {"body": " ", "repeat": 600, "pause": 0.2}
ENDLESS = {"body": "x" * 2**20, "repeat": 2**20}
BOMB = {"file": "bomb", "headers": {"Content-Encoding": "gzip, gzip"}}
NO_LIST = "answered with status 200, but the answer is not a list of models"
TOO_LONG = "was not ready within 2 s: .*more than 65,536 bytes"
LATE = "was not ready within 1 s: .* was not answered completely"
UNREADY = "was not ready within 1 s"
MODELS = "/v1/models"


def models(*listed):
    return {"body": json.dumps({"data": listed})}


@pytest.mark.parametrize(
    ("path", "page", "reason"),
    rows(
        "the run ends with one line within `serve_timeout`",
        ("a started server lists its models as null", MODELS, {"body": "null"}, NO_LIST),
        ("a started server's list is 100,000 levels deep", MODELS, {"body": '{"data":' + "[" * 10**5}, NO_LIST),
        ("a started server's list has a number of a million digits", MODELS, {"body": "[" + "9" * 10**6}, NO_LIST),
        ("a started server lists a million numbers", MODELS, {"body": f'{{"data": [{"1," * 10**6}1]}}'}, NO_LIST),
        ("a started server lists a model without an id", MODELS, models({}), NO_LIST),
        ("a started server lists an id that is not UTF-8", MODELS, {"file": "latin"}, NO_LIST),
        ("a started server lists an id with a million letters", MODELS, models({"id": "m" * 10**6}), NO_LIST),
        ("a started server's list is compressed twice", MODELS, BOMB, NO_LIST),
        ("a started server's list never ends", MODELS, ENDLESS, TOO_LONG),
        ("a started server's list comes byte by byte", MODELS, DRIP, LATE),
        ("a started server's health comes byte by byte", "/health", DRIP, LATE),
        ("a started server answers 503 for ever", "/health", {"status": 503}, UNREADY),
    ),
)
def test_a_started_server_that_never_says_what_it_serves(tmp_path, monkeypatch, impatient, path, page, reason):
    if page is ENDLESS:
        monkeypatch.setattr("eyechart.evaluators.backends.endpoint.client._MOST_BYTES", 2**16)
        # It is asked once, and the time does not end during a request, whose error would be another.
        monkeypatch.setattr(serving, "_READY_INTERVAL", 1)
    if page is BOMB:
        (tmp_path / "bomb").write_bytes(gzip.compress(gzip.compress(bytes(2 * 10**7), 1), 9))
    (tmp_path / "latin").write_bytes(b'{"data": [{"id": "\xe9"}]}')
    server = Server(hostile(tmp_path, **{path: page}), "m", tmp_path / "server.log")
    with contextlib.closing(server), pytest.raises((ModelError, EndpointError), match=reason) as caught:
        server.start(EndpointOptions(serve_timeout={LATE: 1, TOO_LONG: 2, UNREADY: 1}.get(reason, 60)))
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "path",
    rows(
        "nothing is sent there",
        ("a started server redirects `/health` to another server", "/health"),
        ("a started server redirects `/v1/models` to another server", "/v1/models"),
        ("a started server redirects `/version` to another server", "/version"),
    ),
)
def test_a_started_server_that_points_elsewhere(tmp_path, monkeypatch, impatient, other, path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-one-server-only")
    elsewhere = {"status": 307, "headers": {"Location": other.url_for(path)}}
    server = Server(hostile(tmp_path, **{path: elsewhere}), "m", tmp_path / "server.log")
    with contextlib.closing(server):
        assert server.start(EndpointOptions()).served_name == "m"
    assert other.log == []


OTHER = models({"id": "other"})


@pytest.mark.parametrize(
    "is_started",
    [
        row(
            "a started server serves another model than `--model`",
            "a line names both; the other one is asked for",
            True,
        ),
        row("a server lists another model than `--model`, but answers", "a line names both", False),
    ],
)
def test_a_server_of_another_model(script, http, tmp_path, is_started):
    http.expect_request(MODELS).respond_with_data(OTHER["body"])
    script.say(GOOD)
    server = ("--serve", hostile(tmp_path, **{MODELS: OTHER})) if is_started else ("--base-url", http.url_for("/v1"))
    options = ["--model", "m", *server, "--mini", "--limit", "2", "--out", tmp_path / "out"]
    assert "lists 'other', but not 'm'" in invoke("run", "q_bench/perception", *options, code=0).output


@fault("a server's list of models is malformed, in seven forms", "the model is asked without it")
def test_a_server_whose_list_is_malformed(script, http):
    script.say(GOOD)
    for listed in ("[]", "null", '"m"', '{"data": null}', '{"data": [{}]}', '{"data": [{"id": 1e400}]}', "[" * 10**5):
        http.expect_oneshot_request(MODELS).respond_with_data(listed)
        client = ChatClient("m", EndpointOptions(base_url=http.url_for("/v1")))
        assert list(client.map(ChatClient.check_model, [client])) == [[]]


# Starts runs with a server that never answers, as `eyechart run --serve` does, or waits for the end of one. Each is a
# fork, because importing takes longer than what a run does.
_RUNS = """
import openai, os, signal, sys
from pathlib import Path
from eyechart.evaluators.backends.endpoint import serving
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.commands.run import _stopped_at_end

for line in sys.stdin:
    if line[0] != "/":
        print(os.waitpid(int(line), 0)[1], flush=True)
    elif pid := os.fork():
        print(pid, flush=True)
    else:
        break
folder, kind, patience = line.split()
os.dup2(2, 1)
# Whoever started the tests may ignore them.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
serving._STOP_TIMEOUT = float(patience)
command = f"{sys.executable} {folder}/server.py {kind} {{model}} {{port}}"
server = serving.Server(command, "m", Path(folder, "log"))
with _stopped_at_end(server):
    server.start(EndpointOptions())
"""
# Starts a worker of some kind; both write their ids into the folder.
_SERVER = """
import os, signal, subprocess, sys, time
from pathlib import Path

PIDS = Path(__file__).parent / "pids"

def begin(name):
    (PIDS / f"{os.getpid()}.{name}").touch()
    time.sleep(600)

def deaf():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)

def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            deaf()
            begin("daemon")
        os._exit(0)

kind = sys.argv[1]
if kind in ("session", "group", "parent") and os.fork() == 0:
    os.setsid()
    deaf()
    begin("worker")
if kind in ("daemon", "launcher"):
    daemon()
if kind == "deaf":
    deaf()
while kind in ("launcher", "group") and not any(PIDS.iterdir()):
    time.sleep(0.01)
if kind == "launcher":
    sys.exit(0)
if kind == "parent":
    os.kill(os.getppid(), signal.SIGQUIT)
if kind == "group":
    os.killpg(0, signal.SIGKILL)
begin("server")
"""
COUNTS = {"alone": 1, "deaf": 1, "launcher": 1, "group": 1}


def is_running(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_for(condition, what):
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.01)


@pytest.fixture(scope="module")
def ask_runs():
    """Starts a run, given its folder, its server's kind and patience; or waits for the end of one, given its id."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", _RUNS], **pipes) as runs:

        def ask(*words):
            print(*words, file=runs.stdin, flush=True)
            return int(runs.stdout.readline())

        yield ask


@contextlib.contextmanager
def started(ask_runs, folder, kind, patience):
    """A run with a server of a kind; at the end, the run and every process of the server have to end by themselves."""
    pids = folder / "pids"
    pids.mkdir()
    (folder / "server.py").write_text(_SERVER)
    run = psutil.Process(ask_runs(folder, kind, patience))
    try:
        wait_for(lambda: len([*pids.iterdir()]) == COUNTS.get(kind, 2), "the server starts")
        # A signal while anyio starts the run's event loop is waited for without end.
        wait_for(lambda: not is_running(run.pid) or run.num_threads() > 2, "the run waits for it")
        time.sleep(0.1)
        yield run
        wait_for(lambda: not is_running(run.pid), "the run ends")
        assert ask_runs(run.pid) != 0
        wait_for(lambda: not any(is_running(int(file.stem)) for file in pids.iterdir()), "no process is left")
    finally:
        for pid in (run.pid, *(int(file.stem) for file in pids.iterdir())):
            if is_running(pid):
                os.kill(pid, signal.SIGKILL)


SECOND = (signal.SIGINT, signal.SIGINT)


@pytest.mark.parametrize(
    ("kind", "signals", "patience"),
    rows(
        "no process of the server is left",
        ("a run is killed while its server runs", "alone", (signal.SIGKILL,), 0.3),
        ("a run is killed while its server, which ignores SIGTERM, runs", "deaf", (signal.SIGKILL,), 0.3),
        ("a run is killed while a worker in a session of its own runs", "session", (signal.SIGKILL,), 0.3),
        ("a run is killed while a daemon of its server runs", "daemon", (signal.SIGKILL,), 0.3),
        ("a run gets SIGTERM while a daemon of its server runs", "daemon", (signal.SIGTERM,), 0.3),
        ("the terminal of a run is closed (SIGHUP) while a daemon of its server runs", "daemon", (signal.SIGHUP,), 0.3),
        ("a run gets Ctrl-C while a worker in a session of its own runs", "session", (signal.SIGINT,), 0.3),
        ("a run gets Ctrl-C twice while its server, which ignores SIGTERM, runs", "deaf", SECOND, 600),
        ("a run gets Ctrl-C, then is killed", "session", (signal.SIGINT, signal.SIGKILL), 0.3),
        ("a server is a launcher that starts a daemon and ends", "launcher", (), 600),
        ("a server kills its process group, but not a worker in a session of its own", "group", (), 600),
        ("a server sends SIGQUIT to the process that started it", "parent", (), 0.3),
    ),
)
def test_nothing_is_left(kind, signals, patience, ask_runs, tmp_path):
    with started(ask_runs, tmp_path, kind, patience) as run:
        for number in signals:
            run.send_signal(number)
            time.sleep(0.15)


@fault(
    "the process that stops a server is killed; a worker has a session of its own", "no process of the server is left"
)
def test_the_guardian_fails(ask_runs, tmp_path):
    with started(ask_runs, tmp_path, "session", 0.3) as run:
        (guardian,) = run.children()
        guardian.kill()


@fault("a run and the process that stops its server are killed together", "the next run ends the server's processes")
def test_the_next_run_cleans_up(ask_runs, tmp_path):
    with started(ask_runs, tmp_path, "session", 600) as run:
        (guardian,) = run.children()
        for process in (run, guardian):
            process.kill()
        wait_for(lambda: not is_running(run.pid), "the run is killed")
        (tmp_path / "server.py").write_text("")
        ask_runs(ask_runs(tmp_path, "session", 600))
        assert not [*tmp_path.glob(".eyechart-server-*")]


@fault("two runs with servers have the same `--out`", "the second does not end the server of the first")
def test_two_runs_in_a_folder(ask_runs, tmp_path):
    with started(ask_runs, tmp_path, "session", 0.3) as run:
        (tmp_path / "server.py").write_text("")
        ask_runs(ask_runs(tmp_path, "session", 0.3))
        assert all(is_running(int(file.stem)) for file in (tmp_path / "pids").iterdir())
        run.terminate()
