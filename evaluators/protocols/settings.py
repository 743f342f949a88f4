"""Lists the settings of protocols, and changes them by name with every value checked."""

import contextlib
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import ValidationError

from eyechart.datasets_scripts.common.errors import UsageError, unknown_name
from eyechart.evaluators.protocols.misfits import bound_of
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
    reachable = [protocol, *(one for found in others.values() for one in found or ())]
    defaults = {name: getattr(protocol, name) for name in fields} | {"max_new_tokens": protocol.reply_length}
    return [
        Setting(name, _type_name(protocol, name, info.annotation), defaults[name], _meaning(type(protocol), name))
        for name, info in fields.items()
        if others[name] != [] and any(name not in one.unused_settings() for one in reachable)
    ]


def _other_values(protocol: P, name: str, annotation: Any) -> list[P] | None:
    """The protocol with each other allowed value of a setting; None if the setting has no list of allowed values."""
    values: Iterable[Any]
    if name == "prompt":
        values = protocol.prompts
    elif get_origin(annotation) is Literal:
        values = get_args(annotation)
    elif annotation is bool:
        values = (True, False)
    else:
        return None
    found = []
    for value in values:
        given: dict[str, Any] = {name: value}
        if value != getattr(protocol, name):
            with contextlib.suppress(ValidationError, UsageError):
                found.append(replace(protocol, **given))
    return found


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
        raise _explained(error, protocol, given, task) from error


def _explained(error: ValidationError, protocol: Protocol, given: Mapping[str, Any], task: str) -> UsageError:
    first = error.errors(include_url=False)[0]
    own = first.get("ctx", {}).get("error")
    if isinstance(own, UsageError):
        # The message names the setting already.
        return UsageError(f"{task}: {own}")
    name = str(first["loc"][0])
    expected = [_type_name(protocol, name, setting_fields(type(protocol))[name].annotation), bound_of(first)]
    lead = f"{own}; " if own else ""
    return UsageError(f"{task}: {name}={given[name]!r:.200}: {lead}expected {', '.join(filter(None, expected))}")


def _type_name(protocol: Protocol, name: str, annotation: Any) -> str:
    if name == "prompt":
        return " | ".join(protocol.prompts)
    options = _allowed(annotation)
    return " | ".join(options) if options else getattr(annotation, "__name__", str(annotation))


def _allowed(annotation: Any) -> list[str]:
    """The values of a Literal, or the names of the types of a union."""
    origin = get_origin(annotation)
    if origin is Literal:
        return [str(value) for value in get_args(annotation)]
    if origin in (Union, types.UnionType):
        parts = [part for part in get_args(annotation) if part is not type(None)]
        return [text for part in parts for text in (_allowed(part) or [_plain(part)])]
    return [_plain(annotation)]


def _plain(annotation: Any) -> str:
    inner = get_args(annotation)[0] if get_origin(annotation) is not None and get_args(annotation) else annotation
    return {
        "int": "whole number",
        "float": "number",
        "bool": "true | false",
        "str": "text",
        "BlindRun": "folder",
        "HumanLabels": "file",
    }.get(getattr(inner, "__name__", ""), getattr(inner, "__name__", str(inner)))


def _meaning(protocol: type[Protocol], name: str) -> str:
    """The docstring of a field; pydantic knows it only in the class that declares the field."""
    found = [
        setting_fields(one)[name].description
        for one in protocol.__mro__
        if name in vars(one).get("__pydantic_fields__", {})
    ]
    return " ".join(next((text for text in found if text), "").split())
