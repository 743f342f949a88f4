from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from eyechart.datasets_scripts import left_out
from eyechart.datasets_scripts import load_dataset
from eyechart.datasets_scripts.common.errors import BadAnnotationError

pytestmark = pytest.mark.datasets36
HEADER = ["Image name", "MOS", "Brightness", "Colorfulness", "Contrast", "Noisiness", "Sharpness"]
ROWS = [["00001.jpg", 48.86, 50, 51, 52, 53, 54], ["00002.jpg", 62, 60, 61, 62, 63, 64]]


@pytest.fixture
def spaq(tmp_path: Path, write_image: Callable[..., None]) -> Callable[..., Path]:
    """Return a function that writes a folder in SPAQ's layout."""

    def write(rows: list[list[Any]] = ROWS, merge: str = "") -> Path:
        book = openpyxl.Workbook()
        for row in [HEADER, *rows]:
            book.active.append(row)
        if merge:
            book.active.merge_cells(merge)
        (tmp_path / "spaq" / "Annotations").mkdir(parents=True)
        book.save(tmp_path / "spaq" / "Annotations" / "MOS and Image attribute scores.xlsx")
        for name, *_ in ROWS:
            write_image(tmp_path / "spaq" / "TestImage" / name)
        return tmp_path / "spaq"

    return write


def test_the_release(spaq: Callable[..., Path]) -> None:
    part = load_dataset("spaq", data_dir=spaq(), split="test")
    assert part["id"][:] == ["00001.jpg", "00002.jpg"]
    assert part["quality"][:] == part["released_score"][:] == [48.86, 62.0]
    assert part["quality_std"][:] == [None, None] and part[0]["image"].size == (10, 8)


def test_bad_cells_name_the_sheets_row(spaq: Callable[..., Path]) -> None:
    folder = spaq(rows=[ROWS[0], ["00002.jpg", "#REF!"], [3, 50], ["00004.jpg", None]])
    with pytest.raises(BadAnnotationError, match=r"scores\.xlsx, row 3: field 'MOS' must be a number, found '#REF!'"):
        load_dataset("spaq", data_dir=folder)
    part = load_dataset("spaq", data_dir=folder, split="test", skip_bad=True)
    assert [item["reason"] for item in left_out(part)] == [
        "field 'MOS' must be a number, found '#REF!'",
        "field 'Image name' must be text, found 3",
        "field 'MOS' must be a number, found None",
    ]


def test_merged_headings(spaq: Callable[..., Path]) -> None:
    with pytest.raises(BadAnnotationError, match=r"scores\.xlsx, row 1: the header has merged cells \(C1:G1\)"):
        load_dataset("spaq", data_dir=spaq(merge="C1:G1"))


@pytest.mark.parametrize("file", ["q-bench-a3/spaq.json", "iqa-annotations/uw_SPAQ.txt"])
def test_the_real_lists(reference: Path, file: str) -> None:
    part = load_dataset("spaq", data_files=str(reference / file), images="skip", split="test")
    assert len(part) == 11_125 and part["id"][0] == "00001.jpg"
    assert (min(part["quality"]), max(part["quality"])) == (2, 96)
    assert part["released_score"][:] == part["quality"][:]
