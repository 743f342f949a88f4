"""Data files: damaged or invalid JSON and text tables with annotations or predictions."""

import re

import pyarrow
import pyarrow.parquet
import pytest

from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError
from eyechart.datasets_scripts.common.files.base64_images import Base64Cell
from eyechart.datasets_scripts.common.files.readers import (
    ROW_ERROR,
    code_field,
    number_field,
    read_csv_rows,
    read_json_object,
    read_json_rows,
    read_jsonl_rows,
)
from eyechart.datasets_scripts.common.files.tsv import read_tsv_rows
from eyechart.datasets_scripts.own_data import load_own
from eyechart.evaluators.backends.predictions.formats import read_predictions
from tests.faults.fault import fault, row

NAMED = "the error names the file and the problem"
OF_IMAGE = "the row has an image error; --skip-bad leaves it out"
OF_ROW = "the error names the row and the problem"


def read_csv(path):
    return read_csv_rows(path, ["image", "mos"])


def read_tsv(path):
    return read_tsv_rows(path, ["index"], images=False)


@pytest.mark.parametrize(
    ("read", "content", "reason"),
    [
        row("a CSV file is empty", NAMED, read_csv, "", "the file is empty"),
        row("a CSV file lacks a column", NAMED, read_csv, "image,score\n", "missing column 'mos'; found: image, score"),
        row("a CSV file has a duplicate column", NAMED, read_csv, "image,mos,mos\n", "appear more than once"),
        row("a CSV file is not UTF-8", NAMED, read_csv, b"image,mos\n\xff\xfe,1\n", "not UTF-8"),
        row("an unclosed quotation mark in a CSV file", NAMED, read_csv, 'image,mos\n"a,1\n', "not valid CSV"),
        row("a TSV file is empty", NAMED, read_tsv, "", "the file is empty"),
        row(
            "a TSV file has a duplicate column", NAMED, read_tsv, "index\tindex\n", r"\['index'\] appear more than once"
        ),
        row("a column of a TSV file is misspelt", NAMED, read_tsv, "inedx\n", "did you mean 'inedx'"),
        row("the header of a TSV file is not UTF-8", NAMED, read_tsv, b"\xff\n", "row 1: not UTF-8"),
        row(
            "an unclosed quotation mark in a TSV file",
            OF_ROW,
            read_tsv,
            'index\n"1\n2\n',
            "row 3: .* inside a quoted field",
        ),
        row(
            "text follows a closing quotation mark in a TSV file",
            OF_ROW,
            read_tsv,
            'index\n"1"2\n',
            "row 2: text after a closing",
        ),
        row("a JSON file of rows is a number", NAMED, read_json_rows, "3", "a JSON list of objects, found a number"),
        row("a JSON file of rows is empty", NAMED, read_json_rows, "", "not valid JSON"),
        row("a JSON file of rows is truncated", NAMED, read_json_rows, "[1", "not valid JSON"),
        row("the last of several JSON objects is truncated", NAMED, read_json_rows, '{"a": 1}{"a": 2', "delimiter"),
        row("JSON objects are separated by commas", NAMED, read_json_rows, '{"a": 1},{"a": 2}', "Expecting value"),
        row("a JSON file nests lists 100,000 deep", NAMED, read_json_rows, "[" * 100_000, "not valid JSON"),
        row("a JSON file is not UTF-8", NAMED, read_json_rows, b"\xff\xfe", "not UTF-8"),
        row(
            "a number in a JSON file has 5,000 digits",
            NAMED,
            read_json_rows,
            f"[{'1' * 5000}]",
            "not valid JSON: .*4300",
        ),
        row(
            "a JSON file contains a list where an object is expected",
            NAMED,
            read_json_object,
            "[]",
            "object, found a list",
        ),
        row("a JSON object is truncated", NAMED, read_json_object, "{", "not valid JSON"),
        row("a JSON object is not UTF-8", NAMED, read_json_object, b'{"a": "\xff"}', "not UTF-8"),
        row(
            "a JSON object has a duplicate key",
            "it is refused; the error names the key",
            read_json_object,
            '{"a": 1, "b": 2, "a": 3}',
            "the key 'a' appears twice in one object",
        ),
        row(
            "an entry of a JSON object has a duplicate key",
            "it is refused; the error names entry and key",
            read_json_object,
            '{"c": [], "a": [{"b": 1, "b": 2}]}',
            "row a: the key 'b' appears twice in one object",
        ),
    ],
)
def test_files_that_cannot_be_read(read, content, reason, tmp_path):
    path = tmp_path / "annotations"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(BadAnnotationError, match=reason) as caught:
        read(str(path))
    assert caught.value.path == str(path)


SKIPPABLE = "only this row is an error; --skip-bad leaves it out"


