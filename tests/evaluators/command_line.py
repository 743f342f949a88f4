"""The command line, called in this process."""

from typing import Any

from typer.testing import CliRunner

from eyechart.evaluators.cli import app


def invoke(*arguments: Any, code: int | None = None, columns: int | None = None) -> Any:
    """Run a command.

    Args:
        arguments: The words of the command.
        code: The exit code that it must have; None allows any.
        columns: Width of the terminal.
    """
    env = None if columns is None else {"COLUMNS": str(columns)}
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], env=env)
    assert code is None or done.exit_code == code, done.output
    return done
