"""`eyechart report`: a web page, figures and tables from finished runs."""

from pathlib import Path
from typing import Annotated

import typer

from eyechart.evaluators.report import SAMPLES, SEVERAL_FOLDER, write_report
from eyechart.evaluators.runs.console import say


def report(
    runs: Annotated[list[Path], typer.Argument(help="Folders of finished runs. Several runs are shown side by side.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "--output",
            help=f"Folder for the report (default: the folder of the run; for several runs, {SEVERAL_FOLDER}).",
        ),
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(help="Name to show for a run instead of the model's name. Give it once for each run, in order."),
    ] = None,
    samples: Annotated[
        int, typer.Option(min=0, metavar="N", help="Show at most N samples of each task, incorrect ones first.")
    ] = SAMPLES,
    files: Annotated[
        bool, typer.Option("--files/--no-files", help="Also write figures and tables as files, to report_files.")
    ] = True,
) -> None:
    """Make report.html from finished runs, with figures and tables laid out as in the papers."""
    page = write_report(runs, out, samples=samples, files=files, names=name or [])
    say(f"The report is in {page}")
