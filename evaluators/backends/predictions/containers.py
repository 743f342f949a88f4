"""Reads rows from files: JSON Lines, JSON, XLSX, tab- and comma-separated tables."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError
from eyechart.datasets_scripts.common.files.readers import (
    Row,
    read_csv_rows,
    read_json_object,
    read_json_rows,
    read_jsonl_rows,
)
from eyechart.datasets_scripts.common.files.spreadsheets import read_xlsx_rows
from eyechart.datasets_scripts.common.files.tsv import read_tsv_rows

XLSX = ".xlsx"
CELL_LIMIT = 32_767
"""Maximum number of characters of an XLSX cell; tools truncate longer replies or leave them out."""


def read_rows(path: Path) -> list[Row]:
    """Read the rows of a file, depending on its suffix, each with its number in the file.

    Raises:
        MissingFileError: The file does not exist.
        BadAnnotationError: The path is a folder, or the file has another suffix, cannot be read, or has no rows.
    """
    if path.is_dir():
        raise BadAnnotationError(f"this is a folder; expected a predictions file ({', '.join(_READERS)})", path=path)
    if not path.exists():
        raise MissingFileError("the predictions file does not exist", path=path)
    if path.suffix.lower() not in _READERS:
        reason = f"unknown suffix {path.suffix!r}; expected {', '.join(_READERS)}; see `eyechart score --help`"
        raise BadAnnotationError(reason, path=path)
    rows = _READERS[path.suffix.lower()](str(path))
    if not rows:
        raise BadAnnotationError("the predictions file is empty", path=path)
    return rows


def _read_json(path: str) -> list[Row]:
    rows = read_json_rows(path)
    values = list(rows[0][1].values()) if len(rows) == 1 else []
    if values and all(isinstance(value, dict) and any(key.endswith("_response") for key in value) for value in values):
        # AesBench's answer file: one object with an entry for each image name.
        entries = read_json_object(path).items()
        return [(number, {"image": name, **entry}) for number, (name, entry) in enumerate(entries, 1)]
    return rows


def _read_xlsx(path: str) -> list[Row]:
    from openpyxl.utils.escape import unescape

    def plain(value: Any) -> Any:
        # XLSX writes control characters as _x000D_; openpyxl returns an array formula as an object.
        value = getattr(value, "text", value)
        return unescape(value) if isinstance(value, str) else value

    # A reply that begins with "=" may have become a formula, whose value is not the reply.
    rows = read_xlsx_rows(path, (), formulas=True)
    return [(number, {name: plain(value) for name, value in row.items()}) for number, row in rows]


_READERS: Mapping[str, Callable[[str], list[Row]]] = {
    ".jsonl": read_jsonl_rows,
    ".json": _read_json,
    XLSX: _read_xlsx,
    ".tsv": lambda path: read_tsv_rows(path, (), images=False),
    ".csv": lambda path: read_csv_rows(path, ()),
}
