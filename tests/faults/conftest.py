"""Fixtures: those of the tests of `evaluators`, and a model and a judge on a server."""

import json
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from werkzeug import Response

from eyechart.evaluators.requests.errors import EndpointError
from eyechart.evaluators.requests.types import IMAGE, Request
from tests.evaluators import conftest
from tests.evaluators.backends.conftest import backend
from tests.evaluators.conftest import _http, _no_key, disk, http, judge, make_picture, options, questions, script, store

impatient = conftest.impatient
__all__ = ["_http", "_no_key", "backend", "disk", "http", "judge", "make_picture"]
__all__ += ["options", "questions", "script", "store"]


@pytest.fixture
def ask(backend, make_picture):
    """Sends one request; returns the response and the backend."""

    def ask_once(**options):
        model = backend(**options)
        request = Request("x", ("What is this?", IMAGE), (make_picture(0),))
        (response,) = model.answer([request])
        return response, model

    return ask_once


_WRITER = """
import sys, time
from pathlib import Path
from eyechart.datasets_scripts.common.whole import whole_folder, write_whole

def half(path):
    path.write_bytes(b"half")
    print("ready", flush=True)
    time.sleep(600)

target = Path(sys.argv[2])
if sys.argv[1] == "file":
    write_whole(target, half)
else:
    with whole_folder(target) as unfinished:
        half(unfinished / "a")
"""


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder with their contents."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@contextmanager
def full_disk(room: int = 0) -> Iterator[None]:
    """Simulate a full disk: no file of this process can grow beyond `room` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    writes_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        sys.dont_write_bytecode = writes_bytecode


@contextmanager
def writing(kind: str, target: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has written half of a file or folder; it is killed at the end at the latest."""
    with subprocess.Popen(
        [sys.executable, "-c", _WRITER, kind, str(target)], stdout=subprocess.PIPE, text=True
    ) as child:
        try:
            assert child.stdout is not None and child.stdout.readline() == "ready\n"
            yield child
        finally:
            child.kill()


def hostile(folder: Path, **plan: Any) -> str:
    """The command of a server that prints and answers what the plan says (`hostile_server.py`)."""
    (folder / "plan.json").write_text(json.dumps(plan))
    return f"{sys.executable} -IS {Path(__file__).with_name('hostile_server.py')} {{port}} {folder} {{model}}"


GOOD = {"choices": [{"message": {"content": " B. "}}], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}


def body(content, status=200):
    return Response(content, status, content_type="application/json")


def scored(*likeliest):
    top = [{"token": token, "logprob": value} for token, value in likeliest]
    return {"choices": [{"message": {"content": ""}, "logprobs": {"content": [{**top[0], "top_logprobs": top}]}}]}


def assert_error(response, reason):
    """The item has an error of the server with this reason."""
    assert isinstance(response.error, EndpointError)
    assert re.search(reason, str(response.error)), response.error
