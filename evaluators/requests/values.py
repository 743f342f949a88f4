"""Values in JSON files: those that others wrote can be anything, and ours have no nan and no infinities."""

import math
from typing import Any, TypeGuard


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value is a finite number; a truth value is none."""
    # A whole number can be too large for `isfinite`.
    return (isinstance(value, int) and not isinstance(value, bool)) or (
        isinstance(value, float) and math.isfinite(value)
    )


def brief(value: object) -> str:
    """A value as text of one line, without anything that a terminal would obey."""
    try:
        text = ascii(value)
    except ValueError:
        return "a number of thousands of digits"
    return text if len(text) <= 80 else f"{text[:76]}...{text[-1]}"


def without_nan(value: Any) -> Any:
    """The same structure with None for nan and infinities.

    Args:
        value: None, booleans, numbers, texts, and lists, tuples and dicts of these; tuples become lists, keys texts.

    Examples:
        >>> without_nan({"srcc": float("nan"), "interval": (0.1, float("inf"))})
        {'srcc': None, 'interval': [0.1, None]}
    """
    if isinstance(value, dict):
        return {str(key): without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
