"""Images as base64 text inside annotation files, as in MMBench's tables."""

import base64
import binascii
import re
from dataclasses import dataclass

from eyechart.datasets_scripts.common.files.image_cells import ImageCell

SHORT_CELL = 64
"""A cell of at most this many characters is not an image; in MMBench it is the index of another row."""
_LONGEST_PATH = 4096


@dataclass(frozen=True)
class Base64Cell(ImageCell):
    """The location of a base64 image in a text file."""

    path: str
    """The text file."""
    offset: int
    """Where the cell begins, in bytes."""
    length: int
    """Length of the cell in bytes."""
    problem: str = ""
    """Why the cell cannot be decoded; "" if it can."""

    def load(self) -> bytes:
        """Read and decode the cell."""
        with open(self.path, "rb") as file:
            file.seek(self.offset)
            return decode_base64(file.read(self.length))


def is_base64(cell: bytes | str) -> bool:
    """Whether a cell is an image, not a short text or a path: paths contain a full stop, base64 does not.

    Examples:
        >>> is_base64("12"), is_base64("photos/" * 20 + "1.jpg"), is_base64("iVBORw0KGgo=" * 20)
        (False, False, True)
    """
    stop = "." if isinstance(cell, str) else b"."
    return len(cell) > (_LONGEST_PATH if stop in cell else SHORT_CELL)  # type: ignore[operator]


def decode_base64(cell: bytes | str) -> bytes:
    """Decode a cell or a data URL, which may contain blanks and line breaks.

    Raises:
        ValueError: Not base64.
    """
    try:
        data = cell.encode("ascii") if isinstance(cell, str) else cell
        data = re.sub(rb"^data:[^,]*;base64,", b"", data)
        return base64.b64decode(data.translate(None, b" \t\r\n"), validate=True)
    except (UnicodeEncodeError, binascii.Error) as error:
        raise ValueError(f"the image is not base64: {error}") from error


def base64_problem(cell: bytes | str) -> str:
    """Return why a cell cannot be decoded; "" if it can.

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
