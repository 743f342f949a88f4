"""Pydantic's errors about files and protocols as one message: where, what pydantic says, and what was found."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from eyechart.datasets_scripts.common.errors import UsageError, unknown_name
from eyechart.evaluators.requests.values import brief

_EXTRA = ("extra_forbidden", "unexpected_keyword_argument")
_MISSING = ("missing", "missing_argument")


def misfits(error: ValidationError, form: type) -> str:
    """What is wrong with the contents of a file or the arguments of a class.

    Args:
        error: Pydantic's error.
        form: The model or dataclass that was validated; unknown keys get a "did you mean" from its fields.
    """
    return "; ".join(dict.fromkeys(_misfit(item, form) for item in error.errors(include_url=False)))


def _misfit(item: Mapping[str, Any], form: type) -> str:
    location, raised = item["loc"], item.get("ctx", {}).get("error")
    if isinstance(raised, UsageError):
        return str(raised)
    if item["type"] in _EXTRA:
        *parents, key = location
        return "".join(f"{parent}: " for parent in parents) + str(unknown_name("key", key, _keys(form, parents)))
    message = item["msg"] if raised is None else str(raised)
    value = "" if item["type"] in _MISSING else f"; found {brief(item['input'])}"
    return f"{'.'.join(map(str, location))}: {message}{value}"


def _keys(form: Any, location: Sequence[Any]) -> list[str]:
    for part in location:
        form = form.__pydantic_fields__[part].annotation
    return list(form.__pydantic_fields__)
