"""Parses single cells and JSON values."""

import math
from collections.abc import Mapping
from typing import Any

from eyechart.evaluators.requests.values import brief, is_unicode


def text_of(value: Any) -> str:
    """The text of a cell: "" for an empty one, numbers as a spreadsheet shows them.

    Raises:
        ValueError: The value is a date, a list or similar, or not valid Unicode.

    Examples:
        >>> text_of(float("nan")), text_of(3.0), text_of(True), text_of(" A ")
        ('', '3', 'True', ' A ')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, str):
        if not is_unicode(value):
            raise ValueError(f"expected text, found invalid Unicode in {brief(value)}")
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, bool | int | float):
        return str(value)
    if hasattr(value, "isoformat"):
        raise ValueError(
            f"expected text, found the date or time {value.isoformat()}; a spreadsheet program probably converted the "
            "reply, so store the column as text"
        )
    raise ValueError(f"expected text, found {brief(value)}")


def name_of(row: Mapping[str, Any], column: str) -> str:
    """A field with a name.

    Raises:
        ValueError: The field is empty.
    """
    name = text_of(row[column]).strip()
    if not name:
        raise ValueError(f"'{column}' is empty")
    return name


def whole_number_of(row: Mapping[str, Any], column: str) -> int:
    """A field as a whole number of at least 0, which may be written as text.

    Raises:
        ValueError: The value is not a whole number of at least 0.
    """
    text = text_of(row.get(column)).strip()
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(f"'{column}' is {brief(row.get(column))}; expected a whole number")
    return int(text)


def number_of(value: Any, what: str) -> float:
    """A finite number, which may be written as text.

    Raises:
        ValueError: The value is not a finite number; the message begins with `what`.

    Examples:
        >>> number_of(" 1.5 ", "'score'")
        1.5
    """
    # Not left to float(), which reads True as 1 and "1_0" as 10.
    if isinstance(value, int | float | str) and not isinstance(value, bool) and "_" not in str(value):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            number = math.nan
        if math.isfinite(number):
            return number
    raise ValueError(f"{what} is {brief(value)}; expected a finite number")
