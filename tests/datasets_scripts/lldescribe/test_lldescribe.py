import csv
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eyechart.datasets_scripts import left_out, load_dataset
from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingImagesError
from eyechart.datasets_scripts.lldescribe import lldescribe as script

Folder = Callable[..., Path]
NAMES = ("b.jpg", "a.png", "c.webp")


@pytest.fixture
def lldescribe(tmp_path: Path, write_image: Callable[..., None]) -> Folder:
    """Return a function that writes a folder of images in LLDescribe's layout."""

    def write(image_folder: str = "images_lldescribe") -> Path:
        folder = tmp_path / "lldescribe"
        folder.mkdir(exist_ok=True)
        for seed, name in enumerate(NAMES):
            write_image(folder / image_folder / name, seed)
        return folder

    return write


def texts(part: Any) -> dict[str, str]:
    return dict(zip(part["id"], part["description"], strict=True))


@pytest.mark.parametrize("image_folder", ["images_lldescribe", ""])
def test_images_alone(lldescribe: Folder, image_folder: str) -> None:
    folder = lldescribe(image_folder)
    (folder / image_folder / "notes.txt").touch()
    (folder / image_folder / "._a.png").touch()
    part = load_dataset("lldescribe", data_dir=folder, split="test")
    assert part["id"][:] == ["a.png", "b.jpg", "c.webp"]
    row = part[0]
    assert row.pop("image").size == (10, 8)
    assert row == {"id": "a.png", "description": "", "level": None}


GOLDEN = [("c.webp", " Sharp and bright. "), ("a.png", "Dark,\nwith noise.")]


def write(path: Path, rows: list[tuple[str, str]], name: str = "image", text: str = "text") -> None:
    objects = [json.dumps({name: image, text: golden, "n": 1}) for image, golden in rows]
    if path.suffix == ".csv":
        with open(path, "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([(name, text), *rows])
    else:
        path.write_text(f"[{','.join(objects)}]" if path.suffix == ".json" else "\n".join([*objects, ""]))


@pytest.mark.parametrize(
    ("kind", "name", "text"),
    [("json", "img_path", "description"), ("jsonl", "image", "golden_description"), ("csv", "id", "text")],
)
def test_golden_texts_in_every_form(lldescribe: Folder, kind: str, name: str, text: str) -> None:
    folder = lldescribe()
    write(folder / f"descriptions.{kind}", GOLDEN, name, text)
    part = load_dataset("lldescribe", data_dir=folder, split="test")
    # The image without a golden text stays.
    assert texts(part) == {"a.png": "Dark,\nwith noise.", "b.jpg": "", "c.webp": "Sharp and bright."}
    assert left_out(part) == []
    skipped = load_dataset("lldescribe", data_dir=folder, split="test", images="skip")
    assert texts(skipped) == texts(part) and set(skipped["image"]) == {None}


def test_golden_texts_by_data_files(lldescribe: Folder, tmp_path: Path) -> None:
    folder = lldescribe()
    write(folder / "descriptions.csv", [("a.png", "not this one")])
    write(tmp_path / "mine.json", GOLDEN)
    mine = str(tmp_path / "mine.json")
    assert texts(load_dataset("lldescribe", data_dir=folder, data_files=mine, split="test"))["a.png"].startswith("Dark")
    with pytest.raises(MissingImagesError, match=r"mine\.json: no image file found for 2 item"):
        load_dataset("lldescribe", data_files=mine)
    assert len(load_dataset("lldescribe", data_files=mine, images="skip", split="test")) == 2


def test_golden_texts_of_missing_images(lldescribe: Folder) -> None:
    folder = lldescribe()
    write(folder / "descriptions.json", [*GOLDEN, ("d.png", "Gone."), ("e.png", "")])
    with pytest.raises(MissingImagesError, match=r"no image file found for 2 items:\n  test d\.png\n  test e\.png"):
        load_dataset("lldescribe", data_dir=folder)
    part = load_dataset("lldescribe", data_dir=folder, split="test", skip_missing=True)
    assert part["id"][:] == ["a.png", "b.jpg", "c.webp"]
    assert [item["id"] for item in left_out(part)] == ["d.png", "e.png"]


def test_a_bad_text_is_left_out_and_no_image_is(lldescribe: Folder) -> None:
    folder = lldescribe()
    bad = [
        {"description": "x"},
        {"image": "b.jpg"},
        {"image": "b.jpg", "text": ["x"]},
        {"image": "a.png", "text": "more"},
    ]
    rows = [{"image": "a.png", "text": "first"}, *bad, {"image": "c.webp", "text": "last"}]
    (folder / "descriptions.json").write_text(json.dumps(rows), encoding="utf-8")
    with pytest.raises(BadAnnotationError, match=r"descriptions\.json, row 2: .*one of the fields img_path, image, id"):
        load_dataset("lldescribe", data_dir=folder)
    part = load_dataset("lldescribe", data_dir=folder, split="test", skip_bad=True)
    assert texts(part) == {"a.png": "first", "b.jpg": "", "c.webp": "last"}
    assert [(item["id"], item["split"]) for item in left_out(part)] == [(str(row), "test") for row in range(2, 6)]


@pytest.mark.parametrize(("prefix", "images"), [("images_lldescribe/", "load"), ("", "skip")])
def test_the_archive_of_images(
    lldescribe: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: str, images: str
) -> None:
    source = lldescribe()
    folder = tmp_path / "hub" / "resolve" / "main"
    folder.mkdir(parents=True)
    with tarfile.open(folder / "images_lldescribe.tar", "w") as archive:
        for name in NAMES:
            archive.add(source / "images_lldescribe" / name, prefix + name)
    write(folder / "descriptions.json", GOLDEN)
    part = load_dataset("lldescribe", data_dir=folder, split="test", images=images)
    assert list(texts(part)) == ["a.png", "b.jpg", "c.webp"] and texts(part)["b.jpg"] == ""
    assert images == "skip" or part[2]["image"].size == (10, 8)
    # Without data_dir, the same archive is downloaded.
    assert script._HUB == "https://huggingface.co/datasets/teowu/LLDescribe-QBench"
    monkeypatch.setattr(script, "_HUB", str(tmp_path / "hub"))
    part = load_dataset("lldescribe", split="test", images=images, cache_dir=tmp_path / "cache")
    assert texts(part) == dict.fromkeys(["a.png", "b.jpg", "c.webp"], "")
