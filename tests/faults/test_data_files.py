"""Data files: damaged or invalid JSON, text tables, workbooks (XLSX) and MATLAB files."""

import io
import json
import math
import os
import re
import zipfile
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow
import pytest
from PIL import Image
from pyarrow import parquet
from scipy.io import savemat
from scipy.sparse import csc_array

from eyechart.datasets_scripts.common.errors import BadAnnotationError, DataError, MissingFileError
from eyechart.datasets_scripts.common.files import spreadsheets
from eyechart.datasets_scripts.common.files.image_cells import Base64Cell
from eyechart.datasets_scripts.common.files.readers import (
    ROW_ERROR,
    iterate_jsonl_rows,
    iterate_table,
    number_field,
    read_json_object,
    read_json_rows,
    text_field,
)
from eyechart.datasets_scripts.common.files.spreadsheets import read_xlsx_rows
from eyechart.datasets_scripts.live_itw.live_itw import read_mat
from eyechart.datasets_scripts.own_data import load_own
from tests.datasets_scripts.common.files.test_readers import encoded, noise
from tests.faults.fault import fault, rows

NAMED = "the error names the file and the problem"
OF_ROW = "the error names the row and the problem"
TWICE = "it is refused; the error names the key, and the row if there is one"


def read_csv(path):
    return list(iterate_table(path, ["image", "mos"]))


def read_tsv(path):
    return list(iterate_table(path, ["index"], delimiter="\t"))


def read_jsonl(path):
    return list(iterate_jsonl_rows(path))


def read_xlsx(path):
    return read_xlsx_rows(path, ["image", "mos"])


def read_scores(path):
    return read_xlsx_rows(path, ["image"], sheet="score")


def read_mos(path):
    return [number_field({"mos": value}, "mos", path=path, number=1) for value in read_mat(path, "mos")]


def read_names(path):
    return [text_field({"name": value}, "name", path=path, number=1) for value in read_mat(path, "names")]


def book(*lines, change=lambda text: text):
    """A workbook with these rows in its only sheet, whose text is changed."""
    workbook, file = openpyxl.Workbook(), io.BytesIO()
    workbook.active.title = "scores"
    for cells in lines:
        workbook.active.append(cells)
    workbook.save(file)
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as changed:
        for name, text in parts.items():
            changed.writestr(name, change(text) if name.endswith("sheet1.xml") else text)
    return file.getvalue()


def row(number, cells=""):
    """Adds a row to a sheet."""
    return lambda text: text.replace("</sheetData>", f'<row r="{number}">{cells}</row></sheetData>')


def laughs(text):
    entities = "".join(f'<!ENTITY a{i + 1} "{f"&a{i};" * 10}">' for i in range(9))
    return f'<!DOCTYPE a [<!ENTITY a0 "a">{entities}]>{text.replace("</sheetData>", "&a9;</sheetData>")}'


FAR = '<c r="ZZZZZZZZ2"/>'


def mat(**values):
    """A MAT file of version 5."""
    file = io.BytesIO()
    savemat(file, values)
    return file.getvalue()


def cells(*values):
    array = np.empty((len(values), 1), object)
    array[:, 0] = values
    return array


IMAGES = b"PK\x05\x06" + bytes(18)
# The 128 bytes of a MAT header, version 2.0, before the HDF5 signature at byte 512.
HDF5 = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + bytes(384) + b"\x89HDF\r\n\x1a\n" + bytes(64)
HALF = mat(mos=np.arange(1000.0))[:500]


