"""Reading a table of tab-separated values with images as base64, hundreds of megabytes of them, row by row.

The `csv` module refuses fields of more than 131,072 characters unless a process-wide limit is changed, and does not
report a field's position in the file. So the fields are split here, by its rules: a field that begins with a quotation
mark ends at the next single quotation mark, may contain tabs and line breaks, and doubles each quotation mark inside.
"""

import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError
from eyechart.datasets_scripts.common.files.base64_images import Base64Cell, base64_problem, is_base64
from eyechart.datasets_scripts.common.files.readers import ROW_ERROR, Row, check_header, clean_text, wrong_length
from eyechart.datasets_scripts.common.paths import open_regular

_Field = tuple[int, bytes]
"""Where a field begins in the file, in bytes, and its content."""
_BOM = b"\xef\xbb\xbf"


def read_tsv_header(path: str, delimiter: bytes = b"\t") -> list[str]:
    """Return the column names of a separated table.

    Raises:
        MissingFileError: The file is missing.
        BadAnnotationError: No header, or not UTF-8.
    """
    with _opened(path) as file:
        return _header(path, next(_records(file, path, delimiter), (1, []))[1], ())


def read_tsv_rows(
    path: str, required: Sequence[str], image_columns: Collection[str] = ("image",), *, images: bool = True
) -> list[Row]:
    """As `iterate_tsv_rows`, all rows of a tab-separated table at once."""
    return list(iterate_tsv_rows(path, required, image_columns, images=images))


def iterate_tsv_rows(
    path: str, required: Sequence[str], image_columns: Collection[str], *, images: bool = True, delimiter: bytes = b"\t"
) -> Iterator[Row]:
    """Read a separated table with a header; a row's number is that of its last line (the header is line 1).

    Texts are returned unchanged. In the image columns, a base64 cell is returned as a `Base64Cell`, so that no image is
    kept in memory. A row with a wrong number of fields or invalid UTF-8 becomes a `ROW_ERROR`.

    Args:
        path: The file.
        required: Columns that the file must have, in addition to the image columns; others are kept.
        image_columns: Columns of base64 images, of indices of other rows or of paths.
        images: Whether to read the image columns; if False, they may be missing.
        delimiter: The byte between two fields.

    Raises:
        MissingFileError: The file is missing.
        BadAnnotationError: No header, a required column is missing, or a quoted field is not closed.
    """
    with _opened(path) as file:
        records = _records(file, path, delimiter)
        header = _header(path, next(records, (1, []))[1], [*required, *(image_columns if images else [])])
        for number, fields in records:
            yield number, _row(path, header, fields, image_columns, images)


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    try:
        # The file is read in parts, so its size does not matter.
        with open_regular(path, sys.maxsize) as file:
            yield file
    except FileNotFoundError as error:
        raise MissingFileError("the annotation file is missing", path=path) from error
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
        return {ROW_ERROR: wrong_length(len(fields), len(header))}
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
    """Split a file into records with the number of their last line; skip blank lines between them."""
    if file.read(len(_BOM)) != _BOM:
        file.seek(0)
    offset = file.tell()
    fields: list[_Field] = []
    # The open quoted field: where it began, and its text so far.
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
                reason = "text after a closing quotation mark; expected a tab or the end of the line"
                raise BadAnnotationError(reason, path=path, row=number)
            position += 1
        offset += len(line)
    if quoted:
        reason = "the file ends inside a quoted field; it may be incomplete: download it again"
        raise BadAnnotationError(reason, path=path, row=number)


def _closing_mark(line: bytes, position: int) -> int:
    """Return the position of the next quotation mark that is not doubled, or the line's length."""
    while True:
        place = line.find(b'"', position)
        if place < 0:
            return len(line)
        if not line.startswith(b'"', place + 1):
            return place
        position = place + 2
