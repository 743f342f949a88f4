"""Keys: an API key is never shown, stored or written."""

import json
import logging
import traceback

import pytest
from werkzeug import Response

from eyechart.datasets_scripts.common.errors import EndpointError, ModelError, UsageError
from eyechart.evaluators.backends.endpoint.client import ChatClient
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.requests import store as responses
from eyechart.evaluators.requests.types import Request
from tests.evaluators.command_line import invoke
from tests.evaluators.scripted_server import completion, refusal
from tests.faults.fault import fault, rows
from tests.faults.helpers import body, hostile

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


@fault(
    "a server writes the API key into its replies, its reasoning and its name",
    "no file of the run, no stored answer and no terminal output contains it",
)
def test_a_key_in_replies_is_written_nowhere(script, http, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    message = {"content": f"B. {KEY}", "reasoning_content": f"It is {KEY}."}
    script.say(spelled({"choices": [{"message": message, "finish_reason": KEY}], "model": KEY}))
    options = ["--base-url", http.url_for("/v1"), "--model", "tiny", "--mini", "--limit", "2"]
    done = invoke("run", "q_bench/perception", *options, "--out", str(tmp_path / "out"))
    assert done.exit_code == 0 and len(script.bodies) == 2, done.output
    files = [*(tmp_path / "out").rglob("*"), *responses.default_path().parent.glob("responses*")]
    written = b"".join(file.read_bytes() for file in files if file.is_file()) + done.output.encode()
    assert b"[secret]" in written and KEY.encode() not in written


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
    with pytest.raises(EndpointError) as caught:
        raise ask()[0].error
    assert "x[secret" in str(caught.value) and KEY[:6] not in str(caught.value)


def written(folder, done):
    """All that a run wrote, stored and printed."""
    files = [*(folder / "out").rglob("*"), *responses.default_path().parent.glob("responses*")]
    return b"".join(file.read_bytes() for file in files if file.is_file()).decode(errors="replace") + done.output


SPELLINGS = (KEY, KEY.replace("s", "\\u0073", 1), KEY.replace("-", "%2D"), KEY.replace("-", "\\\\u002d"))


@pytest.mark.parametrize(
    "name",
    rows(
        "the server gets the variable; no file of the run, no stored answer and no output contains its value",
        ("a server that the run starts prints the API key, and answers with it", "OPENAI_API_KEY"),
        ("a server that the run starts prints the key that it requires, and answers with it", "VLLM_API_KEY"),
        ("a server that the run starts prints the Hub's token, and answers with it", "HF_TOKEN"),
        ("a server that the run starts prints another secret, and answers with it", "their_db_Password"),
    ),
)
def test_a_secret_that_a_started_server_repeats(name, tmp_path, monkeypatch):
    monkeypatch.setenv(name, KEY)
    leaks = " ".join(SPELLINGS)
    message = {"content": f"B {leaks}", "reasoning_content": leaks}
    answer = {"choices": [{"message": message, "finish_reason": leaks}], "model": leaks}
    bodies = {"/v1/models": {"data": [{"id": leaks}]}, "/version": {"version": leaks}, "/v1/chat/completions": answer}
    pages = {path: {"body": json.dumps(answered)} for path, answered in bodies.items()}
    command = hostile(tmp_path, print=[f"start {leaks}\n", KEY[:9], f"{KEY[9:]} end\n"], **pages)
    options = ["--model", "m", "--serve", f"{command} {KEY}", "--mini", "--limit", "2"]
    done = invoke("run", "q_bench/perception", *options, "--out", tmp_path / "out", code=0)
    text = written(tmp_path, done)
    assert "start [secret] [secret] [secret] [secret]\n[secret] end\n" in text
    assert not [spelling for spelling in SPELLINGS if spelling in text]
    received = json.loads((tmp_path / "keys.json").read_text())
    if name == "OPENAI_API_KEY":
        assert {received[key] for key in ("VLLM_API_KEY", "LLAMA_API_KEY")} == {KEY}
        assert received["/health"] == received["/v1/chat/completions"] == f"Bearer {KEY}"


@fault("the key is a common word for a server without keys, and a reply contains the word", "the reply is not changed")
def test_placeholders_are_no_keys(script, ask, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "ollama")
    script.say({"choices": [{"message": {"content": "An ollama."}}]})
    assert ask()[0].text == "An ollama."


@pytest.mark.parametrize(
    "url",
    rows(
        REFUSED,
        ("an address contains a password", "http://me:passw0rd@host/v1"),
        ("an invalid URL contains a password", "http://[me:passw0rd@"),
        ("an address contains a key in its query", "https://host/v1?key=passw0rd"),
    ),
)
def test_an_address_with_a_password_is_refused_and_not_shown(url):
    with pytest.raises(UsageError, match="without user name, password and query") as caught:
        ChatClient("m", EndpointOptions(base_url=url))
    assert "passw0rd" not in str(caught.value)


@pytest.mark.parametrize(
    "key",
    rows(
        REFUSED,
        ("a key contains characters that HTTP headers cannot contain", "schl\u00fcssel-geheim"),
        ("a key contains a line break", "two\nlines"),
    ),
)
def test_a_key_that_no_header_can_hold_is_refused_and_not_shown(key, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(UsageError, match="OPENAI_API_KEY") as caught:
        ChatClient("m", EndpointOptions())
    assert key not in str(caught.value)
