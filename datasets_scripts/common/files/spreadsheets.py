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

CELL_LIMIT = 32_767
"""Maximum number of characters of a cell; tools truncate longer replies or leave them out."""
MAX_BYTES = 512 * 2**20
"""The most bytes that a workbook may unpack to; the benchmarks' workbooks have up to 4 MiB, predictions have more."""


def read_xlsx_rows(
    path: str,
    required: Sequence[str],
    *,
    sheet: str = "",
    header_row: int = 1,
    formulas: bool = False,
) -> list[Row]:
    """Read a sheet of a workbook; rows have the sheet's row numbers, and blank rows are skipped.

    A cell is a text, a number, a date or None; a formula is the value that was saved with it. Columns without a heading
    are skipped.

    Args:
        path: The XLSX file.
        required: Columns that the sheet must have; others are kept.
        sheet: Name of the sheet; the first one by default.
        header_row: Number of the row with the headings, from 1.
        formulas: Return formulas as written ("=A1", or openpyxl's object for an array) instead of their values.

    Raises:
        MissingFileError: The file is missing.
        BadAnnotationError: Not an XLSX file, too large, an unknown sheet, or a duplicate or missing heading.
    """
    try:
        with closing(_open_workbook(path, formulas)) as book:
            table = _find_sheet(path, book, sheet)
            return _rows(path, table, required, header_row)
    except FileNotFoundError as error:
        raise MissingFileError("the annotation file is missing", path=path) from error
    except BadAnnotationError:
        raise
    # openpyxl raises whatever the damage led it to: BadZipFile, KeyError, ValueError, TypeError, ParseError, ...
    except Exception as error:
        reason = f"cannot be read as XLSX: {type(error).__name__}: {error}. Save or download the file again"
        raise BadAnnotationError(reason, path=path) from error


def _open_workbook(path: str, formulas: bool) -> "Workbook":
    from openpyxl import load_workbook

    # openpyxl leaves a file open that it fails to read, hence the stream.
    with open_regular(path) as file:
        stream = io.BytesIO(file.read())
    with zipfile.ZipFile(stream) as archive:
        size = sum(member.file_size for member in archive.infolist())
    if size > MAX_BYTES:
        raise BadAnnotationError(f"the workbook unpacks to {size:,} bytes; at most {MAX_BYTES:,} are read", path=path)
    # Row by row: otherwise the full sheet is built in memory, down to the last cell that has only a border.
    return load_workbook(stream, read_only=True, data_only=not formulas, keep_links=False)


def _find_sheet(path: str, book: "Workbook", name: str) -> "Worksheet":
    tables = {table.title: table for table in book.worksheets}
    if name and name not in tables:
        raise BadAnnotationError(str(unknown_name("sheet", name, tables)), path=path)
    table: Any = tables[name] if name else next(iter(tables.values()))
    # The size that a sheet declares may be wrong, and would cut rows off.
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
        # A gap between two rows appears as rows without cells.
        row: dict[str, Any] = {name: values[index] for index, name in columns.items()}
        if any(value is not None for value in row.values()):
            rows.append((number, row))
    return rows
