"""Synthetic demo data of image quality databases: real layouts and formats, scores that fall with the level."""

import csv
import time
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eyechart.datasets_scripts import DATASETS, load_dataset, mini
from eyechart.datasets_scripts.common.quality.kadid import KADID_DISTORTIONS
from eyechart.datasets_scripts.mini.distortions import DISTORTION_TYPES, LEVELS
from eyechart.datasets_scripts.mini.layouts import LAYOUTS
from eyechart.datasets_scripts.mini.quality import release_shots
from eyechart.datasets_scripts.mini.score_files import write_mat, write_xlsx
from eyechart.datasets_scripts.mini.shots import TYPE_CODES, scene_of
from tests.datasets_scripts.mini.psnr import psnr

every_database = pytest.mark.parametrize("name", sorted(LAYOUTS))

# Score file, folder of images, number of images, and the scale that released scores must stay on.
RELEASES = {
    "agiqa3k": ("data.csv", "images", 150, (0, 5)),
    "cgiqa6k": ("mos.csv", "database", 200, (0, 5)),
    "csiq": ("csiq.DMOS.xlsx", "dst_imgs/awgn", 150, (0, 1)),
    "kadid10k": ("dmos.csv", "images", 150, (1, 5)),
    "kadis700k": ("mos.csv", "", 200, (0, 100)),
    "koniq10k": ("koniq10k_distributions_sets.csv", "1024x768", 150, (0, 100)),
    "live_fb": ("database/labels_image.csv", "database/voc_emotic_ava", 150, (0, 100)),
    "live_itw": ("Data/AllMOS_release.mat", "Images/trainingImages", 157, (0, 100)),
    "mm21": ("train_files/exp1/val.csv", "HiFiC", 156, (0, 100)),
    "spaq": ("Annotations/MOS and Image attribute scores.xlsx", "TestImage", 150, (0, 100)),
    "sqad": ("mos.csv", "", 150, (0, 100)),
}


def test_every_quality_database_has_a_layout_and_a_stream_of_its_own() -> None:
    assert set(LAYOUTS) == {name for name, dataset in DATASETS.items() if dataset.kind == "quality"} == set(RELEASES)
    assert len({layout.stream for layout in LAYOUTS.values()}) == len(LAYOUTS)
    assert set(TYPE_CODES) == set(DISTORTION_TYPES)


@every_database
def test_layouts_and_scales(name: str) -> None:
    scores, images, count, (low, high) = RELEASES[name]
    folder = mini.release(name)
    assert (folder / scores).is_file() and any(path.is_file() for path in (folder / images).iterdir())
    part = load_dataset(name, data_dir=folder, split="test")
    assert len(part) == count
    assert low <= min(part["released_score"]) < max(part["released_score"]) <= high
    assert max(part["released_score"]) - min(part["released_score"]) > 0.6 * (high - low)
    assert {image.size for image in part["image"]} == {(64, 64)}


@every_database
def test_quality_falls_with_the_level_in_every_content_and_type(name: str) -> None:
    part = load_dataset(name, data_dir=mini.release(name), split="test", images="skip")
    quality = dict(zip(part["id"], part["quality"], strict=True))
    shots = release_shots(name)
    assert len(shots) == len(part) and len({shot.distortion for _, shot in shots}) == 10
    groups = defaultdict(dict)
    for image_name, shot in shots:
        groups[shot.content, shot.distortion][shot.level] = quality[image_name]
    for levels in groups.values():
        assert all(levels[weaker] > levels[stronger] for weaker, stronger in pairwise(sorted(levels)))


@every_database
def test_facts_are_those_of_the_shots_where_names_tell_them(name: str) -> None:
    part = load_dataset(name, data_dir=mini.release(name), split="test", images="skip")
    if name not in ("csiq", "kadid10k", "kadis700k", "mm21"):
        assert set(part["reference"]) == set(part["distortion_type"]) == set(part["distortion_level"]) == {None}
        return
    rows = {row["id"]: row for row in part}
    for image_name, shot in release_shots(name):
        assert rows[image_name]["distortion_level"] == shot.level
    assert len(set(part["reference"])) == LAYOUTS[name].contents and len(set(part["distortion_type"])) == 10
    if name.startswith("kad"):
        assert set(part["distortion_type"]) == {KADID_DISTORTIONS[code - 1] for code in TYPE_CODES.values()}


def test_the_first_line_of_plain_scores() -> None:
    with open(mini.release("kadis700k") / "mos.csv", encoding="utf-8", newline="") as file:
        assert next(csv.reader(file)) == ["image", "mos"]


def test_images_differ_between_levels() -> None:
    part = load_dataset("kadis700k", data_dir=mini.release("kadis700k"), split="test")
    assert len({np.asarray(image).tobytes() for image in part["image"]}) == 200


def _psnr(path: Path, pristine: Image.Image) -> float:
    with Image.open(path) as image:
        return psnr(image, pristine)


@pytest.mark.parametrize("name", ["kadid10k", "kadis700k"])
def test_every_level_of_the_written_images_is_further_from_the_pristine_one(name: str) -> None:
    folder = mini.release(name)
    layout = LAYOUTS[name]
    values = defaultdict(list)
    for image_name, shot in release_shots(name):
        pristine = scene_of(layout.stream, shot.content).image
        values[shot.content, shot.distortion].append(_psnr(folder / layout.folder(shot) / image_name, pristine))
    for distances in values.values():
        assert distances == sorted(distances, reverse=True) and len(set(distances)) == len(LEVELS)


def test_pristine_images_are_those_that_were_distorted() -> None:
    with Image.open(mini.release("kadid10k") / "images" / "I02.png") as image:
        assert np.array_equal(image, scene_of(LAYOUTS["kadid10k"].stream, 2).image)


def test_workbooks_and_mat_files_do_not_depend_on_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.localtime()
    for number in (1, 2):
        write_xlsx(tmp_path / f"{number}.xlsx", "scores", [["image", "mos"], ["a.png", 1.5]])
        write_mat(tmp_path / f"{number}.mat", {"scores": np.array([[1.0, 2.0]])})
        monkeypatch.setattr(time, "localtime", lambda *_: time.struct_time((now.tm_year - 1, *now[1:])))
    assert (tmp_path / "1.xlsx").read_bytes() == (tmp_path / "2.xlsx").read_bytes()
    assert (tmp_path / "1.mat").read_bytes() == (tmp_path / "2.mat").read_bytes()
