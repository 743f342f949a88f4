"""Your own data: every form of images, options, answers and winners in tables and datasets, and malformed ones."""

import base64
import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import datasets
import pyarrow
import pytest
from PIL import Image
from pyarrow import parquet

from eyechart.datasets_scripts import left_out
from eyechart.datasets_scripts.common.errors import (
    BadAnnotationError,
    DataError,
    MissingFileError,
    MissingImagesError,
    UsageError,
)
from eyechart.datasets_scripts.own_data import load_own

pytestmark = pytest.mark.datasets36
CHOICE = {"images": "image", "options": ["A", "B", "C", "D"]}
Rows = list[dict[str, Any]]


def png(shade: int) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (6, 4), (shade, 0, 0)).save(stream, "PNG")
    return stream.getvalue()


def shade(image: Image.Image) -> int:
    return image.convert("RGB").getpixel((0, 0))[0]


def text(number: int) -> str:
    return base64.b64encode(png(number)).decode()


def write(path: Path, rows: Rows) -> Path:
    if path.suffix == ".parquet":
        datasets.Dataset.from_list(rows).to_parquet(path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, rows[0], delimiter="\t" if path.suffix == ".tsv" else ",")
            table.writeheader()
            table.writerows(rows)
    return path


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """A folder with four photos."""
    (tmp_path / "photos").mkdir()
    for number in range(4):
        (tmp_path / "photos" / f"{number}.png").write_bytes(png(number))
    return tmp_path


def question(number: int, **changes: Any) -> dict[str, Any]:
    row = {"index": number, "question": "Which?", "A": "red", "B": "blue", "C": "", "D": "", "answer": "B"}
    return row | {"category": "color", "image": text(number)} | changes


@pytest.mark.parametrize("name", ["own.tsv", "own.csv"])
def test_a_table_of_questions_with_base64_images(tmp_path: Path, name: str) -> None:
    rows = [question(10), question(11, C="green, 'ish'", D="no\n", answer="d"), question(12, image="11", category="")]
    found = load_own(write(tmp_path / name, rows), "multiple choice", columns=CHOICE | {"id": "index"}, split="val")
    assert found.column_names == [
        *("id", "question_id", "rotation", "images", "question", "hint", "options", "answer", "category")
    ]
    assert found["id"][:] == found["question_id"][:] == ["10", "11", "12"] and found["rotation"][:] == [0] * 3
    assert found["options"][:] == [["red", "blue"], ["red", "blue", "green, 'ish'", "no"], ["red", "blue"]]
    assert found["answer"][:] == ["B", "D", "B"] and found["category"][:] == ["color", "color", ""]
    assert [shade(images[0]) for images in found["images"]] == [10, 11, 11]
    assert found.split == "val" and left_out(found) == []
    edited = load_own(write(tmp_path / name, [question(10, answer="A")]), "multiple choice", columns=CHOICE)
    assert edited["answer"][:] == ["A"]


