"""Checks of single values of a row: the documented columns of a user's own data may contain anything."""

import math
from collections.abc import Sequence
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.requests.types import IMAGE, Request, Row
from eyechart.evaluators.requests.values import brief


def check_texts(row: Row, *columns: str, private: bool = False) -> None:
    """Refuse a value that is not a string.

    Args:
        row: The row.
        columns: Names of columns; a missing column counts as None.
        private: Whether None is allowed, which means that the answer is private.

    Raises:
        DataError: The value in one of the columns is not a string.
    """
    for name in columns:
        if not isinstance(row.get(name), str) and not (private and row.get(name) is None):
            raise _unexpected(row, name, "a string ('' if private)" if private else "a string")


def check_text_list(row: Row, column: str) -> None:
    """Refuse a value that is not a list of strings.

    Raises:
        DataError: The value is not a list of strings.
    """
    if not _is_list(row[column]) or not all(isinstance(text, str) for text in row[column]):
        raise _unexpected(row, column, "a list of strings")


def check_number(row: Row, column: str, *, private: bool = False) -> None:
    """Refuse a value that is not a finite number.

    Args:
        row: The row.
        column: Name of a column of the row.
        private: Whether None is allowed, which means that the number is private.

    Raises:
        DataError: The value is not a finite number.
    """
    value = row[column]
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number and not (private and value is None):
        raise _unexpected(row, column, "a finite number (None if private)" if private else "a finite number")


def check_image_list(row: Row) -> None:
    """Refuse a row whose `images` is not a list, or is an empty one.

    Raises:
        DataError: `images` is not a list or is empty.
    """
    images = row.get("images", [None])
    if not _is_list(images) or not images:
        raise _unexpected(row, "images", "a list of at least one image")


def check_images(requests: Sequence[Request]) -> None:
    """Refuse a request whose number of images differs from the image places in its prompt.

    Raises:
        DataError: A request has more or fewer images than its prompt shows.
    """
    for request in requests:
        places = request.prompt.count(IMAGE)
        if len(request.images) != places:
            count = len(request.images)
            raise DataError(f"{count} image{'' if count == 1 else 's'} found; expected {places}, as in the prompt")


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _unexpected(row: Row, column: str, expected: str) -> DataError:
    return DataError(f"column '{column}' is {brief(row.get(column))}; expected {expected}")
