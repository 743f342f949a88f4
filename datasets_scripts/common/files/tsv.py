"""Reading a table of tab-separated values that holds images as base64, hundreds of megabytes of them, row by row.

The `csv` module refuses fields of more than 131,072 characters unless a limit of the whole process is changed, and
cannot say where in the file a field was. So the fields are split here, by its rules: a field that begins with a
quotation mark ends at the next single one, holds tabs and line breaks, and writes a quotation mark as two.
"""

import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError
from eyechart.datasets_scripts.common.files.base64_images import Base64Cell, base64_problem, is_base64
from eyechart.datasets_scripts.common.files.readers import ROW_ERROR, Row, check_header, clean_text
from eyechart.datasets_scripts.common.paths import open_regular

_Field = tuple[int, bytes]
"""Where a field begins in the file, in bytes, and what it holds."""
_BOM = b"\xef\xbb\xbf"


def read_tsv_header(path: str, delimiter: bytes = b"\t") -> list[str]:
    """Return the column names of a separated table.

    Raises:
        MissingFileError: The file is not there.
        BadAnnotationError: No header, or not UTF-8.
    """
    with _opened(path) as file:
        return _header(path, next(_records(file, path, delimiter), (1, []))[1], ())


def read_tsv_rows(
    path: str,
    required: Sequence[str],
    image_columns: Collection[str] = ("image",),
    *,
    images: bool = True,
    delimiter: bytes = b"\t",
) -> list[Row]:
    """Read a separated table with a header; rows carry the number of their last line (the header is line 1).

    Texts are given as they are. In the image columns, a cell of base64 is given as a `Base64Cell`, so that no image is
    kept. A row with another number of fields than the header, or that is not UTF-8, becomes a `ROW_ERROR`.

    Args:
        path: The file.
        required: Columns that must be there besides the image columns; others are kept.
        image_columns: Columns of base64 images, of indices of other rows or of paths.
        images: Whether to read the image columns; without, they may be missing.
        delimiter: The byte between two fields.

    Raises:
        MissingFileError: The file is not there.
        BadAnnotationError: No header, a required column is missing, or a quotation does not end well.
    """
    with _opened(path) as file:
        records = _records(file, path, delimiter)
        header = _header(path, next(records, (1, []))[1], [*required, *(image_columns if images else [])])
        return [(number, _row(path, header, fields, image_columns, images)) for number, fields in records]


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    try:
        # Of any size, as it is read in parts.
        with open_regular(path, sys.maxsize) as file:
            yield file
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


def _row(
    path: str, header: list[str], fields: list[_Field], image_columns: Collection[str], images: bool
) -> dict[str, Any]:
    if len(fields) != len(header):
        return {ROW_ERROR: f"{len(fields)} field(s) where the header has {len(header)}"}
    row: dict[str, Any] = {}
    for column, (offset, value) in zip(header, fields, strict=True):
        if column in image_columns and not images:
            continue
        if column in image_columns and is_base64(value):
            row[column] = Base64Cell(path, offset, len(value), base64_problem(value))
            continue
        try:
            row[column] = value.decode()
        except UnicodeDecodeError as error:
            return {ROW_ERROR: f"field {column!r} is not UTF-8 text: {error}"}
    return row


def _records(file: BinaryIO, path: str, delimiter: bytes) -> Iterator[tuple[int, list[_Field]]]:
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
                tab = line.find(delimiter, position, end)
                close = end if tab < 0 else tab
                fields.append((offset + position, line[position:close]))
                position = close
            if position >= end:
                yield number, fields
                fields = []
                break
            if not line.startswith(delimiter, position):
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