@pytest.mark.parametrize(
    ("read", "content", "reason"),
    [
        row("a row of a CSV file has too few fields", SKIPPABLE, read_csv, "image,mos\na,1\nb\n", "2 fields.* found 1"),
        row(
            "a row of a CSV file has too many fields",
            SKIPPABLE,
            read_csv,
            "image,mos\na,1\nc,1,2\n",
            "2 fields.* found 3",
        ),
        row("a row of a TSV file has too few fields", SKIPPABLE, read_tsv, "index\tA\n1\t2\n1\n", "2 fields.* found 1"),
        row("a row of a TSV file is not UTF-8", SKIPPABLE, read_tsv, b"index\tA\n1\t2\n\xff\t2\n", "not UTF-8"),
        row(
            "an item of a JSON list is a string", SKIPPABLE, read_json_rows, '[{"a": 1}, "x"]', "object, found a string"
        ),
        row("a line of JSON Lines is truncated", SKIPPABLE, read_jsonl_rows, '{"a": 1}\n{"a"', "at character 5"),
        row("a line of JSON Lines is a list", SKIPPABLE, read_jsonl_rows, '{"a": 1}\n[]', "object, found a list"),
        row("a line of JSON Lines nests 100,000 deep", SKIPPABLE, read_jsonl_rows, "{}\n" + "[" * 100_000, "recursion"),
        row(
            "a row of a JSON list has a duplicate key",
            "the row is refused; the error names row and key",
            read_json_rows,
            '[{"a": 1}, {"id": "x", "answer": "A", "answer": "B"}]',
            "the key 'answer' appears twice in one object",
        ),
        row(
            "a nested object in a JSON row has a duplicate key",
            "the row is refused; the error names row and key",
            read_json_rows,
            '{"a": 1}{"id": "x", "options": [{"A": 1, "A": 2}]}',
            "the key 'A' appears twice in one object",
        ),
        row(
            "a line of JSON Lines has a duplicate key",
            "the line is refused; the error names line and key",
            read_jsonl_rows,
            '{"a": 1}\n{"id": "x", "answer": "A", "answer": "B"}',
            "the key 'answer' appears twice in one object",
        ),
    ],
)
def test_rows_that_cannot_be_read(read, content, reason, tmp_path):
    path = tmp_path / "annotations"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    (_, first), (_, second) = read(str(path))
    assert ROW_ERROR not in first and second.keys() == {ROW_ERROR}
    assert re.search(reason, second[ROW_ERROR])


@pytest.mark.parametrize(
    "read",
    [
        row("a CSV file is missing", NAMED, read_csv),
        row("a TSV file is missing", NAMED, read_tsv),
        row("a JSON file is missing", NAMED, read_json_rows),
    ],
)
def test_missing_files(read, tmp_path):
    with pytest.raises(MissingFileError, match=r"nothing: the annotation file is missing"):
        read(str(tmp_path / "nothing"))


@pytest.mark.parametrize(
    "read",
    [
        row("a folder has the name of a CSV file", NAMED, read_csv),
        row("a folder has the name of a TSV file", NAMED, read_tsv),
    ],
)
def test_folders_in_place_of_files(read, tmp_path):
    with pytest.raises(BadAnnotationError, match="cannot be read: it is a folder"):
        read(str(tmp_path))


@pytest.mark.parametrize(
    "values",
    [
        row("a score is empty, 1_0 (which Python reads as 10) or has a decimal comma", OF_ROW, ["", "1_0", "1,5"]),
        row("a score is nan, infinite or an integer of 400 digits", OF_ROW, ["nan", "-Infinity", 10**400]),
        row("a score is null, a list or true (which Python reads as 1)", OF_ROW, [None, [1], True]),
    ],
)
def test_bad_numbers(values):
    for value in values:
        with pytest.raises(BadAnnotationError, match=r"a\.csv, row 4: field 'mos' must be a"):
            number_field({"mos": value}, "mos", path="a.csv", number=4)


@pytest.mark.parametrize(
    "values",
    [
        row("a numeric code in the annotations is too large or negative", OF_ROW, [3, -1]),
        row("a numeric code in the annotations is a string, true or 1.0", OF_ROW, ["x", True, 1.0]),
    ],
)
def test_bad_codes(values):
    for value in values:
        with pytest.raises(BadAnnotationError, match="0 = no, 1 = yes; found"):
            code_field({"type": value}, "type", ["no", "yes"], path="a", number=1)


@fault("an image in a TSV file is not valid base64, or has one character too many or too few", OF_IMAGE)
def test_what_is_not_base64_is_said_in_the_cell(tmp_path):
    path = tmp_path / "table.tsv"
    for cell in ("!" * 100, "A" * 101, "A" * 99):
        path.write_text(f"index\timage\n1\t{cell}\n")
        ((_, found),) = read_tsv_rows(str(path), ["index"])
        assert isinstance(found["image"], Base64Cell) and found["image"].problem.startswith("the image is not base64: ")
        with pytest.raises(ValueError, match="not base64"):
            found["image"].load()


@fault("a line of a predictions file has a duplicate key", "the file is refused; the error names line and key")
def test_a_key_twice_in_predictions(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text('{"id": "x", "text": "A"}\n{"id": "y", "text": "A", "text": "B"}\n')
    with pytest.raises(BadAnnotationError, match=r"answers\.jsonl, row 2: the key 'text' appears twice"):
        read_predictions(path)


@fault("a Parquet file of the user's own data has a duplicate column", "the error gives the reason")
def test_a_column_twice_in_own_data(tmp_path):
    path = tmp_path / "own.parquet"
    table = pyarrow.Table.from_arrays([pyarrow.array(["Why?"]), pyarrow.array(["How?"])], names=["question"] * 2)
    pyarrow.parquet.write_table(table, path)
    with pytest.raises(BadAnnotationError, match=r"own\.parquet: cannot be read: ArrowInvalid: Multiple .*question"):
        load_own(path, "multiple choice")


@fault("a line of the user's own data has a duplicate key", "the run stops; the error names line and key")
def test_a_key_twice_in_own_data(tmp_path):
    path = tmp_path / "own.jsonl"
    line = '{"images": [], "question": "?", "options": ["a", "b"], "answer": "A"}\n'
    path.write_text(line + line.replace("}", ', "answer": "B"}'))
    with pytest.raises(BadAnnotationError, match=r"own\.jsonl, row 2: the key 'answer' appears twice"):
        load_own(path, "multiple choice")
