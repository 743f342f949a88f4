"""What all commands share: readable help pages, and an error for empty values."""

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from typer.core import TyperCommand, TyperGroup

_WORDS = {bool: "", str: "TEXT", int: "N", float: "NUMBER", Path: "PATH"}
"""The placeholder for an option's value on the help page, by type; a flag has none."""


class Group(TyperGroup):
    """A group of commands."""

    def __init__(self, **attributes: Any) -> None:
        """Make the group; its help page is folded to the terminal."""
        super().__init__(**attributes)
        self.help = _unfolded(self.help)

    def get_params(self, ctx: Any) -> list[Any]:
        """The options, with readable placeholders on the help page."""
        return _in_plain_words(super().get_params(ctx))


class Command(TyperCommand):
    """A command whose arguments and options take no empty value.

    An empty value is nearly always a shell variable that is not set. It would be read as the current folder, OpenAI's
    address or no model.
    """

    def __init__(self, *args: Any, **attributes: Any) -> None:
        """Make the command; its help page is folded to the terminal."""
        super().__init__(*args, **attributes)
        self.help = _unfolded(self.help)

    def get_params(self, ctx: Any) -> list[Any]:
        """The arguments and options, with readable placeholders on the help page."""
        return _in_plain_words(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an empty value, then parse.

        Raises:
            typer.BadParameter: A value is empty; the command ends with exit code 2.
        """
        option = _first_without_value(args)
        if option is not None:
            ctx.fail(f"{option} has an empty value (an unset shell variable?); set a value or leave it out")
        return list(super().parse_args(ctx, args))


def _unfolded(text: str | None) -> str | None:
    """A docstring with one line for each paragraph, as typer keeps the line ends of all but the first."""
    return text and "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n"))


def _in_plain_words(params: list[Any]) -> list[Any]:
    """Replace the Python types, such as `<int range>`, that typer 0.29 and later show on help pages."""
    for param in params:
        about = getattr(param, "type_descriptor", None)
        if about is not None and param.param_type_name == "argument":
            # Otherwise typer prints the type after the name.
            param.display_type_rich = lambda ctx: None
        if param.metavar is not None or about is None:
            continue
        of = getattr(about.annotation, "__args__", (about.annotation,))[0]
        if param.param_type_name == "argument":
            param.metavar = param.name.upper()
        elif about.is_choice:
            param.metavar = "|".join(one.value for one in of)
        else:
            param.metavar = _WORDS.get(of)
    return params


def _first_without_value(args: Sequence[str]) -> str | None:
    """The first option with an empty value, or "an argument"; None if no value is empty."""
    for before, value in zip(("", *args), args, strict=False):
        name, equals, rest = value.partition("=")
        if value == "":
            return before if before.startswith("-") else "an argument"
        if name.startswith("--") and equals and not rest:
            return name
    return None
