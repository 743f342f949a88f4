"""What does not fit the form of a file or a protocol, in plain words instead of pydantic's."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from eyechart.datasets_scripts.common.errors import UsageError, unknown_name
from eyechart.evaluators.requests.values import brief

_EXTRA = ("extra_forbidden", "unexpected_keyword_argument")
_MISSING = ("missing", "missing_argument")
_MAPPINGS = ("dict_type", "model_type", "dataclass_type", "model_attributes_type")
_EXPECTED = {
    "string_type": "a text",
    "string_too_short": "a text that is not empty",
    "int_": "a whole number",
    "float_": "a number",
    "bool_": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "too_short": "a list that is not empty",
    "callable_type": "a function",
    "literal_error": "{expected}",
}
"""By how pydantic's names of problems begin."""
_BOUNDS = {"greater_than_equal": "at least {ge}", "greater_than": "more than {gt}", "less_than_equal": "at most {le}"}


def misfits(error: ValidationError, form: type, contents: Any) -> list[str]:
    """Each thing that is wrong: where, what is expected there, and what was found.

    Args:
        error: What pydantic found.
        form: The model or dataclass that was to be filled.
        contents: What it was to be filled with.
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
    """Which bound one of pydantic's problems is about; "" where it is about something else."""
    return _BOUNDS.get(item["type"], "").format(**item.get("ctx", {}))


def arguments_of(error: ValidationError) -> dict[Any, Any]:
    """The arguments that do not fit, where the call that gave them is not known."""
    items = error.errors(include_url=False)
    return {item["loc"][0]: item["input"] for item in items if item["loc"] and item["type"] not in _MISSING}


def _place(location: Sequence[Any], contents: Any) -> tuple[tuple[Any, ...], Any]:
    """The part of a location that is in the contents, as pydantic also names the types of a union; what is there."""
    for depth, part in enumerate(location):
        try:
            contents = contents[part]
        except (KeyError, IndexError, TypeError):
            return tuple(location[:depth]), contents
    return tuple(location), contents


def _named(place: Sequence[Any]) -> str:
    return ", ".join(f"entry {part + 1}" if isinstance(part, int) else str(part) for part in place)


def _keys(form: Any, place: Sequence[Any]) -> list[str]:
    """The keys that a form has at a place; none where it is no mapping with fixed keys."""
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
        return "expected a list of texts"
    text = bound_of(item) or next((text for name, text in _EXPECTED.items() if item["type"].startswith(name)), None)
    return f"expected {text.format(**item.get('ctx', {}))}" if text else item["msg"]
