"""Reading annotation files: every error names the file and, if there is one, the row."""

import csv
import io
import json
import math
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError, missing_column
from eyechart.datasets_scripts.common.paths import open_regular

Row = tuple[int, dict[str, Any]]
"""The row's number, as a text editor or spreadsheet counts it, and its fields."""
ROW_ERROR = "_error"
"""The only field of a row that could not be read; it contains the reason."""
_RELOAD = ". Correct the file there, or download it again if it is incomplete"


def clean_text(text: str) -> str:
    """Return `text` in Unicode NFC, without leading and trailing blanks."""
    return unicodedata.normalize("NFC", text).strip()


def read_json_rows(path: str) -> list[Row]:
    """Read a JSON file of objects, as a list or one after the other.

    Rows are numbered from 1. Items that are not objects, and objects with a duplicate key, become a `ROW_ERROR`.

    Raises:
        MissingFileError: The file is missing.
        BadAnnotationError: Not UTF-8, not JSON, or neither a list nor objects.
    """
    text = _read_text(path).strip()
    try:
        data = _consecutive(text) if text.startswith("{") else json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise BadAnnotationError(f"not valid JSON: {error}{_RELOAD}", path=path) from error
    if not isinstance(data, list):
        raise BadAnnotationError(f"expected a JSON list of objects, found {_json_name(data)}", path=path)
    return [(number, _row(item)) for number, item in enumerate(data, 1)]


