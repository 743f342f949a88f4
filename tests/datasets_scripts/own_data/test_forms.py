"""Forms of one's own data: image roots, winners of pairs, and answers as numbers, texts or lists."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import datasets
import pytest
from PIL import Image

from eyechart.datasets_scripts import left_out
from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.datasets_scripts.own_data import load_own

pytestmark = pytest.mark.datasets36
COLUMNS = {"images": "file", "options": ["A", "B", "C"]}
PAIR_COLUMNS = {"images": ["one", "two"]}
Rows = list[dict[str, Any]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an image root."""
    (tmp_path / "photos").mkdir()
    for number in range(4):
        Image.new("RGB", (6, 4), (number, 0, 0)).save(tmp_path / "photos" / f"{number}.png")
    return tmp_path


def load(folder: Path, rows: Rows, kind: str, columns: dict[str, Any], suffix: str = ".csv", **more: Any) -> Any:
    path = folder / f"data{suffix}"
    if suffix == ".parquet":
        datasets.Dataset.from_list(rows).to_parquet(path)
    elif suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, rows[0])
            table.writeheader()
            table.writerows(rows)
    return load_own(path, kind, columns=columns, **{"image_dir": folder / "photos", **more})


def questions(answers: Sequence[Any]) -> Rows:
    options = {"A": "red", "B": "green", "C": "blue"}
    return [{"file": f"{i}.png", "question": "Which?", **options, "key": answer} for i, answer in enumerate(answers)]


@pytest.mark.parametrize(
    ("answers", "base", "suffix", "letters"),
    [
        ([0, 1, 2, 0], 0, ".csv", ["A", "B", "C", "A"]),
        ([1, 2, 3, 1], 1, ".jsonl", ["A", "B", "C", "A"]),
        ([0.0, 1.0, 2.0, 2.0], 0, ".parquet", ["A", "B", "C", "C"]),
        (["red", "blue", "green", "red"], None, ".csv", ["A", "C", "B", "A"]),
        (["a", "C", "B", "A"], None, ".parquet", ["A", "C", "B", "A"]),
        ([["A", "C"], ["B"], "A", ["C", "B"]], None, ".jsonl", ["AC", "B", "A", "BC"]),
        (['["red", "blue"]', '["green"]', "red", '["blue", "green"]'], None, ".csv", ["AC", "B", "A", "BC"]),
        ([[1, 3], [2], [1], [3, 2]], 1, ".parquet", ["AC", "B", "A", "BC"]),
    ],
)
def test_answers(folder: Path, answers: list[Any], base: int | None, suffix: str, letters: list[str]) -> None:
    columns = COLUMNS | {"answer": "key" if base is None else {"column": "key", "base": base}}
    assert load(folder, questions(answers), "multiple choice", columns, suffix)["answer"][:] == letters


@pytest.mark.parametrize("answer", ["grey", "red"])
def test_the_text_of_no_option_or_of_two_names_the_row(folder: Path, answer: str) -> None:
    row = {"images": "0.png", "question": "Which?", "options": ["red", "red", "blue"]}
    rows = [row | {"answer": text} for text in ("blue", "blue", answer)]
    with pytest.raises(DataError, match=f"row 3.*{answer!r}"):
        load(folder, rows, "multiple choice", {}, ".jsonl")
    usable = load(folder, rows, "multiple choice", {}, ".jsonl", skip_bad=True)
    assert len(usable) == 2 and [item["id"] for item in left_out(usable)] == ["3"]


def test_a_missing_image_root_and_a_missing_image_are_named(folder: Path) -> None:
    (folder / "photos" / "1.png").unlink()
    columns = COLUMNS | {"answer": "key"}
    with pytest.raises(DataError, match=r"1\.png") as caught:
        load(folder, questions(["A", "B"]), "multiple choice", columns)
    assert str(folder / "photos") in str(caught.value)
    assert len(load(folder, questions(["A", "B"]), "multiple choice", columns, skip_missing=True)) == 1
    with pytest.raises(DataError, match="pictures"):
        load(folder, questions(["A", "B"]), "multiple choice", columns, image_dir=folder / "pictures")


@pytest.mark.parametrize(
    ("winners", "base", "suffix"),
    [
        (("0.png", "2.png", "tie"), None, ".csv"),
        (("a", "B", "Tie"), None, ".jsonl"),
        (("first", "right", "equal"), None, ".parquet"),
        (("one", "two", "draw"), None, ".csv"),
        ((0, 1, 0.5), 0, ".parquet"),
    ],
)
def test_winners_of_pairs(folder: Path, winners: tuple[Any, ...], base: int | None, suffix: str) -> None:
    rows = [{"one": f"{i}.png", "two": f"{i + 1}.png", "who": winner} for i, winner in enumerate(winners)]
    columns = PAIR_COLUMNS | {"winner": "who" if base is None else {"column": "who", "base": base}}
    assert load(folder, rows, "pairs", columns, suffix)["winner"][:] == ["first", "second", "tie"]


def pairs(**row: Any) -> Rows:
    """Two pairs, of which the second may have other cells."""
    first = {"one": "0.png", "two": "1.png", "who": 0 if row.get("who") == 2 else "one"}
    return [first, first | row]


@pytest.mark.parametrize(
    ("rows", "columns", "named"),
    [
        (questions([0, 1]), {"answer": "key"}, ("{column: key, base: 0}",)),
        (questions([1, 4]), {"answer": {"column": "key", "base": 1}}, ("row 3", "'4'", "from 1 to 3")),
        (questions([1, "red"]), {"answer": {"column": "key", "base": 1}}, ("row 3", "'red'")),
        (questions([1]), {"answer": {"column": "key", "base": 2}}, ("'answer'", "base: 0")),
        (questions([1]), {"answer": {"column": "key"}}, ("'answer'", "base: 0")),
        (pairs(who="img_1"), {"winner": "who"}, ("row 3", "'img_1'", "base")),
        (pairs(who=""), {"winner": "who"}, ("row 3", "''")),
        (pairs(who=2), {"winner": {"column": "who", "base": 0}}, ("row 3", "0.5")),
        (pairs(one="b", two="a", who="a"), {"winner": "who"}, ("row 3", "both images")),
        (pairs(), {"winner": "who", "first_quality": "who"}, ("'winner' and 'first_quality'",)),
        (pairs(), {"winner": "whom"}, ("'whom'", "'who'")),
    ],
)
def test_what_cannot_be_read_is_named(folder: Path, rows: Rows, columns: dict[str, Any], named: tuple[str]) -> None:
    kind, others = ("pairs", PAIR_COLUMNS) if "one" in rows[0] else ("multiple choice", COLUMNS)
    with pytest.raises((DataError, UsageError)) as caught:
        load(folder, rows, kind, others | columns)
    assert all(text in str(caught.value) for text in named), caught.value
