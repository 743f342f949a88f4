"""Lists the settings of protocols, and changes them by name with every value checked."""

import contextlib
import types
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import ValidationError

from eyechart.datasets_scripts.common.errors import UsageError, unknown_name
from eyechart.evaluators.protocols.protocol import Protocol, setting_fields
from eyechart.evaluators.requests.values import brief, list_form

P = TypeVar("P", bound=Protocol)
_TYPES = {
    **{"int": "whole number", "float": "number", "bool": "true | false", "str": "text", "tuple": "list of words"},
    **{"BlindRun": "folder", "HumanLabels": "file"},
}


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
    others = variants(protocol)
    unused = set.intersection(*(set(variant.unused_settings()) for variant in (protocol, *others.values())))
    settings = []
    for name, info in setting_fields(type(protocol)).items():
        default = protocol.reply_length if name == "max_new_tokens" else getattr(protocol, name)
        has_effect = any(changed == name for changed, _ in others) or not _values(protocol, name)
        if has_effect and name not in unused:
            kind = " | ".join(protocol.prompts) if name == "prompt" else _type_name(info.annotation)
            settings.append(Setting(name, kind, default, _meaning(type(protocol), name)))
    return settings


def variants(protocol: P) -> dict[tuple[str, Any], P]:
    """The protocol with each other value of each setting whose values are listed, by setting and value."""
    changed = {}
    for name in setting_fields(type(protocol)):
        for value in _values(protocol, name):
            if value != getattr(protocol, name):
                with contextlib.suppress(ValidationError, UsageError):
                    values: dict[str, Any] = {name: value}
                    changed[name, value] = replace(protocol, **values)
    return changed


def with_settings(protocol: P, given: Mapping[str, Any], task: str) -> P:
    """Change settings like `with_values`; raises UsageError also for a setting that has no effect."""
    changed = with_values(protocol, given, task)
    for name in changed.unused_settings():
        if name in given:
            raise UsageError(f"{name}={given[name]!r} has no effect on {task} with its other settings; leave it out")
    return changed


def with_values(protocol: P, given: Mapping[str, Any], task: str) -> P:
    """Change settings by name, also ones without effect; raises UsageError for an unknown name or value not allowed.

    Values are as read from JSON or YAML: a string is not converted to a number or boolean.
    """
    known = setting_fields(type(protocol))
    for name in given:
        if name not in known:
            raise unknown_name("setting", name, known, f"of {task}")
    try:
        return replace(protocol, **given)
    except ValidationError as error:
        raise UsageError(f"{task}: {misfits(error, type(protocol))}") from error


def _values(protocol: Protocol, name: str) -> tuple[Any, ...]:
    """The allowed values, if they are listed."""
    if name == "prompt":
        return tuple(protocol.prompts)
    annotation = setting_fields(type(protocol))[name].annotation
    return {Literal: get_args(annotation), bool: (True, False)}.get(get_origin(annotation) or annotation, ())


def _type_name(annotation: Any) -> str:
    """The values of a Literal, or the names of the types of a union."""
    parts = get_args(annotation)
    if get_origin(annotation) is Literal:
        return " | ".join(map(str, parts))
    if get_origin(annotation) is Annotated:
        return _type_name(parts[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return " | ".join(_type_name(part) for part in parts if part is not type(None))
    return _TYPES.get(annotation.__name__, annotation.__name__)


def _meaning(protocol: type[Protocol], name: str) -> str:
    """The docstring of a field; pydantic knows it only in the class that declares the field."""
    fields = [vars(parent).get("__pydantic_fields__", {}).get(name) for parent in protocol.__mro__]
    return " ".join(next((info.description for info in fields if info is not None and info.description), "").split())


def misfits(error: ValidationError, form: type) -> str:
    """Pydantic's errors as one message, with a "did you mean" from the fields of `form` for unknown keys."""
    return "; ".join(dict.fromkeys(_misfit(details, form) for details in error.errors(include_url=False)))


def _misfit(details: Mapping[str, Any], form: Any) -> str:
    location, raised = details["loc"], details.get("ctx", {}).get("error")
    if isinstance(raised, UsageError):
        return str(raised)
    if details["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        for part in location[:-1]:
            form = form.__pydantic_fields__[part].annotation
        problem = str(unknown_name("key", location[-1], form.__pydantic_fields__))
        return ": ".join([*map(str, location[:-1]), problem])
    if details["type"] == "tuple_type":
        described = form.__pydantic_fields__[location[0]].description if len(location) == 1 else ""
        details = {**details, "msg": list_form(described or "")}
    value = "" if details["type"] in ("missing", "missing_argument") else f"; found {brief(details['input'])}"
    return f"{'.'.join(map(str, location))}: {details['msg'] if raised is None else raised}{value}"
