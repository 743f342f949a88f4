"""Synthetic demo data: written once and whole, in the real layouts, with scores that fall with the level."""

import json
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eyechart.datasets_scripts import load_dataset, mini
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.common.quality.databases import KADID_DISTORTIONS
from eyechart.datasets_scripts.mini.quality import LAYOUTS, TYPES, scene_of, shots

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


def test_a_release_is_complete_or_absent_and_written_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(name: str, folder: Path) -> None:
        (folder / "half").touch()
        raise KeyboardInterrupt

    monkeypatch.setenv("EYECHART_HOME", str(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(mini, "write", fail)
        with pytest.raises(KeyboardInterrupt):
            mini.release("kadis700k")
    assert list((tmp_path / "mini").iterdir()) == []
    folder = mini.release("kadis700k")
    assert (folder / "mos.csv").is_file()
    monkeypatch.setattr(mini, "write", fail)
    assert mini.release("kadis700k") == folder


def test_two_processes_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EYECHART_HOME", str(tmp_path))
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        folders = list(pool.map(mini.release, ["kadis700k"] * 4))
    assert len(set(folders)) == 1 and len(list(folders[0].iterdir())) == 201
    assert len(list(folders[0].parent.iterdir())) == 1


@pytest.mark.parametrize("home", ["a file", "/proc"])
def test_a_home_that_cannot_hold_it(home: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "a file").touch()
    monkeypatch.setenv("EYECHART_HOME", str(tmp_path / home))
    with pytest.raises(UsageError, match=r"the folder .*kadis700k-\w+ cannot be made: .*; set EYECHART_HOME"):
        mini.release("kadis700k")


def test_llvisionqa_has_every_kind_of_question() -> None:
    parts = load_dataset("llvisionqa", data_dir=mini.release("llvisionqa"))
    assert {split: len(part) for split, part in parts.items()} == {"dev": 180, "test": 72}
    for part in parts.values():
        kinds = Counter(zip(part["question_type"], part["concern"], strict=True))
        assert len(kinds) == 12 and len(set(kinds.values())) == 1
        assert {len(options) for options in part["options"]} == {2, 3, 4}
    letters = Counter(parts["dev"]["answer"])
    assert letters["A"] > 45 and letters["B"] > 45 and letters["C"] > 20


def test_llvisionqa_keeps_private_answers_to_itself() -> None:
    folder = mini.release("llvisionqa")
    test = json.loads((folder / "llvisionqa_test.json").read_text(encoding="utf-8"))
    assert {tuple(row) for row in test} == {("type", "concern", "question", "img_path", "candidates")}
    assert {path.suffix for path in folder.rglob("*") if path.is_file()} == {".json", ".png"}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts_and_scales(name: str) -> None:
    scores, images, count, (low, high) = RELEASES[name]
    folder = mini.release(name)
    assert (folder / scores).is_file() and any(path.is_file() for path in (folder / images).iterdir())
    part = load_dataset(name, data_dir=folder, split="test")
    assert len(part) == len(list(shots(name))) == count
    assert low <= min(part["released_score"]) < max(part["released_score"]) <= high
    assert max(part["released_score"]) - min(part["released_score"]) > 0.6 * (high - low)
    assert {image.size for image in part["image"]} == {(64, 64)}
    assert len({np.asarray(image).tobytes() for image in part["image"]}) == count


@pytest.mark.parametrize("name", LAYOUTS)
def test_rows_are_those_of_the_shots(name: str) -> None:
    """Quality falls with the level in every content and type, and names tell the facts where the real ones do."""
    part = load_dataset(name, data_dir=mini.release(name), split="test", images="skip")
    groups = defaultdict(dict)
    for row, shot in zip(part, shots(name), strict=True):
        groups[shot.content, shot.distortion][shot.level] = row["quality"]
        assert row["distortion_level"] in (None, shot.level)
    for levels in groups.values():
        assert all(levels[weaker] > levels[stronger] for weaker, stronger in pairwise(sorted(levels)))
    if name in ("csiq", "kadid10k", "kadis700k", "mm21"):
        assert None not in part["distortion_level"]
        assert len(set(part["reference"])) == len(LAYOUTS[name].contents) and len(set(part["distortion_type"])) == 10
    else:
        assert set(part["reference"]) == set(part["distortion_type"]) == set(part["distortion_level"]) == {None}
    if name.startswith("kad"):
        assert set(part["distortion_type"]) == {KADID_DISTORTIONS[code - 1] for code, _ in TYPES.values()}
    if name == "kadid10k":
        with Image.open(mini.release(name) / "images" / "I02.png") as image:
            assert np.array_equal(image, scene_of(LAYOUTS[name].stream, 2).image)
