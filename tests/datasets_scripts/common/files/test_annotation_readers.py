from pathlib import Path

import pytest

from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError
from eyechart.datasets_scripts.common.files.readers import (
    ROW_ERROR,
    clean_text,
    code_field,
    number_field,
    read_csv_rows,
    read_json_object,
    read_json_rows,
    text_field,
)


def write(tmp_path: Path, content: bytes | str) -> str:
    path = tmp_path / "file"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def test_text_is_composed_and_stripped() -> None:
    assert clean_text("  cafe\N{COMBINING ACUTE ACCENT} ") == "caf\N{LATIN SMALL LETTER E WITH ACUTE}"


def test_csv_rows_carry_line_numbers_and_any_line_ending(tmp_path: Path) -> None:
    path = write(tmp_path, b'\xef\xbb\xbf image ,mos\r\n"a\nb",1\r\n\r\nc\xe2\x80\xa8d,2\r\n')
    assert read_csv_rows(path, ["image", "mos"]) == [
        (3, {"image": "a\nb", "mos": "1"}),
        (5, {"image": "c\N{LINE SEPARATOR}d", "mos": "2"}),
    ]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "the file is empty"),
        ("image,score\n", "missing column 'mos'; found: image, score"),
        ("image,mos_\n", "did you mean 'mos_'"),
        ("image,mos,mos\n", "appear more than once"),
        (b"image,mos\n\xff\xfe,1\n", "not UTF-8"),
        ('image,mos\n"a,1\n', "not valid CSV"),
    ],
)
def test_bad_csv_files(content: bytes | str, reason: str, tmp_path: Path) -> None:
    path = write(tmp_path, content)
    with pytest.raises(BadAnnotationError, match=reason) as caught:
        read_csv_rows(path, ["image", "mos"])
    assert caught.value.path == path


def test_a_csv_row_of_another_length_is_an_error_of_that_row(tmp_path: Path) -> None:
    rows = read_csv_rows(write(tmp_path, "image,mos\na,1\nb\nc,1,2\n"), ["image", "mos"])
    assert rows[1] == (3, {ROW_ERROR: "1 field(s) where the header has 2"})
    assert rows[2] == (4, {ROW_ERROR: "3 field(s) where the header has 2"})


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("3", "expected a JSON list of objects, found a number"),
        ("", "not valid JSON"),
        ("[1", "not valid JSON"),
        ('{"a": 1}{"a": 2', "not valid JSON: .* delimiter"),
        ('{"a": 1},{"a": 2}', "not valid JSON: Expecting value"),
        ('{"a":' * 100_000, "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_bad_json_files(content: bytes | str, reason: str, tmp_path: Path) -> None:
    path = write(tmp_path, content)
    with pytest.raises(BadAnnotationError, match=reason) as caught:
        read_json_rows(path)
    assert caught.value.path == path


@pytest.mark.parametrize("between", ["", "\n", " \r\n\t"])
def test_json_objects_one_behind_the_other(between: str, tmp_path: Path) -> None:
    path = write(tmp_path, between.join(["", '{"a": "}{"}', '{"a": {"b": 2}}', ""]))
    assert read_json_rows(path) == [(1, {"a": "}{"}), (2, {"a": {"b": 2}})]


def test_json_items_that_are_no_objects_are_errors_of_that_row(tmp_path: Path) -> None:
    rows = read_json_rows(write(tmp_path, '[{"a": 1}, "text", null]'))
    assert rows[0] == (1, {"a": 1})
    assert [row[ROW_ERROR] for _, row in rows[1:]] == [
        "expected a JSON object, found a string",
        "expected a JSON object, found null",
    ]


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="not there"):
        read_json_rows(str(tmp_path / "none.json"))


@pytest.mark.parametrize("value", ["", "x", "nan", "inf", "-Infinity", "1_0", "1,5", None, True, [1]])
def test_bad_numbers(value: object) -> None:
    with pytest.raises(BadAnnotationError, match=r"a\.csv, row 4: field 'mos' must be a"):
        number_field({"mos": value}, "mos", path="a.csv", number=4)


@pytest.mark.parametrize(("value", "number"), [(" 1.5 ", 1.5), ("1e1", 10.0), (3, 3.0), ("-2", -2.0)])
def test_good_numbers(value: object, number: float) -> None:
    assert number_field({"mos": value}, "mos", path="a", number=1) == number


@pytest.mark.parametrize("value", [None, 3, -1, "x", True, 1.0])
def test_bad_codes(value: object) -> None:
    with pytest.raises(BadAnnotationError, match="0 = no, 1 = yes; found"):
        code_field({"type": value}, "type", ["no", "yes"], path="a", number=1)


def test_codes_may_be_digits() -> None:
    assert code_field({"type": " 1 "}, "type", ["no", "yes"], path="a", number=1) == "yes"


def test_text_fields() -> None:
    assert text_field({"q": " a "}, "q", path="a", number=1) == "a"
    for row, reason in (({}, "'q' is missing"), ({"q": 1}, "must be text, found 1"), ({"q": "  "}, "is empty")):
        with pytest.raises(BadAnnotationError, match=reason):
            text_field(row, "q", path="a", number=1)


def test_json_objects(tmp_path: Path) -> None:
    assert read_json_object(write(tmp_path, '{"a": [{"b": 1}], "c": []}')) == {"a": [{"b": 1}], "c": []}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[]", "expected a JSON object, found a list"),
        ("{", "cannot be read as JSON"),
        (b'{"a": "\xff"}', "not UTF-8"),
        ('{"a": 1, "b": 2, "a": 3}', "the key 'a' appears twice in one object"),
        ('{"a": [{"b": 1, "b": 2}]}', "the key 'b' appears twice in one object"),
    ],
)
def test_bad_json_objects(content: bytes | str, reason: str, tmp_path: Path) -> None:
    path = write(tmp_path, content)
    with pytest.raises(BadAnnotationError, match=reason) as caught:
        read_json_object(path)
    assert caught.value.path == path
