import json
import shutil
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eyechart.datasets_scripts import left_out, load_dataset, mini
from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError, MissingImagesError, UsageError
from eyechart.datasets_scripts.export import export
from eyechart.datasets_scripts.llvisionqa_pairs.llvisionqa_pairs import QUESTIONS, LLVisionQAPairs, pair_names
from tests.real_pairs import released_dev_rows

Folder = Callable[..., Path]
PRIVATE = {"correct_ans": None, "correct_choice": None}


def row(number: int, **changes: Any) -> dict[str, Any]:
    """Make a row of the release, on images 0 and `number`; a change to None removes the field."""
    made = {
        "type": 2,
        "concern": 0,
        "question": f"Compared to the first image, how is the clarity of image {number}?",
        "img_path": f"llvisionqa_compare_dev\\0.png_cat_{number}.png.jpg",
        "candidates": ["More blurry", "Clearer", "About the same"],
        "correct_ans": "Clearer",
        "correct_choice": "B",
    }
    return {key: value for key, value in (made | changes).items() if value is not None}


@pytest.fixture
def pairs(tmp_path: Path, write_image: Callable[..., None]) -> Folder:
    """Return a function that writes a folder in the layout of Q-Bench2; text becomes a line as it is."""

    def write(dev: Any = None, test: Any = None, image_folder: str = "all_single_images", count: int = 3) -> Path:
        folder = tmp_path / "pairs"
        folder.mkdir(exist_ok=True)
        dev = [row(1), row(2)] if dev is None else dev
        test = [row(1, **PRIVATE)] if test is None else test
        for split, lines in (("dev", dev), ("test", test)):
            if lines != "absent":
                text = "\n".join(json.dumps(line) if isinstance(line, dict) else line for line in lines)
                (folder / f"q-bench2-a1-{split}.jsonl").write_text(text, encoding="utf-8")
        for number in range(count):
            write_image(folder / image_folder / f"{number}.png", number)
        return folder

    return write


@pytest.mark.parametrize("image_folder", ["all_single_images", "images", ""])
def test_the_release_layouts(pairs: Folder, image_folder: str) -> None:
    parts = load_dataset("llvisionqa_pairs", data_dir=pairs(image_folder=image_folder))
    assert list(parts) == ["dev", "test"]
    first = parts["dev"][1]
    images = first.pop("images")
    assert [image.filename.rpartition("/")[2] for image in images] == ["0.png", "2.png"]
    assert first == {
        "id": "dev-0.png_cat_2.png",
        "question_id": "dev-0.png_cat_2.png",
        "rotation": 0,
        "question": "Compared to the first image, how is the clarity of image 2?",
        "hint": "",
        "options": ["More blurry", "Clearer", "About the same"],
        "answer": "B",
        "question_type": "how",
        "concern": "distortion",
    }
    assert parts["test"]["answer"][:] == [""]


@pytest.mark.parametrize(
    ("img_path", "names"),
    [
        ("llvisionqa_compare_dev\\00079.jpg_cat_09769.jpg.jpg", ["00079.jpg", "09769.jpg"]),
        ("llvisionqa_compare_test\\I03_05_01.png_cat_AVA__281981.jpg.jpg", ["I03_05_01.png", "AVA__281981.jpg"]),
        ("llvisionqa_compare_dev/647.JPG_cat_54.bmp.jpg", ["647.JPG", "54.bmp"]),
        ("a.webp_cat_b.webp.jpg", ["a.webp", "b.webp"]),
        ("..\\..\\a.jpg_cat_b.jpg.jpg", ["a.jpg", "b.jpg"]),
    ],
)
def test_names_of_the_two_images(img_path: str, names: list[str]) -> None:
    assert pair_names(img_path) == names


