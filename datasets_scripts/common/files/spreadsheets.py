"""Reading XLSX annotation files: one sheet, one header row, plain cells."""

import io
import zipfile
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError, unknown_name
from eyechart.datasets_scripts.common.files.readers import Row, check_header, clean_text
from eyechart.datasets_scripts.common.paths import open_regular

if TYPE_CHECKING:
    from openpyxl.workbook import Workbook
    from openpyxl.worksheet.worksheet import Worksheet

MAX_BYTES = 512 * 2**20
"""Most bytes that a workbook may unpack to; those of the benchmarks have up to 4 MiB, predictions have more."""


def read_xlsx_rows(
    path: str,
    required: Sequence[str],
    *,
    sheet: str = "",
    header_row: int = 1,
    formulas: bool = False,
) -> list[Row]:
    """Read a sheet of a workbook; rows carry the sheet's row numbers, and blank rows are left out.

    Cells hold what the sheet holds: text, a number, a date or None; of a formula, the value it had when it was saved.
    Columns without a heading are left out.

    Args:
        path: The XLSX file.
        required: Columns that must be there; further ones are kept.
        sheet: Name of the sheet; the first one by default.
        header_row: Number of the row that holds the headings, from 1.
        formulas: Give formulas as they are written ("=A1", or openpyxl's object for an array) in place of their values.

    Raises:
        MissingFileError: The file is not there.
        BadAnnotationError: Not an XLSX file, too large, no such sheet, or a heading is doubled or missing.
    """
    try:
        with closing(_open_workbook(path, formulas)) as book:
            table = _find_sheet(path, book, sheet)
            return _rows(path, table, required, header_row)
    except FileNotFoundError as error:
        raise MissingFileError("the annotation file is not there", path=path) from error
    except BadAnnotationError:
        raise
    # openpyxl raises whatever the damage led it to: BadZipFile, KeyError, ValueError, TypeError, ParseError, ...
    except Exception as error:
        raise BadAnnotationError(f"cannot be read as XLSX: {type(error).__name__}: {error}", path=path) from error


def _open_workbook(path: str, formulas: bool) -> "Workbook":
    from openpyxl import load_workbook

    # openpyxl leaves a file open that it fails to read, hence the stream.
    with open_regular(path) as file:
        stream = io.BytesIO(file.read())
    with zipfile.ZipFile(stream) as archive:
        size = sum(member.file_size for member in archive.infolist())
    if size > MAX_BYTES:
        raise BadAnnotationError(f"unpacks to {size:,} bytes; a workbook may have {MAX_BYTES:,}", path=path)
    # Row by row: a whole sheet would be laid out in memory, down to the last cell that has as much as a border.
    return load_workbook(stream, read_only=True, data_only=not formulas, keep_links=False)


def _find_sheet(path: str, book: "Workbook", name: str) -> "Worksheet":
    tables = {table.title: table for table in book.worksheets}
    if name and name not in tables:
        raise BadAnnotationError(f"no such sheet: {unknown_name('sheet', name, tables)}", path=path)
    table: Any = tables[name] if name else next(iter(tables.values()))
    # What a sheet says of its own size may be wrong, and would cut rows off.
    table.reset_dimensions()
    return table


def _rows(path: str, table: "Worksheet", required: Sequence[str], header_row: int) -> list[Row]:
    headings = next(table.iter_rows(min_row=header_row, max_row=header_row, values_only=True), ())
    columns = {
        index: clean_text(str(heading))
        for index, heading in enumerate(headings)
        if heading is not None and str(heading).strip()
    }
    check_header(path, list(columns.values()), required, row=header_row)
    cells = table.iter_rows(min_row=header_row + 1, max_col=max(columns) + 1, values_only=True)
    rows: list[Row] = []
    for number, values in enumerate(cells, header_row + 1):
        # A gap between two rows comes as rows without cells.
        row: dict[str, Any] = {name: values[index] for index, name in columns.items()}
        if any(value is not None for value in row.values()):
            rows.append((number, row))
    return rows
