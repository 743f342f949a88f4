"""`--serve`: a server that the run starts and stops."""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.runs.console import console, print_line

if TYPE_CHECKING:
    from eyechart.evaluators.backends.endpoint.serving import Server


def server_for(command: str, models: Sequence[str | None], folder: Path) -> "Server":
    """The server for a run with these models, not yet started, with its log in the folder."""
    if len(models) > 1 or models[0] is None:
        raise UsageError("--serve needs --model, given once: the model to serve")
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise UsageError(
            "--serve works in one process only; start one, and give the server several GPUs: "
            '--serve "vllm --tensor-parallel-size 8"'
        )
    from eyechart.evaluators.backends.endpoint.serving import Server

    return Server(command, models[0], folder / "server.log")


@contextlib.contextmanager
def stopped_at_end(server: "Server | None") -> Iterator[None]:
    """Stop a server at the end of the block, also after an error; show its last lines if it ended by itself."""
    if server is None:
        yield
        return
    signals = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_DFL]
    for number in signals:
        # By default these signals end only this process, and the server would keep its GPUs.
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    try:
        yield
    finally:
        if ending := server.ending():
            last = f"eyechart: {ending}. Last lines of its log:\n{server.last_lines()}"
            print_line(console(stderr=True), last, "red")
        server.close()
        for number in signals:
            signal.signal(number, signal.SIG_DFL)
