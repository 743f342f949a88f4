"""Keys: an API key is never shown, stored or written."""

import io
import json
import logging
import shlex
import sys
import traceback
from functools import partial
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from werkzeug import Response

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.backends.endpoint.client import ChatClient
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.backends.endpoint.serving import Server, _write_log
from eyechart.evaluators.requests import store as responses
from eyechart.evaluators.requests.errors import ModelError
from eyechart.evaluators.requests.secrets import redact
from eyechart.evaluators.requests.types import Request
from tests.evaluators.command_line import invoke
from tests.evaluators.scripted_server import completion, refusal
from tests.faults.conftest import body, hostile
from tests.faults.fault import fault, rows
from tests.growth import SMALL, growth

KEY = "sk-this-is-the-secret-key"
REFUSED = "it is refused before anything is sent, and is not shown"


@fault("a server's error messages contain the API key", "it appears in no reply, setting, error, log or traceback")
def test_the_key_is_sent_and_never_shown(script, backend, caplog, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\n")
    caplog.set_level(logging.DEBUG)
    sent = []

    def echo(status, text=f"Incorrect API key provided: {KEY}"):
        def answer(request):
            sent.append(request.headers["Authorization"])
            return refusal(status, text) if status > 200 else Response(text, 200)

        return answer

    shown = []
    for status in (200, 400, 401, 500):
        script.say(echo(status))
        model = backend(max_retries=0)
        try:
            shown += [str(response) for response in model.answer([Request("x", ("What?",), ())])]
        except ModelError as error:
            shown += traceback.format_exception(error)
        shown += [repr(model), repr(vars(model)), json.dumps(model.settings()), json.dumps(model.identity())]
    assert sent == [f"Bearer {KEY}"] * 4
    assert "[secret]" in "".join(shown)
    assert KEY not in "".join(shown) + caplog.text


def spelled(value):
    """A server's response whose JSON escapes the first letter of the key."""
    return body(json.dumps(value).replace(KEY, KEY.replace("s", "\\u0073", 1)))


def written(folder, done):
    """All that a run wrote, stored and printed."""
    files = [*(folder / "out").rglob("*"), *responses.default_path().parent.glob("responses*")]
    return b"".join(file.read_bytes() for file in files if file.is_file()).decode(errors="replace") + done.output


@fault("a server writes the API key into its replies, its reasoning and its name", "no file and no output contains it")
def test_a_key_in_replies_is_written_nowhere(script, http, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    message = {"content": f"B. {KEY}", "reasoning_content": f"It is {KEY}."}
    script.say(spelled({"choices": [{"message": message, "finish_reason": KEY}], "model": KEY}))
    options = ["--base-url", http.url_for("/v1"), "--model", "tiny", "--mini", "--limit", "2"]
    text = written(tmp_path, invoke("run", "q_bench/perception", *options, "--out", tmp_path / "out", code=0))
    assert len(script.bodies) == 2 and "[secret]" in text and KEY not in text


@fault("a judge writes its API key into its replies", "neither the replies nor the store contain it")
def test_a_judges_key_in_replies_is_written_nowhere(script, judge, store, monkeypatch):
    monkeypatch.setenv("EYECHART_JUDGE_API_KEY", KEY)
    script.say(completion(f"{KEY} Score: 2"))
    assert judge(store)([{"role": "user", "content": "Is it dark?"}], 1) == ["[secret] Score: 2"]
    assert KEY.encode() not in b"".join(file.read_bytes() for file in store.path.parent.iterdir())


@fault("an error shows the start of a response, which ends inside the API key", "no part of the key is shown")
def test_a_key_that_is_cut_off(script, ask, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    script.say(Response("x" * 70 + KEY, 200))
    text = str(ask()[0].error)
    assert "x[secret" in text and KEY[:6] not in text


ODD = 'sk/a"b\\c-12345'
SPELLINGS = (ODD, json.dumps(ODD)[1:-1], quote(ODD, safe=""))


@pytest.mark.parametrize(
    "name",
    rows(
        "the server gets the variable; no file of the run, no stored answer and no output contains its value",
        ("a server that the run starts prints the API key, and answers with it", "OPENAI_API_KEY"),
        ("a server that the run starts prints the Hub's token, and answers with it", "HF_TOKEN"),
        ("a server that the run starts prints another secret, and answers with it", "their_db_Password"),
    ),
)
def test_a_secret_that_a_started_server_repeats(name, tmp_path, monkeypatch, impatient):
    monkeypatch.setenv(name, ODD)
    leaks = " ".join(SPELLINGS)
    message = {"content": f"B {leaks}", "reasoning_content": leaks}
    answer = {"choices": [{"message": message, "finish_reason": leaks}], "model": leaks}
    bodies = {"/v1/models": {"data": [{"id": leaks}]}, "/version": {"version": leaks}, "/v1/chat/completions": answer}
    pages = {path: {"body": json.dumps(answered)} for path, answered in bodies.items()}
    command = hostile(tmp_path, print=[f"start {leaks}\n", ODD[:9], f"{ODD[9:]} end\n"], **pages)
    options = ["--model", "m", "--serve", f"{command} {shlex.quote(ODD)}", "--mini", "--limit", "2"]
    done = invoke("run", "q_bench/perception", *options, "--out", tmp_path / "out", code=0)
    text = written(tmp_path, done)
    assert "start [secret] [secret] [secret]\n[secret] end\n" in text
    assert not [spelling for spelling in SPELLINGS if spelling in text]
    received = json.loads((tmp_path / "keys.json").read_text())
    assert received[name] == ODD
    if name == "OPENAI_API_KEY":
        assert received["VLLM_API_KEY"] == received["LLAMA_API_KEY"] == ODD
        assert received["/health"] == received["/v1/chat/completions"] == f"Bearer {ODD}"


@pytest.mark.parametrize(
    "options",
    rows(
        "it is refused with exit code 2, and is not shown",
        *(
            (f"`--serve` contains a secret as {spelling}", command.replace("SECRET", KEY))
            for spelling, command in {
                "`--api-key`": "vllm --api-key SECRET",
                "`--api-ke`, which argparse completes": "vllm --api-ke SECRET",
                "`--hf_token=`": "vllm --hf_token=SECRET",
                "`--ssl-keyfile-password`": "sglang --ssl-keyfile-password SECRET",
                "`-hft`": "llama.cpp -hft SECRET",
                "`--passphrase`": "vllm --passphrase SECRET",
                "`--basic-auth`": "vllm --basic-auth me:SECRET",
                "`--api-key-value`": "vllm --api-key-value SECRET",
                "an option with quotes within": "vllm --api''-\"key\" 'SECRET x'",
                "an option that is not split into words": "vllm --api-key 'SECRET",
                "a field of JSON": 'vllm --kv-transfer-config \'{"auth_token": "SECRET"}\'',
                "a dotted option": "vllm --kv-transfer-config.api_key SECRET",
                "a variable": "env HF_TOKEN=SECRET vllm serve {model} --port {port}",
                "an option in a command for a shell": "sh -c 'vllm serve {model} --port {port} --api-key SECRET'",
                "a header": "vllm --header 'X-Auth: SECRET'",
                "a value of the Hub": "vllm --any hf_abcdefgh",
                "a password in a URL": "vllm --otlp-traces-endpoint https://me:SECRET@host/x",
            }.items()
        ),
    ),
)
def test_a_secret_among_the_options_of_a_server(options, tmp_path):
    done = invoke("run", "--mini", "--model", "m", "--serve", options, "--out", tmp_path / "out", code=2)
    assert "your environment variables" in " ".join(done.output.split()) and KEY not in done.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "options",
    rows(
        "it is allowed",
        ("an option of `--serve` names a file of keys", "vllm --ssl-keyfile key.pem --api-key-file keys"),
        ("an option of `--serve` ends in `tokens`", "vllm --max-num-batched-tokens 8192 --x-tokens"),
        ("an option of `--serve` has a single K", "llama.cpp --cache-type-k q8_0 --keep 3 -hf org/model"),
        ("a value of `--serve` ends in token", "vllm --served-model-name my-token --tokenizer x"),
        ("`--serve` sets the token of images", 'vllm --hf-overrides \'{"image_token": "<image>"}\''),
        ("`--serve` sets metadata of a tokenizer", "llama.cpp --override-kv tokenizer.ggml.add_bos_token=bool:false"),
        ("`--serve` sets tokens that are no secrets", "vllm --pad-token 0 --stop-token=</s> --x '{\"eos_token\": 3}'"),
    ),
)
def test_options_of_a_server_that_are_no_secrets(options, tmp_path):
    with pytest.raises(UsageError, match="needs the program"):
        Server(f"/no/{options} {{model}} {{port}}", "m", tmp_path / "server.log")


class Pipe(io.BytesIO):
    """What is read in two parts; what is written stays readable."""

    def read1(self, size):
        return self.read(-1 if self.tell() else self.first)

    def close(self):
        self.contents = self.getvalue()


VALUES = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=12).filter(
    lambda value: any(map(str.isdecimal, value)) and any(map(str.isalpha, value)) and value[0] not in "<["
)


@fault("any secret, also as in JSON or a URL, at any place where a server's output is split", "it is not in the log")
@settings(max_examples=40)
@given(VALUES, st.sampled_from([str, lambda value: json.dumps(value)[1:-1], partial(quote, safe="")]), st.data())
def test_a_log_never_contains_a_secret(value, spell, data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOME_TOKEN", value)
        printed = f"before {spell(value)} behind\n".encode()
        output, log = Pipe(printed), Pipe()
        output.first = data.draw(st.integers(1, len(printed) - 1))
        _write_log(output, log)
        assert log.contents == b"before [secret] behind\n"


@fault("a server repeats the letter that a secret of 20,000 letters repeats", "the time grows only with their number")
def test_secrets_are_found_in_linear_time(monkeypatch):
    monkeypatch.setenv("SOME_KEY", "a" * SMALL + "1")
    assert growth(lambda size: redact("a" * 50 * size)) < 8


@pytest.mark.parametrize(
    ("name", "value"),
    rows(
        "it is hidden",
        ("a password has six letters", "DB_PASSWORD", "blurry"),
        ("a key has twelve digits", "API_KEY", "123456789012"),
        ("a key has twelve large and small letters", "API_KEY", "aBcDeFgHiJkL"),
        ("a token contains an emoji, which a server's log has as JSON", "A_TOKEN", "\U0001f600-123456"),
    ),
)
def test_short_secrets(name, value, monkeypatch):
    monkeypatch.setenv(name, value)
    assert redact(f"{value} {json.dumps(value)}") == '[secret] "[secret]"'


ORDINARY = (
    *("", " ", "a", "B", "yes", "test-1", "EMPTY", "ollama", "placeholders", "no-key", "not-needed", "finish_reason"),
    *("0", "2026-11-26", "0.123456789", "</think>", "[/INST]", "<|im_end|>", "q_bench/perception", sys.executable),
)


@fault("variables for keys are empty, short, words, numbers, marks or paths", "no text is changed")
@given(st.sampled_from(ORDINARY))
def test_ordinary_words_are_no_secrets(value):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOME_KEY", value)
        text = f'"{value}" B. https://a.b/@c me@d.e'
        assert redact(text) == text


@fault("a reply has an address, and an @ two lines below it", "the reply is not changed")
def test_line_ends_are_not_parts_of_addresses(script, ask):
    text = "See https://example.com\n\nB\n\n@user"
    script.say({"choices": [{"message": {"content": text}}]})
    assert ask()[0].text == text


@fault("a secret is also the name of a field of a server's answers", "the reply is read")
def test_names_of_fields_are_not_changed(script, ask, monkeypatch):
    monkeypatch.setenv("SOME_PASSWORD", "choices")
    script.say({"choices": [{"message": {"content": "Two choices."}}]})
    assert ask()[0].text == "Two [secret]."


SERVER = ("--model", "m", "--base-url", "http://127.0.0.1:9/v1")


@pytest.mark.parametrize(
    "options",
    rows(
        REFUSED,
        ("an address contains a password", ("--model", "m", "--base-url", f"http://me:{KEY}@host")),
        ("an address contains a key in its query", ("--model", "m", "--base-url", f"https://host/?key={KEY}")),
        ("an address contains a user's token", ("--model", "m", "--base-url", f"https://{KEY}@host/v1")),
        ("an invalid URL contains a password", ("--model", "m", "--base-url", f"http://[me:{KEY}@")),
        ("an option for numbers contains an address with a password", ("--model-arg", f"timeout=https://a:{KEY}@host")),
        ("a field of extra_body is a key", (*SERVER, "--model-arg", f'extra_body={{"api_key": "{KEY}"}}')),
        ("a judge's address contains a password", ("--judge", "j", "--judge-arg", f"base_url=https://a:{KEY}@host")),
        ("`--model` contains a secret", (*SERVER, "--model", f"my {KEY}")),
        ("`--name` contains a secret", (*SERVER, "--name", f"my {KEY}")),
    ),
)
def test_a_secret_in_an_option_is_not_shown(options, tmp_path, monkeypatch):
    monkeypatch.setenv("SOME_KEY", KEY)
    done = invoke("run", "q_bench/perception", "--mini", *options, "--out", tmp_path / "out", code=2)
    assert KEY not in done.output and not (tmp_path / "out").exists()


@fault("a key contains characters that HTTP headers cannot contain", REFUSED)
def test_a_key_that_no_header_can_hold_is_refused_and_not_shown(monkeypatch):
    key = "schl\u00fcssel-geheim"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(UsageError, match="OPENAI_API_KEY") as caught:
        ChatClient("m", EndpointOptions())
    assert key not in str(caught.value)