@pytest.mark.parametrize(
    ("read", "content", "reason"),
    [
        *rows(
            NAMED,
            ("a CSV file is empty", read_csv, "", "the file is empty"),
            ("a CSV file lacks a column", read_csv, "image,score\n", "missing column 'mos'; found: image, score"),
            ("a CSV file has a duplicate column", read_csv, "image,mos,mos\n", "appear more than once"),
            ("a column of a TSV file is misspelt", read_tsv, "inedx\n", "did you mean 'inedx'"),
            ("the header of a TSV file is not UTF-8", read_tsv, b"\xff\n", "row 1: not UTF-8"),
            ("a JSON file of rows is a number", read_json_rows, "3", "a JSON list of objects, found 3"),
            ("a JSON file of rows is truncated", read_json_rows, "[1", "not valid JSON"),
            ("a JSON file nests lists 100,000 deep", read_json_rows, "[" * 100_000, "not valid JSON"),
            ("a JSON file is not UTF-8", read_json_rows, b"\xff\xfe", "not UTF-8"),
            ("a number in a JSON file has 5,000 digits", read_json_rows, f"[{'1' * 5000}]", "not valid JSON: .*4300"),
            ("a JSON file contains a list where an object is expected", read_json_object, "[]", r"object, found \[\]"),
            ("a sheet has no headings", read_xlsx, book([None, None], ["a.png", 1]), "the file is empty"),
            ("a sheet has a different name", read_scores, book(["image"]), "sheet 'score'; did you mean"),
            ("a workbook is a damaged archive", read_xlsx, b"PK\x03\x04 rubbish", "cannot be read as XLSX"),
            ("a workbook is another zip archive", read_xlsx, IMAGES, "cannot be read as XLSX"),
            ("the sheet in a workbook is truncated", read_xlsx, book(["mos"], change=lambda t: t[:40]), "read as XLSX"),
            ("the last row of a sheet is 10^12", read_xlsx, book(change=row(10**12)), r"too large.*1,048,576"),
            ("a column of a sheet is ZZZZZZZZ", read_xlsx, book(change=row(2, FAR)), "not a valid column"),
            ("a row of a sheet has a negative number", read_xlsx, book(change=row(-5)), "is too large|not a valid"),
            ("a row of a sheet has 16,385 cells", read_xlsx, book(change=row(2, "<c/>" * 16_385)), "is too large"),
            ("a sheet nests its elements 1,000 deep", read_xlsx, book(change=row(2, "<c>" * 1000)), "is too large"),
            ("entities in a workbook expand to 10^9 letters", read_xlsx, book(change=laughs), "read as XLSX"),
            ("a MAT file is truncated", read_mos, HALF, "variable 'mos' cannot be read"),
            ("a MAT file lacks a variable", read_mos, mat(moss=[1.0]), "variable 'mos' cannot be read: KeyError"),
            ("the numbers in a MAT file are strings", read_mos, mat(mos=cells("a", "b")), "field 'mos' must be a"),
            ("a MAT file has a sparse matrix", read_mos, mat(mos=csc_array([[0.0, 1]])), "'mos'"),
            ("a name in a MAT file is a number", read_names, mat(names=cells("a", 2)), "'name'"),
        ),
        *rows(
            "the error says how to save it", ("a MAT file is of version 7.3", read_mos, HDF5, "'-v7'.* of version 7.3")
        ),
        *rows(OF_ROW, ("an unclosed quotation mark in a TSV file", read_tsv, 'index\n"1\n2\n', "row 3: not valid CSV")),
        *rows(
            TWICE,
            ("a key twice in a JSON object", read_json_object, '{"a": 1, "a": 3}', "the key 'a' appears twice"),
            ("a key twice in a nested object", read_json_rows, '{"a": 1}{"o": [{"A": 1, "A": 2}]}', "the key 'A'"),
        ),
    ],
)
def test_files_that_cannot_be_read(read, content, reason, tmp_path):
    path = tmp_path / "annotations"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(BadAnnotationError, match=reason) as caught:
        read(str(path))
    assert caught.value.path == str(path)


