"""`--serve`: starts a server for a run on a free port of this machine, and stops it at the end."""

import contextlib
import glob
import http.client
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from sysconfig import get_path
from typing import Any

from eyechart.datasets_scripts.common.errors import ModelError, UsageError
from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.backends.endpoint.failures import redact
from eyechart.evaluators.backends.endpoint.options import EndpointOptions, read_key
from eyechart.evaluators.requests.keys import files_digest

# In seconds.
START_TIMEOUT, _STOP_TIMEOUT = 3600.0, 30
_LINES_SHOWN, _ERRORS_SHOWN = 20, 5
_LOG_END = 1 << 16
"""Bytes of the log in which its last lines are looked for."""
_PRESETS = {
    "vllm": "vllm serve {model} --host 127.0.0.1 --port {port}",
    "sglang": "python -m sglang.launch_server --model-path {model} --host 127.0.0.1 --port {port}",
    "llama.cpp": "llama-server -m {model} --host 127.0.0.1 --port {port}",
}
# Where vLLM, SGLang and llama.cpp report their version.
_VERSIONS = {"/version": "version", "/get_server_info": "version", "/props": "build_info"}
_SET_BY_PRESETS = ("--host", "--port", "--model", "--model-path", "-m")
_SECRETS = ("--api-key", "--hf-token", "-hft")
_CONFIGURATIONS = ("config.json", "adapter_config.json", "tokenizer_config.json")


class Server:
    """The server of a run; `start` starts it, `close` stops it.

    `command` is "vllm", "sglang" or "llama.cpp", with further options of the program after it, or the command of any
    other server, with `{model}` and `{port}` in it. The folder of `log` must exist when the server starts.
    """

    def __init__(self, command: str, model: str, log: Path) -> None:
        """Find the program; raises `UsageError` if it is not installed, or an option is not allowed."""
        self.log = log
        self._command = command
        self._model = str(tiny_vlm.folder()) if model == tiny_vlm.NAME else model
        self._words = _parse(command)
        self.program = shlex.split(command)[0]
        self._process: subprocess.Popen[bytes] | None = None
        self._address = ""

    def start(self, options: EndpointOptions) -> EndpointOptions:
        """Start the server and wait until it is ready; returns the options with its address and its name.

        Raises `ModelError` if the server ends or does not answer in time.
        """
        # Before the server can write to a file that its command names.
        fingerprint = _fingerprint(self._model, self._words)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self._address = f"http://127.0.0.1:{port}"
        words = [word.replace("{model}", self._model).replace("{port}", str(port)) for word in self._words]
        with self.log.open("wb") as output:
            # In its own process group, so that its child processes are stopped too and Ctrl-C does not reach it.
            self._process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
        end = time.monotonic() + START_TIMEOUT
        # llama.cpp lists the model before it is loaded; some servers have no /health.
        while self._get("/health") is None or (models := self._get("/v1/models")) is None:
            if reason := self.ending():
                raise ModelError(reason)
            if time.monotonic() > end:
                raise ModelError(f"{self.program} did not answer within {START_TIMEOUT:,g} s; log: {self.log}")
            time.sleep(0.5)
        # transformers lists what its cache contains, not what it serves.
        listed = () if Path(self.program).name == "transformers" else models.get("data") or ()
        names = [str(model["id"]) for model in listed]
        versions = [version for path, field in _VERSIONS.items() if (version := (self._get(path) or {}).get(field))]
        served = {"command": self._command, "version": next(iter(versions), None), "fingerprint": fingerprint}
        served_name = self._model if self._model in names or not names else names[0]
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
        lines = [line.rstrip() for line in redact(text, read_key()).splitlines() if line.strip()]
        # vLLM logs many lines after the error that ended it, because its processes end one after the other.
        errors = list(dict.fromkeys(line for line in lines[:-_LINES_SHOWN] if "Error: " in line))[-_ERRORS_SHOWN:]
        return "\n".join([*errors, *(["..."] if errors else []), *lines[-_LINES_SHOWN:]])

    def close(self) -> None:
        """Stop the server and its child processes."""
        if self._process is None:
            return
        process, self._process = self._process, None
        try:
            _signal_group(process.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_STOP_TIMEOUT)
        finally:
            # Worker processes may outlive the server, especially after a crash.
            _signal_group(process.pid, signal.SIGKILL)
            process.wait()

    def _get(self, path: str) -> dict[str, Any] | None:
        """The JSON object that the server answers, {} for any other answer; None if it is not ready."""
        # Not through a proxy, for which 127.0.0.1 is another machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        key = {"Authorization": f"Bearer {read_key()}"} if read_key() else {}
        try:
            with opener.open(urllib.request.Request(self._address + path, headers=key), timeout=10) as answer:
                value = json.load(answer)
        except urllib.error.HTTPError as error:
            return None if error.code == 503 else {}
        except (OSError, http.client.HTTPException):
            return None
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}


def _parse(command: str) -> list[str]:
    """The words of a command, with the program's path."""
    try:
        name, *options = shlex.split(command) or [""]
    except ValueError as error:
        raise UsageError(f"--serve {command!r} cannot be split into words: {error}") from error
    preset = shlex.split(_PRESETS.get(name, ""))
    refused = {word.partition("=")[0] for word in options} & {*_SECRETS, *(_SET_BY_PRESETS if preset else ())}
    if refused:
        raise UsageError(
            f"--serve contains {', '.join(sorted(refused))}, which eyechart sets itself or must not write to results; "
            "leave it out, and set a token of the Hub with the environment variable HF_TOKEN"
        )
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


def _signal_group(group: int, number: signal.Signals) -> None:
    # macOS refuses if the only process left in the group has ended.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
