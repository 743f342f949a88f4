"""What all commands share: options from dataclasses, readable help pages, errors for empty values and invalid text."""

import inspect
import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, get_origin

import typer
from typer.core import TyperCommand, TyperGroup

from eyechart.evaluators.requests.values import brief, is_unicode

_WORDS = {bool: "", str: "TEXT", int: "N", float: "NUMBER", Path: "PATH"}
"""The placeholder for an option's value on the help page, by type; a flag has none."""
_KEYWORD = inspect.Parameter.KEYWORD_ONLY


class _ReadableHelp:
    """Shows words on help pages in place of the Python types, such as `<int range>`, of typer 0.29 and later."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The arguments and options, with readable placeholders."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            about = param.type_descriptor
            if param.param_type_name == "argument":
                # Otherwise typer prints the type after the name.
                param.display_type_rich = lambda ctx: None
                param.metavar = param.metavar or param.name.upper()
            elif param.metavar is None:
                kind = getattr(about.annotation, "__args__", (about.annotation,))[0]
                param.metavar = "|".join(about.choices) if about.is_choice else _WORDS[kind]
        return params


class Group(_ReadableHelp, TyperGroup):
    """A group of commands."""


class Command(_ReadableHelp, TyperCommand):
    """A command that refuses infinite numbers, such as 1e400, empty values, and texts that are not UTF-8.

    Empty values come from unset shell variables. Only paths may have bytes that are not UTF-8.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an empty value, parse, and refuse an infinite one and invalid text."""
        for before, word in zip(("", *args), args, strict=False):
            if word == "" or (word.startswith("--") and word.find("=") == len(word) - 1):
                option = word.rstrip("=") or (before if before.startswith("-") else "an argument")
                ctx.fail(f"{option} has an empty value (an unset shell variable?); set a value or leave it out")
        args = list(super().parse_args(ctx, args))
        for param in self.params:
            values = ctx.params.get(param.name)
            for value in values if isinstance(values, list | tuple) else [values]:
                if isinstance(value, float) and not math.isfinite(value):
                    ctx.fail(f"{param.opts[0]} {value} is not allowed; expected a finite number")
                if isinstance(value, str) and not is_unicode(value):
                    ctx.fail(f"{param.opts[0]} {brief(value)} contains bytes that are not UTF-8; use other characters")
        return args


def command_of(module: ModuleType, name: str) -> Any:
    """The command that a module defines by a function of this name, or the group of those in its `COMMANDS`."""
    if not hasattr(module, "COMMANDS"):
        return _command(getattr(module, name.replace("-", "_")), getattr(module, "COMMAND_CLASS", Command))
    commands = {function.__name__: _command(function, Command) for function in module.COMMANDS}
    return Group(name=name, commands=commands, help=module.__doc__, no_args_is_help=True)


def _command(function: Callable[..., None], cls: type[Command]) -> Any:
    """A command whose options are the function's parameters; of a dataclass, its annotated fields."""
    signature = inspect.signature(function)
    forms: dict[str, dict[str, inspect.Parameter]] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        if is_dataclass(parameter.annotation):
            forms[name] = _options(parameter.annotation)
            parameters += forms[name].values()
        else:
            parameters.append(parameter.replace(kind=_KEYWORD))

    def call(**values: Any) -> None:
        for name, options in forms.items():
            values[name] = signature.parameters[name].annotation(**{option: values.pop(option) for option in options})
        function(**values)

    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    app = typer.Typer(add_completion=False)
    # typer folds only the first paragraph.
    paragraphs = (inspect.getdoc(function) or "").split("\n\n")
    app.command(
        function.__name__.replace("_", "-"), cls=cls, help="\n\n".join(" ".join(text.split()) for text in paragraphs)
    )(call)
    return typer.main.get_command(app)


def _options(form: Any) -> dict[str, inspect.Parameter]:
    """The annotated fields of a dataclass as parameters, by name."""
    return {
        field.name: inspect.Parameter(field.name, _KEYWORD, default=field.default, annotation=field.type)
        for field in fields(form)
        if get_origin(field.type) is Annotated
    }
