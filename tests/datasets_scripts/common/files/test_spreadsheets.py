import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from eyechart.datasets_scripts.common.files.spreadsheets import read_xlsx_rows


def rewritten(workbook: Path, change: Callable[[str], str]) -> str:
    """Return the path of a copy of a workbook with the text of its first sheet changed."""
    copy = workbook.with_name("changed.xlsx")
    with zipfile.ZipFile(workbook) as whole, zipfile.ZipFile(copy, "w", zipfile.ZIP_DEFLATED) as changed:
        for name in whole.namelist():
            text = whole.read(name).decode()
            changed.writestr(name, change(text) if name.endswith("sheet1.xml") else text)
    return str(copy)


@pytest.fixture
def workbook(tmp_path: Path) -> Callable[..., str]:
    """Return a function that writes a workbook whose sheets hold the given rows."""

    def write(**sheets: list[list[Any]]) -> str:
        book = openpyxl.Workbook()
        book.remove(book.active)
        for name, rows in sheets.items():
            table = book.create_sheet(name)
            for row in rows:
                table.append(row)
        path = tmp_path / "scores.xlsx"
        book.save(path)
        return str(path)

    return write


def test_rows_carry_the_sheets_numbers_and_blank_rows_are_left_out(workbook: Callable[..., str]) -> None:
    path = workbook(first=[["image ", "mos"], ["a.png", 1.5], [None, None], ["b.png", 2]])
    assert read_xlsx_rows(path, ["image", "mos"]) == [
        (2, {"image": "a.png", "mos": 1.5}),
        (4, {"image": "b.png", "mos": 2}),
    ]


def test_a_named_sheet_with_a_header_further_down(workbook: Callable[..., str]) -> None:
    path = workbook(other=[["x"]], scores=[["A title"], [None, "image", "mos"], ["note", 1600, 2.5]])
    assert read_xlsx_rows(path, ["image"], sheet="scores", header_row=2) == [(3, {"image": 1600, "mos": 2.5})]


def test_formulas_are_not_computed(workbook: Callable[..., str]) -> None:
    # openpyxl saves no values beside formulas, so there is none to read.
    assert read_xlsx_rows(workbook(s=[["image", "mos"], ["a", "=1+1"]]), ["mos"]) == [(2, {"image": "a", "mos": None})]


def test_formulas_as_they_are_written(workbook: Callable[..., str]) -> None:
    path = workbook(s=[["a", "b"], ["=1+1", "x"], ["=A or B", 3]])
    assert [row["a"] for _, row in read_xlsx_rows(path, ["a"], formulas=True)] == ["=1+1", "=A or B"]
    assert [row["a"] for _, row in read_xlsx_rows(path, ["a"])] == [None, None]
