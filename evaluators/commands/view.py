"""`eyechart view`: reports, boards and running runs in a browser."""

import contextlib
import threading
import webbrowser
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from eyechart.evaluators.evaluation.options import cli_option
from eyechart.evaluators.runs.console import console, print_line

_FOLDERS_HELP = "Folders of runs or leaderboards, or folders that have some. Default: eyechart_runs."


def view(
    folders: Annotated[list[Path] | None, typer.Argument(metavar="RUN|FOLDER", help=_FOLDERS_HELP)] = None,
    port: Annotated[int, cli_option("Port on this machine (default: a free one).", min=0, max=65535)] = 0,
    browser: Annotated[bool, cli_option("Open the page.", "--browser/--no-browser")] = True,
) -> None:
    """Show reports, leaderboards and running runs in a browser, until Ctrl-C.

    Only this machine can connect. Missing reports are written.
    """
    from eyechart.evaluators.report.view import Viewer, ViewServer

    with ViewServer(Viewer(folders or [Path("eyechart_runs")]), port) as server:
        print_line(console(), f"Open {server.url} (Ctrl-C ends)")
        if browser:
            webbrowser.open(server.url)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()


@contextlib.contextmanager
def watching(folders: Sequence[Path]) -> Iterator[None]:
    """Show runs in a browser that will begin in these folders; of several processes, the first does."""
    from eyechart.evaluators.backends.processes import launched
    from eyechart.evaluators.report.view import Viewer, ViewServer

    if launched()[0] > 0:
        yield
        return
    with ViewServer(Viewer(folders, may_begin=True)) as server:
        thread = threading.Thread(target=server.serve_forever, name="eyechart-view", daemon=True)
        thread.start()
        print_line(console(stderr=True), f"Watch the run: {server.url}")
        webbrowser.open(server.url)
        try:
            yield
        finally:
            server.shutdown()
            thread.join()
