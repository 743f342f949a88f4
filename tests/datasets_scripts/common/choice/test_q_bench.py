"""Q-Bench's questions on single images (LLVisionQA) and on pairs, and both with a refusal (LLSAVisionQA)."""

import json
import shutil
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eyechart.datasets_scripts import left_out, load_builder, load_dataset, loading, mini
from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingImagesError, UsageError
from eyechart.datasets_scripts.llsavisionqa.llsavisionqa import REFUSAL
from eyechart.datasets_scripts.llvisionqa import llvisionqa as single_script
from eyechart.datasets_scripts.llvisionqa_pairs import llvisionqa_pairs as pair_script
from eyechart.datasets_scripts.official import official_counts

Folder = Callable[..., Path]
Row = Callable[..., dict[str, Any]]


def released_dev_rows(reference: Path) -> list[dict[str, Any]]:
    """The 1,000 released dev rows of Q-Bench2's pairs, in the form of `q-bench2-a1-dev.jsonl`.

    The codes of type and concern are not known. Row 129 has a single option, rows 873 and 965 one that stands twice.
    """
    known = json.loads((reference / "qbench2-outputs" / "gpt.json").read_text(encoding="utf-8"))
    return [
        {
            "type": 0,
            "concern": 0,
            "question": item["question"].partition(" Options: ")[0],
            "img_path": item["image"].removeprefix("q-bench2/").replace("/", "\\"),
            "candidates": item["option"],
            "correct_ans": item["answer"],
            # The last place of the right text: in row 873 the second of two.
            "correct_choice": "DCBA"[4 - len(item["option"]) :][item["option"][::-1].index(item["answer"])],
        }
        for item in known
    ]


PRIVATE = {"correct_ans": None, "correct_choice": None}


def pair_row(number: int, **changes: Any) -> dict[str, Any]:
    """A row of the pairs' release, on images 0 and `number`; a change to None removes the field."""
    row = {
        "type": 2,
        "concern": 0,
        "question": f"Compared to the first image, how is the clarity of image {number}?",
        "img_path": f"llvisionqa_compare_dev\\0.png_cat_{number}.png.jpg",
        "candidates": ["More blurry", "Clearer", "About the same"],
        "correct_ans": "Clearer",
        "correct_choice": "B",
    }
    return {key: value for key, value in (row | changes).items() if value is not None}


@pytest.fixture
def pairs(tmp_path: Path, write_image: Callable[..., None]) -> Folder:
    """Return a function that writes a folder in the layout of Q-Bench2; text becomes a line as it is."""

    def write(dev: Any = None, image_folder: str = "all_single_images") -> Path:
        folder = tmp_path / "pairs"
        folder.mkdir(exist_ok=True)
        for split, lines in (("dev", dev or [pair_row(1), pair_row(2)]), ("test", [pair_row(1, **PRIVATE)])):
            text = "\n".join(json.dumps(line) if isinstance(line, dict) else line for line in lines)
            (folder / f"q-bench2-a1-{split}.jsonl").write_text(text, encoding="utf-8")
        for number in range(3):
            write_image(folder / image_folder / f"{number}.png", number)
        return folder

    return write


@pytest.mark.parametrize("image_folder", ["all_single_images", ""])
def test_the_layouts_of_pairs(pairs: Folder, image_folder: str) -> None:
    parts = load_dataset("llvisionqa_pairs", data_dir=pairs(image_folder=image_folder))
    assert list(parts) == ["dev", "test"]
    row = parts["dev"][1]
    assert [image.filename.rpartition("/")[2] for image in row.pop("images")] == ["0.png", "2.png"]
    assert row == {
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
        ("llvisionqa_compare_test\\I03_05_01.png_cat_AVA__281981.jpg.jpg", ["I03_05_01.png", "AVA__281981.jpg"]),
        ("..\\..\\a.jpg_cat_b.jpg.jpg", ["a.jpg", "b.jpg"]),
    ],
)
def test_names_of_the_two_images(img_path: str, names: list[str]) -> None:
    assert pair_script.pair_names(img_path) == names


