"""What several families need: a full disk, killed processes, answers of servers, and checks of errors."""

import json
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from werkzeug import Response

from eyechart.evaluators.requests.errors import EndpointError

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
    return f"{sys.executable} {Path(__file__).with_name('hostile_server.py')} {{port}} {folder} {{model}}"


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
