from pathlib import Path

import pytest

from eyechart.datasets_scripts.common.errors import BadAnnotationError
from eyechart.datasets_scripts.common.files.readers import (
    clean_text,
    code_field,
    number_field,
    read_csv_rows,
    read_json_object,
    read_json_rows,
    read_jsonl_rows,
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


@pytest.mark.parametrize("between", ["", "\n", " \r\n\t"])
def test_json_objects_one_behind_the_other(between: str, tmp_path: Path) -> None:
    path = write(tmp_path, between.join(["", '{"a": "}{"}', '{"a": {"b": 2}}', ""]))
    assert read_json_rows(path) == [(1, {"a": "}{"}), (2, {"a": {"b": 2}})]


@pytest.mark.parametrize(("value", "number"), [(" 1.5 ", 1.5), ("1e1", 10.0), (3, 3.0), ("-2", -2.0)])
def test_good_numbers(value: object, number: float) -> None:
    assert number_field({"mos": value}, "mos", path="a", number=1) == number


def test_codes_may_be_digits() -> None:
    assert code_field({"type": " 1 "}, "type", ["no", "yes"], path="a", number=1) == "yes"


def test_text_fields() -> None:
    assert text_field({"q": " a "}, "q", path="a", number=1) == "a"
    for row, reason in (({}, "'q' is missing"), ({"q": 1}, "must be text, found 1"), ({"q": "  "}, "is empty")):
        with pytest.raises(BadAnnotationError, match=reason):
            text_field(row, "q", path="a", number=1)


def test_json_objects(tmp_path: Path) -> None:
    assert read_json_object(write(tmp_path, '{"a": [{"b": 1}], "c": []}')) == {"a": [{"b": 1}], "c": []}


def test_a_byte_that_is_not_utf8_is_located_by_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, b'{"a": 12}\n' * 10_000 + b"\xff")
    with pytest.raises(BadAnnotationError, match=r"row 10001: not UTF-8 text \(invalid start byte\)"):
        read_jsonl_rows(path)