def test_photos_with_opinion_scores(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    second = {"file": str(photos / "photos" / "2.png"), "mos": " 4 ", "place": ""}
    write(photos / "own.csv", [{"file": "photos/1.png", "mos": "3.5", "place": "sea"}, second])
    monkeypatch.chdir(photos)
    found = load_own("own.csv", "quality", columns={"image": "file", "quality": "mos", "scene": "place"})
    assert found.features["quality"].dtype == "float64" and found.column_names == ["id", "image", "quality", "scene"]
    assert found.remove_columns("image").to_list() == [
        {"id": "1", "quality": 3.5, "scene": "sea"},
        {"id": "2", "quality": 4.0, "scene": ""},
    ]
    monkeypatch.chdir("/")
    assert [shade(image) for image in found["image"]] == [1, 2]


def test_json_lines_of_pairs(photos: Path) -> None:
    rows = [
        {"left": "photos/1.png", "right": "photos/2.png", "first_quality": 1, "second_quality": "2.5", "pool": "a"},
        {"left": "photos/3.png", "right": "photos/1.png", "first_quality": 3, "second_quality": 1, "lens": 5.6},
    ]
    found = load_own(write(photos / "own.jsonl", rows), "pairs", columns={"images": ["left", "right"]}, needs=["lens"])
    assert [[shade(image) for image in pair] for pair in found["images"]] == [[1, 2], [3, 1]]
    assert found["first_id"][:] == ["photos/1.png", "photos/3.png"] and found["second_quality"][:] == [2.5, 1]
    assert found["pool"][:] == ["a", ""] and found["lens"][:] == ["", "5.6"]


def test_images_that_are_no_files_need_ids(tmp_path: Path) -> None:
    row = {"images": [f"data:image/png;base64,{text(1)}", text(2)], "first_quality": 1, "second_quality": 2}
    with pytest.raises(BadAnnotationError, match="row 1: missing column 'first_id': images that are not files"):
        load_own(write(tmp_path / "own.jsonl", [row]), "pairs")
    found = load_own(write(tmp_path / "own.jsonl", [row | {"first_id": 7, "second_id": "b"}]), "pairs")
    assert [shade(image) for image in found[0]["images"]] == [1, 2] and found[0]["first_id"] == "7"


@pytest.fixture
def questions() -> datasets.Dataset:
    """Questions with embedded images, one or several per row."""
    image = {"bytes": png(5), "path": None}
    columns = {
        "picture": [image, {"bytes": png(6), "path": "b.png"}],
        "further": [None, image],
        "all": [[image], [image, image]],
        "raw": [png(8), png(9)],
        "question": ["Which?", "What?"],
        "choices": ["['red', 'blue']", '["dog", "a cat"]'],
        "answer": ["blue", "dog"],
        "kind": [1, 0],
        "size": [1.5, None],
    }
    of_one, of_text = datasets.Image(), datasets.Value("string")
    features = {"picture": of_one, "further": of_one, "all": datasets.Sequence(of_one), "raw": datasets.Value("binary")}
    features |= dict.fromkeys(("question", "choices", "answer"), of_text)
    features |= {"kind": datasets.ClassLabel(names=["animal", "color"]), "size": datasets.Value("float32")}
    return datasets.Dataset.from_dict(columns, features=datasets.Features(features))


@pytest.mark.parametrize(
    ("place", "images", "shades"),
    [
        ("own.parquet", "picture", [[5], [6]]),
        ("shards", ["picture", "further"], [[5], [6, 5]]),
        ("saved", "all", [[5], [5, 5]]),
        ("own.parquet", "raw", [[8], [9]]),
    ],
)
def test_embedded_images(
    questions: datasets.Dataset, tmp_path: Path, place: str, images: str | list[str], shades: list[list[int]]
) -> None:
    path = tmp_path / place
    if place == "saved":
        datasets.DatasetDict({"dev": questions}).save_to_disk(path)
    elif place == "shards":
        path.mkdir()
        for number in range(2):
            questions.select([number]).to_parquet(path / f"test-0000{number}-of-00002.parquet")
    else:
        questions.to_parquet(path)
    columns = {"images": images, "options": "choices"}
    found = load_own(path, "multiple choice", columns=columns)
    assert [[shade(image) for image in row] for row in found["images"]] == shades
    assert found["options"][:] == [["red", "blue"], ["dog", "a cat"]] and found["answer"][:] == ["B", "A"]
    assert found["kind"][:] == ["color", "animal"] and found["size"][:] == ["1.5", ""]
    assert found.column_names[-2:] == ["kind", "size"]
    assert load_own(path, "multiple choice", columns=columns, images="skip").num_rows == 2
    with pytest.raises(BadAnnotationError, match="column 'size' must contain images"):
        load_own(path, "multiple choice", columns=columns | {"images": "size"})


def test_images_of_parquet_are_bytes_also_without_the_metadata_of_datasets(tmp_path: Path) -> None:
    cell = {"bytes": png(7), "path": "/etc/passwd"}
    parquet.write_table(pyarrow.table({"image": [cell], "quality": [1.0]}), tmp_path / "a.parquet")
    assert [shade(row["image"]) for row in load_own(tmp_path / "a.parquet", "quality")] == [7]
    others = {"first_id": ["a"], "second_id": ["b"], "first_quality": [1.0], "second_quality": [2.0]}
    parquet.write_table(pyarrow.table({"images": [[cell, cell]], **others}), tmp_path / "b.parquet")
    assert [[shade(image) for image in row["images"]] for row in load_own(tmp_path / "b.parquet", "pairs")] == [[7, 7]]


def test_a_folder_of_images_with_metadata(photos: Path) -> None:
    lines = [json.dumps({"file_name": f"{number}.png", "quality": 10 * number}) for number in range(4)]
    (photos / "photos" / "metadata.jsonl").write_text("\n".join(lines))
    found = load_own(photos / "photos", "quality")
    assert [(shade(row["image"]), row["quality"]) for row in found] == [(0, 0), (1, 10), (2, 20), (3, 30)]
    assert found.split == "train"


def test_paths_are_relative_to_the_file_or_folder(photos: Path) -> None:
    table = datasets.Dataset.from_dict({"image": ["photos/2.png"], "quality": [1.5]})
    table.to_parquet(photos / "own.parquet")
    assert shade(load_own(photos / "own.parquet", "quality")[0]["image"]) == 2
    table.save_to_disk(photos / "saved")
    (photos / "photos").rename(photos / "saved" / "photos")
    assert shade(load_own(photos / "saved", "quality")[0]["image"]) == 2


def test_bad_rows_and_missing_images_are_left_out_on_request(photos: Path) -> None:
    rows = [{"image": "1.png", "quality": "x"}, {"image": "9.png", "quality": 1}, {"image": "2.png", "quality": 2}]
    path = write(photos / "own.csv", rows)
    folder = photos / "photos"
    found = load_own(path, "quality", image_dir=folder, skip_bad=True, skip_missing=True)
    assert found["id"][:] == ["3"] and [item["id"] for item in left_out(found)] == ["2", "2"]
    with pytest.raises(BadAnnotationError, match=r"own\.csv, row 2: field 'quality' must be a number, found 'x'"):
        load_own(path, "quality", image_dir=folder)
    with pytest.raises(MissingImagesError, match=rf"1 item:\n  test 2: 9\.png\nSearched: {folder}"):
        load_own(path, "quality", image_dir=folder, skip_bad=True)
    with pytest.raises(MissingFileError, match="pictures: the folder of images"):
        load_own(path, "quality", image_dir=photos / "pictures")


def load(folder: Path, rows: Rows, kind: str, columns: dict[str, Any], suffix: str = ".csv") -> Any:
    path = write(folder / f"data{suffix}", rows)
    return load_own(path, kind, columns=columns, image_dir=folder / "photos")


THREE = {"images": "file", "options": ["A", "B", "C"]}
TWO = {"images": ["one", "two"]}


def with_answers(answers: Sequence[Any]) -> Rows:
    options = {"A": "red", "B": "green", "C": "blue"}
    return [{"file": f"{i}.png", "question": "Which?", **options, "key": answer} for i, answer in enumerate(answers)]


@pytest.mark.parametrize(
    ("answers", "base", "suffix", "letters"),
    [
        ([0, 1, 2, 0], 0, ".csv", ["A", "B", "C", "A"]),
        ([0.0, 1.0, 2.0, 2.0], 0, ".parquet", ["A", "B", "C", "C"]),
        (["red", "blue", "green", "red"], None, ".csv", ["A", "C", "B", "A"]),
        (["", None], None, ".jsonl", ["", ""]),
        ([["A", "C"], ["B"], "A", ["C", "B"]], None, ".jsonl", ["AC", "B", "A", "BC"]),
        (['["red", "blue"]', '["green"]', "red", '["blue", "green"]'], None, ".csv", ["AC", "B", "A", "BC"]),
        ([[1, 3], [2], [1], [3, 2]], 1, ".parquet", ["AC", "B", "A", "BC"]),
    ],
)
def test_answers(photos: Path, answers: list[Any], base: int | None, suffix: str, letters: list[str]) -> None:
    columns = THREE | {"answer": "key" if base is None else {"column": "key", "base": base}}
    assert load(photos, with_answers(answers), "multiple choice", columns, suffix)["answer"][:] == letters


@pytest.mark.parametrize(
    ("winners", "base", "suffix"),
    [
        (("0.png", "2.png", "tie"), None, ".csv"),
        (("a", "B", "Tie"), None, ".jsonl"),
        (("one", "two", "draw"), None, ".csv"),
        ((0, 1, 0.5), 0, ".parquet"),
    ],
)
def test_winners_of_pairs(photos: Path, winners: tuple[Any, ...], base: int | None, suffix: str) -> None:
    rows = [{"one": f"{i}.png", "two": f"{i + 1}.png", "who": winner} for i, winner in enumerate(winners)]
    columns = TWO | {"winner": "who" if base is None else {"column": "who", "base": base}}
    assert load(photos, rows, "pairs", columns, suffix)["winner"][:] == ["first", "second", "tie"]


def pairs(**row: Any) -> Rows:
    """Two pairs, of which the second may have other cells."""
    first = {"one": "0.png", "two": "1.png", "who": 0 if row.get("who") == 2 else "one"}
    return [first, first | row]


@pytest.mark.parametrize(
    ("rows", "columns", "named"),
    [
        (with_answers([0, 1]), {"answer": "key"}, ("{column: key, base: 0}",)),
        (with_answers([1, 4]), {"answer": {"column": "key", "base": 1}}, ("row 3", "'4'", "from 1 to 3")),
        (with_answers([1]), {"answer": {"column": "key", "base": 2}}, ("'answer'", "base: 0")),
        (with_answers(["A"]), {"answer": "key", "options": ["B", "key"]}, ("'A'", "ambiguous")),
        (with_answers(["blue", "blue", "red"]), {"answer": "key", "options": ["A", "A", "C"]}, ("row 4", "'red'")),
        (pairs(who="img_1"), {"winner": "who"}, ("row 3", "'img_1'", "base")),
        (pairs(who=2), {"winner": {"column": "who", "base": 0}}, ("row 3", "0.5")),
        (pairs(one="b", two="a", who="a"), {"winner": "who"}, ("row 3", "both images")),
        (pairs(), {"winner": "who", "first_quality": "who"}, ("'winner' and 'first_quality'",)),
        (pairs(), {"winner": "whom"}, ("'whom'", "'who'")),
    ],
)
def test_bad_answers_and_winners(photos: Path, rows: Rows, columns: dict[str, Any], named: tuple[str]) -> None:
    kind, others = ("pairs", TWO) if "one" in rows[0] else ("multiple choice", THREE)
    with pytest.raises((DataError, UsageError)) as caught:
        load(photos, rows, kind, others | columns)
    assert all(part in str(caught.value) for part in named), caught.value


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, r"own\.tsv: missing column 'images' \(needed by mmstar\); did you mean 'image'\? found: index"),
        ({"columns": CHOICE | {"answer": "key"}}, r"missing column 'key' \(given in columns for 'answer'\)"),
        ({"columns": CHOICE, "needs": ["refusal"]}, r"missing column 'refusal' \(needed by mmstar\)"),
        ({"columns": CHOICE | {"question": ["A", "B"]}}, r"columns: 'question' must be one column"),
        ({"columns": CHOICE, "split": "val[:3]"}, r"split 'val\[:3\]' is not the name of a split"),
        ({"columns": CHOICE, "config": "en"}, "config 'en' has no effect"),
        ({"kind": "choice"}, "unknown kind of data 'choice'"),
        ({"columns": CHOICE}, "row 2: option column 'C' is empty, but a later one is not"),
        ({"columns": CHOICE | {"hints": "category"}}, "columns: unknown column 'hints'; did you mean 'hint'"),
    ],
)
def test_bad_arguments(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((BadAnnotationError, UsageError), match=message):
        load_own(
            write(tmp_path / "own.tsv", [question(1, D="green")]),
            **{"kind": "multiple choice", "needed_by": "mmstar"} | arguments,
        )


def test_missing_data(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"none\.tsv: the file does not exist"):
        load_own(tmp_path / "none.tsv", "quality")
    with pytest.raises(MissingFileError, match="nobody/nothing: neither a file or folder here nor a dataset on the"):
        load_own("nobody/nothing", "quality")
    (tmp_path / "own.txt").write_text("image,quality\n")
    with pytest.raises(UsageError, match=r"own\.txt: unsupported file type"):
        load_own(tmp_path / "own.txt", "quality")


@pytest.mark.parametrize("form", ["saved", "shards"])
def test_splits(tmp_path: Path, questions: datasets.Dataset, form: str) -> None:
    """The only one, or `test`, or the one that is named; otherwise they are listed."""

    def load(*names: str, split: str | None = None) -> datasets.Dataset:
        folder = tmp_path / "_".join(names)
        if form == "saved" and not folder.exists():
            datasets.DatasetDict(dict.fromkeys(names, questions)).save_to_disk(folder)
        for name in names if form == "shards" else ():
            folder.mkdir(exist_ok=True)
            questions.to_parquet(folder / f"{name}-00000-of-00001.parquet")
        columns = {"images": "picture", "options": "choices"}
        return load_own(folder, "multiple choice", columns=columns, split=split)

    assert load("train").split == "train"
    assert load("train", "test").split == "test" and load("train", "test", split="train").split == "train"
    several = r"has several splits but no 'test': train, validation; choose one with --split, or .* data: {sp"
    with pytest.raises(UsageError, match=several):
        load("train", "validation")
    with pytest.raises(UsageError, match=r"unknown split 'trian' of .*; did you mean 'train'\? Available: train, val"):
        load("train", "validation", split="trian")
