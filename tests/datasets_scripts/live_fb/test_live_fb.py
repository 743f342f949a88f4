from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from eyechart.datasets_scripts import load_dataset

LABELS = "name,mos\r\nvoc_emotic_ava/AVA__1.jpg,75.5\r\nblur_dataset/motion1.jpg,60\r\nEE371R/rq1.jpg,0.0\r\n"
IMAGES = ["voc_emotic_ava/AVA__1.jpg", "blur_dataset/motion1.jpg", "EE371R/rq1.jpg"]


@pytest.mark.parametrize(
    ("scores", "images"),
    [("database/labels_image.csv", "database/"), ("labels_image.csv", "database/"), ("labels_image.csv", "")],
)
def test_the_release(release_of: Callable[..., Path], scores: str, images: str) -> None:
    folder = release_of({scores: LABELS}, [f"{images}{image}" for image in IMAGES])
    part = load_dataset("live_fb", data_dir=folder, split="test")
    assert part["id"][:] == IMAGES
    assert part["quality"][:] == part["released_score"][:] == [75.5, 60.0, 0.0]
    assert {image.size for image in part["image"]} == {(10, 8)}


def test_the_real_scores(reference: Path) -> None:
    file = str(reference / "iqa-annotations" / "live_fb_labels_image.csv")
    part = load_dataset("live_fb", data_files=file, images="skip", split="test")
    assert len(part) == 39_810
    assert (min(part["quality"]), round(max(part["quality"]), 1)) == (0, 94.3)
    folders = Counter(name.partition("/")[0] for name in part["id"])
    assert folders == {"voc_emotic_ava": 38_808, "blur_dataset": 999, "EE371R": 3}
