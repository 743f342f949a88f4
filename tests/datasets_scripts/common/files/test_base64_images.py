import base64
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eyechart.datasets_scripts.common.errors import BadAnnotationError
from eyechart.datasets_scripts.common.files.base64_images import base64_problem, decode_base64
from eyechart.datasets_scripts.common.files.image_cells import load_image
from eyechart.datasets_scripts.common.files.parquet import read_parquet_rows

IMAGE = bytes(range(256))


@pytest.mark.parametrize("wrap", [str, str.encode])
def test_line_breaks_are_allowed(wrap: type) -> None:
    text = base64.encodebytes(IMAGE).decode()
    assert "\n" in text
    assert decode_base64(wrap(f"data:image/png;base64,{text}")) == IMAGE
    assert decode_base64(wrap(text)) == decode_base64(base64.b64encode(IMAGE)) == IMAGE


@pytest.mark.parametrize("cell", ["abc", "ab-_", "data:image/png,AAAA====", "A===", "\u00e9", "AA="])
def test_anything_else_is_not(cell: str) -> None:
    assert base64_problem(cell).startswith("the image is not base64: ")


@pytest.mark.parametrize("kind", [pa.int64(), pa.list_(pa.binary()), pa.struct({"path": pa.string()})])
def test_parquet_columns_that_hold_no_images(tmp_path: Path, kind: pa.DataType) -> None:
    path = str(tmp_path / "dev.parquet")
    pq.write_table(pa.table({"image": pa.array([None, None], kind)}), path)
    with pytest.raises(BadAnnotationError, match=r"dev\.parquet: column 'image' must contain images as bytes or"):
        read_parquet_rows(path, [], ["image"])


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.struct({"bytes": pa.binary()}), pa.null()])
def test_parquet_columns_of_bytes(tmp_path: Path, kind: pa.DataType) -> None:
    path = str(tmp_path / "dev.parquet")
    value = {"bytes": IMAGE} if pa.types.is_struct(kind) else IMAGE
    cells = [None, None] if kind == pa.null() else [value, None]
    pq.write_table(pa.table({"image": pa.array(cells, kind)}), path)
    first, second = [row["image"] for _, row in read_parquet_rows(path, [], ["image"])]
    assert second is None
    assert load_image(first) == (None if first is None else {"bytes": IMAGE, "path": None})


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_base64_in_parquet(tmp_path: Path, kind: pa.DataType) -> None:
    path = str(tmp_path / "dev.parquet")
    cells = [base64.b64encode(IMAGE).decode(), "12", None, "!" * 100]
    table = pa.table({"index": [1, 2, 3, 4], "image": pa.array(cells, kind)})
    pq.write_table(table, path, row_group_size=2)
    rows = [row["image"] for _, row in read_parquet_rows(path, ["index"], ["image"])]
    assert rows[0].load() == IMAGE and rows[1:3] == ["12", None]
    assert (rows[3].group, rows[3].index, rows[3].problem) == (1, 1, base64_problem("!" * 100))