def test_codes(pairs: Folder) -> None:
    rows = [row(1, type=code % 3, concern=code, question=f"{code}?") for code in range(4)]
    part = load_dataset("llvisionqa_pairs", data_dir=pairs(dev=rows), split="dev")
    assert part["question_type"][:3] == ["yes-or-no", "what", "how"]
    assert part["concern"][:] == ["distortion", "concern 1", "concern 2", "concern 3"]
    assert part["id"][:3] == ["dev-0.png_cat_1.png", "dev-0.png_cat_1.png-2", "dev-0.png_cat_1.png-3"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"candidates": []}, r"expected 1 to 26 non-empty options, found \[\]"),
        ({"candidates": ["Clearer", " "]}, r"expected 1 to 26 non-empty options, found \['Clearer', ''\]"),
        ({"candidates": None}, r"options must be a list of texts, found None"),
        ({"correct_choice": "A"}, r"'correct_ans' is option B, but 'correct_choice' is option A of \['More blurry'"),
        ({"correct_choice": "D"}, r"answer must be one of \['A', 'B', 'C'\], found 'D'"),
        ({"correct_ans": "Sharper"}, r"answer 'Sharper' is not one of the options"),
        ({"correct_ans": None}, r"answer None is not one of the options"),
        ({"img_path": "llvisionqa_compare_dev\\0.png.jpg"}, r"field 'img_path': expected <first>_cat_<second>\.jpg"),
        ({"img_path": "dev\\0.png_cat_1.png_cat_2.png.jpg"}, r"field 'img_path': expected <first>_cat_<second>\.jpg"),
        ({"img_path": "dev\\0.png_cat_1.png"}, r"field 'img_path': expected <first>_cat_<second>\.jpg, found 'dev"),
        ({"img_path": "dev\\_cat_1.png.jpg"}, r"field 'img_path': expected"),
        ({"img_path": "dev\\.._cat_1.png.jpg"}, r"'\.\.' points outside the image folder"),
        ({"img_path": 3}, r"field 'img_path' must be text, found 3"),
        ({"type": 3}, r"field 'type' must be one of 0 = yes-or-no, 1 = what, 2 = how; found 3"),
        ({"concern": 4}, r"field 'concern' must be one of 0 = distortion, 1 = concern 1, .*; found 4"),
        ({"question": row(1)["question"], "img_path": row(1)["img_path"]}, r"duplicate id 'dev-0\.png_cat_1\.png'"),
        ("[1, 2]", r"expected a JSON object, found a list"),
        ('{"type": 2,', r"not valid JSON"),
    ],
)
def test_bad_rows(pairs: Folder, change: dict[str, Any] | str, reason: str) -> None:
    bad = change if isinstance(change, str) else row(2, **change)
    folder = pairs(dev=[row(1), "", bad, row(0)])
    with pytest.raises(BadAnnotationError, match=rf"q-bench2-a1-dev\.jsonl, row 3: .*{reason}"):
        load_dataset("llvisionqa_pairs", data_dir=folder)
    part = load_dataset("llvisionqa_pairs", data_dir=folder, split="dev", skip_bad=True)
    assert part["id"][:] == ["dev-0.png_cat_1.png", "dev-0.png_cat_0.png"]
    assert [(item["id"], item["split"]) for item in left_out(part)] == [("3", "dev")]


def test_missing_images_name_the_image(pairs: Folder) -> None:
    folder = pairs(count=2)
    with pytest.raises(
        MissingImagesError, match=r"no image file found for 1 item:\n  dev dev-0\.png_cat_2\.png: 2\.png"
    ):
        load_dataset("llvisionqa_pairs", data_dir=folder)
    part = load_dataset("llvisionqa_pairs", data_dir=folder, split="dev", skip_missing=True)
    assert part["id"][:] == ["dev-0.png_cat_1.png"]
    assert [item["path"] for item in left_out(part)] == ["2.png"]


def test_a_picture_of_both_images_is_not_taken_for_them(pairs: Folder, write_image: Callable[..., None]) -> None:
    folder = pairs(dev=[row(1)], test="absent", count=0)
    write_image(folder / "llvisionqa_compare_dev" / "0.png_cat_1.png.jpg")
    with pytest.raises(MissingImagesError, match=r"0\.png\nSearched: .*all_single_images"):
        load_dataset("llvisionqa_pairs", data_dir=folder)


