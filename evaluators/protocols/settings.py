"""Lists the settings of protocols, and changes them by name with every value checked."""

import contextlib
import types
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import ValidationError

from eyechart.datasets_scripts.common.errors import UsageError, unknown_name
from eyechart.evaluators.protocols.misfits import misfits
from eyechart.evaluators.protocols.protocol import Protocol, setting_fields

P = TypeVar("P", bound=Protocol)


@dataclass(frozen=True)
class Setting:
    """One setting of a protocol, for help texts."""

    name: str
    type: str
    """Kind of value, or the allowed values."""
    default: Any
    meaning: str


def list_settings(protocol: Protocol) -> list[Setting]:
    """List the settings that have an effect on a task; the defaults are the task's own values."""
    fields = setting_fields(type(protocol))
    others = {name: _other_values(protocol, name, info.annotation) for name, info in fields.items()}
    reachable = [protocol, *(variant for variants in others.values() for variant in variants or ())]
    defaults = {name: getattr(protocol, name) for name in fields} | {"max_new_tokens": protocol.reply_length}
    return [
        Setting(name, _type_name(protocol, name, info.annotation), defaults[name], _meaning(type(protocol), name))
        for name, info in fields.items()
        if others[name] != [] and any(name not in variant.unused_settings() for variant in reachable)
    ]


def _other_values(protocol: P, name: str, annotation: Any) -> list[P] | None:
    """The protocol with each other allowed value of a setting; None if the setting has no list of allowed values."""
    lists = {Literal: get_args(annotation), bool: (True, False)}
    values = protocol.prompts if name == "prompt" else lists.get(get_origin(annotation) or annotation)
    if values is None:
        return None
    variants = []
    for value in values:
        given: dict[str, Any] = {name: value}
        if value != getattr(protocol, name):
            with contextlib.suppress(ValidationError, UsageError):
                variants.append(replace(protocol, **given))
    return variants


def with_settings(protocol: P, given: Mapping[str, Any], task: str) -> P:
    """Change settings like `with_values`, but refuse settings that have no effect.

    Raises:
        UsageError: A name is unknown, a value is not allowed, or a setting has no effect.
    """
    changed = with_values(protocol, given, task)
    for name in changed.unused_settings():
        if name in given:
            raise UsageError(f"{name}={given[name]!r} has no effect on {task} with its other settings; leave it out")
    return changed


def with_values(protocol: P, given: Mapping[str, Any], task: str) -> P:
    """Change settings of a protocol, including settings without effect.

    Args:
        protocol: The task's own protocol.
        given: Name to value, as read from JSON or YAML; a string is not converted to a number or boolean.
        task: The task's name, for errors.

    Raises:
        UsageError: A name is unknown or a value is not allowed.
    """
    known = setting_fields(type(protocol))
    for name in given:
        if name not in known:
            raise unknown_name("setting", name, known, f"of {task}")
    try:
        return replace(protocol, **given)
    except ValidationError as error:
        raise UsageError(f"{task}: {misfits(error, type(protocol))}") from error


def _type_name(protocol: Protocol, name: str, annotation: Any) -> str:
    if name == "prompt":
        return " | ".join(protocol.prompts)
    return " | ".join(_value_names(annotation))


_NAMES = {"int": "whole number", "float": "number", "bool": "true | false", "str": "text"}
_NAMES |= {"BlindRun": "folder", "HumanLabels": "file"}


def _value_names(annotation: Any) -> list[str]:
    """The values of a Literal, or the names of the types of a union."""
    if get_origin(annotation) is Literal:
        return [str(value) for value in get_args(annotation)]
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, types.UnionType):
        return [text for part in get_args(annotation) if part is not type(None) for text in _value_names(part)]
    return [_NAMES.get(annotation.__name__, annotation.__name__)]


def _meaning(protocol: type[Protocol], name: str) -> str:
    """The docstring of a field; pydantic knows it only in the class that declares the field."""
    docstrings = [
        setting_fields(parent)[name].description
        for parent in protocol.__mro__
        if name in vars(parent).get("__pydantic_fields__", {})
    ]
    return " ".join(next(filter(None, docstrings), "").split())
