import json
import shutil
import tarfile
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eyechart.datasets_scripts import left_out, load_dataset
from eyechart.datasets_scripts.common.errors import (
    BadAnnotationError,
    BadArchiveError,
    MissingFileError,
    MissingImagesError,
    UsageError,
)
from eyechart.datasets_scripts.llvisionqa.llvisionqa import QUESTIONS, LLVisionQA

Folder = Callable[..., Path]
Row = Callable[..., dict[str, Any]]


@pytest.mark.parametrize("image_folder", ["", "images", "images_llvisionqa"])
def test_the_release_layouts(llvisionqa: Folder, image_folder: str) -> None:
    parts = load_dataset("llvisionqa", data_dir=llvisionqa(image_folder=image_folder))
    assert list(parts) == ["dev", "test"]
    row = parts["dev"][1]
    assert row.pop("images")[0].size == (10, 8)
    assert row == {
        "id": "dev-1.png",
        "question_id": "dev-1.png",
        "rotation": 0,
        "question": "What is the distortion of image 1?",
        "hint": "",
        "options": ["Blur", "Noise", "None"],
        "answer": "B",
        "question_type": "what",
        "concern": "distortion",
    }
    assert parts["test"]["answer"][:] == ["", "", ""]


def test_codes_are_those_of_the_paper(llvisionqa: Folder, qa_row: Row) -> None:
    rows = [qa_row(0, type=code % 3, concern=code, question=f"{code}?") for code in range(4)]
    part = load_dataset("llvisionqa", data_dir=llvisionqa(dev=rows), split="dev")
    assert part["question_type"][:3] == ["yes-or-no", "what", "how"]
    assert part["concern"][:] == ["distortion", "other", "in-context distortion", "in-context other"]


def test_further_questions_on_an_image_get_ids_of_their_own(llvisionqa: Folder, qa_row: Row) -> None:
    rows = [qa_row(0), qa_row(1), qa_row(0, question="Another?"), qa_row(0, question="A third?")]
    part = load_dataset("llvisionqa", data_dir=llvisionqa(dev=rows), split="dev")
    assert part["id"][:] == ["dev-0.png", "dev-1.png", "dev-0.png-2", "dev-0.png-3"]


def test_text_is_composed_and_stripped(llvisionqa: Folder, qa_row: Row) -> None:
    name = "e\N{COMBINING ACUTE ACCENT}.png"
    rows = [qa_row(0, img_path=name, candidates=["Blur ", " Noise"], correct_ans="Noise  ", question=" Why? ")]
    row = load_dataset("llvisionqa", data_dir=llvisionqa(dev=rows, test="absent", images=[name]), split="dev")[0]
    assert (row["id"], row["question"]) == ("dev-\N{LATIN SMALL LETTER E WITH ACUTE}.png", "Why?")
    assert (row["options"], row["answer"], row["images"][0].size) == (["Blur", "Noise"], "B", (10, 8))


def test_an_image_may_be_named_after_a_time(llvisionqa: Folder, qa_row: Row) -> None:
    name = "10:30.png"
    folder = llvisionqa(dev=[qa_row(0, img_path=name)], test="absent", images=[name])
    assert load_dataset("llvisionqa", data_dir=folder, split="dev")["id"][:] == ["dev-10:30.png"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"type": 3}, r"field 'type' must be one of 0 = yes-or-no, 1 = what, 2 = how; found 3"),
        ({"concern": None}, r"field 'concern' must be one of .*; found None"),
        ({"question": None}, r"field 'question' is missing"),
        ({"question": " "}, r"field 'question' is empty"),
        ({"img_path": 7}, r"field 'img_path' must be text, found 7"),
        ({"img_path": "../secret.png"}, r"'\.\./secret\.png' points outside the image folder"),
        ({"img_path": "/etc/secret.png"}, r"points outside the image folder"),
        ({"img_path": "C:/secret.png"}, r"'C:/secret\.png' points outside the image folder"),
        ({"img_path": "C:secret.png"}, r"points outside the image folder"),
        ({"img_path": "a\\..\\..\\secret.png"}, r"points outside the image folder"),
        ({"img_path": "\\\\server\\secret.png"}, r"points outside the image folder"),
        ({"img_path": "a\0.png"}, r"points outside the image folder"),
        ({"candidates": []}, r"expected 1 to 26 non-empty options"),
        ({"candidates": ["Noise", " "]}, r"expected 1 to 26 non-empty options"),
        ({"candidates": "Noise"}, r"options must be a list of texts, found 'Noise'"),
        ({"correct_ans": "Rain"}, r"answer 'Rain' is not one of the options \['Blur', 'Noise', 'None'\]"),
        ({"correct_ans": None}, r"answer None is not one of the options"),
        ({"question": "What is the distortion of image 0?", "img_path": "0.png"}, r"duplicate id 'dev-0\.png'"),
    ],
)
def test_bad_rows(llvisionqa: Folder, qa_row: Row, change: dict[str, Any], reason: str) -> None:
    folder = llvisionqa(dev=[qa_row(0), qa_row(1, **change), qa_row(2)])
    with pytest.raises(BadAnnotationError, match=rf"llvisionqa_dev\.json, row 2: .*{reason}") as caught:
        load_dataset("llvisionqa", data_dir=folder)
    assert any("--skip-bad" in note for note in caught.value.__notes__)
    part = load_dataset("llvisionqa", data_dir=folder, split="dev", skip_bad=True)
    assert part["id"][:] == ["dev-0.png", "dev-2.png"]
    (item,) = left_out(part)
    assert (item["id"], item["split"]) == ("2", "dev")
    assert item["path"].endswith("llvisionqa_dev.json")


