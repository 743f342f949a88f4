"""What holds for every image quality database: the formats read for all of them, folders, bad input, downloads."""

import io
import json
import logging
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eyechart.datasets_scripts import DATASETS, load_dataset
from eyechart.datasets_scripts.common.errors import BadAnnotationError, BadArchiveError, MissingFileError, UsageError
from eyechart.datasets_scripts.common.files import downloads
from eyechart.datasets_scripts.common.quality import database
from eyechart.datasets_scripts.common.quality.databases import DATABASES
from eyechart.datasets_scripts.common.quality.score_file_formats import FORMAT, ScoreFormat, read_scores
from tests.hub_stand_in import StandIn

Folder = Callable[..., Path]
every_database = pytest.mark.parametrize("name", sorted(DATABASES))
# Names that every database takes; CGIQA-6K's have to begin like this.
IMAGES = ["game_0.png", "movie_1.png", "game_2.png"]
PLAIN = "image,mos\n" + "".join(f"{image},0.{number + 1}\n" for number, image in enumerate(IMAGES))


def columns(part: Any) -> list[tuple[Any, ...]]:
    return list(zip(part["id"], part["quality"], part["released_score"], part["quality_std"], strict=True))


@every_database
def test_common_formats(release_of: Folder, name: str) -> None:
    folder = release_of({"mos.csv": PLAIN}, IMAGES)
    part = load_dataset(name, data_dir=folder, split="test")
    # A plain CSV is higher for better, whatever the database does.
    assert columns(part) == [(image, score, score, None) for image, score in zip(IMAGES, (0.1, 0.2, 0.3), strict=True)]
    assert {image.size for image in part["image"]} == {(10, 8)}
    file = folder / "list.json"
    file.write_text(json.dumps([{"img_path": image, "gt_score": "0.25 "} for image in IMAGES]), encoding="utf-8")
    # CSIQ is the one database that publishes scores of which lower is better.
    quality = 0.75 if name == "csiq" else 0.25
    part = load_dataset(name, data_files=str(file), split="test")
    assert columns(part) == [(image, quality, 0.25, None) for image in IMAGES]
    assert load_dataset(name, data_dir=folder, data_files=str(file), split="test")[0]["image"].size == (10, 8)


@every_database
def test_images_are_found_in_every_folder_of_the_table(release_of: Folder, name: str) -> None:
    for number, place in enumerate(DATABASES[name].folders):
        image = f"game_{number}.png"
        folder = release_of({"mos.csv": f"image,mos\n{image},1\n"}, [f"{place}/{image}" if place else image])
        part = load_dataset(name, data_dir=folder, split="test")
        assert (part["id"][:], part[0]["image"].size) == ([image], (10, 8))


@every_database
def test_missing_columns(release_of: Folder, name: str) -> None:
    folder = release_of({"mos.csv": "image,moss\na.png,1\n"})
    message = r"mos\.csv, row 1: expected .* or image,mos; found: image, moss\. For "
    with pytest.raises(BadAnnotationError, match=message):
        load_dataset(name, data_dir=folder)


@pytest.mark.parametrize("name", [name for name, row in DATABASES.items() if not row.downloads])
def test_without_data_dir_the_error_says_what_to_get(name: str) -> None:
    with pytest.raises(MissingFileError, match=rf"(?s)dataset '{name}' needs data_dir.*https://.*data_dir"):
        load_dataset(name)


# An image's path in the archive that is downloaded, its name, and the scores: of their own, or in the archive.
ARCHIVES = {
    "csiq": ("dst_imgs/awgn/{}", "a.AWGN.1.png", "image,dmos\na.AWGN.1.png,0.25\n"),
    "kadid10k": ("kadid10k/images/{}", "a_01_01.png", "dist_img,ref_img,dmos,var\na_01_01.png,a.png,0.75,0.1\n"),
    "koniq10k": ("1024x768/{}", "a.png", "image,mos\na.png,0.75\n"),
    # The copies that IQA-PyTorch has on the Hub, in the folders that it reads.
    "live_fb": ("FLIVE_Database/database/{}", "voc_emotic_ava/a.jpg", "name,mos\nvoc_emotic_ava/a.jpg,0.75\n"),
    "live_itw": ("LIVEC/Images/trainingImages/{}", "t1.bmp", '[\n    {"img_path": "t1.bmp", "gt_score": 0.75}]'),
    "spaq": ("SPAQ/TestImage/{}", "00001.jpg", '[{"img_path": "00001.jpg", "gt_score": 0.75}]'),
}


def packed(name: str, write_image: Callable[..., None], tmp_path: Path) -> tuple[bytes, bytes]:
    """An archive in the layout of a database's download, and its file of scores."""
    place, image, scores = ARCHIVES[name]
    write_image(tmp_path / image)
    files = {place.format(image): (tmp_path / image).read_bytes(), "kadid10k/dmos.csv": scores.encode()}
    buffer = io.BytesIO()
    if DATABASES[name].downloads["images"].endswith(".zip"):
        with zipfile.ZipFile(buffer, "w") as archive:
            for path, content in files.items():
                archive.writestr(path, content)
    else:
        with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
            for path, content in files.items():
                member = tarfile.TarInfo(path)
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue(), scores.encode()


