"""Encoded images inside annotation files, as small objects, so that lists of rows stay small."""

import base64
import binascii
import csv
import io
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

SHORT_CELL = 64
"""A cell of at most this many characters is not a base64 image; in MMBench it is the index of another row."""


class ImageCell(ABC):
    """An image that is read when the dataset is written, not when the annotations are read."""

    problem: str = ""
    """Why the image cannot be read; "" if it can."""

    @abstractmethod
    def load(self) -> bytes:
        """The encoded image."""


@dataclass(frozen=True)
class Base64Cell(ImageCell):
    """A base64 image in a table of separated values: the bytes `begin` to `end` of the file are its row."""

    path: str
    begin: int
    end: int
    column: int
    delimiter: str
    problem: str = ""

    def load(self) -> bytes:
        """Read the row and decode the cell."""
        with open(self.path, "rb") as file:
            file.seek(self.begin)
            text = file.read(self.end - self.begin).decode(errors="surrogateescape")
        fields = next(row for row in csv.reader(io.StringIO(text, newline=""), delimiter=self.delimiter) if row)
        return decode_base64(fields[self.column])


def load_image(image: Any) -> Any:
    """Return a value that `datasets.Image` accepts: the bytes of a cell, else the path or value unchanged.

    A cell's path is dropped: `datasets` prefers a file of that name, wherever it is, to the cell's own bytes.
    """
    return {"bytes": image.load(), "path": None} if isinstance(image, ImageCell) else image


def is_base64(cell: str) -> bool:
    """Whether a cell is an image, not a short text or a path: paths contain a full stop, base64 does not.

    Examples:
        >>> is_base64("12"), is_base64("photos/" * 20 + "1.jpg"), is_base64("iVBORw0KGgo=" * 20)
        (False, False, True)
    """
    return len(cell) > (4096 if "." in cell else SHORT_CELL)


def decode_base64(cell: str) -> bytes:
    """Decode a cell or a data URL, which may contain blanks and line breaks; `ValueError` if it is not base64."""
    try:
        data = re.sub(rb"^data:[^,]*;base64,", b"", cell.encode("ascii"))
        return base64.b64decode(data.translate(None, b" \t\r\n"), validate=True)
    except (UnicodeEncodeError, binascii.Error) as error:
        raise ValueError(f"the image is not base64: {error}") from error


def base64_problem(cell: str) -> str:
    """Why a cell cannot be decoded; "" if it can."""
    try:
        decode_base64(cell)
    except ValueError as error:
        return str(error)
    return ""
