"""`--serve`: starts a server for a run on a free port of this machine, and stops it at the end."""

import contextlib
import glob
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from sysconfig import get_path
from typing import IO
from uuid import uuid4

import anyio

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.common.whole import lock_folder
from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.backends.endpoint import guardian as guard
from eyechart.evaluators.backends.endpoint.client import ChatClient
from eyechart.evaluators.backends.endpoint.completion import About, ModelList, parse
from eyechart.evaluators.backends.endpoint.options import EndpointOptions, find_secret, read_key
from eyechart.evaluators.requests.errors import EndpointError, ModelError
from eyechart.evaluators.requests.keys import files_digest
from eyechart.evaluators.requests.secrets import redact

# In seconds.
_ANSWER_TIMEOUT, _STOP_TIMEOUT, _LOG_TIMEOUT, _READY_INTERVAL = 10.0, 10, 5, 0.5
_LINES_SHOWN, _ERRORS_SHOWN = 20, 5
_LOG_END = 1 << 16
"""Bytes of the log in which its last lines are looked for."""
_PRESETS = {
    "vllm": "vllm serve {model} --host 127.0.0.1 --port {port}",
    "sglang": "python -m sglang.launch_server --model-path {model} --host 127.0.0.1 --port {port}",
    "llama.cpp": "llama-server -m {model} --host 127.0.0.1 --port {port}",
}
# Where vLLM, SGLang and llama.cpp report their version.
_ABOUT = ("/version", "/get_server_info", "/props")
_SET_BY_PRESETS = ("--host", "--port", "--model", "--model-path", "-m")
# The variables from which vLLM and llama.cpp read the key that they require.
_KEYS = ("VLLM_API_KEY", "LLAMA_API_KEY")
_NOTE = ".eyechart-server-"
"""Prefix of the hidden folders whose names are the markers of servers."""
_CONFIGURATIONS = ("config.json", "adapter_config.json", "tokenizer_config.json")