def zip_images(folder: Path, path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted((folder / "all_single_images").iterdir()):
            archive.write(file, f"all_single_images/{file.name}")
    shutil.rmtree(folder / "all_single_images")


def test_the_archive_of_images_is_unpacked(pairs: Folder) -> None:
    folder = pairs()
    zip_images(folder, folder / "all_single_images.zip")
    part = load_dataset("llvisionqa_pairs", data_dir=folder, split="dev")
    assert [image.size for image in part[1]["images"]] == [(10, 8)] * 2


def test_without_data_dir_the_official_files_are_downloaded(
    pairs: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = "https://huggingface.co/datasets/q-future/q-bench2/resolve/main/"
    assert QUESTIONS.location(QUESTIONS.image_archive) == f"{hub}all_single_images.zip"
    folder = pairs()
    files = tmp_path / "hub" / "resolve" / "main"
    files.mkdir(parents=True)
    zip_images(folder, files / "all_single_images.zip")
    for file in folder.glob("*.jsonl"):
        file.rename(files / file.name)
    local = MappingProxyType({"default": replace(QUESTIONS, hub=str(tmp_path / "hub"))})
    monkeypatch.setattr(LLVisionQAPairs, "QUESTION_SETS", local)
    parts = load_dataset("llvisionqa_pairs", cache_dir=tmp_path / "cache")
    assert {split: len(part) for split, part in parts.items()} == {"dev": 2, "test": 1}
    assert [image.size for image in parts["dev"][0]["images"]] == [(10, 8)] * 2
    with pytest.raises(UsageError, match="streaming needs data_dir"):
        load_dataset("llvisionqa_pairs", streaming=True)


def test_an_empty_folder_says_what_to_get(tmp_path: Path) -> None:
    reason = r"(?s)no annotation file; expected .* q-bench2-a1-dev\.jsonl.*q-future/q-bench2: all_single_images\.zip"
    with pytest.raises(MissingFileError, match=reason):
        load_dataset("llvisionqa_pairs", data_dir=tmp_path)


@pytest.mark.datasets36
@pytest.mark.parametrize("num_proc", [None, 2])
def test_the_hubs_parquet_form(tmp_path: Path, pairs: Folder, num_proc: int | None) -> None:
    images = pairs() / "all_single_images"
    rows = [
        {
            "id": number,
            "image1": {"bytes": (images / "0.png").read_bytes(), "path": "0.png"},
            "image2": {"bytes": (images / f"{number % 2 + 1}.png").read_bytes(), "path": None},
            "question": f"What about {number}?",
            **{
                f"option{place}": option
                for place, option in enumerate(["Yes", "No", "Perhaps" if number else "N/A", "N/A"])
            },
            "question_type": number % 3,
            "question_concern": number % 4,
            "correct_choice": "B",
        }
        for number in range(5)
    ]
    data = tmp_path / "hub" / "data"
    data.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows), data / "dev-00000-of-00001.parquet", row_group_size=2)
    private = [{**one, "correct_choice": ""} for one in rows]
    pq.write_table(pa.Table.from_pylist(private), data / "test-00000-of-00001.parquet")
    parts = load_dataset("llvisionqa_pairs", data_dir=tmp_path / "hub", num_proc=num_proc)
    assert parts["dev"]["id"][:] == [f"dev-{number}" for number in range(5)]
    assert parts["dev"]["options"][:2] == [["Yes", "No"], ["Yes", "No", "Perhaps"]]
    assert parts["dev"]["answer"][:] == ["B"] * 5 and parts["test"]["answer"][:] == [""] * 5
    assert parts["dev"]["concern"][:2] == ["distortion", "concern 1"]
    for number, shown in enumerate(parts["dev"]["images"]):
        expected = [(images / name).read_bytes() for name in ("0.png", f"{number % 2 + 1}.png")]
        assert [pixels_of(image) for image in shown] == [pixels_of(data) for data in expected]
    rows[3]["image2"] = None
    pq.write_table(pa.Table.from_pylist(rows), data / "dev-00000-of-00001.parquet")
    part = load_dataset("llvisionqa_pairs", data_dir=tmp_path / "hub", split="dev", skip_missing=True)
    assert [item["id"] for item in left_out(part)] == ["dev-3"]


def pixels_of(image: Any) -> bytes:
    from eyechart.datasets_scripts.common.images import open_image

    return (open_image(image) if isinstance(image, bytes) else image.convert("RGB")).tobytes()


def test_the_mini_release_has_every_kind_of_question() -> None:
    parts = load_dataset("llvisionqa_pairs", data_dir=mini.release("llvisionqa_pairs"))
    assert {split: len(part) for split, part in parts.items()} == {"dev": 96, "test": 24}
    for part in parts.values():
        kinds = Counter(zip(part["question_type"], part["concern"], strict=True))
        assert len(kinds) == 12 and len(set(kinds.values())) == 1
        assert {len(options) for options in part["options"]} == {2, 3, 4}
        assert {len(images) for images in part["images"]} == {2}
    letters = Counter(parts["dev"]["answer"])
    assert min(letters[letter] for letter in "ABC") > 12
    assert set(parts["test"]["answer"]) == {""}
    text = (mini.release("llvisionqa_pairs") / "q-bench2-a1-test.jsonl").read_text(encoding="utf-8")
    assert "correct" not in text


