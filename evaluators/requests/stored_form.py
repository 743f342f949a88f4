"""The forms of stored values. Checked on writing and reading, because a store may be edited and a disk may fail."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from eyechart.evaluators.requests.values import brief, decode

Form = Mapping[str, Callable[[Any], bool]]
"""The fields that a value may have, each with a check of its type."""


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_number(value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    # An integer with hundreds of digits.
    except OverflowError:
        return False


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _is_loss(value: object) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) == 2
        and _is_number(value[0])
        and _is_count(value[1])
        and value[1] > 0
    )


def _list_of(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list | tuple) and all(map(check, value))


def _dict_of(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, Mapping) and all(map(check, value.values()))


ANSWER: Form = {
    **dict.fromkeys(("text", "reasoning", "finish_reason", "rendered_prompt"), _is_text),
    **dict.fromkeys(("upper_bound_words", "options"), _list_of(_is_text)),
    "logits": _dict_of(_is_number),
    "losses": _list_of(_is_loss),
    "score": _is_number,
    "image_scores": _list_of(_is_number),
    "usage": _dict_of(_is_count),
    "images_downscaled": _is_count,
    "response_metadata": _dict_of(_is_text),
}
"""A model's answer: fields of `Response`."""
REPLY: Form = {
    "text": lambda value: value is None or _is_text(value),
    **dict.fromkeys(("reasoning", "finish_reason", "served", "dropped_parameters"), _is_text),
    "usage": _dict_of(_is_count),
}
"""A judge's reply: fields of `Reply`."""


def read_value(stored: object, form: Form) -> dict[str, Any]:
    """The value in a row of the store.

    Args:
        stored: Its value: JSON as bytes, or as text if the database was edited by hand.
        form: `ANSWER` or `REPLY`.

    Raises:
        ValueError: It is not JSON or does not have this form; the message says why.
    """
    if not isinstance(stored, bytes | str):
        raise ValueError(f"an answer is {brief(stored)}; expected JSON")
    try:
        value = decode(stored.encode("utf-8", "surrogatepass") if isinstance(stored, str) else stored)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"an answer is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(f"an answer is {brief(value)}; expected a JSON object")
    if (reason := misfit(value, form)) is not None:
        raise ValueError(reason)
    return value


def misfit(value: Mapping[str, Any], form: Form) -> str | None:
    """Which field of a value does not have the form; None if all have it."""
    for name, item in value.items():
        if name not in form or not form[name](item):
            return f"an answer has the invalid field {brief(name)}: {brief(item)}"
    return None


def why_unreadable(key: object, model: object, stored_at: object, value: object) -> str | None:
    """Why a row of the store cannot be read; None if it can."""
    if not (isinstance(key, bytes) and isinstance(model, str) and is_time(stored_at)):
        return f"a row has an invalid key {brief(key)}, model {brief(model)} or time {brief(stored_at)}"
    try:
        read_value(value, {**ANSWER, **REPLY})
    except ValueError as error:
        return str(error)
    return None


def is_time(value: object) -> bool:
    """Whether a value is a valid storage time: seconds since 1970, within the range of Python's dates."""
    return isinstance(value, float) and 0 <= value < 2.5e11
