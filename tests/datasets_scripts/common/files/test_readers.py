"""Tables, JSON, workbooks, Parquet files and images of known content; what cannot be read is in `tests/faults`."""

import base64
import csv
import io
import struct
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies
from PIL import Image

from eyechart.datasets_scripts.common.errors import BadAnnotationError
from eyechart.datasets_scripts.common.files.image_cells import (
    SHORT_CELL,
    Base64Cell,
    base64_problem,
    decode_base64,
    load_image,
)
from eyechart.datasets_scripts.common.files.parquet import read_parquet_rows
from eyechart.datasets_scripts.common.files.readers import Row, iterate_table, read_json_rows
from eyechart.datasets_scripts.common.files.spreadsheets import read_xlsx_rows
from eyechart.datasets_scripts.common.images import encoded_image, open_image

IMAGE = bytes(range(256))


def write(tmp_path: Path, content: bytes | str) -> str:
    path = tmp_path / "file"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def read_tsv(path: str, required: tuple[str, ...] = (), *, images: bool = True) -> list[Row]:
    return list(iterate_table(path, required, delimiter="\t", image_columns=["image"], images=images))


def test_csv_rows_have_line_numbers_and_any_line_ending(tmp_path: Path) -> None:
    path = write(tmp_path, b'\xef\xbb\xbf image ,mos\r\n"a\nb",1\r\n\r\nc\xe2\x80\xa8d,2\r\n,\n')
    assert list(iterate_table(path, ["image", "mos"])) == [
        (3, {"image": "a\nb", "mos": "1"}),
        (5, {"image": "c\N{LINE SEPARATOR}d", "mos": "2"}),
    ]
    assert [*iterate_table(write(tmp_path, "a b\n"), [], delimiter=" ", columns=["x", "y"])] == [
        (1, {"x": "a", "y": "b"})
    ]


def test_tsv_texts_are_unchanged(tmp_path: Path) -> None:
    text = '\ufeffindex\t"A"\timage\n1\tnan\t7\n\n2\t"two\tlines\r\nand ""more"" \n"\t\r\n3\t5" tall\t""\n4\t""""\tx'
    assert read_tsv(write(tmp_path, text), ("index",)) == [
        (2, {"index": "1", "A": "nan", "image": "7"}),
        (6, {"index": "2", "A": 'two\tlines\r\nand "more" \n', "image": ""}),
        (7, {"index": "3", "A": '5" tall', "image": ""}),
        (8, {"index": "4", "A": '"', "image": "x"}),
    ]


cells = strategies.text(strategies.sampled_from('a1"\t\n \u00e9\u5b57,'), max_size=8)