@pytest.mark.parametrize("rows", [{"a": 1}, "text", []])
def test_files_that_hold_no_list_of_rows(llvisionqa: Folder, rows: Any) -> None:
    with pytest.raises(BadAnnotationError, match=r"llvisionqa_dev\.json: .*(list of objects|no row)"):
        load_dataset("llvisionqa", data_dir=llvisionqa(dev=rows), skip_bad=True)


def test_missing_images_are_one_error_with_a_count(llvisionqa: Folder, qa_row: Row) -> None:
    folder = llvisionqa(dev=[qa_row(number) for number in range(10)], images=["0.png", "1.png", "2.png"])
    with pytest.raises(MissingImagesError) as caught:
        load_dataset("llvisionqa", data_dir=folder)
    message = str(caught.value)
    assert "no image file found for 7 items" in message and "dev dev-3.png: 3.png" in message
    assert (
        "... and 2 more" in message and "--data-arg skip_missing=true" in message and str(folder / "images") in message
    )
    part = load_dataset("llvisionqa", data_dir=folder, split="dev", skip_missing=True)
    assert part["id"][:] == ["dev-0.png", "dev-1.png", "dev-2.png"]
    assert [item["id"] for item in left_out(part)] == [f"dev-{number}.png" for number in range(3, 10)]
    assert {item["reason"] for item in left_out(part)} == {"the image file is missing"}


def test_all_images_missing_leaves_nothing_to_load(llvisionqa: Folder) -> None:
    with pytest.raises(BadAnnotationError, match="no row of split 'dev' can be loaded"):
        load_dataset("llvisionqa", data_dir=llvisionqa(images=[]), skip_missing=True)


def test_images_can_be_skipped(llvisionqa: Folder) -> None:
    part = load_dataset("llvisionqa", data_dir=llvisionqa(images=[]), split="dev", images="skip")
    assert part["images"][:] == [[], [], []]


def test_one_split_alone(llvisionqa: Folder) -> None:
    folder = llvisionqa(test="absent")
    assert list(load_dataset("llvisionqa", data_dir=folder)) == ["dev"]
    with pytest.raises(MissingFileError, match=r"no annotation file for split 'test'; splits found: dev"):
        load_dataset("llvisionqa", data_dir=folder, split="test")


def test_an_empty_folder_says_what_to_get(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        MissingFileError, match=r"(?s)empty: no annotation file; expected .* llvisionqa_dev\.json.*LLVisionQA-QBench"
    ):
        load_dataset("llvisionqa", data_dir=tmp_path / "empty")
    with pytest.raises(MissingFileError, match="nowhere: data_dir is not an existing folder"):
        load_dataset("llvisionqa", data_dir=tmp_path / "nowhere")


@pytest.fixture
def write_parquet(write_image: Callable[..., None]) -> Callable[..., None]:
    return partial(_write_parquet, write_image)


def _write_parquet(write_image: Callable[..., None], path: Path, *, private: bool = False, **changes: Any) -> None:
    image = path.parent / "image.png"
    write_image(image)
    rows = [
        {
            "id": str(number),
            "image": {"bytes": image.read_bytes(), "path": f"{number}.png"},
            "question": f"What about {number}?",
            "option0": "Yes",
            "option1": "No",
            "option2": "Perhaps" if number else "N/A",
            "option3": "N/A",
            "question_type": number % 3,
            "question_concern": number % 4,
            "correct_choice": "" if private else "B",
        }
        for number in range(5)
    ]
    rows[3].update(changes)
    image.unlink()
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=2)


