"""Values of results files that others wrote, which can be anything that JSON holds."""

import math
from typing import Any
from typing import TypeGuard


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
