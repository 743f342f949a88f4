"""What all commands share: options from dataclasses, readable help pages, and an error for empty values."""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_origin

from typer.core import TyperCommand, TyperGroup

from eyechart.evaluators.runs.console import checked

_WORDS = {bool: "", str: "TEXT", int: "N", float: "NUMBER", Path: "PATH"}
"""The placeholder for an option's value on the help page, by type; a flag has none."""


class Group(TyperGroup):
    """A group of commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The options, with readable placeholders on the help page."""
        return list(map(_readable, super().get_params(ctx)))


class Command(TyperCommand):
    """A command that refuses empty values: unset shell variables, otherwise read as the current folder or no model."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The arguments and options, with readable placeholders on the help page."""
        return list(map(_readable, super().get_params(ctx)))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an empty value, then parse."""
        for before, word in zip(("", *args), args, strict=False):
            if word == "" or (word.startswith("--") and word.find("=") == len(word) - 1):
                option = word.rstrip("=") or (before if before.startswith("-") else "an argument")
                ctx.fail(f"{option} has an empty value (an unset shell variable?); set a value or leave it out")
        return list(super().parse_args(ctx, args))

    def invoke(self, ctx: Any) -> Any:
        """Run the command; errors become a one-line message and an exit code."""
        return checked(lambda: super(Command, self).invoke(ctx))


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command in which each parameter of a dataclass becomes one option for each of its annotated fields."""
    signature = inspect.signature(command)
    owners: dict[str, Any] = {
        name: about.annotation for name, about in signature.parameters.items() if is_dataclass(about.annotation)
    }
    options = {
        name: [field for field in fields(owner) if get_origin(field.type) is Annotated]
        for name, owner in owners.items()
    }
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = []
    for name, about in signature.parameters.items():
        if name not in owners:
            parameters.append(about.replace(kind=keyword))
        for field in options.get(name, ()):
            parameters.append(inspect.Parameter(field.name, keyword, default=field.default, annotation=field.type))

    def run(**values: Any) -> None:
        for name, owner in owners.items():
            given = {field.name: values.pop(field.name) for field in options[name]}
            values[name] = owner(**given)
        command(**values)

    run.__doc__ = command.__doc__
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run


def unfolded(text: str | None) -> str | None:
    """A docstring with one line for each paragraph, as typer keeps the line ends of all but the first."""
    return text and "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n"))


def _readable(param: Any) -> Any:
    """Replace the Python types, such as `<int range>`, that typer 0.29 and later show on help pages."""
    about = getattr(param, "type_descriptor", None)
    if about is not None:
        kind = getattr(about.annotation, "__args__", (about.annotation,))[0]
        if param.param_type_name == "argument":
            # Otherwise typer prints the type after the name.
            param.display_type_rich = lambda ctx: None
            param.metavar = param.metavar or param.name.upper()
        elif param.metavar is None:
            param.metavar = "|".join(member.value for member in kind) if about.is_choice else _WORDS.get(kind)
    return param
