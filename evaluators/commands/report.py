"""`eyechart report`: a web page, figures and tables from finished runs."""

from pathlib import Path
from typing import Annotated

import typer

from eyechart.evaluators.evaluation.options import Texts, cli_option
from eyechart.evaluators.report import SAMPLES, SEVERAL_FOLDER, write_report
from eyechart.evaluators.runs.console import say

_OUT_HELP = f"Folder for the report (default: the folder of the run; for several runs, {SEVERAL_FOLDER})."
_NAME_HELP = "Name to show for a run instead of the model's name. Give it once for each run, in order."
_SAMPLES_HELP = "Show at most N samples of each task, incorrect ones first."
_FILES_HELP = "Also write figures and tables as files, to report_files."


def report(
    runs: Annotated[list[Path], typer.Argument(help="Folders of finished runs. Several runs are shown side by side.")],
    out: Annotated[Path | None, cli_option(_OUT_HELP, "--out", "--output")] = None,
    name: Annotated[Texts, cli_option(_NAME_HELP)] = None,
    samples: Annotated[int, cli_option(_SAMPLES_HELP, metavar="N", min=0)] = SAMPLES,
    files: Annotated[bool, cli_option(_FILES_HELP, "--files/--no-files")] = True,
) -> None:
    """Make report.html from finished runs, with figures and tables laid out as in the papers."""
    page = write_report(runs, out, samples=samples, files=files, names=name or [])
    say(f"The report is in {page}")
