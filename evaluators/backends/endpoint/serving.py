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
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from sysconfig import get_path
from typing import Any

from eyechart.datasets_scripts.common.errors import ModelError, UsageError
from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.backends.endpoint.failures import redact
from eyechart.evaluators.backends.endpoint.options import EndpointOptions, read_key
from eyechart.evaluators.backends.file_digests import files_digest

START_TIMEOUT = 3600.0
"""How long to wait for a server, in seconds."""
# Command, how to install it, and where the running server reports its version.
_PRESETS = {
    "vllm": (
        "vllm serve {model} --host 127.0.0.1 --port {port}",
        "pip install vllm",
        ("/version", "version"),
    ),
    "sglang": (
        "python -m sglang.launch_server --model-path {model} --host 127.0.0.1 --port {port}",
        'pip install "sglang[all]"',
        ("/get_server_info", "version"),
    ),
    "llama.cpp": (
        "llama-server -m {model} --host 127.0.0.1 --port {port}",
        "see https://github.com/ggml-org/llama.cpp#quick-start",
        ("/props", "build_info"),
    ),
}
# Set by the presets; and what must not be written to results.
_OWN_ARGUMENTS = ("--host", "--port", "--model", "--model-path", "-m")
_SECRETS = ("--api-key", "--hf-token", "-hft")
_CONFIGURATIONS = ("config.json", "adapter_config.json", "tokenizer_config.json")
_PAUSE = 0.5
_STOP_TIMEOUT = 30
_LINES_SHOWN = 20
_ERRORS_SHOWN = 5
_BYTES_READ = 64 * 2**10


