"""`eyechart report`: a page, figures and tables of finished runs."""

from pathlib import Path
from typing import Annotated

import typer

from eyechart.evaluators.report import SAMPLES, SEVERAL_FOLDER, write_report
from eyechart.evaluators.runs.console import checked, say


def report(
    runs: Annotated[list[Path], typer.Argument(help="Folders of finished runs; several are compared side by side.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "--output",
            help=f"Folder for the report (default: that of the run; for several runs, {SEVERAL_FOLDER}).",
        ),
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(help="What to call a run, in place of its model's name. Repeat it, once for each run in order."),
    ] = None,
    samples: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Show at most N samples of each task, wrong and unparsed ones first.",
        ),
    ] = SAMPLES,
    files: Annotated[
        bool, typer.Option("--files/--no-files", help="Write figures and tables as files too, into report_files.")
    ] = True,
) -> None:
    """Make report.html from finished runs, with figures and tables in the papers' columns."""

    def write() -> Path:
        return write_report(runs, out, samples=samples, files=files, names=name or [])

    say(f"The report is in {checked(write)}")
