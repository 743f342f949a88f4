from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from eyechart.datasets_scripts import load_dataset
from eyechart.datasets_scripts.common.errors import BadAnnotationError

SCORES = """\
dist_img,ref_img,dmos,var
I01_01_01.png,I01.png,4.57,0.496
I01_01_02.png,I01.png,4.33,0.869
"""


@pytest.mark.parametrize("place", ["", "kadid10k/"])
def test_the_release(release_of: Callable[..., Path], place: str) -> None:
    images = [f"{place}images/{name}" for name in ("I01.png", "I01_01_01.png", "I01_01_02.png")]
    part = load_dataset("kadid10k", data_dir=release_of({f"{place}dmos.csv": SCORES}, images), split="test")
    assert len(part) == 2
    row = part[1]
    assert row.pop("image").size == (10, 8)
    assert row == {
        "id": "I01_01_02.png",
        "quality": 4.33,
        "quality_std": 0.869,
        "released_score": 4.33,
        "reference": "I01",
        "distortion_type": "Gaussian blur",
        "distortion_level": 2,
        "subset": None,
    }


@pytest.mark.parametrize(("mean", "spread", "sum_of_squares"), [(137 / 30, 0.496, 633), (130 / 30, 0.869, 586)])
def test_the_column_var_holds_standard_deviations(mean: float, spread: float, sum_of_squares: int) -> None:
    # Two published rows with 30 ratings each. Only as a standard deviation does the second number fit whole ratings.
    assert 30 * (spread**2 + mean**2) == pytest.approx(sum_of_squares, abs=0.03)
    assert abs(30 * (spread + mean**2) - round(30 * (spread + mean**2))) > 0.3


def test_codes_that_do_not_exist(release_of: Callable[..., Path]) -> None:
    folder = release_of({"dmos.csv": SCORES.replace("I01_01_02.png", "I01_26_02.png")})
    with pytest.raises(
        BadAnnotationError, match=r"dmos\.csv, row 3: .*type 26 and level 2; expected types 1-25 and levels 1-5"
    ):
        load_dataset("kadid10k", data_dir=folder, images="skip")


@pytest.mark.parametrize("file", ["q-bench-a3/kadid.json", "iqa-annotations/uw_KADID-10k.txt"])
def test_the_real_lists(reference: Path, file: str) -> None:
    part = load_dataset("kadid10k", data_files=str(reference / file), images="skip", split="test")
    assert len(part) == 10_125 and (min(part["quality"]), max(part["quality"])) == (1, 4.93)
    assert len(set(part["reference"])) == 81
    assert set(Counter(part["distortion_type"]).values()) == {81 * 5} and len(set(part["distortion_type"])) == 25
    assert set(part["distortion_level"]) == {1, 2, 3, 4, 5}
    # In spite of the column's name, weaker distortions have the higher scores.
    weak, strong = (
        [quality for quality, at in zip(part["quality"], part["distortion_level"], strict=True) if at == level]
        for level in (1, 5)
    )
    assert sum(weak) / len(weak) > 1 + sum(strong) / len(strong)
