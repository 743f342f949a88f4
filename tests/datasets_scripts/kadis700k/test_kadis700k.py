from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from eyechart.datasets_scripts import left_out, load_dataset
from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError, MissingImagesError
from eyechart.datasets_scripts.common.images import open_image
from eyechart.datasets_scripts.common.quality.kadid import KADID_DISTORTIONS, kadid_facts

Folder = Callable[..., Path]
Rows = list[tuple[str, str]]


@pytest.mark.parametrize("image_folder", ["", "images"])
def test_a_folder_with_scores(kadis: Folder, kadis_rows: Rows, image_folder: str) -> None:
    part = load_dataset("kadis700k", data_dir=kadis(image_folder=image_folder), split="test")
    assert part["id"][:] == [name for name, _ in kadis_rows]
    row = part[2]
    assert row.pop("image").size == (10, 8)
    assert row == {
        "id": "sea_25_05.png",
        "quality": 8.25,
        "quality_std": None,
        "released_score": 8.25,
        "reference": "sea",
        "distortion_type": "contrast change",
        "distortion_level": 5,
        "subset": None,
    }


def test_codes_of_the_file_names() -> None:
    assert len(KADID_DISTORTIONS) == 25
    assert kadid_facts("a_01_b_01_05.bmp") == {
        "reference": "a_01_b",
        "distortion_type": "Gaussian blur",
        "distortion_level": 5,
    }
    assert kadid_facts("plain.png") == kadid_facts("a_1_5.png") == {}


def test_names_without_codes_leave_the_facts_empty(kadis: Folder) -> None:
    folder = kadis(rows=[("plain.png", "1")], images=["plain.png"])
    row = load_dataset("kadis700k", data_dir=folder, split="test", images="skip")[0]
    assert (row["reference"], row["distortion_type"], row["distortion_level"], row["image"]) == (None,) * 4


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (("b.png", "good"), r"field 'mos' must be a number, found 'good'"),
        (("b.png", ""), r"field 'mos' must be a number, found ''"),
        (("b.png", "nan"), r"field 'mos' must be a finite number, found 'nan'"),
        (("b.png", "inf"), r"field 'mos' must be a finite number, found 'inf'"),
        (("b.png",), r"expected 2 fields, as in the header; found 1"),
        (("", "3"), r"field 'image' is empty"),
        (("tree_01_01.png", "3"), r"duplicate id 'tree_01_01\.png'"),
        (("b_26_01.png", "3"), r"type 26 and level 1; expected types 1-25 and levels 1-5"),
        (("b_25_06.png", "3"), r"type 25 and level 6"),
        (("../b.png", "3"), r"points outside the image folder"),
    ],
)
def test_bad_rows(kadis: Folder, kadis_rows: Rows, row: tuple[str, ...], reason: str) -> None:
    folder = kadis(rows=[kadis_rows[0], row, kadis_rows[1]])
    with pytest.raises(BadAnnotationError, match=rf"mos\.csv, row 3: .*{reason}"):
        load_dataset("kadis700k", data_dir=folder)
    part = load_dataset("kadis700k", data_dir=folder, split="test", skip_bad=True)
    assert part["id"][:] == [kadis_rows[0][0], kadis_rows[1][0]]
    assert [(item["id"], item["split"]) for item in left_out(part)] == [("3", "test")]


def test_missing_columns_name_the_file_and_the_columns(kadis: Folder) -> None:
    reason = r"mos\.csv, row 1: .*missing column 'mos'; .*found: image, moss\. .* a CSV with the columns image,mos: "
    with pytest.raises(BadAnnotationError, match=reason):
        load_dataset("kadis700k", data_dir=kadis(header=("image", "moss")))


def test_missing_images(kadis: Folder) -> None:
    folder = kadis(images=["tree_01_02.png"])
    with pytest.raises(MissingImagesError, match=r"mos\.csv: no image file found for 2 items"):
        load_dataset("kadis700k", data_dir=folder)
    part = load_dataset("kadis700k", data_dir=folder, split="test", skip_missing=True)
    assert part["id"][:] == ["tree_01_02.png"]
    assert [item["id"] for item in left_out(part)] == ["tree_01_01.png", "sea_25_05.png"]


def test_without_scores_the_error_says_what_to_get(tmp_path: Path) -> None:
    for arguments in ({}, {"data_dir": tmp_path}):
        with pytest.raises(MissingFileError, match=r"(?s)2AFC-LMMs.*mos\.csv with the columns image,mos.*data_dir"):
            load_dataset("kadis700k", **arguments)


def test_corrupt_images_are_left_to_the_evaluation(kadis: Folder) -> None:
    from datasets import Image

    folder = kadis()
    (folder / "tree_01_02.png").write_bytes(b"")
    part = load_dataset("kadis700k", data_dir=folder, split="test").cast_column("image", Image(decode=False))
    assert open_image(part[0]["image"]).size == (10, 8)
    with pytest.raises(Exception, match=r"tree_01_02\.png: the image is empty"):
        open_image(part[1]["image"])


def test_the_real_images(reference: Path) -> None:
    part = load_dataset("kadis700k", data_dir=reference / "kadis700k", split="test")
    assert len(part) == 100
    scores = np.array(part["quality"])
    assert (round(scores.min(), 1), round(scores.max(), 1)) == (8.3, 77.6)
    assert {type(level) for level in part["distortion_level"]} == {int} and len(set(part["reference"])) > 90
    assert part[0]["image"].size == (512, 384)