def read_json_object(path: str) -> dict[str, Any]:
    """Read a JSON file that contains one object.

    Raises:
        MissingFileError: The file is missing.
        BadAnnotationError: Not UTF-8, not JSON, not an object, or an object has a duplicate key.
    """
    try:
        data = json.loads(_read_text(path), object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise BadAnnotationError(f"not valid JSON: {error}{_RELOAD}", path=path) from error
    if isinstance(data, _Doubled):
        raise BadAnnotationError(data[ROW_ERROR], path=path)
    if not isinstance(data, dict):
        raise BadAnnotationError(f"expected a JSON object, found {_json_name(data)}", path=path)
    for name, entry in data.items():
        if (doubled := _first_doubled(entry)) is not None:
            raise BadAnnotationError(doubled[ROW_ERROR], path=path, row=name)
    return data


def read_jsonl_rows(path: str) -> list[Row]:
    """As `iterate_jsonl_rows`, all rows at once."""
    return list(iterate_jsonl_rows(path))


def iterate_jsonl_rows(path: str) -> Iterator[Row]:
    """Read JSON Lines, one object per line; a row's number is its line number.

    Lines that are not objects, and objects with a duplicate key, become a `ROW_ERROR`.

    Raises:
        MissingFileError: The file is missing.
        BadAnnotationError: Not UTF-8.
    """
    with _opened(path) as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield number, _line_object(line.removesuffix("\n"))


def first_csv_fields(path: str, delimiter: str = ",") -> list[str]:
    """Return the cleaned fields of a delimited file's first line (usually the header); [] for an empty file.

    Raises:
        MissingFileError: The file is missing.
        BadAnnotationError: Not UTF-8, or not CSV.
    """
    reader = csv.reader(io.StringIO(_read_text(path), newline=""), delimiter=delimiter, strict=True)
    try:
        return [clean_text(field) for field in next(reader, [])]
    except csv.Error as error:
        raise BadAnnotationError(f"not valid CSV: {error}", path=path, row=reader.line_num) from error


def read_csv_rows(
    path: str, required: Sequence[str], delimiter: str = ",", columns: Sequence[str] | None = None
) -> list[Row]:
    """Read a delimited file; a row's number is its line number in the file (a header is line 1).

    Column names are compared without leading and trailing blanks; columns not in `required` are kept. A row with a
    wrong number of fields becomes a `ROW_ERROR`.

    Args:
        path: The file.
        required: Columns that the file must have.
        delimiter: The separator between two fields.
        columns: Names of all columns of a file without a header line; by default, the first line is the header.

    Raises:
        MissingFileError: The file is missing.
        BadAnnotationError: Not UTF-8, not CSV, no header, or a required column is missing.
    """
    reader = csv.reader(io.StringIO(_read_text(path), newline=""), delimiter=delimiter, strict=True)
    rows: list[Row] = []
    try:
        header = [clean_text(column) for column in next(reader, [])] if columns is None else list(columns)
        check_header(path, header, required)
        for fields in reader:
            if not any(field.strip() for field in fields):
                continue
            if len(fields) != len(header):
                row = {ROW_ERROR: wrong_length(len(fields), len(header), has_header=columns is None)}
            else:
                row = dict(zip(header, fields, strict=True))
            rows.append((reader.line_num, row))
    except csv.Error as error:
        raise BadAnnotationError(f"not valid CSV: {error}", path=path, row=reader.line_num) from error
    return rows


def check_header(path: str, header: Sequence[str], required: Sequence[str], *, row: int = 1) -> None:
    """Check the column names of a table, which are in `row`.

    Raises:
        BadAnnotationError: There are no columns, two have the same name, or a required one is missing.
    """
    if not header:
        raise BadAnnotationError("the file is empty; expected a header line", path=path)
    doubled = sorted(name for name, count in Counter(header).items() if count > 1)
    if doubled:
        raise BadAnnotationError(f"columns {doubled} appear more than once", path=path, row=row)
    for name in required:
        if name not in header:
            raise BadAnnotationError(missing_column(name, header), path=path, row=row)


def wrong_length(found: int, expected: int, *, has_header: bool = True) -> str:
    """The message for a row with a wrong number of fields.

    Examples:
        >>> wrong_length(1, 4)
        'expected 4 fields, as in the header; found 1'
    """
    return f"expected {expected} field{'s'[: expected > 1]}{', as in the header' if has_header else ''}; found {found}"


def text_field(row: Mapping[str, Any], name: str, *, path: str, number: int | str, empty: bool = False) -> str:
    """Return the cleaned text of one field.

    Raises:
        BadAnnotationError: The field is missing, not text, or empty although `empty` is False.
    """
    value = row.get(name)
    if not isinstance(value, str):
        reason = f"field {name!r} must be text, found {value!r}" if name in row else f"field {name!r} is missing"
        raise BadAnnotationError(reason, path=path, row=number)
    text = clean_text(value)
    if not text and not empty:
        raise BadAnnotationError(f"field {name!r} is empty", path=path, row=number)
    return text


def number_field(row: Mapping[str, Any], name: str, *, path: str, number: int | str) -> float:
    """Return one field as a finite float; text may have leading and trailing blanks.

    Raises:
        BadAnnotationError: The field is missing, not a number, nan or infinite.
    """
    value = row.get(name)
    try:
        # float() takes True for 1 and "1_0" for 10.
        if value is None or isinstance(value, bool | bytes) or "_" in str(value):
            raise ValueError
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        reason = f"field {name!r} must be a number, found {value!r:.80}"
        raise BadAnnotationError(reason, path=path, row=number) from None
    if not math.isfinite(result):
        raise BadAnnotationError(f"field {name!r} must be a finite number, found {value!r:.80}", path=path, row=number)
    return result


def code_field(row: Mapping[str, Any], name: str, table: Sequence[str], *, path: str, number: int | str) -> str:
    """Return the entry of `table` that a numeric code means.

    Raises:
        BadAnnotationError: The code is missing or not an index of `table`.
    """
    value = row.get(name)
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < len(table):
        meaning = ", ".join(f"{code} = {text}" for code, text in enumerate(table))
        reason = f"field {name!r} must be one of {meaning}; found {value!r}"
        raise BadAnnotationError(reason, path=path, row=number)
    return table[value]


def _read_text(path: str) -> str:
    with _opened(path) as file:
        return file.read()


@contextmanager
def _opened(path: str) -> Iterator[TextIO]:
    try:
        with io.TextIOWrapper(open_regular(path), encoding="utf-8-sig", newline="\n") as file:
            yield file
    except FileNotFoundError as error:
        raise MissingFileError("the annotation file is missing", path=path) from error
    except UnicodeDecodeError as error:
        reason = f"not UTF-8 text ({error.reason}); save the file as UTF-8"
        raise BadAnnotationError(reason, path=path, row=_undecodable_line(path)) from error
    except OSError as error:
        raise BadAnnotationError(f"cannot be read: {error.strerror or error}", path=path) from error


def _undecodable_line(path: str) -> int | None:
    """The first line of a file that is not UTF-8."""
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    return None


def _consecutive(text: str) -> list[Any]:
    """Decode JSON values written one after the other, with or without blanks in between, as scripts append them."""
    decoder = json.JSONDecoder(object_pairs_hook=_object)
    values = []
    place = 0
    while place < len(text):
        value, place = decoder.raw_decode(text, place)
        values.append(value)
        while place < len(text) and text[place].isspace():
            place += 1
    return values


class _Doubled(dict[str, str]):
    """Replaces an object with a duplicate key; its `ROW_ERROR` names the key."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    ((name, _),) = Counter(name for name, _ in pairs).most_common(1)
    return _Doubled({ROW_ERROR: f"the key {name!r} appears twice in one object"})


def _first_doubled(value: object) -> _Doubled | None:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, _Doubled):
            return item
        # `waiting` is a stack: reversed, so that the first value is looked at first.
        waiting += reversed(item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())
    return None


def _line_object(line: str) -> dict[str, Any]:
    try:
        return _row(json.loads(line, object_pairs_hook=_object))
    except json.JSONDecodeError as error:
        return {ROW_ERROR: f"not valid JSON: {error.msg} at character {error.colno}"}
    except (ValueError, RecursionError) as error:
        return {ROW_ERROR: f"not valid JSON: {error}"}


def _row(item: object) -> dict[str, Any]:
    """An item of a file as a row, or a `ROW_ERROR` with the reason why it is not one."""
    if not isinstance(item, dict):
        return {ROW_ERROR: f"expected a JSON object, found {_json_name(item)}"}
    return _first_doubled(item) or item


def _json_name(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(type(value), "null")
