import base64
import csv
import io
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies

from eyechart.datasets_scripts.common.errors import BadAnnotationError
from eyechart.datasets_scripts.common.files.base64_images import SHORT_CELL, Base64Cell
from eyechart.datasets_scripts.common.files.tsv import read_tsv_rows


def write(tmp_path: Path, content: bytes | str) -> str:
    path = tmp_path / "table.tsv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def test_texts_are_given_as_they_are(tmp_path: Path) -> None:
    path = write(tmp_path, "\ufeffindex\tA\tB\timage\n1\tnan\tNone\t7\n\n2\t\tN/A\t\r\n3\t1\t0\tx")
    assert read_tsv_rows(path, ["index", "A"]) == [
        (2, {"index": "1", "A": "nan", "B": "None", "image": "7"}),
        (4, {"index": "2", "A": "", "B": "N/A", "image": ""}),
        (5, {"index": "3", "A": "1", "B": "0", "image": "x"}),
    ]


def test_quoted_fields_hold_tabs_line_breaks_and_quotation_marks(tmp_path: Path) -> None:
    text = 'index\t"A"\timage\n1\t"two\tlines\r\nand ""more"" \n"\t\n2\t5" tall\t""\n3\t""""\tx\n'
    assert read_tsv_rows(write(tmp_path, text), ["A"]) == [
        (4, {"index": "1", "A": 'two\tlines\r\nand "more" \n', "image": ""}),
        (5, {"index": "2", "A": '5" tall', "image": ""}),
        (6, {"index": "3", "A": '"', "image": "x"}),
    ]


cells = strategies.text(strategies.sampled_from('a1"\t\n \u00e9\u5b57,'), max_size=8)


@settings(max_examples=100, deadline=None)
@given(
    table=strategies.lists(strategies.tuples(cells, cells, cells), max_size=4),
    end=strategies.sampled_from(["\n", "\r\n"]),
)
def test_what_the_csv_module_writes_is_read(
    table: list[tuple[str, str, str]], end: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator=end)
    writer.writerows([("a", "b", "c"), *table])
    rows = read_tsv_rows(write(tmp_path_factory.mktemp("table"), text.getvalue()), ["a"], ("none",), images=False)
    assert [tuple(row.values()) for _, row in rows] == table


@pytest.mark.parametrize("quoted", [False, True])
@pytest.mark.parametrize("size", [SHORT_CELL * 3 // 4 + 1, 200_000])
def test_images_are_found_again_by_their_place(tmp_path: Path, size: int, quoted: bool) -> None:
    image = bytes(range(256)) * (size // 256) + bytes(size % 256)
    cell = base64.encodebytes(image).decode() if quoted else base64.b64encode(image).decode()
    cell = f'"{cell}"' if quoted else cell
    path = write(tmp_path, f'index\thint\timage\tA\n1\t"\u5b57\n"\t{cell}\tx\n2\t\t1\ty\n')
    (_, first), (_, second) = read_tsv_rows(path, ["index"])
    assert isinstance(first["image"], Base64Cell) and first["image"].problem == ""
    assert first["image"].load() == image
    assert (first["A"], second) == ("x", {"index": "2", "hint": "", "image": "1", "A": "y"})


def test_the_image_column_can_be_left_unread(tmp_path: Path) -> None:
    path = write(tmp_path, b"index\timage\n1\t\xff\n")
    assert read_tsv_rows(path, ["index"], images=False) == [(2, {"index": "1"})]
    path = write(tmp_path, "index\n1\n")
    assert read_tsv_rows(path, ["index"], images=False) == [(2, {"index": "1"})]
    with pytest.raises(BadAnnotationError, match=r"table\.tsv, row 1: missing column 'image'"):
        read_tsv_rows(path, ["index"])


def test_memory_is_that_of_a_few_rows(tmp_path: Path) -> None:
    cell = base64.b64encode(bytes(750_000))
    path = tmp_path / "table.tsv"
    with open(path, "wb") as file:
        file.write(b"index\timage\n")
        for index in range(30):
            file.write(b"%d\t%s\n" % (index, cell))
    tracemalloc.start()
    try:
        rows = read_tsv_rows(str(path), ["index"])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(rows) == 30 and peak < 8e6 < path.stat().st_size / 3
