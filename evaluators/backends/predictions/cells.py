"""What single cells and JSON values mean."""

import math
from collections.abc import Mapping
from typing import Any

_MOST_SHOWN = 80


def text_of(value: Any) -> str:
    """The text of a cell: "" for an empty one, numbers as a sheet shows them.

    Raises:
        ValueError: It is a date, a list or the like, or no Unicode text.

    Examples:
        >>> text_of(float("nan")), text_of(3.0), text_of(True), text_of(" A ")
        ('', '3', 'True', ' A ')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, str):
        if not is_unicode(value):
            raise ValueError(f"expected text, found half of a character in {shortened(value)}")
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, bool | int | float):
        return str(value)
    if hasattr(value, "isoformat"):
        raise ValueError(
            f"expected text, found the date or time {value.isoformat()}, into which a spreadsheet program turned it; "
            "store the column as text"
        )
    raise ValueError(f"expected text, found {shortened(value)}")


def whole_number_of(row: Mapping[str, Any], name: str) -> int:
    """A field as a whole number of at least 0; text that spells one counts.

    Raises:
        ValueError: It is none.
    """
    text = text_of(row.get(name)).strip()
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(f"'{name}' is {shortened(row.get(name))}; expected a whole number")
    return int(text)


def finite_of(value: Any) -> float | None:
    """A finite number, which may be written as text; None for anything else.

    Examples:
        >>> finite_of(" 1.5 "), finite_of("1_5"), finite_of(True), finite_of(float("nan"))
        (1.5, None, None, None)
    """
    # float() takes True for 1 and "1_0" for 10.
    if not isinstance(value, int | float | str) or isinstance(value, bool) or "_" in str(value):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def is_unicode(text: str) -> bool:
    """Whether a text can be written to a file: JSON can spell halves of characters."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def shortened(value: Any) -> str:
    """A value for a message."""
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