class Server:
    """The server of a run; `start` starts it, `close` stops it.

    `command` is "vllm", "sglang" or "llama.cpp", with further options of the program after it, or the command of any
    other server, with `{model}` and `{port}` in it. The folder of `log` must exist when the server starts.
    """

    def __init__(self, command: str, model: str, log: Path) -> None:
        """Find the program; raises `UsageError` if it is not installed, or an option is not allowed."""
        if sys.platform == "win32":
            raise UsageError("--serve is not supported on Windows; start the server yourself and give its --base-url")
        self.log = log
        self._command = command
        self.model = str(tiny_vlm.folder()) if model == tiny_vlm.NAME else model
        self._words = _parse(command)
        self.program = shlex.split(command)[0]
        self._process: subprocess.Popen[bytes] | None = None
        self._address = ""
        self._note = log.with_name(f"{_NOTE}{uuid4().hex}")

    def start(self, options: EndpointOptions) -> EndpointOptions:
        """Start the server and wait until it is ready; returns the options with its address and its name.

        Raises `ModelError` if the server ends or does not answer in time.
        """
        # Before the server can write to a file that its command names.
        fingerprint = _fingerprint(self.model, self._words)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self._address = f"http://127.0.0.1:{port}"
        words = [word.replace("{model}", self.model).replace("{port}", str(port)) for word in self._words]
        _stop_left(self.log.parent)
        self._note.mkdir(exist_ok=True)
        # Until this process ends.
        lock_folder(self._note)
        output = self.log.open("wb", buffering=0)
        guardian = [sys.executable, "-P", guard.__file__, str(_STOP_TIMEOUT), str(os.getpid())]
        keys = dict.fromkeys(_KEYS, read_key()) if read_key() else {}
        # In a session of its own, so that Ctrl-C does not reach it.
        self._process = subprocess.Popen(
            [*guardian, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            # Without SPT_NOENV, setproctitle in vLLM and SGLang overwrites what others see of the environment.
            env={**keys, "SPT_NOENV": "1", **os.environ, guard.MARKER: self._note.name},
        )
        self._writer = threading.Thread(target=_write_log, args=(self._process.stdout, output), daemon=True)
        self._writer.start()
        client = ChatClient("", replace(options, base_url=f"{self._address}/v1", timeout=_ANSWER_TIMEOUT, serve={}))
        ((names, version),) = client.map(partial(self._wait, options.serve_timeout), [client])
        served = {"command": self._command, "version": version, "fingerprint": fingerprint}
        served_name = self.model if self.model in names or not names else names[0]
        return replace(options, base_url=f"{self._address}/v1", served_name=served_name, serve=served)

    def ending(self) -> str:
        """How the server ended by itself; "" while it is running or after `close`."""
        code = None if self._process is None else self._process.poll()
        if code is None:
            return ""
        how = f"ended with exit code {code}" if code >= 0 else f"was killed by {signal.Signals(-code).name}"
        return f"{self.program} {how}; log: {self.log}"

    def last_lines(self) -> str:
        """The last lines of the server's log, preceded by earlier error lines."""
        text = ""
        with contextlib.suppress(OSError), self.log.open("rb") as file:
            file.seek(max(0, self.log.stat().st_size - _LOG_END))
            text = file.read().decode(errors="replace")
        lines = [line.rstrip() for line in text.splitlines() if line.strip()]
        # vLLM logs many lines after the error that ended it, because its processes end one after the other.
        errors = list(dict.fromkeys(line for line in lines[:-_LINES_SHOWN] if "Error: " in line))[-_ERRORS_SHOWN:]
        return "\n".join([*errors, *(["..."] if errors else []), *lines[-_LINES_SHOWN:]])

    def close(self) -> None:
        """Stop the server and its child processes."""
        if self._process is None:
            return
        process, self._process = self._process, None
        try:
            process.terminate()
            process.wait(_STOP_TIMEOUT + guard.KILL_TIMEOUT + 1)
        except subprocess.TimeoutExpired:
            pass
        finally:
            # After a second Ctrl-C, or without the guardian, which somebody may have killed or stopped.
            guard.kill_all(self._note.name)
            process.poll()
            self._writer.join(_LOG_TIMEOUT)
            with contextlib.suppress(OSError):
                self._note.rmdir()

    async def _wait(self, timeout: float, client: ChatClient) -> tuple[list[str], str | None]:
        """Wait until the server is ready; returns the names of the models that it lists, and its version."""
        status, content, version = 503, b"", None
        with anyio.move_on_after(timeout) as waiting:
            while status == 503:
                await anyio.sleep(_READY_INTERVAL)
                if ending := self.ending():
                    raise ModelError(ending)
                # llama.cpp lists the model before it is loaded; some servers have no /health.
                for path in ("/health", "/v1/models"):
                    reason = f"{path} was not answered completely"
                    try:
                        status, content = await client.get(f"{self._address}{path}")
                    except (EndpointError, ModelError) as error:
                        status, reason = 503, str(error)
                    if status == 503:
                        break
        if waiting.cancelled_caught:
            raise ModelError(
                f"{self.program} was not ready within {timeout:,g} s: {reason}; log: {self.log}. "
                "--model-arg serve_timeout sets a longer time"
            )
        for path in _ABOUT:
            with contextlib.suppress(EndpointError, ModelError):
                _, about = await client.get(f"{self._address}{path}")
                version = version or parse(About, about, "", "").version
        # transformers lists what its cache contains, not what it serves.
        if status != 200 or Path(self.program).name == "transformers":
            return [], version
        models = parse(ModelList, content, "a list of models", f"{self.program} (log: {self.log})").data
        return [model.id for model in models], version


def _write_log(output: IO[bytes], log: IO[bytes]) -> None:
    """Write what a server prints to its log, without secrets."""
    rest, part = b"", b"-"
    with output, log:
        while part:
            part = output.read1(_LOG_END)  # type: ignore[attr-defined]
            text = redact((rest + part).decode(errors="surrogateescape")).encode(errors="surrogateescape")
            # A part may end within a secret, but a line does not.
            end = max(text.rfind(b"\n") + 1, text.rfind(b"\r") + 1, len(text) - _LOG_END) if part else len(text)
            rest = text[end:]
            # The server must not wait where the disk is full.
            with contextlib.suppress(OSError):
                log.write(text[:end])


def _parse(command: str) -> list[str]:
    """The words of a command, with the program's path."""
    if secret := find_secret(command):
        raise UsageError(
            f"--serve contains {redact(secret)}, but what it contains is written to results and shown to other "
            "users of this machine; leave it out. The server gets your environment variables, such as HF_TOKEN, and "
            "vLLM and llama.cpp require the key in OPENAI_API_KEY, with which eyechart asks them"
        )
    try:
        name, *options = shlex.split(command) or [""]
    except ValueError as error:
        raise UsageError(f"--serve {command!r} cannot be split into words: {error}") from error
    preset = shlex.split(_PRESETS.get(name, ""))
    refused = {word.partition("=")[0] for word in options} & {*(_SET_BY_PRESETS if preset else ())}
    if refused:
        raise UsageError(f"--serve contains {', '.join(sorted(refused))}, which eyechart sets itself; leave it out")
    if not preset and not ("{model}" in command and "{port}" in command):
        raise UsageError(
            f"--serve {command!r} is not allowed; expected one of {', '.join(_PRESETS)}, with options after it, or a "
            "command with {model} and {port} in it"
        )
    program, *words = [*(preset or [name]), *options]
    # Next to this Python first, because the environment may not be on PATH.
    path = shutil.which(program, path=get_path("scripts")) or shutil.which(program)
    if path is None:
        raise UsageError(f"--serve needs the program {program}, which was not found. Install it, or give its path")
    return [path, *words]


def _fingerprint(model: str, words: Sequence[str]) -> str | None:
    """Identify the model's files and the files named in the command, such as a chat template; None for none."""
    named = [word.rpartition("=")[2] for word in words[1:]]
    # A folder that an argument names is a model, an adapter or a tokenizer; others may be large, such as a cache.
    configured = [path for path in named if any(os.path.isfile(os.path.join(path, name)) for name in _CONFIGURATIONS)]
    files: list[str] = []
    for path in (model, *filter(os.path.isfile, named), *configured):
        # The command names the first of the files of a GGUF model that is split.
        split = re.fullmatch(r"(.*)-\d{5}-(of-\d{5}\.gguf)", path)
        files += sorted(glob.glob(f"{glob.escape(split[1])}-*-{split[2]}") if split else [path])
    return "+".join(files_digest(path) for path in files if os.path.exists(path)) or None


def _stop_left(folder: Path) -> None:
    """Stop what is left of the servers of killed runs with a folder; other runs hold a lock."""
    for note in folder.glob(f"{_NOTE}*"):
        with contextlib.suppress(OSError):
            if (lock := lock_folder(note)) is not None:
                guard.kill_all(note.name)
                os.close(lock)
                note.rmdir()