OUTSIDE = "points outside the image folder"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"type": 3}, "field 'type' must be one of 0 = yes-or-no, 1 = what, 2 = how; found 3"),
        ({"question": " "}, "field 'question' is empty"),
        ({"candidates": ["Noise", "\udc4d"]}, "column 'options' is not valid Unicode"),
        ({"img_path": "../secret.png"}, OUTSIDE),
        ({"img_path": "a\\..\\..\\secret.png"}, OUTSIDE),
        ({"candidates": "Noise"}, "options must be a list of texts, found 'Noise'"),
        ({"correct_ans": "Rain"}, "'Rain' is not one of the options ['Blur', 'Noise', 'None']"),
        ({"question": "What is the distortion of image 0?", "img_path": "0.png"}, "duplicate id 'dev-0.png'"),
    ],
)
def test_bad_rows_of_single_images(llvisionqa: Folder, qa_row: Row, change: dict[str, Any], reason: str) -> None:
    folder = llvisionqa(dev=[qa_row(0), qa_row(1, **change), qa_row(2)])
    with pytest.raises(BadAnnotationError) as caught:
        load_dataset("llvisionqa", data_dir=folder)
    assert caught.value.row == 2 and caught.value.path == str(folder / "llvisionqa_dev.json")
    assert reason in caught.value.reason and "--skip-bad" in caught.value.explain()
    part = load_dataset("llvisionqa", data_dir=folder, split="dev", skip_bad=True)
    assert part["id"][:] == ["dev-0.png", "dev-2.png"]
    expected = {"id": "2", "path": caught.value.path, "reason": caught.value.reason, "split": "dev"}
    assert left_out(part) == [expected]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"correct_choice": "A"}, "'correct_ans' is option B, but 'correct_choice' is option A"),
        ({"candidates": ["No", "Yes", "No"], "correct_ans": "No", "correct_choice": "B"}, "is option A, but"),
        ({"img_path": "dev\\0.png_cat_1.png_cat_2.png.jpg"}, "<first>_cat_<second>.jpg"),
        ("[1, 2]", "expected a JSON object, found [1, 2]"),
        ('{"type": 2,', "not valid JSON"),
    ],
)
def test_bad_rows_of_pairs(pairs: Folder, change: dict[str, Any] | str, reason: str) -> None:
    bad = change if isinstance(change, str) else pair_row(2, **change)
    folder = pairs(dev=[pair_row(1), "", bad, pair_row(0)])
    with pytest.raises(BadAnnotationError) as caught:
        load_dataset("llvisionqa_pairs", data_dir=folder)
    assert (caught.value.row, caught.value.path) == (3, str(folder / "q-bench2-a1-dev.jsonl"))
    assert reason in caught.value.reason


def test_missing_images_are_one_error_with_a_count(llvisionqa: Folder, qa_row: Row) -> None:
    folder = llvisionqa(dev=[qa_row(number) for number in range(10)])
    with pytest.raises(MissingImagesError, match=r"(?s)7 items.*dev dev-3\.png: 3\.png.*\.\.\. and 2 more") as caught:
        load_dataset("llvisionqa", data_dir=folder)
    assert "--data-arg skip_missing=true" in str(caught.value) and str(folder / "images") in str(caught.value)
    part = load_dataset("llvisionqa", data_dir=folder, split="dev", skip_missing=True)
    assert part["id"][:] == ["dev-0.png", "dev-1.png", "dev-2.png"]
    assert [item["id"] for item in left_out(part)] == [f"dev-{number}.png" for number in range(3, 10)]
    assert {item["reason"] for item in left_out(part)} == {"the image file is missing"}
    assert load_dataset("llvisionqa", data_dir=folder, split="dev", images="skip")["images"][:] == [[]] * 10


