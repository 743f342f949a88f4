"""`--serve`: the options for a server that the run starts, and starting and stopping it."""

import contextlib
import os
import shlex
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.requests.values import printable
from eyechart.evaluators.runs.console import console, print_line

if TYPE_CHECKING:
    from eyechart.evaluators.backends.endpoint.options import EndpointOptions
    from eyechart.evaluators.backends.endpoint.serving import Server

_LOG = "server.log"


class ServeProgram(Enum):
    """Programs that can serve a model."""

    VLLM = "vllm"
    SGLANG = "sglang"
    LLAMA_CPP = "llama.cpp"


@dataclass(frozen=True)
class ServeArguments:
    """A server that is started for the run."""

    panel: ClassVar[str] = "Server started for the run"

    serve: Annotated[
        ServeProgram | None,
        typer.Option(help="Start this server for the model, and stop it after the run."),
    ] = None
    serve_args: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help='Options for the server, such as "--tensor-parallel-size 8".',
        ),
    ] = None
    serve_program: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Path of the server's program; for SGLang, of the Python that has it (default: searched on PATH).",
        ),
    ] = None
    serve_timeout: Annotated[
        float | None,
        typer.Option(
            min=1,
            metavar="SECONDS",
            help="How long to wait for the server to start (default: 1800).",
        ),
    ] = None

    def server(self, models: Sequence[str | None], folder: Path) -> "Server | None":
        """The server for a run, not yet started; None without `--serve`.

        Args:
            models: The models of the run; a server has one.
            folder: Folder of the run, for the log.

        Raises:
            UsageError: The program is not found, there are several models, or an option is not allowed.
        """
        if self.serve is None:
            given = [one.name for one in fields(self) if getattr(self, one.name) is not None]
            if given:
                names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
                raise UsageError(f"{names} has no effect without --serve")
            return None
        if len(models) > 1:
            raise UsageError(f"--serve starts a server for one model, but {len(models)} are given; run each on its own")
        if (model := models[0]) is None:
            raise UsageError("--serve needs --model, the model to serve")
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise UsageError(
                "--serve works in one process only, but several were started; start one, and give the server several "
                'GPUs: --serve-args "--tensor-parallel-size 8"'
            )
        from eyechart.evaluators.backends.endpoint.serving import Server

        try:
            arguments = shlex.split(self.serve_args or "")
        except ValueError as error:
            raise UsageError(f"--serve-args {self.serve_args!r} cannot be split into words: {error}") from error
        return Server(self.serve.value, model, arguments, folder / _LOG, self.serve_program)

    def start(self, server: "Server", options: "EndpointOptions") -> "EndpointOptions":
        """Start the server, and show progress while waiting.

        Args:
            server: From `server`.
            options: How to query it.

        Returns:
            The options with the server's address.

        Raises:
            ModelError: The server did not start.
        """
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.text import Text

        from eyechart.evaluators.backends.endpoint.serving import DEFAULT_START_TIMEOUT

        messages = console(stderr=True)
        print_line(messages, f"starting {server.program}; log: {server.log}")
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
            print_line(
                console(stderr=True), f"eyechart: {ending}. Last lines of its log:\n{server.last_words()}", "red"
            )
        server.close()
        for number in signals:
            signal.signal(number, signal.SIG_DFL)
