"""The command line. Exit codes: 0 if every requested task finished, 1 if one failed, 2 for wrong usage."""

import importlib
import os
import sys
from typing import Annotated, Any

import typer

from eyechart.evaluators.commands.command import Command, Group, command_of

_COMMANDS = {
    "run": "Evaluate models on tasks.",
    "score": "Score precomputed predictions.",
    "tasks": "List all tasks, or describe one.",
    "export": "Write a dataset as Parquet with a dataset card.",
    "export-log": "Write a finished run as logs of inspect-ai.",
    "report": "Make a web page with figures and tables from finished runs.",
    "view": "Show reports, leaderboards and running runs in a browser.",
    "compare": "Test whether runs differ, and rank them.",
    "check": "Check a run against thresholds and an earlier run, for CI.",
    "plan": "Plan how many items are needed to detect a difference.",
    "publish": "Add results to a model's card and repository on the Hub.",
    "jobs": "Evaluate models on the Hub's machines.",
    "submit": "Collect a run's answer files for a benchmark's authors.",
    "leaderboard": "Build the leaderboard from finished runs.",
    "store": "Show or prune stored answers.",
    "text-to-score": "Predict scores from descriptions.",
}


class Commands(Group):
    """All commands; to list them, none is imported."""

    def __init__(self, **attributes: Any) -> None:
        """Make the group, with a line about each command."""
        super().__init__(**attributes)
        self.commands = {name: Command(name, help=text) for name, text in _COMMANDS.items()}

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import a command; None if there is no such command."""
        if cmd_name not in self.commands:
            return None
        module = importlib.import_module(f"eyechart.evaluators.commands.{cmd_name.replace('-', '_')}")
        return command_of(module, cmd_name)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; our own errors, and those of a full disk, become a one-line message and an exit code."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            from eyechart.datasets_scripts.common.errors import EyechartError, UsageError
            from eyechart.datasets_scripts.common.whole import disk_error
            from eyechart.evaluators.requests.values import brief, printable

            known = error if isinstance(error, EyechartError) else disk_error(error)
            # The path is impossible, such as one of 5,000 letters, or this user may not read it.
            if known is None and isinstance(error, OSError) and error.filename is not None:
                known = UsageError(f"{brief(error.filename)}: {error.strerror}")
            if known is None:
                raise
            print(printable(f"eyechart: {known.explain()}"), file=sys.stderr)
            raise typer.Exit(2 if isinstance(known, UsageError) else 1) from error

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """List the commands."""
        listed = Group(name=self.name, commands=dict(self.commands), params=self.params, help=self.help)
        listed.format_help(ctx, formatter)


app = typer.Typer(cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        from importlib import metadata

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
    # Not every output has all characters: `?` stands for the others.
    if sys.stdout is not None:
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
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
        from eyechart.datasets_scripts.common.whole import disk_error

        known = disk_error(error)
        if known is None and not isinstance(error, BrokenPipeError):
            raise
        # Otherwise Python writes the rest of the output at exit, and fails again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        # A reader that stops early, such as `head`, needs no message.
        sys.exit(1 if known is None else f"eyechart: {known}")


if __name__ == "__main__":
    main()
