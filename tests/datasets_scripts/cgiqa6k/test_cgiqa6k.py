from collections.abc import Callable
from pathlib import Path

import pytest

from eyechart.datasets_scripts import load_dataset
from eyechart.datasets_scripts.common.errors import BadAnnotationError

SCORES = "Image,MOS\ngame_0000.jpg,2.82 \ngame_0001.jpg,2.6\nmovie_0000.jpg,4.54\n"
IMAGES = ["game_0000.jpg", "game_0001.jpg", "movie_0000.jpg"]


def test_the_release_whole_and_in_parts(release_of: Callable[..., Path]) -> None:
    folder = release_of({"mos.csv": SCORES}, [f"database/{image}" for image in IMAGES])
    part = load_dataset("cgiqa6k", data_dir=folder, split="test")
    assert part["id"][:] == IMAGES and part["quality"][:] == part["released_score"][:] == [2.82, 2.6, 4.54]
    assert part["subset"][:] == ["game", "game", "movie"] and part[2]["image"].size == (10, 8)
    for config, images in (("all", IMAGES), ("game", IMAGES[:2]), ("movie", IMAGES[2:])):
        assert load_dataset("cgiqa6k", config, data_dir=folder, split="test")["id"][:] == images


@pytest.mark.parametrize("config", ["all", "movie"])
def test_names_must_tell_the_part(release_of: Callable[..., Path], config: str) -> None:
    folder = release_of({"mos.csv": SCORES.replace("game_0001", "games0001")})
    with pytest.raises(BadAnnotationError, match=r"row 3: image name 'games0001\.jpg' must begin with game_ or movie_"):
        load_dataset("cgiqa6k", config, data_dir=folder, images="skip")


def test_the_real_list(reference: Path) -> None:
    file = str(reference / "q-bench-a3" / "cgi.json")
    part = load_dataset("cgiqa6k", data_files=file, images="skip", split="test")
    assert len(part) == 6_000 and (min(part["quality"]), max(part["quality"])) == (0.36, 4.54)
    for number, config in enumerate(("game", "movie")):
        half = load_dataset("cgiqa6k", config, data_files=file, images="skip", split="test")
        assert half["id"][:] == part["id"][3_000 * number : 3_000 * (number + 1)]
        assert set(half["subset"]) == {config}
