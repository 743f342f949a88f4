from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from eyechart.datasets_scripts import left_out, load_dataset
from eyechart.datasets_scripts.common.errors import BadAnnotationError

HEADER = [None, None, None, "image", "dst_idx", "dst_type", "dst_lev", "dmos_std", "dmos"]
ROWS = [
    [1600, 1, "noise", 1, 0.0625, 0.25],
    ["Swarm", 3, "jpeg 2000", 5, 0.125, 1],
    ["swarm", 6, "contrast", 2, 0.0625, 0],
]
IMAGES = {
    "1600.AWGN.1.png": ("awgn", "1600", "white noise", 1, 0.75),
    "swarm.jpeg2000.5.png": ("jpeg2000", "swarm", "JPEG2000 compression", 5, 0.0),
    "swarm.contrast.2.png": ("contrast", "swarm", "contrast decrement", 2, 1.0),
}


@pytest.fixture
def csiq(tmp_path: Path, write_image: Callable[..., None]) -> Callable[..., Path]:
    """Return a function that writes a folder in CSIQ's layout."""

    def write(rows: list[list[Any]] = ROWS, header: list[Any] = HEADER, sheet: str = "all_by_image") -> Path:
        book = openpyxl.Workbook()
        table = book.create_sheet(sheet)
        for row in [["CSIQ"], [], [], header, *([None, None, None, *row] for row in rows)]:
            table.append(row)
        (tmp_path / "csiq").mkdir()
        book.save(tmp_path / "csiq" / "csiq.DMOS.xlsx")
        for name, (kind, *_) in IMAGES.items():
            write_image(tmp_path / "csiq" / "dst_imgs" / kind / name)
        return tmp_path / "csiq"

    return write


def test_the_workbook_is_turned_to_higher_is_better(csiq: Callable[..., Path]) -> None:
    part = load_dataset("csiq", data_dir=csiq(), split="test")
    assert part["id"][:] == list(IMAGES)
    for row, (_, reference, kind, level, quality) in zip(part, IMAGES.values(), strict=True):
        assert (row["reference"], row["distortion_type"], row["distortion_level"]) == (reference, kind, level)
        assert (row["quality"], row["released_score"], row["image"].size) == (quality, 1 - quality, (10, 8))
    assert part["quality_std"][:] == [0.0625, 0.125, 0.0625]


def test_bad_cells_name_the_sheets_row(csiq: Callable[..., Path]) -> None:
    folder = csiq(
        rows=[ROWS[0], ["swarm", 3, None, 5, 0.1, 1], [None, 3, "blur", 5, 0.1, 1], ["a", 1, "blur", 1, 0.1, "x"]]
    )
    with pytest.raises(BadAnnotationError, match=r"csiq\.DMOS\.xlsx, row 6: field 'dst_type' must be text, found None"):
        load_dataset("csiq", data_dir=folder)
    part = load_dataset("csiq", data_dir=folder, split="test", skip_bad=True)
    assert [(item["id"], item["reason"]) for item in left_out(part)] == [
        ("6", "field 'dst_type' must be text, found None"),
        ("7", "field 'image' must be text, found None"),
        ("8", "field 'dmos' must be a number, found 'x'"),
    ]


def test_another_sheet_or_header(csiq: Callable[..., Path], tmp_path: Path) -> None:
    folder = csiq(header=[*HEADER[:-1], "DMOS"])
    with pytest.raises(BadAnnotationError, match=r"row 4: .*missing column 'dmos'; did you mean 'DMOS'"):
        load_dataset("csiq", data_dir=folder)
    folder.rename(tmp_path / "first")
    with pytest.raises(BadAnnotationError, match=r"unknown sheet 'all_by_image'; did you mean 'by_image'"):
        load_dataset("csiq", data_dir=csiq(sheet="by_image"))


@pytest.mark.parametrize("missing", ["dst_type", "dst_lev"])
def test_the_columns_of_the_name_must_be_there(csiq: Callable[..., Path], missing: str) -> None:
    folder = csiq(header=[None if heading == missing else heading for heading in HEADER])
    with pytest.raises(BadAnnotationError, match=rf"csiq\.DMOS\.xlsx, row 4: .*missing column '{missing}'"):
        load_dataset("csiq", data_dir=folder)


@pytest.mark.parametrize("column", ["image", "img_path"])
def test_the_image_may_be_in_another_column(csiq: Callable[..., Path], column: str) -> None:
    """Of the workbook, where it is the reference, and of lists, where it is the file's name; only mos is no DMOS."""
    folder = csiq(header=[*HEADER[:3], column, *HEADER[4:]])
    part = load_dataset("csiq", data_dir=folder, split="test")
    assert part["id"][:] == list(IMAGES) and part["quality"][:] == [0.75, 0.0, 1.0]
    name = "swarm.jpeg2000.5.png"
    for file, content, quality in [
        ("dmos.csv", f"{column},dmos\n{name},0.25\n", 0.75),
        ("typed.csv", f"{column},dst_type,dst_lev,dmos\n{name},jpeg 2000,5,0.25\n", 0.75),
        ("saved.csv", f"{column},dst_idx,dst_type,dst_lev,dmos\nswarm,3,jpeg 2000,5,0.25\n", 0.75),
        ("gt.csv", f"{column},gt_score\n{name},0.25\n", 0.75),
        ("csiq.json", f'[{{"{column}": "{name}", "gt_score": "0.250"}}]', 0.75),
        ("dmos.json", f'[{{"{column}": "{name}", "dmos": 0.25}}]', 0.75),
        ("mos.csv", f"{column},mos\n{name},0.25\n", 0.25),
    ]:
        (folder / file).write_text(content, encoding="utf-8")
        part = load_dataset("csiq", data_files=str(folder / file), images="skip", split="test")
        assert (part["id"][:], part["quality"][:]) == ([name], [quality]), file
        assert (part["reference"][0], part["distortion_level"][0]) == ("swarm", 5)


def test_flat_folders_and_labels_with_blanks(release_of: Callable[..., Path]) -> None:
    folder = release_of({"csiq_label.txt": "1600.AWGN.1.png 0.25\nx.motion.3.png 0.5\n"}, ["dst_imgs/1600.AWGN.1.png"])
    part = load_dataset("csiq", data_dir=folder, split="test", skip_missing=True)
    assert (part["id"][:], part["quality"][:]) == (["1600.AWGN.1.png"], [0.75])
    row = load_dataset("csiq", data_dir=folder, split="test", images="skip")[1]
    assert (row["reference"], row["distortion_type"], row["distortion_level"]) == ("x", "motion", 3)


def test_the_real_labels(reference: Path) -> None:
    file = str(reference / "iqa-annotations" / "csiq_label.txt")
    part = load_dataset("csiq", data_files=file, images="skip", split="test")
    assert len(part) == 866 and (min(part["quality"]), max(part["quality"])) == (0, 1)
    assert [1 - score for score in part["released_score"]] == part["quality"][:]
    assert len(set(part["reference"])) == 30 and set(part["distortion_level"]) == {1, 2, 3, 4, 5}
    assert Counter(part["distortion_type"]) == {
        "white noise": 150,
        "JPEG compression": 150,
        "JPEG2000 compression": 150,
        "pink noise": 150,
        "Gaussian blur": 150,
        "contrast decrement": 116,
    }
    levels = {level: [] for level in range(1, 6)}
    for quality, level in zip(part["quality"], part["distortion_level"], strict=True):
        levels[level].append(quality)
    means = [sum(values) / len(values) for values in levels.values()]
    assert means == sorted(means, reverse=True)