@pytest.mark.parametrize("folder", ["", "data"])
@pytest.mark.datasets36
@pytest.mark.parametrize("num_proc", [None, 2])
def test_the_hubs_parquet_form(
    tmp_path: Path, write_parquet: Callable[..., None], folder: str, num_proc: int | None
) -> None:
    data = tmp_path / "hub" / folder
    data.mkdir(parents=True)
    write_parquet(data / "dev-00000-of-00001.parquet")
    write_parquet(data / "test-00000-of-00001.parquet", private=True)
    parts = load_dataset("llvisionqa", data_dir=tmp_path / "hub", num_proc=num_proc)
    assert parts["dev"]["id"][:] == [f"dev-{number}" for number in range(5)]
    assert parts["dev"]["options"][:2] == [["Yes", "No"], ["Yes", "No", "Perhaps"]]
    assert parts["dev"]["answer"][:] == ["B"] * 5 and parts["test"]["answer"][:] == [""] * 5
    assert parts["dev"]["question_type"][:3] == ["yes-or-no", "what", "how"]
    assert {images[0].size for images in parts["dev"]["images"]} == {(10, 8)}


def test_parquet_with_missing_image_bad_letter_and_missing_column(
    tmp_path: Path, write_parquet: Callable[..., None]
) -> None:
    file = tmp_path / "dev.parquet"
    write_parquet(file, image=None)
    part = load_dataset("llvisionqa", data_files={"dev": str(file)}, split="dev", skip_missing=True)
    assert part["id"][:] == ["dev-0", "dev-1", "dev-2", "dev-4"]
    assert [item["id"] for item in left_out(part)] == ["dev-3"]
    write_parquet(file, correct_choice="D")
    with pytest.raises(BadAnnotationError, match=r"row 4: answer must be one of \['A', 'B', 'C'\], found 'D'"):
        load_dataset("llvisionqa", data_files={"dev": str(file)})
    pq.write_table(pq.read_table(file).drop_columns(["question_concern"]), file)
    with pytest.raises(BadAnnotationError, match="missing column 'question_concern'"):
        load_dataset("llvisionqa", data_files={"dev": str(file)})
    file.write_bytes(b"PAR1 rubbish")
    with pytest.raises(BadAnnotationError, match="cannot be read as Parquet"):
        load_dataset("llvisionqa", data_files={"dev": str(file)})


def test_parquet_rows_without_an_id(tmp_path: Path, write_parquet: Callable[..., None]) -> None:
    file = tmp_path / "dev.parquet"
    write_parquet(file)
    table = pq.read_table(file)
    ids = pa.array([None, *table.column("id").to_pylist()[1:]], table.column("id").type)
    pq.write_table(table.set_column(table.column_names.index("id"), "id", ids), file)
    with pytest.raises(BadAnnotationError, match=r"dev\.parquet, row 1: field 'id' is empty"):
        load_dataset("llvisionqa", data_dir=tmp_path)


def test_half_characters_are_bad_rows(llvisionqa: Folder, qa_row: Row) -> None:
    """JSON writes a character beyond the first 65,536 as two escapes; one of them alone is no character."""
    changes = ({"question": "a\ud83d"}, {"img_path": "\ud83d.png"}, {"candidates": ["Noise", "\udc4d"]})
    folder = llvisionqa(dev=[qa_row(0), *(qa_row(1, **change) for change in changes)])
    with pytest.raises(BadAnnotationError, match=r"row 2: column 'question' is not valid Unicode: 'a\\ud83d'"):
        load_dataset("llvisionqa", data_dir=folder, split="dev")
    part = load_dataset("llvisionqa", data_dir=folder, split="dev", skip_bad=True)
    assert part["id"][:] == ["dev-0.png"] and [item["id"] for item in left_out(part)] == ["2", "3", "4"]


def test_data_files_say_which_split(llvisionqa: Folder) -> None:
    folder = llvisionqa()
    dev = folder / "llvisionqa_dev.json"
    assert list(load_dataset("llvisionqa", data_files=str(dev))) == ["dev"]
    other = dev.rename(folder / "other.json")
    assert list(load_dataset("llvisionqa", data_files={"dev": str(other)})) == ["dev"]
    with pytest.raises(UsageError, match="does not show which split it is"):
        load_dataset("llvisionqa", data_files=str(other))
    with pytest.raises(UsageError, match="unknown split 'dve' in data_files; did you mean 'dev'"):
        load_dataset("llvisionqa", data_files={"dve": str(other)})
    with pytest.raises(MissingFileError, match="data_files of dataset 'llvisionqa'"):
        load_dataset("llvisionqa", data_files={"dev": str(folder / "none.json")})


