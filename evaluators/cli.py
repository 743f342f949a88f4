"""The command line: `eyechart run`, `score`, `export`, `tasks`, `store` and others, one file each in `commands/`.

Exit codes: 0 if every requested task finished, 1 if one failed, 2 for wrong usage. Only the standard library, typer
and rich are loaded before a command runs.
"""

import os
import sys
from importlib import metadata
from typing import Annotated

import typer

from eyechart.datasets_scripts.common.whole import disk_error
from eyechart.evaluators.commands import leaderboard, store, text_to_score
from eyechart.evaluators.commands.command import Command, Group
from eyechart.evaluators.commands.compare import compare
from eyechart.evaluators.commands.export import export
from eyechart.evaluators.commands.plan import plan
from eyechart.evaluators.commands.publish import publish
from eyechart.evaluators.commands.report import report
from eyechart.evaluators.commands.run import RunCommand, run
from eyechart.evaluators.commands.score import score
from eyechart.evaluators.commands.submit import submit
from eyechart.evaluators.commands.tasks import list_tasks

app = typer.Typer(cls=Group, no_args_is_help=True, pretty_exceptions_enable=False)
app.command("run", cls=RunCommand)(run)
app.command("score", cls=Command)(score)
app.command("tasks", cls=Command)(list_tasks)
app.command("export", cls=Command)(export)
app.command("report", cls=Command)(report)
app.command("compare", cls=Command)(compare)
app.command("plan", cls=Command)(plan)
app.command("publish", cls=Command)(publish)
app.command("submit", cls=Command)(submit)
app.add_typer(leaderboard.app, name="leaderboard")
app.add_typer(store.app, name="store")
app.add_typer(text_to_score.app, name="text-to-score")


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"eyechart {metadata.version('eyechart')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """An eye chart for multimodal LLMs.

    It runs the benchmarks Q-Bench, MMBench, QL-Bench, AesBench and 2AFC. Begin with `eyechart run`.
    """


def main() -> None:
    """Entry point of the `eyechart` command."""
    try:
        os.getcwd()
    except OSError as error:
        sys.exit(f"eyechart: the working directory cannot be read: {error.strerror}; change to one that exists")
    try:
        try:
            app()
        finally:
            # None where the output is closed.
            if sys.stdout is not None:
                sys.stdout.flush()
    except OSError as error:
        known = disk_error(error)
        if known is None and not isinstance(error, BrokenPipeError):
            raise
        # Otherwise Python writes the rest of the output at exit, and fails again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        # A reader that stops early, such as `head`, needs no message.
        sys.exit(1 if known is None else f"eyechart: {known}")


if __name__ == "__main__":
    main()
