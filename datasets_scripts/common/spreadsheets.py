"""Reading XLSX annotation files: one sheet, one header row, plain cells."""

import io
import zipfile
from collections.abc import Sequence
from typing import TYPE_CHECKING
from typing import Any

from eyechart.datasets_scripts.common.errors import BadAnnotationError
from eyechart.datasets_scripts.common.errors import MissingFileError
from eyechart.datasets_scripts.common.errors import unknown_name
from eyechart.datasets_scripts.common.readers import Row
from eyechart.datasets_scripts.common.readers import check_header
from eyechart.datasets_scripts.common.readers import clean_text

if TYPE_CHECKING:
    from openpyxl.workbook import Workbook
    from openpyxl.worksheet.worksheet import Worksheet

MAX_BYTES = 200 * 2**20
"""Most bytes that a workbook may unpack to; the largest one of the benchmarks has about 4 MiB."""


def read_xlsx_rows(path: str, required: Sequence[str], *, sheet: str = "", header_row: int = 1) -> list[Row]:
    """Read a sheet of a workbook; rows carry the sheet's row numbers, and blank rows are left out.

    Cells hold what the sheet holds: text, a number, a date or None; of a formula, the value it had when it was saved.
    Columns without a heading are left out.

    Args:
        path: The XLSX file.
        required: Columns that must be there; further ones are kept.
        sheet: Name of the sheet; the first one by default.
        header_row: Number of the row that holds the headings, from 1.

    Raises:
        MissingFileError: The file is not there.
        BadAnnotationError: Not an XLSX file, no such sheet, merged or doubled headings, or a required column is
            missing.
    """
    book = _open_workbook(path)
    if sheet and sheet not in book.sheetnames:
        raise BadAnnotationError(f"no such sheet: {unknown_name('sheet', sheet, book.sheetnames)}", path=path)
    table = book[sheet] if sheet else book.worksheets[0]
    _check_merged(path, table, header_row)
    headings = next(table.iter_rows(min_row=header_row, max_row=header_row, values_only=True), ())
    columns = {
        index: clean_text(str(heading))
        for index, heading in enumerate(headings)
        if heading is not None and str(heading).strip()
    }
    check_header(path, list(columns.values()), required, row=header_row)
    cells = table.iter_rows(min_row=header_row + 1, values_only=True)
    rows: list[Row] = []
    for number, values in enumerate(cells, header_row + 1):
        row: dict[str, Any] = {name: values[index] for index, name in columns.items()}
        if any(value is not None for value in row.values()):
            rows.append((number, row))
    return rows


def _open_workbook(path: str) -> "Workbook":
    from openpyxl import load_workbook

    try:
        # openpyxl leaves a file open that it fails to read, hence the stream.
        with open(path, "rb") as file:
            stream = io.BytesIO(file.read())
        with zipfile.ZipFile(stream) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > MAX_BYTES:
            raise BadAnnotationError(f"unpacks to {size:,} bytes; a workbook may have {MAX_BYTES:,}", path=path)
        return load_workbook(stream, data_only=True, keep_links=False)
    except FileNotFoundError as error:
        raise MissingFileError("the annotation file is not there", path=path) from error
    except BadAnnotationError:
        raise
    # It raises whatever the damage led it to: BadZipFile, KeyError, ValueError, TypeError, ParseError, ...
    except Exception as error:
        raise BadAnnotationError(f"cannot be read as XLSX: {type(error).__name__}: {error}", path=path) from error


def _check_merged(path: str, table: "Worksheet", header_row: int) -> None:
    for cells in table.merged_cells.ranges:
        if cells.min_row <= header_row <= cells.max_row:
            reason = f"the header has merged cells ({cells.coord}); every column needs a heading in a cell of its own"
            raise BadAnnotationError(reason, path=path, row=header_row)