@pytest.fixture
def write_parquet(tmp_path: Path, write_image: Callable[..., None]) -> Callable[..., Path]:
    """Return a function that writes the Hub's form of a data set; changes are of row 4."""

    def write(name: str, split: str = "dev", **changes: Any) -> Path:
        folder = tmp_path / "hub" / "data"
        folder.mkdir(parents=True, exist_ok=True)
        rows = []
        for number in range(5):
            write_image(tmp_path / "image.png", number)
            image = {"bytes": (tmp_path / "image.png").read_bytes(), "path": None if number % 2 else "0.png"}
            options = ["Yes", "No", "Perhaps" if number else "N/A", "N/A"]
            rows.append(
                {"id": str(number), "question": f"What about {number}?", "correct_choice": "B" * (split == "dev")}
                | {column: image for column in (["image"] if name == "llvisionqa" else ["image1", "image2"])}
                | {f"option{place}": option for place, option in enumerate(options)}
                | {"question_type": number % 3, "question_concern": number % 4}
            )
        rows[3] |= changes
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{split}-00000-of-00001.parquet", row_group_size=2)
        return tmp_path / "hub"

    return write


@pytest.mark.datasets36
@pytest.mark.parametrize(
    ("name", "concern", "num_proc"), [("llvisionqa", "other", 2), ("llvisionqa_pairs", "concern 1", None)]
)
def test_the_hubs_parquet_form(
    write_parquet: Callable[..., Path], write_image: Any, name: str, concern: str, num_proc: int | None
) -> None:
    write_parquet(name, "test")
    folder = write_parquet(name)
    parts = load_dataset(name, data_dir=folder, num_proc=num_proc)
    assert parts["dev"]["id"][:] == [f"dev-{number}" for number in range(5)]
    assert parts["dev"]["options"][:2] == [["Yes", "No"], ["Yes", "No", "Perhaps"]]
    assert parts["dev"]["answer"][:] == ["B"] * 5 and parts["test"]["answer"][:] == [""] * 5
    assert parts["dev"]["question_type"][:3] == ["yes-or-no", "what", "how"]
    assert parts["dev"]["concern"][:2] == ["distortion", concern]
    write_image(folder / "3.png", 3)
    image = parts["dev"].cast_column("images", datasets.Sequence(datasets.Image(decode=False)))[3]["images"][-1]
    assert image["bytes"] == (folder / "3.png").read_bytes()


def test_bad_rows_of_parquet(write_parquet: Callable[..., Path]) -> None:
    folder = write_parquet("llvisionqa", image=None)
    part = load_dataset("llvisionqa", data_dir=folder, split="dev", skip_missing=True)
    assert part["id"][:] == ["dev-0", "dev-1", "dev-2", "dev-4"]
    assert [item["id"] for item in left_out(part)] == ["dev-3"]
    write_parquet("llvisionqa", correct_choice="D")
    with pytest.raises(BadAnnotationError, match=r"dev-.*\.parquet, row 4: answer must be one of .*, found 'D'"):
        load_dataset("llvisionqa", data_dir=folder)
    file = folder / "data" / "dev-00000-of-00001.parquet"
    pq.write_table(pq.read_table(file).drop_columns(["question_concern"]), file)
    with pytest.raises(BadAnnotationError, match="missing column 'question_concern'"):
        load_dataset("llvisionqa", data_dir=folder)


def test_data_files_say_which_split(llvisionqa: Folder) -> None:
    folder = llvisionqa()
    dev = folder / "llvisionqa_dev.json"
    assert list(load_dataset("llvisionqa", data_files=str(dev))) == ["dev"]
    other = dev.rename(folder / "other.json")
    assert list(load_dataset("llvisionqa", data_files={"dev": str(other)})) == ["dev"]
    with pytest.raises(UsageError, match="does not show which split it is"):
        load_dataset("llvisionqa", data_files=str(other))


