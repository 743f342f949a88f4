"""Reading a table of tab-separated values that holds images as base64, hundreds of megabytes of them, row by row.

The `csv` module refuses fields of more than 131,072 characters unless a limit of the whole process is changed, and
cannot say where in the file a field was. So the fields are split here, by its rules: a field that begins with a
quotation mark ends at the next single one, holds tabs and line breaks, and writes a quotation mark as two.
"""

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError
from eyechart.datasets_scripts.common.files.base64_images import SHORT_CELL, Base64Cell, base64_problem
from eyechart.datasets_scripts.common.files.readers import ROW_ERROR, Row, check_header, clean_text

_Field = tuple[int, bytes]
"""Where a field begins in the file, in bytes, and what it holds."""
_BOM = b"\xef\xbb\xbf"


def read_tsv_rows(path: str, required: Sequence[str], image_column: str, *, images: bool = True) -> list[Row]:
    """Read a tab-separated table with a header; rows carry the number of their last line (the header is line 1).

    Texts are given as they are. In the image column, a cell that is too short for an image is given as text, any other
    one as a `Base64Cell`: no image is kept. A row with another number of fields than the header, or that is not UTF-8,
    becomes a `ROW_ERROR`.

    Args:
        path: The file.
        required: Columns that must be there besides the image column; others are kept.
        image_column: Column of base64 images.
        images: Whether to read the image column; without, it may be missing.

    Raises:
        MissingFileError: The file is not there.
        BadAnnotationError: No header, a required column is missing, or a quotation does not end well.
    """
    try:
        with open(path, "rb") as file:
            records = _records(file, path)
            header = _header(path, next(records, (1, []))[1], [*required, *([image_column] if images else [])])
            unread = None if images else image_column
            return [(number, _row(path, header, fields, image_column, unread)) for number, fields in records]
    except FileNotFoundError as error:
        raise MissingFileError("the annotation file is not there", path=path) from error
    except OSError as error:
        raise BadAnnotationError(f"cannot be read: {error.strerror or error}", path=path) from error


def _header(path: str, fields: list[_Field], required: Sequence[str]) -> list[str]:
    try:
        header = [clean_text(value.decode()) for _, value in fields]
    except UnicodeDecodeError as error:
        raise BadAnnotationError(f"not UTF-8 text: {error}", path=path, row=1) from error
    check_header(path, header, required)
    return header


def _row(path: str, header: list[str], fields: list[_Field], image_column: str, unread: str | None) -> dict[str, Any]:
    if len(fields) != len(header):
        return {ROW_ERROR: f"{len(fields)} field(s) where the header has {len(header)}"}
    row: dict[str, Any] = {}
    for column, (offset, value) in zip(header, fields, strict=True):
        if column == unread:
            continue
        if column == image_column and len(value) > SHORT_CELL:
            row[column] = Base64Cell(path, offset, len(value), base64_problem(value))
            continue
        try:
            row[column] = value.decode()
        except UnicodeDecodeError as error:
            return {ROW_ERROR: f"field {column!r} is not UTF-8 text: {error}"}
    return row


def _records(file: BinaryIO, path: str) -> Iterator[tuple[int, list[_Field]]]:
    """Split a file into records with the number of their last line; blank lines between them are left out."""
    if file.read(len(_BOM)) != _BOM:
        file.seek(0)
    offset = file.tell()
    fields: list[_Field] = []
    # A quotation that is open: where it began, and its text so far.
    begin, parts = 0, list[bytes]()
    quoted = False
    number = 0
    for number, line in enumerate(file, 1):
        end = len(line.rstrip(b"\r\n"))
        position = 0
        while quoted or fields or end:
            if not quoted and line.startswith(b'"', position):
                quoted, begin, parts = True, offset + position + 1, []
                position += 1
            if quoted:
                close = _closing_mark(line, position)
                parts.append(line[position:close])
                if close == len(line):
                    break
                quoted, position = False, close + 1
                fields.append((begin, b"".join(parts).replace(b'""', b'"')))
            else:
                tab = line.find(b"\t", position, end)
                close = end if tab < 0 else tab
                fields.append((offset + position, line[position:close]))
                position = close
            if position >= end:
                yield number, fields
                fields = []
                break
            if not line.startswith(b"\t", position):
                raise BadAnnotationError("text follows a closing quotation mark", path=path, row=number)
            position += 1
        offset += len(line)
    if quoted:
        raise BadAnnotationError("the file ends inside a quotation", path=path, row=number)


def _closing_mark(line: bytes, position: int) -> int:
    """Return where the next quotation mark that is not doubled stands, or the line's length."""
    while True:
        place = line.find(b'"', position)
        if place < 0:
            return len(line)
        if not line.startswith(b'"', place + 1):
            return place
        position = place + 2
