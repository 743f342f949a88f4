"""Reading annotation files (JSON, JSON Lines, CSV, TSV): every error names the file and, if there is one, the row."""

import csv
import json
import math
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from reprlib import repr as short
from typing import Any, BinaryIO

from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError, missing_column
from eyechart.datasets_scripts.common.files.image_cells import Base64Cell, base64_problem, is_base64
from eyechart.datasets_scripts.common.paths import MAX_BYTES, open_regular

Row = tuple[int, dict[str, Any]]
"""The row's number, as a text editor or spreadsheet counts it, and its fields."""
ROW_ERROR = "_error"
"""The only field of a row that could not be read; it contains the reason."""
_BOM = b"\xef\xbb\xbf"
_UNDECODED = re.compile("[\udc80-\udcff]")
"""What "surrogateescape" makes of bytes that are not UTF-8."""
# The limit is one of the process. MMBench's tables have images of megabytes as fields.
csv.field_size_limit(2**31 - 1)


def clean_text(text: str) -> str:
    """Return `text` in Unicode NFC, without leading and trailing blanks."""
    return unicodedata.normalize("NFC", text).strip()


def read_json_rows(path: str) -> list[Row]:
    """Read a JSON file of objects, as a list or one after the other, numbered from 1.

    Items that are not objects become a `ROW_ERROR`; `DataError` for a file that is missing or neither of these.
    """
    data = _parse(path, one_after_the_other=True)
    if not isinstance(data, list):
        raise BadAnnotationError(f"expected a JSON list of objects, found {short(data)}", path=path)
    return [(number, _row(item)) for number, item in enumerate(data, 1)]


def read_json_object(path: str) -> dict[str, Any]:
    """Read a JSON file that contains one object; `DataError` for any other."""
    data = _parse(path)
    if not isinstance(data, dict):
        raise BadAnnotationError(f"expected a JSON object, found {short(data)}", path=path)
    return data


def iterate_jsonl_rows(path: str) -> Iterator[Row]:
    """Read JSON Lines, one object per line, numbered by lines; other lines become a `ROW_ERROR`."""
    with _opened(path) as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                try:
                    yield number, _row(json.loads(line.decode(), object_pairs_hook=_object))
                except json.JSONDecodeError as error:
                    yield number, {ROW_ERROR: f"not valid JSON: {error.msg} at character {error.colno}"}
                except (ValueError, RecursionError) as error:
                    yield number, {ROW_ERROR: f"not valid JSON: {error}"}


def first_csv_fields(path: str, delimiter: str = ",") -> list[str]:
    """Return the cleaned fields of a table's first line (usually the header); [] for an empty file."""
    with _opened(path) as file:
        try:
            fields = next(csv.reader((line.decode() for line in file), delimiter=delimiter, strict=True), [])
        except (csv.Error, UnicodeDecodeError) as error:
            raise BadAnnotationError(f"not valid CSV: {error}", path=path, row=1) from error
    return [clean_text(field) for field in fields]


def iterate_table(
    path: str,
    required: Sequence[str],
    *,
    delimiter: str = ",",
    columns: Sequence[str] | None = None,
    image_columns: Collection[str] = (),
    images: bool = True,
) -> Iterator[Row]:
    """Read a table of separated values; a row's number is that of its last line (a header is line 1).

    Texts are returned unchanged, and blank rows are skipped. A row with a wrong number of fields or invalid UTF-8
    becomes a `ROW_ERROR`, any other fault a `DataError`. In the image columns, base64 becomes a `Base64Cell`, so that
    no image is kept in memory; indices of other rows and paths remain texts.

    Args:
        path: The file.
        required: Columns that the file must have, in addition to the image columns.
        delimiter: The separator between two fields.
        columns: Names of all columns of a file without a header line.
        image_columns: Columns of images.
        images: Whether to read the image columns; if False, they may be missing.
    """
    with _opened(path) as file:
        begin = end = file.tell()

        def lines() -> Iterator[str]:
            nonlocal end
            for line in file:
                end += len(line)
                yield line.decode(errors="surrogateescape")

        reader = csv.reader(lines(), delimiter=delimiter, strict=True)
        try:
            header = [clean_text(column) for column in next(reader, [])] if columns is None else list(columns)
            if any(map(_UNDECODED.search, header)):
                raise BadAnnotationError("not UTF-8 text", path=path, row=1)
            check_header(path, header, [*required, *(image_columns if images else ())])
            begin = end
            for fields in reader:
                place, begin = (begin, end), end
                if len(fields) != len(header) and fields:
                    reason = f"expected {len(header)} field{'s'[: len(header) > 1]}; found {len(fields)}"
                    yield reader.line_num, {ROW_ERROR: reason}
                elif any(field.strip() for field in fields):
                    row: dict[str, Any] = {}
                    for index, (column, text) in enumerate(zip(header, fields, strict=True)):
                        if column not in image_columns or (images and not is_base64(text)):
                            row[column] = text
                        elif images:
                            row[column] = Base64Cell(path, *place, index, delimiter, base64_problem(text))
                    bad = [name for name, text in row.items() if isinstance(text, str) and _UNDECODED.search(text)]
                    yield reader.line_num, {ROW_ERROR: f"field {bad[0]!r} is not UTF-8 text"} if bad else row
        except csv.Error as error:
            raise BadAnnotationError(f"not valid CSV: {error}", path=path, row=reader.line_num) from error


