from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from eyechart.datasets_scripts import left_out, load_dataset
from eyechart.datasets_scripts.common.errors import BadAnnotationError

HEADER = ["Image name", "MOS", "Brightness", "Colorfulness", "Contrast", "Noisiness", "Sharpness"]
ROWS = [["00001.jpg", 48.86, 50, 51, 52, 53, 54], ["00002.jpg", 62, 60, 61, 62, 63, 64]]


@pytest.fixture
def spaq(tmp_path: Path, write_image: Callable[..., None]) -> Callable[..., Path]:
    """Return a function that writes a folder in SPAQ's layout."""

    def write(rows: list[list[Any]] = ROWS, image: str = HEADER[0]) -> Path:
        book = openpyxl.Workbook()
        for row in [[image, *HEADER[1:]], *rows]:
            book.active.append(row)
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


@pytest.mark.parametrize("column", ["image", "img_path"])
def test_the_image_may_be_in_another_column(spaq: Callable[..., Path], column: str) -> None:
    folder = spaq(image=column)
    assert load_dataset("spaq", data_dir=folder, split="test")["quality"][:] == [48.86, 62.0]
    for name, content in {
        "mos.csv": f"{column},MOS,Brightness\n00001.jpg,48.86,1\n",
        "list.csv": f"{column},mos\n00001.jpg,48.86\n",
        "list.json": f'[{{"{column}": "00001.jpg", "MOS": 48.86}}]',
        "spaq.json": f'[{{"{column}": "00001.jpg", "gt_score": "48.86 "}}]',
    }.items():
        (folder / name).write_text(content, encoding="utf-8")
        part = load_dataset("spaq", data_files=str(folder / name), images="skip", split="test")
        assert (part["id"][:], part["quality"][:]) == (["00001.jpg"], [48.86]), name


def test_the_workbook_saved_as_csv(spaq: Callable[..., Path]) -> None:
    folder = spaq()
    (folder / "saved.csv").write_text("Image name,MOS,Brightness\n00001.jpg,48.86,50\n", encoding="utf-8")
    part = load_dataset("spaq", data_dir=folder, data_files=str(folder / "saved.csv"), split="test")
    assert part["quality"][:] == [48.86]


def test_a_workbook_without_the_score_names_it(spaq: Callable[..., Path]) -> None:
    folder = spaq(rows=[["00001.jpg"]], image="img")
    with pytest.raises(BadAnnotationError, match=r"scores\.xlsx, row 1: .*missing column 'Image name'"):
        load_dataset("spaq", data_dir=folder)


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


@pytest.mark.parametrize("file", ["q-bench-a3/spaq.json", "iqa-annotations/uw_SPAQ.txt"])
def test_the_real_lists(reference: Path, file: str) -> None:
    part = load_dataset("spaq", data_files=str(reference / file), images="skip", split="test")
    assert len(part) == 11_125 and part["id"][0] == "00001.jpg"
    assert (min(part["quality"]), max(part["quality"])) == (2, 96)
    assert part["released_score"][:] == part["quality"][:]
