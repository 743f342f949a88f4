"""What all commands have in common: no option takes an empty value."""

from collections.abc import Sequence
from typing import Any

from typer.core import TyperCommand

# The options of a server may be none.
_MAY_BE_EMPTY = ("--serve-args",)


class Command(TyperCommand):
    """A command whose arguments and options take no empty value.

    An empty one is nearly always a shell variable that is not set, and would be read as the current folder, as
    OpenAI's address or as no model.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an empty value, then parse.

        Raises:
            typer.BadParameter: A value is empty; it ends the command with exit code 2.
        """
        option = _first_without_value(args)
        if option is not None:
            ctx.fail(f"{option} has an empty value (a shell variable that is not set?); give one, or leave it out")
        return list(super().parse_args(ctx, args))


def _first_without_value(args: Sequence[str]) -> str | None:
    """The first option with an empty value, or what its place is; None where there is none."""
    for before, value in zip(("", *args), args, strict=False):
        name, equals, rest = value.partition("=")
        if value == "":
            option = before if before.startswith("-") else "an argument"
        elif name.startswith("--") and equals and not rest:
            option = name
        else:
            continue
        if option not in _MAY_BE_EMPTY:
            return option
    return None