def check_header(path: str, header: Sequence[str], required: Sequence[str], *, row: int = 1) -> None:
    """Check the column names of a table, which are in `row`: not empty, none twice, and all that are required."""
    if not header:
        raise BadAnnotationError("the file is empty; expected a header line", path=path)
    doubled = sorted(name for name, count in Counter(header).items() if count > 1)
    if doubled:
        raise BadAnnotationError(f"columns {doubled} appear more than once", path=path, row=row)
    for name in required:
        if name not in header:
            raise BadAnnotationError(missing_column(name, header), path=path, row=row)


def text_field(row: Mapping[str, Any], name: str, *, path: str, number: int | str, empty: bool = False) -> str:
    """Return the cleaned text of one field; `BadAnnotationError` unless it is a text, or empty if allowed."""
    value = row.get(name)
    if not isinstance(value, str):
        reason = f"field {name!r} must be text, found {value!r}" if name in row else f"field {name!r} is missing"
        raise BadAnnotationError(reason, path=path, row=number)
    text = clean_text(value)
    if not text and not empty:
        raise BadAnnotationError(f"field {name!r} is empty", path=path, row=number)
    return text


def number_field(row: Mapping[str, Any], name: str, *, path: str, number: int | str) -> float:
    """Return one field, a number or its text, as a float; `BadAnnotationError` if it is not a finite number."""
    value = row.get(name)
    try:
        # float() takes True for 1 and "1_0" for 10.
        if value is None or isinstance(value, bool | bytes) or "_" in str(value):
            raise ValueError
        if math.isfinite(result := float(value)):
            return result
    except (TypeError, ValueError, OverflowError):
        pass
    raise BadAnnotationError(f"field {name!r} must be a number, found {value!r:.80}", path=path, row=number)


def code_field(row: Mapping[str, Any], name: str, table: Sequence[str], *, path: str, number: int | str) -> str:
    """Return the entry of `table` that a numeric code means; `BadAnnotationError` if it is not an index of it."""
    value = row.get(name)
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < len(table):
        meaning = ", ".join(f"{code} = {text}" for code, text in enumerate(table))
        raise BadAnnotationError(f"field {name!r} must be one of {meaning}; found {value!r}", path=path, row=number)
    return table[value]


@contextmanager
def _opened(path: str, max_bytes: int = sys.maxsize) -> Iterator[BinaryIO]:
    """Open a file behind its byte order mark."""
    try:
        with open_regular(path, max_bytes) as file:
            if file.read(len(_BOM)) != _BOM:
                file.seek(0)
            yield file
    except FileNotFoundError as error:
        raise MissingFileError("the annotation file is missing", path=path) from error
    except OSError as error:
        raise BadAnnotationError(f"cannot be read: {error.strerror or error}", path=path) from error


def _parse(path: str, *, one_after_the_other: bool = False) -> Any:
    """The value of a JSON file; also a list of the objects that scripts append one after the other."""
    with _opened(path, MAX_BYTES) as file:
        data = file.read()
    try:
        text = data.decode().strip()
        if not (one_after_the_other and text.startswith("{")):
            return json.loads(text, object_pairs_hook=_object)
        decoder, values, place = json.JSONDecoder(object_pairs_hook=_object), [], 0
        while place < len(text):
            value, place = decoder.raw_decode(text, place)
            values.append(value)
            while place < len(text) and text[place].isspace():
                place += 1
        return values
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise BadAnnotationError(f"not UTF-8 text ({error.reason})", path=path, row=row) from error
    except (ValueError, RecursionError) as error:
        reason = f"not valid JSON: {error}. Correct the file there, or download it again if it is incomplete"
        raise BadAnnotationError(reason, path=path) from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((name, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the key {name!r} appears twice in one object")
    return found


def _row(item: object) -> dict[str, Any]:
    return item if isinstance(item, dict) else {ROW_ERROR: f"expected a JSON object, found {short(item)}"}
