"""Turns pydantic's validation errors about files and protocols into plain messages."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from eyechart.datasets_scripts.common.errors import UsageError, unknown_name
from eyechart.evaluators.requests.values import brief

_EXTRA = ("extra_forbidden", "unexpected_keyword_argument")
_MISSING = ("missing", "missing_argument")
_MAPPINGS = ("dict_type", "model_type", "dataclass_type", "model_attributes_type")
_EXPECTED = {
    "string_type": "a string",
    "string_too_short": "a non-empty string",
    "int_": "a whole number",
    "float_": "a number",
    "bool_": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "too_short": "a non-empty list",
    "callable_type": "a function",
    "literal_error": "{expected}",
}
"""By the first characters of pydantic's error type."""
_BOUNDS = {"greater_than_equal": "at least {ge}", "greater_than": "more than {gt}", "less_than_equal": "at most {le}"}


def misfits(error: ValidationError, form: type, contents: Any) -> list[str]:
    """One message per problem: where it is, what was expected and what was found.

    Args:
        error: Pydantic's error.
        form: The model or dataclass that was validated.
        contents: The values that were given for it.
    """
    problems = error.errors(include_url=False)
    found: dict[tuple[Any, ...], list[str]] = {}
    texts = []
    for item in problems:
        place, _ = _place(item["loc"], contents)
        own = item.get("ctx", {}).get("error")
        if isinstance(own, UsageError):
            texts.append(str(own))
        elif item["type"] in _EXTRA:
            lead = f"{_named(place[:-1])}: " if place[:-1] else ""
            texts.append(f"{lead}{unknown_name('key', place[-1], _keys(form, place[:-1]))}")
        elif item["type"] in _MISSING:
            texts.append(f"{_named((*place, item['loc'][len(place)]))} is missing")
        else:
            problem = _problem(item, item["loc"][len(place) :], _keys(form, place))
            found.setdefault(place, []).append(problem)
    for place, expected in found.items():
        _, value = _place(place, contents)
        first, *others = dict.fromkeys(expected)
        wanted = " or ".join([first, *(other.removeprefix("expected ") for other in others)])
        texts.append(f"{_named(place) or 'the file'}: {wanted}; found {brief(value)}")
    return texts


def bound_of(item: Any) -> str:
    """The bound that one of pydantic's problems is about; "" if it is not about a bound."""
    return _BOUNDS.get(item["type"], "").format(**item.get("ctx", {}))


def arguments_of(error: ValidationError) -> dict[Any, Any]:
    """The arguments that failed validation, read from the error because the call itself is not known."""
    items = error.errors(include_url=False)
    return {item["loc"][0]: item["input"] for item in items if item["loc"] and item["type"] not in _MISSING}


def _place(location: Sequence[Any], contents: Any) -> tuple[tuple[Any, ...], Any]:
    """The part of pydantic's location that exists in the contents (no names of union types), and the value there."""
    for depth, part in enumerate(location):
        try:
            contents = contents[part]
        except (KeyError, IndexError, TypeError):
            return tuple(location[:depth]), contents
    return tuple(location), contents


def _named(place: Sequence[Any]) -> str:
    return ", ".join(f"entry {part + 1}" if isinstance(part, int) else str(part) for part in place)


def _keys(form: Any, place: Sequence[Any]) -> list[str]:
    """The keys that a form has at a place; none if that place is not a mapping with fixed keys."""
    fields: Mapping[str, Any] = getattr(form, "__pydantic_fields__", {})
    for part in place:
        if not isinstance(part, int):
            annotation = fields[part].annotation if part in fields else None
            held = [one for one in (annotation, *get_args(annotation)) if isinstance(one, type)]
            form = next((one for one in held if issubclass(one, BaseModel)), None)
            fields = getattr(form, "__pydantic_fields__", {})
    return list(fields)


def _problem(item: Any, rest: Sequence[Any], keys: Sequence[str]) -> str:
    own = item.get("ctx", {}).get("error")
    if own is not None:
        return str(own)
    if item["type"] in _MAPPINGS:
        return f"expected a mapping with the keys {', '.join(keys)}" if keys else "expected a mapping"
    if rest and str(rest[0]).startswith("list"):
        return "expected a list of strings"
    text = bound_of(item) or next((text for name, text in _EXPECTED.items() if item["type"].startswith(name)), None)
    return f"expected {text.format(**item.get('ctx', {}))}" if text else item["msg"]
