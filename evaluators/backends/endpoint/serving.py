"""Starts a server for a run on a free port of this machine, monitors it, and stops it at the end."""

import contextlib
import glob
import http.client
import importlib.util
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from sysconfig import get_path
from typing import Any

from eyechart.datasets_scripts.common.errors import ModelError, UsageError
from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.backends.endpoint.client import read_key
from eyechart.evaluators.backends.endpoint.options import EndpointOptions, ServedModel
from eyechart.evaluators.backends.endpoint.redaction import redact
from eyechart.evaluators.backends.file_digests import files_digest
from eyechart.evaluators.backends.wrapper import BackendWrapper
from eyechart.evaluators.requests.types import Backend, OutputType, Request, Response

DEFAULT_START_TIMEOUT = 1800.0
_HOST = "127.0.0.1"
_OWN_ARGUMENTS = ("--host", "--port", "--model", "--model-path", "-m")
# Arguments that must not be written to results.
_SECRETS = ("--api-key", "--hf-token", "-hft")
_CONFIGURATIONS = ("config.json", "adapter_config.json", "tokenizer_config.json")
_PAUSE = 0.5
_GET_TIMEOUT = 10
_STOP_TIMEOUT = 30
_LINES_SHOWN = 20
_ERRORS_SHOWN = 5
_BYTES_READ = 64 * 2**10


@dataclass(frozen=True)
class _Program:
    command: str
    """Name of the executable on PATH."""
    before_model: tuple[str, ...]
    """Arguments before the model."""
    install: str
    """How to install it."""
    version: tuple[str, str]
    """URL path and field at which the running server reports its version."""


_PROGRAMS: Mapping[str, _Program] = {
    "vllm": _Program("vllm", ("serve",), "pip install vllm", ("/version", "version")),
    "sglang": _Program(
        "python",
        ("-m", "sglang.launch_server", "--model-path"),
        'pip install "sglang[all]"',
        ("/get_server_info", "version"),
    ),
    "llama.cpp": _Program(
        "llama-server", ("-m",), "see https://github.com/ggml-org/llama.cpp#quick-start", ("/props", "build_info")
    ),
}


