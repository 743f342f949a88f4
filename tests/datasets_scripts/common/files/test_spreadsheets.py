import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError
from eyechart.datasets_scripts.common.files import spreadsheets
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


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (["image", "score"], r"row 1: missing column 'mos'; found: image, score"),
        (["image", "mos", "mos"], r"row 1: columns \['mos'\] appear more than once"),
        ([None, None], r"the file is empty"),
    ],
)
def test_bad_headers(workbook: Callable[..., str], header: list[str | None], reason: str) -> None:
    path = workbook(s=[header, ["a.png", 1]])
    with pytest.raises(BadAnnotationError, match=rf"scores\.xlsx.*{reason}"):
        read_xlsx_rows(path, ["image", "mos"])


def test_unknown_sheets_and_files(workbook: Callable[..., str], tmp_path: Path) -> None:
    path = workbook(scores=[["image"]])
    with pytest.raises(BadAnnotationError, match="no such sheet: unknown sheet 'score'; did you mean 'scores'"):
        read_xlsx_rows(path, ["image"], sheet="score")
    with pytest.raises(MissingFileError, match=r"none\.xlsx: the annotation file is not there"):
        read_xlsx_rows(str(tmp_path / "none.xlsx"), ["image"])


@pytest.mark.parametrize("content", [b"", b"image,mos\n", b"PK\x03\x04 rubbish"])
def test_files_that_are_no_workbooks(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "scores.xlsx").write_bytes(content)
    with pytest.raises(BadAnnotationError, match=r"scores\.xlsx: cannot be read as XLSX"):
        read_xlsx_rows(str(tmp_path / "scores.xlsx"), ["image"])


def test_damaged_parts_and_other_archives(workbook: Callable[..., str], tmp_path: Path) -> None:
    with zipfile.ZipFile(workbook(s=[["image"]])) as whole, zipfile.ZipFile(tmp_path / "cut.xlsx", "w") as cut:
        for name in whole.namelist():
            cut.writestr(name, whole.read(name)[: 40 if "sheet1" in name else None])
    with pytest.raises(BadAnnotationError, match=r"cut\.xlsx: cannot be read as XLSX"):
        read_xlsx_rows(str(tmp_path / "cut.xlsx"), ["image"])
    with zipfile.ZipFile(tmp_path / "images.zip", "w") as archive:
        archive.writestr("a.png", b"")
    with pytest.raises(BadAnnotationError, match=r"images\.zip: cannot be read as XLSX"):
        read_xlsx_rows(str(tmp_path / "images.zip"), ["image"])


def test_formulas_as_they_are_written(workbook: Callable[..., str]) -> None:
    path = workbook(s=[["a", "b"], ["=1+1", "x"], ["=A or B", 3]])
    assert [row["a"] for _, row in read_xlsx_rows(path, ["a"], formulas=True)] == ["=1+1", "=A or B"]
    assert [row["a"] for _, row in read_xlsx_rows(path, ["a"])] == [None, None]


def test_a_workbook_that_unpacks_to_too_much(workbook: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    path = workbook(s=[["image"]])
    monkeypatch.setattr(spreadsheets, "MAX_BYTES", 1000)
    with pytest.raises(BadAnnotationError, match=r"unpacks to [\d,]+ bytes; a workbook may have 1,000"):
        read_xlsx_rows(path, ["image"])


def test_a_sheet_that_understates_its_size_is_read_whole(workbook: Callable[..., str]) -> None:
    path = workbook(s=[["image", "mos"], ["a.png", 1], ["b.png", 2]])
    cut = rewritten(Path(path), lambda text: text.replace('ref="A1:B3"', 'ref="A1:A2"'))
    assert [row["mos"] for _, row in read_xlsx_rows(cut, ["image", "mos"])] == [1, 2]
