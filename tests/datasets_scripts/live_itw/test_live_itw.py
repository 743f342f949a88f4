from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat

from eyechart.datasets_scripts import load_dataset
from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError

NAMES = ["t1.bmp", "t2.bmp", "3.bmp", "4.JPG"]


@pytest.fixture
def live(tmp_path: Path, write_image: Callable[..., None]) -> Callable[..., Path]:
    """Return a function that writes a folder in LIVE-itw's layout."""

    def write(names: list[Any] = NAMES, scores: Any = (60.5, 25, 50, 33.25)) -> Path:
        data = tmp_path / "ChallengeDB_release" / "Data"
        data.mkdir(parents=True)
        cells = np.empty((len(names), 1), object)
        cells[:, 0] = names
        stds = np.array([[10.5, 11, 12, 13][: len(names)]], np.float64)
        for variable, values in (("Images", cells), ("MOS", np.array([scores])), ("StdDev", stds)):
            savemat(data / f"All{variable}_release.mat", {f"All{variable}_release": values})
        for name in NAMES:
            place = "Images/trainingImages" if name.startswith("t") else "Images"
            write_image(data.parent / place / name)
        return data.parent

    return write


def test_the_release_with_and_without_training_images(live: Callable[..., Path]) -> None:
    folder = live()
    part = load_dataset("live_itw", data_dir=folder, split="test")
    assert part["id"][:] == NAMES
    assert part["quality"][:] == part["released_score"][:] == [60.5, 25.0, 50.0, 33.25]
    assert part["quality_std"][:] == [10.5, 11.0, 12.0, 13.0]
    assert {image.size for image in part["image"]} == {(10, 8)}
    without = load_dataset("live_itw", "without_training", data_dir=folder, split="test")
    assert without["id"][:] == ["3.bmp", "4.JPG"] and without["quality"][:] == [50.0, 33.25]


def test_a_score_that_is_not_a_number_names_the_row(live: Callable[..., Path]) -> None:
    with pytest.raises(BadAnnotationError, match=r"AllImages_release\.mat, row 3: field 'mos' must be a finite number"):
        load_dataset("live_itw", data_dir=live(scores=(60.5, 25, float("nan"), 33.25)))


def test_files_that_do_not_fit_together(live: Callable[..., Path]) -> None:
    with pytest.raises(BadAnnotationError, match=r"AllMOS_release\.mat: 3 values, but 4 names in AllImages_"):
        load_dataset("live_itw", data_dir=live(scores=(60.5, 25, 50)))


def test_names_must_be_texts(live: Callable[..., Path]) -> None:
    with pytest.raises(
        BadAnnotationError, match=r"AllImages_release\.mat: cell 2 of variable 'AllImages_release' must"
    ):
        load_dataset("live_itw", data_dir=live(names=["t1.bmp", 2, "3.bmp", "4.JPG"]))


def test_a_missing_file(live: Callable[..., Path]) -> None:
    folder = live()
    (folder / "Data" / "AllStdDev_release.mat").unlink()
    with pytest.raises(MissingFileError, match=r"AllStdDev_release\.mat: the annotation file is missing"):
        load_dataset("live_itw", data_dir=folder)


def test_a_file_of_version_73(live: Callable[..., Path]) -> None:
    folder = live()
    header = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    (folder / "Data" / "AllMOS_release.mat").write_bytes(header + bytes(384) + b"\x89HDF\r\n\x1a\n")
    with pytest.raises(BadAnnotationError, match=r"AllMOS_release\.mat: this is a MAT file of version 7\.3"):
        load_dataset("live_itw", data_dir=folder)


def test_data_files_name_the_file_of_names(live: Callable[..., Path]) -> None:
    folder = live()
    file = str(folder / "Data" / "AllImages_release.mat")
    assert len(load_dataset("live_itw", data_dir=folder, data_files=file, split="test")) == 4
    with pytest.raises(BadAnnotationError, match=r"AllMOS_release\.mat: name only AllImages_release\.mat"):
        load_dataset("live_itw", data_files=file.replace("Images", "MOS"), images="skip")


def test_the_real_list(reference: Path) -> None:
    file = str(reference / "q-bench-a3" / "livec.json")
    part = load_dataset("live_itw", data_files=file, images="skip", split="test")
    assert len(part) == 1_169 and part["id"][:7] == [f"t{number}.bmp" for number in range(1, 8)]
    assert (round(min(part["quality"]), 2), round(max(part["quality"]), 2)) == (3.42, 92.43)
    without = load_dataset("live_itw", "without_training", data_files=file, images="skip", split="test")
    assert len(without) == 1_162 and without["id"][:] == part["id"][7:]


def test_the_other_real_list_lacks_one_image(reference: Path) -> None:
    file = str(reference / "iqa-annotations" / "uw_LIVE_Challenge.txt")
    part = load_dataset("live_itw", data_files=file, images="skip", split="test")
    listed = load_dataset(
        "live_itw", "without_training", data_files=str(reference / "q-bench-a3" / "livec.json"), images="skip"
    )["test"]
    assert set(listed["id"]) - set(part["id"]) == {"100.bmp"} and len(part) == 1_161
    scores = dict(zip(listed["id"], listed["quality"], strict=True))
    assert part["quality"][:] == pytest.approx([scores[name] for name in part["id"]], abs=1e-4)