def test_without_data_dir_the_official_files_are_downloaded(
    llvisionqa: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert QUESTIONS.location("llvisionqa_dev.json") == (
        "https://huggingface.co/datasets/teowu/LLVisionQA-QBench/resolve/main/llvisionqa_dev.json"
    )
    folder = llvisionqa(image_folder="images")
    hub = tmp_path / "hub" / "resolve" / "main"
    hub.mkdir(parents=True)
    for file in folder.glob("*.json"):
        file.rename(hub / file.name)
    archive_of(folder / "images", hub / "images_llvisionqa.tar")
    local = MappingProxyType({"default": replace(QUESTIONS, hub=str(tmp_path / "hub"))})
    monkeypatch.setattr(LLVisionQA, "QUESTION_SETS", local)
    parts = load_dataset("llvisionqa", cache_dir=tmp_path / "cache")
    assert parts["dev"][0]["images"][0].size == (10, 8)
    (unpacked,) = (tmp_path / "cache" / "downloads" / "extracted").iterdir()
    assert sorted(path.name for path in (unpacked / "images").iterdir()) == ["0.png", "1.png", "2.png"]
    (hub / "images_llvisionqa.tar").unlink()
    assert len(load_dataset("llvisionqa", cache_dir=tmp_path / "other", images="skip", split="dev")) == 3
    with pytest.raises(UsageError, match="streaming needs data_dir"):
        load_dataset("llvisionqa", streaming=True)


def archive_of(folder: Path, path: Path) -> None:
    with tarfile.open(path, "w") as archive:
        archive.add(folder, folder.name)
    shutil.rmtree(folder)


@pytest.mark.datasets36
def test_an_archive_of_images_beside_the_questions_is_unpacked(llvisionqa: Folder, tmp_path: Path) -> None:
    folder = llvisionqa(image_folder="images")
    archive_of(folder / "images", folder / "images_llvisionqa.tar")
    before = sorted(folder.iterdir())
    part = load_dataset("llvisionqa", data_dir=folder, split="dev", cache_dir=tmp_path / "cache")
    assert part[2]["images"][0].size == (10, 8)
    streamed = load_dataset("llvisionqa", data_dir=folder, split="dev", cache_dir=tmp_path / "cache", streaming=True)
    assert next(iter(streamed))["images"][0].size == (10, 8)
    assert sorted(folder.iterdir()) == before
    assert len(list((tmp_path / "cache" / "downloads" / "extracted").iterdir())) == 1


def test_an_archive_is_left_alone_where_images_are_unpacked_or_skipped(llvisionqa: Folder) -> None:
    folder = llvisionqa()
    (folder / "images_llvisionqa.tar").write_bytes(b"not an archive")
    assert len(load_dataset("llvisionqa", data_dir=folder, split="dev")) == 3
    for number in range(3):
        (folder / f"{number}.png").unlink()
    assert len(load_dataset("llvisionqa", data_dir=folder, split="dev", images="skip")) == 3
    with pytest.raises(BadArchiveError, match=r"images_llvisionqa\.tar: not a tar, tar\.gz or zip archive, or corrupt"):
        load_dataset("llvisionqa", data_dir=folder, split="dev")


def test_the_real_files_parse_completely_and_guess_as_in_table_7(reference: Path) -> None:
    parts = load_dataset("llvisionqa", data_dir=reference / "llvisionqa", images="skip")
    assert {split: len(part) for split, part in parts.items()} == {"dev": 1495, "test": 1495}
    for part in parts.values():
        assert len(set(part["id"])) == 1495
    dev = parts["dev"]
    assert Counter(dev["question_type"]) == {"yes-or-no": 550, "what": 452, "how": 493}
    assert list(Counter(sorted(dev["concern"])).values()) == [514, 304, 245, 432]
    assert set(parts["test"]["answer"]) == {""} and set(dev["answer"]) == set("ABCD")
    guesses = defaultdict(list)
    for row in dev:
        for group in ("overall", row["question_type"], row["concern"]):
            guesses[group].append(100 / len(row["options"]))
    # Table 7 of the paper, truncated there to two decimals.
    assert {group: sum(values) / len(values) for group, values in guesses.items()} == pytest.approx(
        {
            "overall": 37.80,
            "yes-or-no": 50.00,
            "what": 27.86,
            "how": 33.31,
            "distortion": 37.89,
            "other": 38.48,
            "in-context distortion": 38.28,
            "in-context other": 35.82,
        },
        abs=0.02,
    )


def test_the_real_answers_are_the_real_letters(reference: Path) -> None:
    released = json.loads((reference / "llvisionqa" / "llvisionqa_dev.json").read_text(encoding="utf-8"))
    dev = load_dataset("llvisionqa", data_dir=reference / "llvisionqa", images="skip", split="dev")
    for raw, row in zip(released, dev, strict=True):
        assert row["id"] == f"dev-{raw['img_path']}"
        assert row["options"]["ABCD".index(row["answer"])] == raw["correct_ans"].strip()


def test_the_real_files_without_images_say_so(reference: Path) -> None:
    with pytest.raises(MissingImagesError, match=r"no image file found for 2990 items"):
        load_dataset("llvisionqa", data_dir=reference / "llvisionqa")
