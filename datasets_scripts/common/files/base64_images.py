"""Images that annotation files hold as base64 text, as MMBench's tables do."""

import base64
import binascii
from dataclasses import dataclass
from typing import Any

SHORT_CELL = 64
"""A cell of at most this many characters is no image; MMBench writes the index of another row there."""


@dataclass(frozen=True)
class Base64Cell:
    """Where a base64 image is in a text file; small, so that lists of rows stay small."""

    path: str
    """The text file."""
    offset: int
    """Where the cell begins, in bytes."""
    length: int
    """Length of the cell in bytes."""
    problem: str = ""
    """Why the cell cannot be decoded; empty if it can."""

    def load(self) -> dict[str, Any]:
        """Return the `{"bytes", "path"}` value of the image."""
        with open(self.path, "rb") as file:
            file.seek(self.offset)
            return {"bytes": decode_base64(file.read(self.length)), "path": None}


def decode_base64(cell: bytes | str) -> bytes:
    """Decode a cell; blanks and line breaks inside it are allowed, anything else is not.

    Raises:
        ValueError: Not base64.
    """
    try:
        data = cell.encode("ascii") if isinstance(cell, str) else cell
        return base64.b64decode(data.translate(None, b" \t\r\n"), validate=True)
    except (UnicodeEncodeError, binascii.Error) as error:
        raise ValueError(f"the image is not base64: {error}") from error


def base64_problem(cell: bytes | str) -> str:
    """Say why a cell cannot be decoded; "" if it can.

    Examples:
        >>> base64_problem("iVBORw0KGgo=")
        ''
        >>> base64_problem("iVBORw0KGgo")
        'the image is not base64: Incorrect padding'
    """
    try:
        decode_base64(cell)
    except ValueError as error:
        return str(error)
    return ""
