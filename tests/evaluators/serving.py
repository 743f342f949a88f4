"""A real server: `transformers serve`."""

import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from sysconfig import get_path


@contextmanager
def serve(model: Path, log: Path) -> Iterator[str]:
    """Run the server until the end of the block; gives its base URL."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [Path(get_path("scripts")) / "transformers", "serve", model, "--device", "cpu"]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
        try:
            _wait_for(f"http://127.0.0.1:{port}/health", process, log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()
            process.wait(timeout=300)


def _wait_for(url: str, process: subprocess.Popen, log: Path) -> None:
    end = time.monotonic() + 600
    while time.monotonic() < end and process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=60).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise AssertionError(f"the server did not start:\n{log.read_text(errors='replace')}")
