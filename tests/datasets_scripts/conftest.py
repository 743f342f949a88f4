"""Small releases of known content."""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
from PIL import Image

from eyechart.datasets_scripts import register


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every test its own cache of prepared datasets."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "hf_datasets")


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the datasets for one test: `register` changes a table for good, so the test gets a copy of it."""
    known = dict(datasets.packaged_modules._PACKAGED_DATASETS_MODULES)
    for module in (datasets.packaged_modules, datasets.load):
        monkeypatch.setattr(module, "_PACKAGED_DATASETS_MODULES", known)
    register()


def _write_image(path: Path, seed: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (8, 10, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)


@pytest.fixture
def write_image() -> Callable[..., None]:
    """Return a function that writes a small PNG of noise."""
    return _write_image


@pytest.fixture
def release_of(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a folder of text files, by their names, and small images."""

    def write(texts: Mapping[str, str], images: Sequence[str] = ()) -> Path:
        folder = tmp_path / "release"
        for name, text in texts.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8", newline="")
        for seed, name in enumerate(images):
            _write_image(folder / name, seed)
        return folder

    return write


_KADIS_ROWS = [("tree_01_01.png", "90.5"), ("tree_01_02.png", "70"), ("sea_25_05.png", " 8.25 ")]


@pytest.fixture
def kadis(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a folder in KADIS-700k's layout."""

    def write(
        rows: Sequence[Sequence[str]] = _KADIS_ROWS, images: Sequence[str] | None = None, image_folder: str = ""
    ) -> Path:
        folder = tmp_path / "kadis"
        folder.mkdir(exist_ok=True)
        with open(folder / "mos.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("image", "mos"), *rows])
        for seed, name in enumerate([name for name, *_ in _KADIS_ROWS] if images is None else images):
            _write_image(folder / image_folder / name, seed)
        return folder

    return write


@pytest.fixture
def qa_row() -> Callable[..., dict[str, Any]]:
    """Return a function that makes a row of LLVisionQA's release; a change to None removes the field."""
    return _qa_row


def _qa_row(number: int, **changes: Any) -> dict[str, Any]:
    row = {
        "type": 1,
        "concern": 0,
        "question": f"What is the distortion of image {number}?",
        "img_path": f"{number}.png",
        "candidates": ["Blur", "Noise", "None"],
        "correct_ans": "Noise",
    }
    return {key: value for key, value in (row | changes).items() if value is not None}


@pytest.fixture
def llvisionqa(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a folder in LLVisionQA's layout; test has the same rows without answers."""

    def write(dev: Any = None, test: Any = None, image_folder: str = "") -> Path:
        folder = tmp_path / "llvisionqa"
        folder.mkdir(exist_ok=True)
        dev = [_qa_row(number) for number in range(3)] if dev is None else dev
        test = [_qa_row(number, correct_ans=None) for number in range(3)] if test is None else test
        for split, rows in (("dev", dev), ("test", test)):
            if rows != "absent":
                (folder / f"llvisionqa_{split}.json").write_text(json.dumps(rows), encoding="utf-8")
        for number in range(3):
            _write_image(folder / image_folder / f"{number}.png", number)
        return folder

    return write
