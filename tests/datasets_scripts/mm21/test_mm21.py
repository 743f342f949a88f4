import csv
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from eyechart.datasets_scripts import load_dataset
from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError
from eyechart.datasets_scripts.mm21.mm21 import CODECS, OFFICIAL_FILES

Folder = Callable[..., Path]
FILES = {
    "train.csv": "source/00084.png,FactMSE/00084_1.png,0.200,35.493\nsource/00084.png,FactMSE/00084_4.png,1.9,64.382\n",
    "val.csv": "source/IMG_1170_p1.png,HiFiC/IMG_1170_1_p1.png,0.121,40.256\n",
    "test.csv": "source/a-1.png,JPEG/a-1_2.png,0.5,47.5\n",
}
IMAGES = ["FactMSE/00084_1.png", "FactMSE/00084_4.png", "HiFiC/IMG_1170_1_p1.png", "JPEG/a-1_2.png"]


@pytest.mark.parametrize("place", ["train_files/exp1/", "exp1/", ""])
def test_the_three_files_make_one_split(release_of: Folder, place: str) -> None:
    folder = release_of({f"{place}{name}": text for name, text in FILES.items()}, IMAGES)
    part = load_dataset("mm21", data_dir=folder, split="test")
    assert part["id"][:] == IMAGES
    # The fourth column, not the bitrate.
    assert part["quality"][:] == part["released_score"][:] == [35.493, 64.382, 40.256, 47.5]
    assert part["reference"][:] == ["00084", "00084", "IMG_1170_p1", "a-1"]
    assert part["distortion_type"][:] == ["FactMSE", "FactMSE", "HiFiC", "JPEG"]
    # The lowest rate is the strongest distortion; HiFiC has three rates.
    assert part["distortion_level"][:] == [4, 1, 3, 3]
    assert part[2]["image"].size == (10, 8)


def test_all_three_files_are_needed(release_of: Folder) -> None:
    folder = release_of({f"train_files/exp1/{name}": FILES[name] for name in ("train.csv", "test.csv")})
    with pytest.raises(
        MissingFileError, match=r"exp1: missing score file val\.csv; all of train\.csv, val\.csv, test\.csv"
    ):
        load_dataset("mm21", data_dir=folder, images="skip")


def test_an_empty_folder_names_all_files(release_of: Folder) -> None:
    with pytest.raises(
        MissingFileError,
        match=r"expected train\.csv, val\.csv, test\.csv \(in train_files/exp1/\), or mos\.csv\nTo get MM21 \(LICQA\)",
    ):
        load_dataset("mm21", data_dir=release_of({"notes.txt": ""}))


def test_rates_that_do_not_exist(release_of: Folder) -> None:
    files = FILES | {"val.csv": FILES["val.csv"].replace("1170_1_p1", "1170_4_p1")}
    with pytest.raises(BadAnnotationError, match=r"val\.csv, row 1: .* has rate 4; expected 1-3 for HiFiC"):
        load_dataset("mm21", data_dir=release_of(files), images="skip")


def test_an_image_in_two_files_is_a_duplicate(release_of: Folder) -> None:
    files = FILES | {"test.csv": FILES["train.csv"]}
    with pytest.raises(BadAnnotationError, match=r"test\.csv, row 1: duplicate id 'FactMSE/00084_1\.png'"):
        load_dataset("mm21", data_dir=release_of(files), images="skip")


def test_the_real_files(reference: Path) -> None:
    files = [str(reference / "iqa-annotations" / f"licqa_exp1_{name}") for name in OFFICIAL_FILES]
    part = load_dataset("mm21", data_files=files, images="skip", split="test")
    assert len(part) == 5_031 and len(set(part["reference"])) == 129
    assert (round(min(part["quality"]), 1), round(max(part["quality"]), 1)) == (4.0, 80.3)
    assert Counter(part["distortion_type"]) == {codec: 129 * rates for codec, rates in CODECS.items()}
    released = {}
    for file in files:
        with open(file, encoding="utf-8", newline="") as text:
            released.update(
                {image: (source, float(bitrate), float(mos)) for source, image, bitrate, mos in csv.reader(text)}
            )
    rates = {}
    for row in part:
        source, bitrate, mos = released[row["id"]]
        assert (row["quality"], f"source/{row['reference']}.png") == (mos, source)
        rates.setdefault((row["reference"], row["distortion_type"]), {})[row["distortion_level"]] = bitrate
    # Weaker distortion is always the higher bitrate.
    assert all(sorted(levels, key=levels.get, reverse=True) == sorted(levels) for levels in rates.values())


def test_the_released_labels_of_the_2afc_paper_are_bitrates(reference: Path) -> None:
    """The reason why MOS is taken from here: `gt_score` of the label file is the third column of these files."""
    files = [str(reference / "iqa-annotations" / f"licqa_exp1_{name}") for name in OFFICIAL_FILES]
    part = load_dataset("mm21", data_files=files, images="skip", split="test")
    mos = dict(zip(part["id"], part["quality"], strict=True))
    labels = json.loads((reference / "two-afc" / "Coarse_grained_mixed.json").read_text(encoding="utf-8"))["MM21"]
    assert len(labels) == 129
    assert not any(mos[row["img_path"].removeprefix("MM21/")] == float(row["gt_score"]) for row in labels)
