"""`eyechart export-log`: a finished run as logs of inspect-ai."""

from pathlib import Path
from typing import Annotated

import typer

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.evaluation.options import cli_option
from eyechart.evaluators.runs.console import say


def export_log(
    run: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    log_dir: Annotated[Path, cli_option("Folder for the logs.", "--log-dir", "--out")] = Path("logs"),
) -> None:
    """Write a finished run as logs of inspect-ai, one a result, with images, replies and scores.

    `inspect view --log-dir logs` shows them. Needs the extra `inspect`.
    """
    try:
        from eyechart.evaluators.inspect_bridge.logs import write_logs
    except ModuleNotFoundError as error:
        raise UsageError("export-log needs inspect-ai: pip install 'eyechart[inspect]'") from error
    for path in write_logs(run, log_dir):
        say(str(path))
