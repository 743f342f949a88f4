"""Undefined values in files that any tool can read: JSON has neither nan nor infinities, so they become null."""

import math
from typing import Any


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
