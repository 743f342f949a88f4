"""Reading files with private answers: errors name files and rows, never what a row holds, nor an earlier error."""

import json
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError, MissingFileError


def json_rows(path: Path) -> list[tuple[int, Any]]:
    """The rows of a JSON list or of JSON Lines, with their numbers.

    Raises:
        DataError: It cannot be read as such.
    """
    if path.suffix == ".jsonl":
        # A text in a line may hold what `splitlines` takes for the end of one, as U+2028.
        lines = content_of(path).decode().split("\n")
        return [(number, _parsed(line, path)) for number, line in enumerate(lines, 1) if line.strip()]
    return list(enumerate(json_of(path), 1))


def json_of(path: Path) -> Any:
    """The value that a JSON file holds.

    Raises:
        DataError: It holds none.
    """
    return _parsed(content_of(path).decode(), path)


def _parsed(text: str, path: Path) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        # The error holds the text; it is left behind here.
        pass
    raise DataError("cannot be read as JSON", path=path)


def content_of(path: Path) -> bytes:
    """The bytes of a file.

    Raises:
        MissingFileError: It cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise MissingFileError(f"cannot be read: {error.strerror}", path=path) from None