@pytest.mark.parametrize(
    ("read", "content", "reason"),
    [
        *rows(
            "only this row is an error; --skip-bad leaves it out",
            ("a row of a CSV file has too few fields", read_csv, "image,mos\na,1\nb\n", "2 fields.* found 1"),
            ("a row of a CSV file is not UTF-8", read_csv, b"image,mos\na,1\n\xff\xfe,1\n", "'image' is not UTF-8"),
            ("an item of a JSON list is a string", read_json_rows, '[{"a": 1}, "x"]', "object, found 'x'"),
            ("a line of JSON Lines is truncated", read_jsonl, '{"a": 1}\n{"a"', "at character 5"),
            ("a line of JSON Lines nests 100,000 deep", read_jsonl, "{}\n" + "[" * 100_000, "recursion"),
        ),
        *rows(TWICE, ("a key twice in JSON Lines", read_jsonl, '{"a": 1}\n{"b": 1, "b": 2}', "the key 'b'")),
    ],
)
def test_rows_that_cannot_be_read(read, content, reason, tmp_path):
    path = tmp_path / "annotations"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    (_, first), (_, second) = read(str(path))
    assert ROW_ERROR not in first and second.keys() == {ROW_ERROR}
    assert re.search(reason, second[ROW_ERROR])


@fault("a CSV, JSON, XLSX or MAT file is missing, or a folder has its name", NAMED)
def test_missing_files(tmp_path):
    for read in (read_csv, read_json_rows, read_xlsx, read_names):
        with pytest.raises(MissingFileError, match=r"nothing: the annotation file is missing"):
            read(str(tmp_path / "nothing"))
        with pytest.raises(DataError):
            read(str(tmp_path))


@pytest.mark.parametrize(
    ("limit", "value", "reason"),
    rows(
        "it is refused before it is unpacked, or before it fills the memory",
        ("a workbook unpacks to more than 512 MiB", "MAX_BYTES", 10_000, r"unpacks to [\d,]+ bytes; at most 10,000"),
        ("a workbook has more than 5,000,000 XML elements", "MAX_ELEMENTS", 40, "the limits are 40 XML elements"),
        ("a sheet has more than 50,000,000 cells, with empty ones", "MAX_CELLS", 3, "row 2: the sheet has more than 3"),
    ),
)
def test_a_workbook_that_is_too_large(tmp_path, monkeypatch, limit, value, reason):
    (tmp_path / "a.xlsx").write_bytes(book(["image", "mos"], ["a", 1]))
    monkeypatch.setattr(spreadsheets, limit, value)
    with pytest.raises(BadAnnotationError, match=reason):
        read_xlsx(str(tmp_path / "a.xlsx"))


@pytest.mark.parametrize(
    "change",
    rows(
        "all its rows are read",
        ("a sheet declares fewer rows than it has", lambda text: text.replace('ref="A1:B2"', 'ref="A1:A1"')),
        ("the last cell of a sheet's last row is empty", row(1_048_576, '<c r="XFD1048576"/>')),
    ),
)
def test_odd_sheets(tmp_path, change):
    (tmp_path / "a.xlsx").write_bytes(book(["image", "mos"], ["a.png", 1], change=change))
    assert read_xlsx(str(tmp_path / "a.xlsx")) == [(2, {"image": "a.png", "mos": 1})]


@pytest.mark.parametrize(
    "values",
    rows(
        OF_ROW,
        ("a score is empty, 1_0 (which Python reads as 10) or has a decimal comma", ["", "1_0", "1,5"]),
        ("a score is nan, infinite or an integer of 400 digits", ["nan", "-Infinity", 10**400]),
        ("a score is null, a list or true (which Python reads as 1)", [None, [1], True]),
        ("a score is a complex number, a hexadecimal number or bytes", ["1+2j", "0x10", b"12"]),
    ),
)
def test_bad_numbers(values):
    for value in values:
        with pytest.raises(BadAnnotationError, match=r"a\.csv, row 4: field 'mos' must be a"):
            number_field({"mos": value}, "mos", path="a.csv", number=4)