@pytest.mark.parametrize(
    ("options", "choice", "letter"),
    [
        (["No", "No"], None, "A"),
        (["No", "No"], "A", "A"),
        (["No", "No"], "B", "B"),
        (["Yes", "No", "No"], "C", "C"),
        (["No"], None, "A"),
        (["No"], "A", "A"),
    ],
)
def test_repeated_and_single_options(pairs: Folder, options: list[str], choice: str | None, letter: str) -> None:
    folder = pairs(dev=[row(1, candidates=options, correct_ans="No", correct_choice=choice)])
    part = load_dataset("llvisionqa_pairs", data_dir=folder, split="dev")
    assert (part[0]["options"], part[0]["answer"]) == (options, letter)


def test_a_letter_of_another_option_than_the_text_is_an_error(pairs: Folder) -> None:
    folder = pairs(dev=[row(1, candidates=["No", "Yes", "No"], correct_ans="No", correct_choice="B")])
    with pytest.raises(BadAnnotationError, match="'correct_ans' is option A, but 'correct_choice' is option B"):
        load_dataset("llvisionqa_pairs", data_dir=folder)


@pytest.fixture(scope="module")
def real_rows(reference: Path) -> list[dict[str, Any]]:
    return released_dev_rows(reference)


@pytest.mark.parametrize(("fields", "row_873"), [("a text and a letter", "B"), ("a text", "A")])
def test_all_1000_real_rows_load(real_rows: list[dict[str, Any]], tmp_path: Path, fields: str, row_873: str) -> None:
    lines = [item if "letter" in fields else item | {"correct_choice": None} for item in real_rows]
    lines = [json.dumps({key: value for key, value in line.items() if value is not None}) for line in lines]
    (tmp_path / "q-bench2-a1-dev.jsonl").write_text("\n".join(lines), encoding="utf-8")
    part = load_dataset("llvisionqa_pairs", data_dir=tmp_path, images="skip", split="dev")
    assert len(part) == len(set(part["id"])) == 1000 and left_out(part) == []
    assert part["options"][:] == [item["candidates"] for item in real_rows]
    assert Counter(map(len, part["options"])) == {1: 1, 2: 422, 3: 478, 4: 99}
    expected = [item["correct_choice"] for item in real_rows]
    assert part["answer"][:] == [*expected[:872], row_873, *expected[873:]]
    assert [part[place]["options"] for place in (128, 872)] == [["Yes"], ["No", "No"]]
    assert len(set(part[964]["options"])) == 3

    asked = load_dataset("llsavisionqa", "pair", data_dir=tmp_path, images="skip", split="dev")
    assert len(asked) == 1000 and asked["answer"][:] == part["answer"][:]
    for position in (0, 1, 2, "random"):
        options = {"refusal_position": position}
        moved = load_dataset("llsavisionqa", "pair", data_dir=tmp_path, images="skip", split="dev", options=options)
        for plain, shown in zip(part, moved, strict=True):
            place = "ABCDE".index(shown["refusal"])
            assert shown["options"].pop(place) == "I don't know" and shown["options"] == plain["options"]
            left = [letter for letter in "ABCDE"[: len(plain["options"]) + 1] if letter != shown["refusal"]]
            assert left["ABCD".index(plain["answer"])] == shown["answer"]


def test_the_real_rows_are_exported_whole(real_rows: list[dict[str, Any]], tmp_path: Path, write_image: Any) -> None:
    import datasets

    release = tmp_path / "release"
    rows = [real_rows[place] for place in (0, 128, 872, 964)]
    for item in rows:
        for name in pair_names(item["img_path"]):
            write_image(release / "all_single_images" / name)
    (release / "q-bench2-a1-dev.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    folder = export("llvisionqa_pairs", out=tmp_path / "exported", data_dir=release)
    again = datasets.load_dataset(str(folder), split="dev")
    assert again["options"][:] == [item["candidates"] for item in rows]
    assert again["answer"][:] == [item["correct_choice"] for item in rows] == ["B", "A", "B", "D"]
