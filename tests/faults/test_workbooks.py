"""Data files: damaged or invalid workbooks (XLSX) and MATLAB files with annotations."""

import zipfile

import numpy as np
import openpyxl
import pytest
from scipy.io import savemat
from scipy.sparse import csc_array

from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError
from eyechart.datasets_scripts.common.files import spreadsheets
from eyechart.datasets_scripts.common.files.matlab import read_mat_numbers, read_mat_texts
from eyechart.datasets_scripts.common.files.spreadsheets import read_xlsx_rows
from tests.faults.fault import fault, row

NAMED = "the error names the file and the problem"


@pytest.fixture
def workbook(tmp_path):
    """Creates a workbook with these rows in its only sheet."""

    def write(*rows):
        book = openpyxl.Workbook()
        book.active.title = "scores"
        for cells in rows:
            book.active.append(cells)
        book.save(tmp_path / "scores.xlsx")
        return tmp_path / "scores.xlsx"

    return write


def rewrite(workbook, change):
    """Change the text of a workbook's sheet."""
    with zipfile.ZipFile(workbook) as whole:
        parts = {name: whole.read(name).decode() for name in whole.namelist()}
    with zipfile.ZipFile(workbook, "w", zipfile.ZIP_DEFLATED) as changed:
        for name, text in parts.items():
            changed.writestr(name, change(text) if name.endswith("sheet1.xml") else text)


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        row("a sheet lacks a column", NAMED, ["image", "score"], r"row 1: missing column 'mos'; found: image, score"),
        row(
            "a sheet has a duplicate column",
            NAMED,
            ["image", "mos", "mos"],
            r"row 1: columns \['mos'\] appear more than",
        ),
        row("a sheet has no headings", NAMED, [None, None], r"the file is empty"),
    ],
)
def test_bad_headers(workbook, header, reason):
    path = workbook(header, ["a.png", 1])
    with pytest.raises(BadAnnotationError, match=rf"scores\.xlsx.*{reason}"):
        read_xlsx_rows(str(path), ["image", "mos"])


@fault("a sheet has a different name", "the error names the expected sheet")
def test_an_unknown_sheet(workbook):
    with pytest.raises(BadAnnotationError, match="unknown sheet 'score'; did you mean 'scores'"):
        read_xlsx_rows(str(workbook(["image"])), ["image"], sheet="score")


@fault("a workbook is missing", NAMED)
def test_a_missing_workbook(tmp_path):
    with pytest.raises(MissingFileError, match=r"none\.xlsx: the annotation file is missing"):
        read_xlsx_rows(str(tmp_path / "none.xlsx"), ["image"])


@fault("a workbook is empty, a CSV file or a damaged archive", NAMED)
def test_files_that_are_no_workbooks(tmp_path):
    for content in (b"", b"image,mos\n", b"PK\x03\x04 rubbish"):
        (tmp_path / "scores.xlsx").write_bytes(content)
        with pytest.raises(BadAnnotationError, match=r"scores\.xlsx: cannot be read as XLSX"):
            read_xlsx_rows(str(tmp_path / "scores.xlsx"), ["image"])


@fault("the sheet in a workbook is truncated", NAMED)
def test_a_sheet_that_is_cut_off(workbook):
    path = workbook(["image"])
    rewrite(path, lambda text: text[:40])
    with pytest.raises(BadAnnotationError, match=r"scores\.xlsx: cannot be read as XLSX"):
        read_xlsx_rows(str(path), ["image"])


@fault("a workbook is a zip archive of images", NAMED)
def test_another_archive(tmp_path):
    with zipfile.ZipFile(tmp_path / "images.zip", "w") as archive:
        archive.writestr("a.png", b"")
    with pytest.raises(BadAnnotationError, match=r"images\.zip: cannot be read as XLSX"):
        read_xlsx_rows(str(tmp_path / "images.zip"), ["image"])