class Server:
    """The server of a run; `start` starts it.

    Args:
        command: "vllm", "sglang" or "llama.cpp", with further options of the program after it; or the command of any
            other server, with `{model}` and `{port}` in it.
        model: The model's id or folder; for llama.cpp a GGUF file.
        log: Log file; its folder must exist when the server starts.
    """

    def __init__(self, command: str, model: str, log: Path) -> None:
        """Find the program.

        Raises:
            UsageError: The program is not installed, or an option is not allowed.
        """
        self.log = log
        self._command = command
        self._model = str(tiny_vlm.folder()) if model == tiny_vlm.NAME else model
        self.program, self._words, self._version_at = _parse(command)
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0

    def start(self, options: EndpointOptions, waiting: Callable[[str], object]) -> EndpointOptions:
        """Start the server and wait until it lists its models; returns the options with its address and its name.

        `waiting` is called repeatedly with the last line of the server's log.

        Raises:
            ModelError: The server ended, or did not answer in time; the note has the last lines of its log.
        """
        # Before the server can write to a file that its command names.
        fingerprint = _fingerprint(self._model, self._words)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        words = [word.replace("{model}", self._model).replace("{port}", str(self._port)) for word in self._words]
        with self.log.open("wb") as output:
            # In its own process group, so that its child processes are stopped too and Ctrl-C does not reach it.
            self._process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
        try:
            names = self._wait(waiting)
        except BaseException:
            self.close()
            raise
        path, field = self._version_at
        served = {"command": self._command, "version": (self._get(path) or {}).get(field), "fingerprint": fingerprint}
        served_name = self._model if self._model in names or not names else names[0]
        return replace(options, base_url=f"http://127.0.0.1:{self._port}/v1", served_name=served_name, serve=served)

    def check(self) -> None:
        """Raise `ModelError` if the server has ended."""
        if ending := self.ending():
            raise ModelError(ending)

    def ending(self) -> str:
        """How the server ended by itself; "" while it is running or after `close`."""
        code = None if self._process is None else self._process.poll()
        if code is None:
            return ""
        how = f"ended with exit code {code}" if code >= 0 else f"was killed by {signal.Signals(-code).name}"
        return f"{self.program} {how}; log: {self.log}"

    def last_words(self) -> str:
        """The last lines of the server's log, preceded by earlier error lines."""
        lines = self._lines()
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
            process.wait(_STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            pass
        finally:
            # Worker processes may outlive the server, especially after a crash.
            _signal_group(process.pid, signal.SIGKILL)
            process.wait()

    def _lines(self) -> list[str]:
        """The end of the log, without empty lines."""
        with contextlib.suppress(OSError), self.log.open("rb") as file:
            file.seek(max(0, self.log.stat().st_size - _BYTES_READ))
            text = redact(file.read().decode(errors="replace"), read_key())
            return [line.rstrip() for line in text.splitlines() if line.strip()]
        return []

    def _wait(self, waiting: Callable[[str], object]) -> list[str]:
        """Wait for the names of the models."""
        end = time.monotonic() + START_TIMEOUT
        # llama.cpp lists the model before it is loaded; /health tells.
        while self._get("/health") is None or (models := self._get("/v1/models")) is None:
            late = f"{self.program} did not answer within {START_TIMEOUT:,g} s; log: {self.log}"
            if reason := self.ending() or (late if time.monotonic() > end else ""):
                error = ModelError(reason)
                error.add_note(self.last_words())
                raise error
            waiting("".join(self._lines()[-1:]))
            time.sleep(_PAUSE)
        return [str(model["id"]) for model in models.get("data") or ()]

    def _get(self, path: str) -> dict[str, Any] | None:
        """The server's answer; {} if it is not a JSON object or the address is unknown, None without an answer."""
        # Not through a proxy, for which 127.0.0.1 is another machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        key = {"Authorization": f"Bearer {read_key()}"} if read_key() else {}
        request = urllib.request.Request(f"http://127.0.0.1:{self._port}{path}", headers=key)
        try:
            with opener.open(request, timeout=10) as answer:
                found = json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return {} if error.code == 404 and path == "/health" else None
        except (OSError, http.client.HTTPException):
            return None
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


def _parse(command: str) -> tuple[str, list[str], tuple[str, str]]:
    """The server's name, the words of its command with the program's path, and where it reports its version.

    Raises:
        UsageError: It cannot be used.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--serve {command!r} cannot be split into words: {error}") from error
    names = {word.partition("=")[0] for word in words}
    if secrets := names.intersection(_SECRETS):
        raise UsageError(
            f"--serve contains {', '.join(sorted(secrets))}, but the command is written to results; leave it out. The "
            "server needs no API key; set a token of the Hub with the environment variable HF_TOKEN"
        )
    preset, install, version_at = _PRESETS.get("".join(words[:1]), ("", "", ("/version", "version")))
    if preset and (own := names.intersection(_OWN_ARGUMENTS)):
        raise UsageError(f"--serve contains {', '.join(sorted(own))}, which eyechart sets itself; leave it out")
    if not preset and not all(any(place in word for word in words) for place in ("{model}", "{port}")):
        raise UsageError(
            f"--serve {command!r} is not allowed; expected one of {', '.join(_PRESETS)}, with options after it, or a "
            "command with {model} and {port} in it"
        )
    program, *rest = [*shlex.split(preset), *words[1:]] if preset else words
    # Next to this Python first, because the environment may not be on PATH.
    path = shutil.which(program, path=get_path("scripts")) or shutil.which(program)
    if path is None:
        advice = f"Install it ({install}), or give its" if install else "Give its"
        raise UsageError(f"--serve needs the program {program}, which was not found. {advice} path in the command")
    return words[0], [path, *rest], version_at


def _fingerprint(model: str, words: Sequence[str]) -> str | None:
    """Identify the model's files and the files named in the command, such as a chat template; None for none."""
    paths = [Path(model), *(Path(word.rpartition("=")[2]) for word in words[1:])]
    # A folder that an argument names is a model, an adapter or a tokenizer; others may be large, such as a cache.
    named = [path for path in paths if any(os.path.isfile(path / name) for name in ("", *_CONFIGURATIONS))]
    if os.path.isdir(model) and paths[0] not in named:
        named.insert(0, paths[0])
    return "+".join(files_digest(part) for path in named for part in _gguf_parts(path)) or None


def _gguf_parts(path: Path) -> list[Path]:
    """All parts of a GGUF model that is split into several files, given the first part; otherwise only the path."""
    found = re.fullmatch(r"(.*)-\d{5}-(of-\d{5}\.gguf)", path.name)
    return [path] if found is None else sorted(path.parent.glob(f"{glob.escape(found[1])}-*-{found[2]}"))


def _signal_group(group: int, number: signal.Signals) -> None:
    # macOS refuses if the only process left in the group has ended.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
