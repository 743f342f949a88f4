"""Checks of single values of a row: the documented columns of a user's own data may contain anything.

Each raises `DataError`, which names the column, its value and what was expected.
"""

import math
from collections.abc import Sequence

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.requests.types import IMAGE, Request, Row
from eyechart.evaluators.requests.values import brief


def check_texts(row: Row, *columns: str, private: bool = False) -> None:
    """Refuse a value that is not a string; `private` allows None, which means that the answer is private."""
    for column in columns:
        is_text = isinstance(row.get(column), str) or (private and row.get(column) is None)
        _check(is_text, row, column, "a string ('' if private)" if private else "a string")


def check_text_list(row: Row, column: str) -> None:
    """Refuse a value that is not a list of strings."""
    texts = row[column]
    is_list = isinstance(texts, list | tuple) and all(isinstance(text, str) for text in texts)
    _check(is_list, row, column, "a list of strings")


def check_number(row: Row, column: str, *, private: bool = False) -> None:
    """Refuse a value that is not a finite number; `private` allows None, which means that the number is private."""
    value = row[column]
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    allowed = is_number or (private and value is None)
    _check(allowed, row, column, f"a finite number{' (None if private)' if private else ''}")


def check_image_list(row: Row) -> None:
    """Refuse a row whose `images` is not a list, or is an empty one."""
    images = row.get("images", [None])
    _check(isinstance(images, list | tuple) and bool(images), row, "images", "a list of at least one image")


def check_images(requests: Sequence[Request]) -> None:
    """Refuse a request whose number of images differs from the image places in its prompt."""
    for request in requests:
        places, count = request.prompt.count(IMAGE), len(request.images)
        if count != places:
            raise DataError(f"{count} image{'' if count == 1 else 's'} found; expected {places}, as in the prompt")


def _check(allowed: bool, row: Row, column: str, expected: str) -> None:
    if not allowed:
        raise DataError(f"column '{column}' is {brief(row.get(column))}; expected {expected}")