@pytest.mark.parametrize("name", [name for name, row in DATABASES.items() if row.downloads])
def test_without_data_dir_the_files_are_downloaded(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_image: Callable[..., None]
) -> None:
    row = DATABASES[name]
    assert all(url.startswith("https://") for url in row.downloads.values())
    archive, scores = packed(name, write_image, tmp_path)
    (tmp_path / "images").write_bytes(archive)
    (tmp_path / scores_name(name)).write_bytes(scores)
    places = {"images": tmp_path / "images", "scores": tmp_path / scores_name(name)}
    local = {file: str(places[file]) for file in row.downloads}
    monkeypatch.setattr(database, "DATABASES", {name: replace(row, downloads=local)})
    part = load_dataset(name, split="test", cache_dir=tmp_path / "cache")
    assert (part["quality"][:], part[0]["image"].size) == ([0.75], (10, 8))
    with pytest.raises(UsageError, match="streaming needs data_dir"):
        load_dataset(name, streaming=True)
    if "scores" in local:
        # The scores alone are enough where no image is wanted.
        (tmp_path / "images").unlink()
        part = load_dataset(name, split="test", images="skip", cache_dir=tmp_path / "other")
        assert part["quality"][:] == [0.75]


def scores_name(name: str) -> str:
    return "scores.json" if ARCHIVES[name][2].startswith("[") else "scores.csv"


@pytest.mark.parametrize("name", ["live_fb", "live_itw", "spaq"])
def test_copies_on_the_hub_come_with_size_licence_and_checksum(
    name: str,
    hub: StandIn,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    write_image: Callable[..., None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    row = DATABASES[name]
    archive, scores = packed(name, write_image, tmp_path)
    (tmp_path / scores_name(name)).write_bytes(scores)
    file = row.downloads["images"].rpartition("/")[2]
    assert row.downloads["images"].startswith("https://huggingface.co/datasets/chaofengc/IQA-PyTorch-Datasets/resolve/")
    hub.make("chaofengc/IQA-PyTorch-Datasets", {file: archive})
    for key, value in (("ENDPOINT", hub.address), ("HUB_OFFLINE", False)):
        monkeypatch.setattr(f"datasets.config.HF_{key}", value)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    local = {"scores": str(tmp_path / scores_name(name)), "images": row.downloads["images"]}
    monkeypatch.setattr(database, "DATABASES", {name: replace(row, downloads=local)})
    with pytest.raises(MissingFileError, match=rf"(?s){file} was damaged and has been deleted \(SHA-256 "):
        load_dataset(name)
    monkeypatch.setattr(downloads, "PINNED", {})
    with caplog.at_level(logging.WARNING, "eyechart.datasets_scripts"):
        part = load_dataset(name, split="test")
    assert (part["quality"][:], part[0]["image"].size) == ([0.75], (10, 8))
    size = DATASETS[name].download_gb
    assert f"{name}: {size:g} GB to download, unless in the cache; licence: {row.license}" in caplog.messages


def test_an_archive_beside_the_scores_is_unpacked(release_of: Folder) -> None:
    folder = release_of({"mos.csv": PLAIN}, IMAGES)
    with zipfile.ZipFile(folder / "sqad.zip", "w") as archive:
        for image in IMAGES:
            archive.write(folder / image, f"SQAD/{image}")
            (folder / image).unlink()
    assert load_dataset("sqad", data_dir=folder, split="test")[2]["image"].size == (10, 8)
    (folder / "sqad.zip").write_bytes(b"damaged")
    with pytest.raises(BadArchiveError, match=r"sqad\.zip: "):
        load_dataset("sqad", data_dir=folder)
    assert load_dataset("sqad", data_dir=folder, split="test", images="skip")["id"][:] == IMAGES


OWN = ScoreFormat("name", "dmos", "std")
BARE = ScoreFormat(all_columns=("reference", "image", "bitrate", "mos"))


def read(tmp_path: Path, content: str, name: str = "scores.csv") -> list[tuple[int, dict[str, Any]]]:
    (tmp_path / name).write_text(content, encoding="utf-8")
    return read_scores(str(tmp_path / name), (OWN, BARE), 100)


def scores(quality: float, std: float | None, released: float) -> dict[str, float | None]:
    return {"quality": quality, "quality_std": std, "released_score": released}


@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        ("name,dmos,std\na.png,30,2.5\n", "s.csv", ("a.png", scores(70, 2.5, 30))),
        ("std,extra,dmos,name\n2.5,x,30 ,a.png\n", "s.csv", ("a.png", scores(70, 2.5, 30))),
        ("source/a.png,JPEG/a_1.png,0.2,35.4\n", "s.csv", ("JPEG/a_1.png", scores(64.6, None, 35.4))),
        (json.dumps([{"img_path": "x/a.png", "gt_score": "30 "}]), "s.json", ("x/a.png", scores(70, None, 30))),
        ("image,gt_score\na.png,30\n", "s.csv", ("a.png", scores(70, None, 30))),
        (json.dumps([{"name": "a.png", "dmos": "30", "std": 2.5}]), "s.json", ("a.png", scores(70, 2.5, 30))),
    ],
)
def test_formats_are_told_apart(
    tmp_path: Path, content: str, name: str, expected: tuple[str, dict[str, float | None]]
) -> None:
    ((number, raw),) = read(tmp_path, content, name)
    layout = raw[FORMAT]
    assert (raw[layout.image], layout.scores_of(raw, path=name, number=number)) == expected
