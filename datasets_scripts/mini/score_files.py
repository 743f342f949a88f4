"""Writing score files whose bytes depend only on their content: CSV, XLSX and MAT."""

import csv
import io
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

# MAT files of version 5 begin with 116 bytes of free text, which SciPy fills with the time.
_MAT_TEXT = b"MATLAB 5.0 MAT-file".ljust(116)


def write_csv(path: Path, rows: Iterable[Sequence[Any]], line_end: str = "\n") -> None:
    """Write rows, including any header, as UTF-8."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator=line_end).writerows(rows)


def write_xlsx(path: Path, sheet: str, rows: Iterable[Sequence[Any]]) -> None:
    """Write a workbook of one sheet."""
    from openpyxl import Workbook

    book = Workbook()
    book.remove(book.worksheets[0])
    table = book.create_sheet(sheet)
    for row in rows:
        table.append(list(row))
    made = io.BytesIO()
    book.save(made)
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(made) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            if name == "docProps/core.xml":
                data = re.sub(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", b"2026-01-01T00:00:00Z", data)
            # `ZipInfo(name)` has a fixed date, 1980.
            target.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)


def write_mat(path: Path, variables: Mapping[str, "np.ndarray"]) -> None:
    """Write a MAT file of version 5; object arrays become cell arrays."""
    from scipy.io import savemat

    path.parent.mkdir(parents=True, exist_ok=True)
    savemat(str(path), dict(variables))
    with open(path, "r+b") as file:
        file.write(_MAT_TEXT)