def archive(folder: Path, path: Path) -> None:
    """Pack a folder of images as the release does, and remove it."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as packed:
            for file in sorted(folder.iterdir()):
                packed.write(file, f"{folder.name}/{file.name}")
    else:
        with tarfile.open(path, "w") as packed_tar:
            packed_tar.add(folder, folder.name)
    shutil.rmtree(folder)


@pytest.mark.datasets36
@pytest.mark.parametrize("script", [single_script, pair_script])
def test_the_archive_of_images_is_unpacked_in_a_folder_and_downloaded_without_one(
    llvisionqa: Folder, pairs: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Any
) -> None:
    single = script is single_script
    name, builder = ("llvisionqa", script.LLVisionQA) if single else ("llvisionqa_pairs", script.LLVisionQAPairs)
    folder = llvisionqa(image_folder="images") if single else pairs()
    archive(folder / ("images" if single else "all_single_images"), folder / script.QUESTIONS.image_archive)
    before, cache = sorted(folder.iterdir()), tmp_path / "cache"
    part = load_dataset(name, data_dir=folder, split="dev", cache_dir=cache)
    assert {image.size for image in part[1]["images"]} == {(10, 8)}
    streamed = load_dataset(name, data_dir=folder, split="dev", cache_dir=cache, streaming=True)
    assert next(iter(streamed))["images"][0].size == (10, 8)
    assert sorted(folder.iterdir()) == before
    assert len(list((cache / "downloads" / "extracted").iterdir())) == 1

    hub = tmp_path / "hub" / "resolve"
    hub.mkdir(parents=True)
    folder.rename(hub / "main")
    local = MappingProxyType({"default": replace(script.QUESTIONS, hub=str(tmp_path / "hub"))})
    monkeypatch.setattr(builder, "QUESTION_SETS", local)
    parts = load_dataset(name, cache_dir=tmp_path / "other")
    assert list(parts) == ["dev", "test"] and parts["dev"][0]["images"][0].size == (10, 8)
    (hub / "main" / script.QUESTIONS.image_archive).unlink()
    assert len(load_dataset(name, cache_dir=tmp_path / "third", images="skip", split="dev")) == len(parts["dev"])


def test_the_real_files_parse_completely(reference: Path) -> None:
    folder = reference / "llvisionqa"
    parts = load_dataset("llvisionqa", data_dir=folder, images="skip")
    assert {split: len(set(part["id"])) for split, part in parts.items()} == {
        split: official_counts("llvisionqa", None, split)[0] for split in ("dev", "test")
    }
    dev = parts["dev"]
    assert Counter(dev["question_type"]) == {"yes-or-no": 550, "what": 452, "how": 493}
    assert list(Counter(sorted(dev["concern"])).values()) == [514, 304, 245, 432]
    assert set(parts["test"]["answer"]) == {""} and set(dev["answer"]) == set("ABCD")
    released = json.loads((folder / "llvisionqa_dev.json").read_text(encoding="utf-8"))
    for raw, row in zip(released, dev, strict=True):
        assert row["options"]["ABCD".index(row["answer"])] == raw["correct_ans"].strip()


@pytest.mark.parametrize(("has_letters", "row_873"), [(True, "B"), (False, "A")])
def test_all_1000_real_pairs_load(reference: Path, tmp_path: Path, has_letters: bool, row_873: str) -> None:
    real_rows = released_dev_rows(reference)
    kept = [{key: value for key, value in row.items() if has_letters or key != "correct_choice"} for row in real_rows]
    (tmp_path / "q-bench2-a1-dev.jsonl").write_text("\n".join(map(json.dumps, kept)), encoding="utf-8")
    part = load_dataset("llvisionqa_pairs", data_dir=tmp_path, images="skip", split="dev")
    assert len(part) == len(set(part["id"])) == 1000 and left_out(part) == []
    assert part["options"][:] == [item["candidates"] for item in real_rows]
    assert Counter(map(len, part["options"])) == {1: 1, 2: 422, 3: 478, 4: 99}
    expected = [item["correct_choice"] for item in real_rows]
    assert part["answer"][:] == [*expected[:872], row_873, *expected[873:]]
    # The question with a single option has the refusal at the last position.
    options = {"refusal_position": 2}
    moved = load_dataset("llsavisionqa", "pair", data_dir=tmp_path, images="skip", split="dev", options=options)
    assert Counter(moved["refusal"]) == {"C": 999, "B": 1}


SOURCES = {"single": "llvisionqa", "pair": "llvisionqa_pairs"}
CHANGED = ("options", "answer")


def load(config: str, split: str = "dev", **options: Any) -> list[dict[str, Any]]:
    """Load a configuration of the synthetic demo data, without the images, which these tests do not need."""
    folder = mini.release("llsavisionqa")
    return load_dataset("llsavisionqa", config, data_dir=folder, split=split, images="skip", options=options).to_list()


@cache
def load_source(name: str, split: str) -> list[dict[str, Any]]:
    return load_dataset(name, data_dir=mini.release(name), split=split, images="skip").to_list()


@pytest.mark.parametrize(
    ("config", "position"), [("single", "last"), ("single", "first"), ("single", 2), ("pair", "random"), ("pair", 1)]
)
def test_every_row_is_that_of_the_source_with_one_more_option(config: str, position: str | int) -> None:
    for split in ("dev", "test"):
        plain = load_source(SOURCES[config], split)
        for before, after in zip(plain, load(config, split, refusal_position=position), strict=True):
            place = "ABCDE".index(after["refusal"])
            assert after["options"][place] == REFUSAL
            assert after["options"][:place] + after["options"][place + 1 :] == before["options"]
            assert {key: after[key] for key in before if key not in CHANGED} == {
                key: before[key] for key in before if key not in CHANGED
            }
            if before["answer"]:
                right = before["options"]["ABCD".index(before["answer"])]
                assert after["options"]["ABCDE".index(after["answer"])] == right != REFUSAL
            else:
                assert after["answer"] == "" and split == "test"
            if position != "random":
                assert place == {"last": len(before["options"]), "first": 0}.get(position, position)


def test_random_places_are_even_and_repeat_by_seed() -> None:
    assert load("single") == load("single", refusal_position="last")
    rows = load("single", refusal_position="random")
    assert rows == load("single", refusal_position="random", refusal_seed=0)
    other = load("single", refusal_position="random", refusal_seed=1)
    assert 0.5 < sum(a["refusal"] != b["refusal"] for a, b in zip(rows, other, strict=True)) / len(rows) < 0.9
    for count in (2, 3):
        places = Counter(row["refusal"] for row in rows if len(row["options"]) == count + 1)
        total = sum(places.values())
        assert set(places) == set("ABCD"[: count + 1])
        assert all(abs(n / total - 1 / (count + 1)) < 0.15 for n in places.values())


def test_one_row_alone_gets_the_same_place(llvisionqa: Folder, qa_row: Row) -> None:
    def places(rows: list[dict[str, Any]]) -> dict[str, str]:
        folder = llvisionqa(dev=rows, test="absent")
        options = {"refusal_position": "random", "refusal_seed": 5}
        part = load_dataset("llsavisionqa", "single", data_dir=folder, split="dev", images="skip", options=options)
        return dict(zip(part["id"], part["refusal"], strict=True))

    rows = [qa_row(number) for number in range(20)]
    whole = places(rows)
    assert whole == places(rows[::-1]) and whole.items() >= places(rows[7:8]).items()


@pytest.mark.parametrize("position", ["middle", 3, True, "0"])
def test_unknown_positions(position: Any) -> None:
    with pytest.raises(UsageError, match=rf"refusal_position={position!r} is not one of 'last', 'first', 'random', 0"):
        load("single", refusal_position=position)


def test_edits_of_the_scripts_it_builds_on_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(loading, "source_fingerprint", lambda *files: seen.extend(files) or "edited")
    load_builder("llsavisionqa")
    assert [Path(file).stem for file in seen] == ["llsavisionqa", "llvisionqa", "llvisionqa_pairs"]


def test_a_row_with_the_refusal_is_bad(llvisionqa: Folder, qa_row: Row) -> None:
    folder = llvisionqa(dev=[qa_row(0), qa_row(1, candidates=["Noise", " I don't know"])])
    with pytest.raises(BadAnnotationError, match=r"llvisionqa_dev\.json, row 2: the options already include \"I don't"):
        load_dataset("llsavisionqa", data_dir=folder)


def test_the_real_files_have_one_more_option(reference: Path) -> None:
    dev = load_dataset("llsavisionqa", data_dir=reference / "llvisionqa", images="skip", split="dev")
    assert Counter(dev["refusal"]) == {"D": 590, "C": 569, "E": 336} and set(dev["answer"]) == set("ABCD")
