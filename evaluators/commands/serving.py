"""`--serve`: the options about a server of the run's own, and its life from start to end."""

import contextlib
import os
import shlex
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.requests.values import printable
from eyechart.evaluators.runs.console import console, print_line

if TYPE_CHECKING:
    from eyechart.evaluators.backends.endpoint.options import EndpointOptions
    from eyechart.evaluators.backends.endpoint.serving import Server

SERVER = "A server of the run's own"
"""Panel of the help page."""
_LOG = "server.log"


class ServeProgram(Enum):
    """What can serve a model."""

    VLLM = "vllm"
    SGLANG = "sglang"
    LLAMA_CPP = "llama.cpp"


@dataclass(frozen=True)
class ServeArguments:
    """A server that is started for the run."""

    serve: Annotated[
        ServeProgram | None,
        typer.Option(help="Start this server for the model, ask it, and stop it.", rich_help_panel=SERVER),
    ] = None
    serve_args: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help='The server\'s own options, such as "--tensor-parallel-size 8".',
            rich_help_panel=SERVER,
        ),
    ] = None
    serve_program: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="The server's program, or for SGLang the Python that has it (default: looked up on PATH).",
            rich_help_panel=SERVER,
        ),
    ] = None
    serve_timeout: Annotated[
        float | None,
        typer.Option(
            min=1,
            metavar="SECONDS",
            help="How long to wait until the server answers (default: 1800).",
            rich_help_panel=SERVER,
        ),
    ] = None

    def server(self, model: str | None, folder: Path) -> "Server | None":
        """The server for a run, not yet started; None without `--serve`.

        Args:
            model: The model's id or folder.
            folder: That of the run, for the log.

        Raises:
            UsageError: There is no such program, or an option is not allowed.
        """
        if self.serve is None:
            given = [one.name for one in fields(self) if getattr(self, one.name) is not None]
            if given:
                names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
                raise UsageError(f"{names} has no effect without --serve, the server to start")
            return None
        if model is None:
            raise UsageError("--serve needs --model, the model to serve")
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise UsageError(
                "--serve starts one server, and several processes were started; start one, and give the server its "
                'GPUs: --serve-args "--tensor-parallel-size 8"'
            )
        from eyechart.evaluators.backends.endpoint.serving import Server

        try:
            arguments = shlex.split(self.serve_args or "")
        except ValueError as error:
            raise UsageError(f"--serve-args {self.serve_args!r} cannot be split into words: {error}") from error
        return Server(self.serve.value, model, arguments, folder / _LOG, self.serve_program)

    def start(self, server: "Server", options: "EndpointOptions") -> "EndpointOptions":
        """Start the server, and show that it is waited for.

        Args:
            server: From `server`.
            options: How it is to be asked.

        Returns:
            The same with its address.

        Raises:
            ModelError: It did not start.
        """
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.text import Text

        from eyechart.evaluators.backends.endpoint.serving import DEFAULT_START_TIMEOUT

        messages = console(stderr=True)
        print_line(messages, f"starting {server.program}; its log is {server.log}")
        columns = (SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
        with Progress(*columns, console=messages, transient=True, disable=not messages.is_terminal) as bar:
            shown = bar.add_task("", total=None)

            def show(line: str) -> None:
                text = Text(printable(line))
                text.truncate(max(20, messages.width - 20), overflow="ellipsis")
                bar.update(shown, description=text.plain)

            return server.start(options, self.serve_timeout or DEFAULT_START_TIMEOUT, show)


@contextlib.contextmanager
def stopped_at_end(server: "Server | None") -> Iterator[None]:
    """Stop a server at the end of the block, however that comes; show its last lines if it ended by itself."""
    if server is None:
        yield
        return
    signals = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_DFL]
    for number in signals:
        # By default they would end this process alone, and the server would keep its GPUs.
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    try:
        yield
    finally:
        if ending := server.ending():
            print_line(console(stderr=True), f"eyechart: {ending}. Its last lines:\n{server.last_words()}", "red")
        server.close()
        for number in signals:
            signal.signal(number, signal.SIG_DFL)