class Server:
    """The server of a run; `start` starts it.

    Args:
        program: "vllm", "sglang" or "llama.cpp".
        model: The model's id or folder; for llama.cpp a GGUF file.
        arguments: Arguments of the program other than the model and the address.
        log: Log file; its folder must exist when the server starts.
        executable: The program; by default it is looked up on PATH. For SGLang, the Python in which it is installed.
    """

    def __init__(
        self, program: str, model: str, arguments: Sequence[str], log: Path, executable: str | None = None
    ) -> None:
        """Find the program.

        Raises:
            UsageError: The program is not installed, or an argument is not allowed.
        """
        for argument in arguments:
            _check_argument(argument)
        self.program = program
        self.log = log
        self._path = str(tiny_vlm.folder()) if model == tiny_vlm.NAME else model
        if program == "llama.cpp" and not Path(self._path).is_file():
            raise UsageError(f"--model {model} is not a file; llama.cpp needs a GGUF file")
        self._arguments = tuple(arguments)
        self._executable = _find(program, executable)
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0

    def start(self, options: EndpointOptions, timeout: float, waiting: Callable[[str], object]) -> EndpointOptions:
        """Start the server and wait until it answers.

        Args:
            options: Options of the requests.
            timeout: Seconds to wait.
            waiting: Called repeatedly with the last line of the server's log.

        Returns:
            The same options with the server's address and its name for the model.

        Raises:
            ModelError: The server ended, or did not answer in time; the note has the last lines of its log.
        """
        # Before the server can write to a file that an argument names.
        fingerprint = _fingerprint(self._path, self._arguments)
        with socket.create_server((_HOST, 0)) as free:
            self._port = free.getsockname()[1]
        command = [self._executable, *_PROGRAMS[self.program].before_model, self._path]
        command += ["--host", _HOST, "--port", str(self._port), *self._arguments]
        with self.log.open("wb") as output:
            # In its own process group, so that its child processes are stopped too and Ctrl-C does not reach it.
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
        try:
            served_name = self._wait(timeout, waiting)
        except BaseException:
            self.close()
            raise
        path, field = _PROGRAMS[self.program].version
        version = (self._get(path) or {}).get(field)
        served = ServedModel(self.program, version, self._arguments, fingerprint)
        return replace(options, base_url=f"http://{_HOST}:{self._port}/v1", served_name=served_name, serve=served)

    def check(self) -> None:
        """Check that the server is running.

        Raises:
            ModelError: The server has ended.
        """
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
        earlier, last = lines[:-_LINES_SHOWN], lines[-_LINES_SHOWN:]
        # vLLM logs many lines after the error that ended it, because its processes end one after the other.
        errors = list(dict.fromkeys(line for line in earlier if "Error: " in line))[-_ERRORS_SHOWN:]
        return "\n".join([*errors, *(["..."] if errors else []), *last])

    def _lines(self) -> list[str]:
        """The end of the log, without empty lines."""
        with contextlib.suppress(OSError), self.log.open("rb") as file:
            file.seek(max(0, self.log.stat().st_size - _BYTES_READ))
            text = redact(file.read().decode(errors="replace"), read_key())
            return [line.rstrip() for line in text.splitlines() if line.strip()]
        return []

    def close(self) -> None:
        """Stop the server and its child processes."""
        if self._process is None:
            return
        process, self._process = self._process, None
        try:
            if process.poll() is None:
                _signal_group(process.pid, signal.SIGTERM)
                process.wait(_STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            pass
        finally:
            # Worker processes may outlive the server, especially after a crash.
            _signal_group(process.pid, signal.SIGKILL)
            process.wait()

    def _wait(self, timeout: float, waiting: Callable[[str], object]) -> str:
        """Wait until the server answers; returns its name for the model."""
        end = time.monotonic() + timeout
        # llama.cpp lists the model before it is loaded, so /health is checked too.
        while self._get("/health") is None or (models := self._get("/v1/models")) is None:
            ending = self.ending()
            if not ending and time.monotonic() > end:
                ending = f"{self.program} did not answer within {timeout:g} s (--serve-timeout); log: {self.log}"
            if ending:
                error = ModelError(ending)
                error.add_note(self.last_words())
                raise error
            waiting("".join(self._lines()[-1:]))
            time.sleep(_PAUSE)
        names = [str(model["id"]) for model in models.get("data") or ()]
        return self._path if self._path in names or not names else names[0]

    def _get(self, path: str) -> dict[str, Any] | None:
        """The server's answer; {} if it is not a JSON object, None if the server does not answer or refuses."""
        # Not through a proxy, for which 127.0.0.1 is another machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        key = {"Authorization": f"Bearer {read_key()}"} if read_key() else {}
        try:
            with opener.open(
                urllib.request.Request(f"http://{_HOST}:{self._port}{path}", headers=key), timeout=_GET_TIMEOUT
            ) as answer:
                content = answer.read()
        except (OSError, http.client.HTTPException):
            return None
        try:
            found = json.loads(content)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


class ServedBackend(BackendWrapper):
    """Reports that the run's server has ended if a request failed for that reason.

    Args:
        backend: The backend that sends requests to the server.
        server: The server, already started.
    """

    def __init__(self, backend: Backend, server: Server) -> None:
        """Keep both."""
        super().__init__(backend)
        self._server = server

    def check(self, output_type: OutputType) -> None:
        """Raise `ModelError` if the server has ended or cannot give this kind of output."""
        self._server.check()
        super().check(output_type)

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        """The backend's responses.

        Raises:
            ModelError: The server has ended, or the backend raised it.
        """
        try:
            for response in self._backend.answer(requests):
                if response.error is not None:
                    self._server.check()
                yield response
        except ModelError:
            self._server.check()
            raise


def _check_argument(argument: str) -> None:
    name = argument.partition("=")[0]
    if name in _OWN_ARGUMENTS:
        raise UsageError(f"--serve-args contains {name}, which eyechart sets itself; leave it out")
    if name in _SECRETS:
        raise UsageError(
            f"--serve-args contains {name}, but these arguments are written to results; leave it out. The local server "
            "needs no API key; set a token of the Hub with the environment variable HF_TOKEN"
        )


def _find(program: str, executable: str | None) -> str:
    """The path of a program.

    Raises:
        UsageError: The program is not found.
    """
    known = _PROGRAMS[program]
    if executable is not None:
        found = shutil.which(executable)
        if found is None:
            raise UsageError(f"--serve-program {executable} is not an executable program")
        return found
    if program == "sglang":
        found = sys.executable if importlib.util.find_spec("sglang") else None
    else:
        # Also look next to this Python, because the environment may not be on PATH.
        found = shutil.which(known.command) or shutil.which(known.command, path=get_path("scripts"))
    if found is None:
        what = "the Python of the environment in which it is installed" if program == "sglang" else "the program"
        raise UsageError(
            f"--serve {program} needs {program}, which was not found. Install it ({known.install}), or give the path "
            f"of {what}: --serve-program PATH"
        )
    return found


def _fingerprint(path: str, arguments: Sequence[str]) -> str | None:
    """Identify the model's files and the files named in arguments, such as a chat template; None for none."""
    values = [argument.rpartition("=")[2] for argument in arguments]
    found = [path] if os.path.exists(path) else []
    found += [value for value in values if os.path.isfile(value) or _is_model_folder(value)]
    files = (part for file in found for part in _gguf_parts(Path(file)))
    return "+".join(map(files_digest, files)) or None


def _is_model_folder(path: str) -> bool:
    """Whether the path is the folder of a model, an adapter or a tokenizer."""
    return any(os.path.isfile(os.path.join(path, name)) for name in _CONFIGURATIONS)


def _gguf_parts(path: Path) -> list[Path]:
    """All parts of a GGUF model that is split into several files, given the first part; otherwise only the path."""
    found = re.fullmatch(r"(.*)-\d{5}-(of-\d{5}\.gguf)", path.name)
    return [path] if found is None else sorted(path.parent.glob(f"{glob.escape(found[1])}-*-{found[2]}"))


def _signal_group(group: int, number: signal.Signals) -> None:
    # macOS refuses if the only process left in the group has ended.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
