"""Checks of single values of a row, as data of one's own may hold anything in the documented columns."""

import math
from collections.abc import Sequence
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.requests.types import IMAGE, Request, Row
from eyechart.evaluators.requests.values import brief


def check_texts(row: Row, *columns: str, private: bool = False) -> None:
    """Refuse what is no text.

    Args:
        row: The row.
        columns: Names of columns; one that it lacks holds nothing.
        private: Whether these may hold nothing, which then means that the answer is private.

    Raises:
        DataError: One of the columns holds something else.
    """
    for name in columns:
        if not isinstance(row.get(name), str) and not (private and row.get(name) is None):
            raise _unexpected(row, name, "a text, or '' if it is private" if private else "a text")


def check_text_list(row: Row, column: str) -> None:
    """Refuse what is no list of texts.

    Raises:
        DataError: The column holds something else.
    """
    if not _is_list(row[column]) or not all(isinstance(text, str) for text in row[column]):
        raise DataError(f"its {column} are {brief(row[column])}; expected a list of texts")


def check_number(row: Row, column: str, *, private: bool = False) -> None:
    """Refuse what is no finite number.

    Args:
        row: The row.
        column: Name of a column that it has.
        private: Whether it may hold nothing, which then means that the number is private.

    Raises:
        DataError: The column holds something else.
    """
    value = row[column]
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number and not (private and value is None):
        raise _unexpected(row, column, "a finite number, or none if it is private" if private else "a finite number")


def check_image_list(row: Row) -> None:
    """Refuse a row whose column of images holds no list, or an empty one.

    Raises:
        DataError: It does.
    """
    images = row.get("images", [None])
    if not _is_list(images) or not images:
        raise DataError(f"its images are {brief(images)}; expected a list of at least one image")


def check_images(requests: Sequence[Request]) -> None:
    """Refuse another number of images than a prompt shows.

    Raises:
        DataError: A request has more or fewer images than its prompt has places.
    """
    for request in requests:
        places = request.prompt.count(IMAGE)
        if len(request.images) != places:
            raise DataError(f"its number of images is {len(request.images)}; expected {places}, as its prompt shows")


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _unexpected(row: Row, column: str, expected: str) -> DataError:
    return DataError(f"its {column} is {brief(row.get(column))}; expected {expected}")