@fault("a workbook unpacks to more than 512 MiB", "it is refused before it is unpacked")
def test_a_workbook_that_unpacks_to_too_much(workbook, monkeypatch):
    path = workbook(["image"])
    monkeypatch.setattr(spreadsheets, "MAX_BYTES", 1000)
    with pytest.raises(BadAnnotationError, match=r"unpacks to [\d,]+ bytes; at most 1,000 are read"):
        read_xlsx_rows(str(path), ["image"])


@fault("a sheet declares fewer rows than it has", "all rows are read")
def test_a_sheet_that_understates_its_size_is_read_whole(workbook):
    path = workbook(["image", "mos"], ["a.png", 1], ["b.png", 2])
    rewrite(path, lambda text: text.replace('ref="A1:B3"', 'ref="A1:A2"'))
    assert [found["mos"] for _, found in read_xlsx_rows(str(path), ["image", "mos"])] == [1, 2]


@fault("the last cell of a sheet's last row is empty", "its rows are read")
def test_a_sheet_with_a_far_corner(workbook):
    path = workbook(["image"], ["a.png"])
    rewrite(path, lambda text: text.replace("</sheetData>", '<row r="1048576"><c r="XFD1048576"/></row></sheetData>'))
    assert read_xlsx_rows(str(path), ["image"]) == [(2, {"image": "a.png"})]


def cells(*values):
    array = np.empty((len(values), 1), object)
    array[:, 0] = values
    return array


@pytest.fixture
def mat(tmp_path):
    """A MAT file of version 5 with a cell array, numbers and text."""
    values = {
        "names": cells("a.bmp", "b.bmp"),
        "mos": np.array([[1.5, 2.0]]),
        "mixed": cells("a", 2),
        "sparse": csc_array([[0.0, 1.0]]),
    }
    savemat(tmp_path / "scores.mat", values | {"complex": np.array([1j])})
    return tmp_path / "scores.mat"


@pytest.mark.parametrize(
    ("read", "name", "reason"),
    [
        row(
            "a MAT file lacks a variable",
            NAMED,
            read_mat_numbers,
            "moss",
            "'moss'; did you mean 'mos'",
        ),
        row("the numbers in a MAT file are strings", NAMED, read_mat_numbers, "names", "real numbers, found object"),
        row(
            "the numbers in a MAT file are a sparse matrix",
            NAMED,
            read_mat_numbers,
            "sparse",
            "a plain array, found csc_",
        ),
        row("one name in a MAT file is a number", NAMED, read_mat_texts, "mixed", "cell 2 of .* must contain one text"),
    ],
)
def test_bad_variables(mat, read, name, reason):
    with pytest.raises(BadAnnotationError, match=reason) as caught:
        read(str(mat), name)
    assert caught.value.path == str(mat)


@fault("a MAT file is of version 7.3 (HDF5)", "the error says how to save it as version 5")
def test_version_73_says_how_to_save_it(tmp_path):
    path = tmp_path / "new.mat"
    # The 128 bytes of a MAT header, version 2.0, before the HDF5 signature at byte 512.
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + bytes(384) + b"\x89HDF\r\n\x1a\n" + bytes(64))
    with pytest.raises(
        BadAnnotationError, match=r"new\.mat: this is a MAT file of version 7\.3 \(HDF5\); save it.*'-v7'"
    ):
        read_mat_numbers(str(path), "mos")


@fault("a MAT file is empty, random bytes or truncated", NAMED)
def test_damaged_files(tmp_path):
    path = tmp_path / "scores.mat"
    savemat(path, {"mos": np.arange(1000.0)})
    for content in (b"", b"rubbish " * 100, path.read_bytes()[:500]):
        path.write_bytes(content)
        with pytest.raises(BadAnnotationError, match=r"scores\.mat: cannot be read as a MAT file"):
            read_mat_numbers(str(path), "mos")


@fault("a MAT file is missing", NAMED)
def test_a_missing_mat_file(tmp_path):
    with pytest.raises(MissingFileError, match="is missing"):
        read_mat_texts(str(tmp_path / "none.mat"), "names")
