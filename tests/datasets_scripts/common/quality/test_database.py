"""What holds for every image quality database: the file formats read for all of them, folders, bad input, downloads."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eyechart.datasets_scripts import DATASETS, left_out, load_builder, load_dataset
from eyechart.datasets_scripts.common.errors import (
    BadAnnotationError,
    BadArchiveError,
    MissingFileError,
    MissingImagesError,
    UsageError,
)
from eyechart.datasets_scripts.common.quality.database import QualityBuilder

Folder = Callable[..., Path]
DATABASES = sorted(name for name, dataset in DATASETS.items() if dataset.kind == "quality")
DOWNLOADABLE = ["csiq", "kadid10k", "koniq10k"]
every_database = pytest.mark.parametrize("name", DATABASES)
# Of what the base does for all: a script that changes nothing, and the one of which lower is better.
two_databases = pytest.mark.parametrize("name", ["sqad", "csiq"])
# Names that every database takes; CGIQA-6K's have to begin like this.
IMAGES = ["game_0.png", "movie_1.png", "game_2.png"]
PLAIN = "image,mos\n" + "".join(f"{image},0.{number + 1}\n" for number, image in enumerate(IMAGES))


def script(name: str) -> type[QualityBuilder]:
    return type(load_builder(name))


def columns(part: Any) -> list[tuple[Any, ...]]:
    return list(zip(part["id"], part["quality"], part["released_score"], part["quality_std"], strict=True))


@every_database
def test_a_plain_csv_is_higher_for_better(release_of: Folder, name: str) -> None:
    part = load_dataset(name, data_dir=release_of({"mos.csv": PLAIN}, IMAGES), split="test")
    assert columns(part) == [(image, score, score, None) for image, score in zip(IMAGES, (0.1, 0.2, 0.3), strict=True)]
    assert {image.size for image in part["image"]} == {(10, 8)}


@every_database
@pytest.mark.parametrize("form", ["q_bench", "waterloo"])
def test_lists_hold_published_scores(release_of: Folder, name: str, form: str) -> None:
    if form == "q_bench":
        text = json.dumps([{"img_path": image, "gt_score": "0.25 "} for image in IMAGES])
    else:
        text = "dis_img_path,dis_type,score\n" + "".join(f"DB/Images/{image},X,0.25\n" for image in IMAGES)
    folder = release_of({"list.json" if form == "q_bench" else "list.txt": text}, IMAGES)
    file = str(next(folder.glob("list.*")))
    # CSIQ is the one database that publishes scores of which lower is better.
    quality = 0.75 if name == "csiq" else 0.25
    part = load_dataset(name, data_files=file, split="test")
    assert columns(part) == [(image, quality, 0.25, None) for image in IMAGES]
    assert load_dataset(name, data_dir=folder, data_files=file, split="test")[0]["image"].size == (10, 8)


def test_data_files_describe_test_alone(release_of: Folder) -> None:
    folder = release_of({"scores.csv": PLAIN}, IMAGES)
    file = str(folder / "scores.csv")
    assert list(load_dataset("koniq10k", data_files={"test": file})) == ["test"]
    with pytest.raises(UsageError, match=r"unknown split 'official_test' in data_files; available: test"):
        load_dataset("koniq10k", data_files={"official_test": file})


@every_database
def test_images_are_found_in_every_folder_that_the_script_names(release_of: Folder, name: str) -> None:
    for number, place in enumerate(script(name).IMAGE_FOLDERS):
        image = f"game_{number}.png"
        folder = release_of({"mos.csv": f"image,mos\n{image},1\n"}, [f"{place}/{image}" if place else image])
        part = load_dataset(name, data_dir=folder, split="test")
        assert (part["id"][:], part[0]["image"].size) == ([image], (10, 8))


@two_databases
@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (f"{IMAGES[2]},good", "field 'mos' must be a number, found 'good'"),
        (f"{IMAGES[2]},nan", "field 'mos' must be a finite number"),
        (f"{IMAGES[2]}", r"expected 2 fields, as in the header; found 1"),
        (",3", "field 'image' is empty"),
        (f"{IMAGES[0]},3", rf"duplicate id '{IMAGES[0]}'"),
        ("../game_9.png,3", "(points outside the image folder|must begin with)"),
    ],
)
def test_bad_rows(release_of: Folder, name: str, row: str, reason: str) -> None:
    first, second, *_ = PLAIN.splitlines()[1:]
    folder = release_of({"mos.csv": f"image,mos\n{first}\n{row}\n{second}\n"}, IMAGES)
    with pytest.raises(BadAnnotationError, match=rf"mos\.csv, row 3: .*{reason}"):
        load_dataset(name, data_dir=folder)
    part = load_dataset(name, data_dir=folder, split="test", skip_bad=True)
    assert part["id"][:] == IMAGES[:2]
    assert [item["id"] for item in left_out(part)] == ["3"]


@two_databases
def test_missing_images(release_of: Folder, name: str) -> None:
    folder = release_of({"mos.csv": PLAIN}, IMAGES[1:2])
    with pytest.raises(MissingImagesError, match=r"mos\.csv: no image file found for 2 items"):
        load_dataset(name, data_dir=folder)
    part = load_dataset(name, data_dir=folder, split="test", skip_missing=True)
    assert part["id"][:] == IMAGES[1:2]
    assert [item["id"] for item in left_out(part)] == [IMAGES[0], IMAGES[2]]
    assert load_dataset(name, data_dir=folder, split="test", images="skip")["image"][:] == [None] * 3


@every_database
def test_missing_columns_and_files(release_of: Folder, name: str, tmp_path: Path) -> None:
    folder = release_of({"mos.csv": "image,moss\na.png,1\n"})
    with pytest.raises(BadAnnotationError, match=r"mos\.csv, row 1: .*missing column 'mos'; did you mean 'moss'"):
        load_dataset(name, data_dir=folder)
    (tmp_path / "empty").mkdir()
    with pytest.raises(MissingFileError, match=r"(?s)empty: no score file; expected .*mos\.csv.*https://.*data_dir"):
        load_dataset(name, data_dir=tmp_path / "empty")


@pytest.mark.parametrize("name", sorted(set(DATABASES) - set(DOWNLOADABLE)))
def test_without_data_dir_the_error_says_what_to_get(name: str) -> None:
    with pytest.raises(MissingFileError, match=rf"(?s)dataset '{name}' needs data_dir.*https://.*data_dir"):
        load_dataset(name)


# What the official archives hold, as stand-ins: the score file (or None where it comes apart), and an image's path.
STAND_INS = {
    "csiq": (None, "dst_imgs/awgn/game_0.png"),
    "kadid10k": ("kadid10k/dmos.csv", "kadid10k/images/game_0.png"),
    "koniq10k": (None, "1024x768/game_0.png"),
}
SCORES = {
    "csiq": "game_0.png 0.25\n",
    "kadid10k": "dist_img,ref_img,dmos,var\ngame_0.png,I01.png,0.75,0.1\n",
    "koniq10k": "image,mos\ngame_0.png,0.75\n",
}


@pytest.mark.parametrize("name", DOWNLOADABLE)
def test_without_data_dir_the_official_files_are_downloaded(
    release_of: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    cls = script(name)
    assert all(url.startswith("https://") for url in cls.DOWNLOADS.values())
    inside, image = STAND_INS[name]
    folder = release_of({inside or "scores": SCORES[name]}, [image])
    with zipfile.ZipFile(tmp_path / "images.zip", "w") as archive:
        for path in [inside, image] if inside else [image]:
            archive.write(folder / path, path)
    local = {"images": str(tmp_path / "images.zip")} | ({} if inside else {"scores": str(folder / "scores")})
    assert set(local) == set(cls.DOWNLOADS)
    monkeypatch.setattr(cls, "DOWNLOADS", local)
    part = load_dataset(name, split="test", cache_dir=tmp_path / "cache")
    assert (part["quality"][:], part[0]["image"].size) == ([0.75], (10, 8))
    with pytest.raises(UsageError, match="streaming needs data_dir"):
        load_dataset(name, streaming=True)
    if not inside:
        # The scores alone are enough where no image is wanted.
        (tmp_path / "images.zip").unlink()
        part = load_dataset(name, split="test", images="skip", cache_dir=tmp_path / "other")
        assert part["quality"][:] == [0.75]


def test_an_archive_beside_the_scores_is_unpacked_safely(release_of: Folder, tmp_path: Path) -> None:
    folder = release_of({"mos.csv": PLAIN}, IMAGES)
    with zipfile.ZipFile(folder / "sqad.zip", "w") as archive:
        for image in IMAGES:
            archive.write(folder / image, f"SQAD/{image}")
            (folder / image).unlink()
    assert load_dataset("sqad", data_dir=folder, split="test")[2]["image"].size == (10, 8)
    with zipfile.ZipFile(folder / "sqad.zip", "a") as archive:
        archive.writestr("../escaped.png", b"")
    with pytest.raises(BadArchiveError, match=r"sqad\.zip: member '\.\./escaped\.png' points outside the folder"):
        load_dataset("sqad", data_dir=folder)
    assert load_dataset("sqad", data_dir=folder, split="test", images="skip")["id"][:] == IMAGES