@settings(max_examples=50, deadline=None)
@given(
    table=strategies.lists(strategies.tuples(cells, cells, cells), max_size=4),
    end=strategies.sampled_from(["\n", "\r\n"]),
)
def test_tables_of_the_csv_module_are_read(
    table: list[tuple[str, str, str]], end: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    text = io.StringIO()
    csv.writer(text, delimiter="\t", lineterminator=end).writerows([("a", "b", "c"), *table])
    rows = read_tsv(write(tmp_path_factory.mktemp("table"), text.getvalue()), ("a",), images=False)
    assert [tuple(row.values()) for _, row in rows] == [row for row in table if "".join(row).strip()]


@pytest.mark.parametrize("quoted", [False, True])
@pytest.mark.parametrize("size", [SHORT_CELL * 3 // 4 + 1, 200_000])
def test_images_in_tables_are_read_later(tmp_path: Path, size: int, quoted: bool) -> None:
    image = IMAGE * (size // 256) + bytes(size % 256)
    cell = f'"{base64.encodebytes(image).decode()}"' if quoted else base64.b64encode(image).decode()
    path = write(tmp_path, f'index\thint\timage\tA\n\n1\t"\u5b57\n"\t{cell}\tx\n2\t\t1\ty\n')
    (_, first), (_, second) = read_tsv(path)
    assert isinstance(first["image"], Base64Cell) and first["image"].problem == ""
    assert first["image"].load() == image
    assert (first["A"], second) == ("x", {"index": "2", "hint": "", "image": "1", "A": "y"})


def test_image_columns_can_be_skipped(tmp_path: Path) -> None:
    for content in (b"index\timage\n1\t\xff\n", b"index\n1\n"):
        path = write(tmp_path, content)
        assert read_tsv(path, images=False) == [(2, {"index": "1"})]
    with pytest.raises(BadAnnotationError, match="row 1: missing column 'image'"):
        read_tsv(path)


def test_memory_is_that_of_a_few_rows(tmp_path: Path) -> None:
    row = b"1\t%s\n" % base64.b64encode(bytes(750_000))
    path = write(tmp_path, b"index\timage\n" + row * 30)
    tracemalloc.start()
    try:
        rows = read_tsv(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(rows) == 30 and peak < 15e6 < len(row) * 30 / 2


@pytest.mark.parametrize("between", ["", "\n", " \r\n\t"])
def test_json_objects_may_follow_each_other(between: str, tmp_path: Path) -> None:
    path = write(tmp_path, between.join(["", '{"a": "}{"}', '{"a": {"b": 2}}', ""]))
    assert read_json_rows(path) == [(1, {"a": "}{"}), (2, {"a": {"b": 2}})]


def test_base64_may_have_line_breaks_or_be_a_data_url() -> None:
    text = base64.encodebytes(IMAGE).decode()
    assert "\n" in text and decode_base64(text) == decode_base64(f"data:image/png;base64,{text}") == IMAGE
    for cell in ("abc", "ab-_", "data:image/png,AAAA====", "A===", "\u00e9", "AA="):
        assert base64_problem(cell).startswith("the image is not base64: ")


@pytest.mark.parametrize("kind", [pa.binary(), pa.struct({"bytes": pa.binary()}), pa.null()])
def test_bytes_in_parquet(tmp_path: Path, kind: pa.DataType) -> None:
    path = str(tmp_path / "dev.parquet")
    value = {"bytes": IMAGE} if pa.types.is_struct(kind) else None if kind == pa.null() else IMAGE
    pq.write_table(pa.table({"image": pa.array([value, None], kind)}), path)
    first, second = [row["image"] for _, row in read_parquet_rows(path, [], ["image"])]
    assert second is None
    assert load_image(first) == (None if first is None else {"bytes": IMAGE, "path": None})


@pytest.mark.parametrize("kind", [pa.string(), pa.dictionary(pa.int32(), pa.string())])
def test_base64_in_parquet(tmp_path: Path, kind: pa.DataType) -> None:
    path = str(tmp_path / "dev.parquet")
    cells = [base64.b64encode(IMAGE).decode(), "12", None, "!" * 100]
    pq.write_table(pa.table({"index": [1, 2, 3, 4], "image": pa.array(cells, kind)}), path, row_group_size=2)
    rows = [row["image"] for _, row in read_parquet_rows(path, ["index"], ["image"])]
    assert rows[0].load() == IMAGE and rows[1:3] == ["12", None]
    assert (rows[3].group, rows[3].index, rows[3].problem) == (1, 1, base64_problem("!" * 100))


def test_workbooks(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["image ", "mos"], ["a.png", 1.5], [None, None], ["b.png", "=1+1"]):
        book.active.append(row)
    scores = book.create_sheet("scores")
    for row in (["A title"], [None, "image", "mos"], ["note", 1600, 2.5]):
        scores.append(row)
    path = str(tmp_path / "scores.xlsx")
    book.save(path)
    # openpyxl saves no values with formulas.
    first = (2, {"image": "a.png", "mos": 1.5})
    assert read_xlsx_rows(path, ["image", "mos"]) == [first, (4, {"image": "b.png", "mos": None})]
    assert read_xlsx_rows(path, ["mos"], formulas=True) == [first, (4, {"image": "b.png", "mos": "=1+1"})]
    assert read_xlsx_rows(path, ["image"], sheet="scores", header_row=2) == [(3, {"image": 1600, "mos": 2.5})]


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def noise(size: int = 40) -> Image.Image:
    return Image.fromarray(np.random.default_rng(0).integers(0, 256, (size, size + 2, 3), dtype=np.uint8))


def png_header(width: int, height: int) -> bytes:
    """Return a PNG that claims a size and has hardly any pixel data."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("kind", ["PNG", "BMP", "WEBP", "TIFF"])
def test_every_source_gives_the_same_decoded_pixels(kind: str, tmp_path: Path) -> None:
    data = encoded(noise(), kind, **({"lossless": True} if kind == "WEBP" else {}))
    path = tmp_path / "image"
    path.write_bytes(data)
    for source in (data, path, str(path), {"bytes": data, "path": None}, {"bytes": None, "path": str(path)}):
        image = open_image(source)
        assert image.mode == "RGB"
        np.testing.assert_array_equal(np.asarray(image), np.asarray(noise()))


def test_the_exif_orientation_is_left_as_it_is() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    assert open_image(encoded(noise(), "JPEG", exif=exif)).size == noise().size


def test_sixteen_bit_grey_keeps_its_range() -> None:
    values = np.array([[0, 256 * 100, 65535]], np.uint16)
    pixmap = b"P5 3 1 65535\n" + values.astype(">u2").tobytes()
    for data in (encoded(Image.fromarray(values), "PNG"), pixmap):
        assert np.asarray(open_image(data))[0, :, 0].tolist() == [0, 100, 255]


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "CMYK", "YCbCr"])
def test_every_other_mode_becomes_rgb(mode: str) -> None:
    kind = "JPEG" if mode in ("CMYK", "YCbCr") else "PNG"
    image = open_image(encoded(Image.new(mode, (1, 1)), kind))
    assert (image.mode, image.size) == ("RGB", (1, 1))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "MPO"])
def test_an_encoded_image_is_the_files_bytes_and_its_true_kind(kind: str, tmp_path: Path) -> None:
    data, mime_type = encoded(noise(), kind), f"image/{'jpeg' if kind == 'MPO' else kind.lower()}"
    (tmp_path / "image.xyz").write_bytes(data)
    assert encoded_image(tmp_path / "image.xyz") == (data, mime_type)
    assert encoded_image({"bytes": data, "path": "elsewhere.png"}) == (data, mime_type)
