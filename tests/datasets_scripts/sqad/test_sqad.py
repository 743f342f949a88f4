import json
from collections.abc import Callable
from pathlib import Path

import pytest

from eyechart.datasets_scripts import load_dataset
from eyechart.datasets_scripts.common.errors import BadAnnotationError


@pytest.mark.parametrize("place", ["", "SQAD/", "images/"])
def test_a_folder_with_scores(release_of: Callable[..., Path], place: str) -> None:
    scores = "image,mos\n12.jpg,7.75\n14122017104.JPG, 77.5\n"
    folder = release_of({"mos.csv": scores}, [f"{place}12.jpg", f"{place}14122017104.JPG"])
    part = load_dataset("sqad", data_dir=folder, split="test")
    assert part["id"][:] == ["12.jpg", "14122017104.JPG"]
    assert part["quality"][:] == part["released_score"][:] == [7.75, 77.5]
    assert {image.size for image in part["image"]} == {(10, 8)}


@pytest.mark.parametrize("header", ["name,score", "Image,MOS", "image;mos", "12.jpg,7.75", "photo,mos", ""])
def test_a_wrong_header_is_answered_with_the_form_of_the_readme(release_of: Callable[..., Path], header: str) -> None:
    folder = release_of({"mos.csv": f"{header}\n12.jpg,7.75\n" if header else ""}, ["12.jpg"])
    reason = r"mos\.csv.*For your own scores, write a CSV with the columns image,mos: file name and score .higher"
    with pytest.raises(BadAnnotationError, match=reason):
        load_dataset("sqad", data_dir=folder)


def test_the_scores_of_the_2afc_paper(reference: Path, tmp_path: Path) -> None:
    labels = json.loads((reference / "two-afc" / "Coarse_grained_mixed.json").read_text(encoding="utf-8"))["SQAD"]
    (tmp_path / "sqad.json").write_text(json.dumps(labels), encoding="utf-8")
    part = load_dataset("sqad", data_files=str(tmp_path / "sqad.json"), images="skip", split="test")
    assert len(part) == 100
    assert (round(min(part["quality"]), 1), round(max(part["quality"]), 1)) == (7.7, 77.7)