@pytest.mark.parametrize(
    ("columns", "written"),
    rows(
        "the error names the row and the column",
        ("an opinion score in JSON Lines is true", {"quality": True}, "jsonl"),
        ("a distortion level is 2**31, beyond its column", {"quality": 1, "distortion_level": 2**31}, "jsonl"),
        ("an opinion score in CSV is 1+2j", {"quality": "1+2j"}, "csv"),
        ("an opinion score in Parquet is NaN", {"quality": math.nan}, "parquet"),
    ),
)
def test_opinion_scores_of_own_data(columns, written, tmp_path):
    (tmp_path / "1.png").write_bytes(encoded(noise(), "PNG"))
    path, row = tmp_path / f"a.{written}", {"image": "1.png", **columns}
    if written == "parquet":
        parquet.write_table(pyarrow.Table.from_pylist([row]), path)
    else:
        lines = f"{','.join(row)}\n{','.join(map(str, row.values()))}"
        path.write_text(json.dumps(row) if written == "jsonl" else lines)
    with pytest.raises(BadAnnotationError, match=f"row {2 if written == 'csv' else 1}: field '{list(columns)[-1]}'"):
        load_own(path, "quality")


@fault("an image in a TSV file is not valid base64", "the row has an image error; --skip-bad leaves it out")
def test_what_is_not_base64_is_said_in_the_cell(tmp_path):
    path = tmp_path / "table.tsv"
    for cell in ("!" * 100, "A" * 101, "A" * 99):
        path.write_text(f"index\timage\n1\t{cell}\n")
        ((_, row),) = iterate_table(str(path), ["index"], delimiter="\t", image_columns=["image"])
        assert isinstance(row["image"], Base64Cell) and row["image"].problem.startswith("the image is not base64: ")
        with pytest.raises(ValueError, match="not base64"):
            row["image"].load()


def named(folder, data_file):
    (folder / "README.md").write_text(f"---\nconfigs:\n- {{config_name: default, data_files: {data_file}}}\n---\n")


@pytest.mark.parametrize(
    "lead_out",
    rows(
        "the error names the file, and nothing is read",
        ("the README of a dataset's folder names a data file above it", lambda f: named(f, "../secret.csv")),
        ("a data file of a dataset's folder is a link out of it", lambda f: (f / "a.csv").symlink_to("../secret.csv")),
    ),
)
def test_data_files_outside_of_a_folder(lead_out, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "1.png").write_bytes(encoded(noise(), "PNG"))
    (tmp_path / "secret.csv").write_text("image,description\n1.png,secret\n")
    lead_out(tmp_path / "data")
    with pytest.raises(BadAnnotationError, match=r"\.csv: a data file is outside of the dataset's folder"):
        load_own(tmp_path / "data", "description")


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flipped(path):
    """Ten bits are flipped, and the time of modification is that of before."""
    data, status = bytearray(path.read_bytes()), path.stat()
    for place in np.random.default_rng(0).integers(len(data), size=10):
        data[place] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize(
    "damage",
    rows(
        "the dataset is prepared again; rows and images are as before",
        ("files in the cache of prepared datasets are truncated", cut),
        ("bits in the cache of prepared datasets are flipped", flipped),
        ("files in the cache of prepared datasets are missing", Path.unlink),
        ("files in the cache of prepared datasets are named pipes", lambda path: (path.unlink(), os.mkfifo(path))),
    ),
)
def test_a_damaged_cache(damage, tmp_path):
    rows = {"image": [encoded(Image.new("RGB", (4, 4), (shade, 0, 0)), "PNG") for shade in (1, 2)], "quality": [1, 2]}
    parquet.write_table(pyarrow.table(rows), tmp_path / "own.parquet")

    def load():
        own = load_own(tmp_path / "own.parquet", "quality", cache_dir=tmp_path / "cache")
        return own["quality"][:], [image.getpixel((0, 0)) for image in own["image"]]

    expected = ([1.0, 2.0], [(1, 0, 0), (2, 0, 0)])
    assert load() == expected
    for suffix in (".arrow", ".json"):
        files = [path for path in (tmp_path / "cache").rglob(f"*{suffix}") if path.is_file()]
        assert len(files) >= 2
        for path in files:
            damage(path)
        assert load() == expected
