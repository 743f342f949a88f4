"""Reading XLSX annotation files: one sheet, one header row, plain cells."""

import io
import zipfile
from collections.abc import Sequence
from contextlib import closing, suppress
from typing import Any
from xml.parsers.expat import ExpatError, ParserCreate

from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError, unknown_name
from eyechart.datasets_scripts.common.files.readers import Row, check_header, clean_text
from eyechart.datasets_scripts.common.paths import open_regular

CELL_LIMIT = 32_767
"""Maximum number of characters of a cell; tools truncate longer replies or leave them out."""
MAX_BYTES = 512 * 2**20
"""The most bytes that a workbook may unpack to."""
MAX_ELEMENTS = 5_000_000
"""The most XML elements in a workbook; one of 30,000 rows with 20 columns has 2.5 million."""
MAX_CELLS = 50_000_000
"""The most cells, empty ones included; a last row with only a border makes all rows before it count."""
_MAX_ROW, _MAX_COLUMN, _MAX_DEPTH = 1_048_576, 16_384, 100


def read_xlsx_rows(
    path: str, required: Sequence[str], *, sheet: str = "", header_row: int = 1, formulas: bool = False
) -> list[Row]:
    """Read a sheet of a workbook; rows have the sheet's row numbers, and blank rows are skipped.

    A cell is a text, a number, a date or None. A formula is the value that was saved with it or, with `formulas`, as
    written ("=A1", or openpyxl's object for an array). Columns without a heading are skipped; by default, the headings
    are the first row of the first sheet. `DataError` if the file is missing, not XLSX or too large, or has no such
    sheet or heading.
    """
    from openpyxl import load_workbook

    try:
        # openpyxl leaves a file open that it fails to read, hence the stream.
        with open_regular(path, MAX_BYTES) as file:
            stream = io.BytesIO(file.read())
        with zipfile.ZipFile(stream) as archive:
            _check_parts(path, archive)
        # Row by row: otherwise the full sheet is built in memory, down to the last cell that has only a border.
        with closing(load_workbook(stream, read_only=True, data_only=not formulas, keep_links=False)) as book:
            tables = {table.title: table for table in book.worksheets}
            if sheet and sheet not in tables:
                raise BadAnnotationError(str(unknown_name("sheet", sheet, tables)), path=path)
            return _rows(path, tables[sheet] if sheet else next(iter(tables.values())), required, header_row)
    except FileNotFoundError as error:
        raise MissingFileError("the annotation file is missing", path=path) from error
    except BadAnnotationError:
        raise
    # openpyxl raises whatever the damage led it to: BadZipFile, KeyError, ValueError, TypeError, ParseError, ...
    except Exception as error:
        reason = f"cannot be read as XLSX: {type(error).__name__}: {error}. Save or download the file again"
        raise BadAnnotationError(reason, path=path) from error


def _check_parts(path: str, archive: zipfile.ZipFile) -> None:
    """Refuse, before openpyxl reads it, what no real sheet has and would take endless time or memory."""
    size = sum(member.file_size for member in archive.infolist())
    if size > MAX_BYTES:
        raise BadAnnotationError(f"the workbook unpacks to {size:,} bytes; at most {MAX_BYTES:,} are read", path=path)
    count = cells = depth = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal count, cells, depth
        count, depth, tag = count + 1, depth + 1, name.rpartition(":")[2]
        cells = 0 if tag == "row" else cells + (tag == "c")
        row = float(attributes.get("r", 1)) if tag == "row" else 1
        if count > MAX_ELEMENTS or cells > _MAX_COLUMN or depth > _MAX_DEPTH or not 0 < row <= _MAX_ROW:
            limits = f"{MAX_ELEMENTS:,} XML elements, rows 1 to {_MAX_ROW:,}, {_MAX_COLUMN:,} columns"
            raise BadAnnotationError(f"the workbook is too large; the limits are {limits}", path=path)

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1

    for member in archive.infolist():
        parser, depth = ParserCreate(), 0
        parser.StartElementHandler, parser.EndElementHandler = start, end
        # Pictures are not XML; what openpyxl reads and is damaged, it refuses itself.
        with suppress(ExpatError), archive.open(member) as part:
            parser.ParseFile(part)


def _rows(path: str, table: Any, required: Sequence[str], header_row: int) -> list[Row]:
    # The size that a sheet declares may be wrong, and would cut rows off.
    table.reset_dimensions()
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
        if number * (max(columns) + 1) > MAX_CELLS:
            raise BadAnnotationError(f"the sheet has more than {MAX_CELLS:,} cells", path=path, row=number)
        # A gap between two rows appears as rows without cells.
        row: dict[str, Any] = {name: values[index] for index, name in columns.items()}
        if any(value is not None for value in row.values()):
            rows.append((number, row))
    return rows
