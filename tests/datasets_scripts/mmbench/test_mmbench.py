import base64
import csv
import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.datasets_scripts import left_out, load_dataset, mini
from eyechart.datasets_scripts.common.choice.abilities import ABILITIES, CCBENCH_CATEGORIES
from eyechart.datasets_scripts.common.choice.passes import STRIDE, rotate, rotated_letter
from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError, MissingImagesError
from eyechart.datasets_scripts.common.files.downloads import ChecksumWarning
from eyechart.datasets_scripts.mmbench import mmbench as script

Row = dict[str, Any]
HEADER = [
    *("index", "question", "hint", "A", "B", "C", "D", "answer"),
    *("category", "image", "source", "l2-category", "comment", "split"),
]


@pytest.fixture
def image(tmp_path: Path, write_image: Callable[..., None]) -> bytes:
    write_image(tmp_path / "image.png")
    return (tmp_path / "image.png").read_bytes()


@pytest.fixture
def rows(image: bytes) -> list[Row]:
    """Three questions with all their rotations; the second uses the first one's image, the third has a hint."""
    first = {
        "index": 241,
        "question": "What is drawn?",
        "hint": "",
        "A": "None",
        "B": "NA",
        "C": "0",
        "answer": "B",
        "category": "image_topic",
        "image": base64.b64encode(image).decode(),
        "l2-category": "coarse_perception",
        "split": "dev",
    }
    second = {**first, "index": 242, "image": "241", "A": "1", "B": "null", "C": "", "answer": "A", "category": "ocr"}
    second["l2-category"] = "finegrained_perception (instance-level)"
    third = {**first, "index": 7, "hint": "Look\twell,\nthen say.", "D": "N/A", "answer": "D"}
    return [first, second, third, *turned(first, 3), *turned(second, 2), *turned(third, 4)]


def turned(row: Row, count: int) -> list[Row]:
    letters = "ABCD"[:count]
    found = []
    for places in range(1, count):
        order = letters[places:] + letters[:places]
        options = {letter: row[old] for letter, old in zip(letters, order, strict=True)}
        answer = letters[order.index(row["answer"])]
        image = row["index"] if len(row["image"]) > 64 else row["image"]
        found.append({**row, **options, "answer": answer, "index": row["index"] + places * STRIDE, "image": image})
    return found


def write(folder: Path, rows: Sequence[Row], name: str = "MMBench_DEV_EN.tsv", without: Sequence[str] = ()) -> Path:
    folder.mkdir(exist_ok=True)
    columns = [column for column in HEADER if column not in without]
    with open(folder / name, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="", extrasaction="ignore", delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return folder


def changed(rows: list[Row], at: int, /, **changes: Any) -> list[Row]:
    return [{**row, **changes} if row["index"] == at else row for row in rows]


def undecoded(part: datasets.Dataset) -> list[Row]:
    return list(part.cast_column("images", datasets.Sequence(datasets.Image(decode=False))))


@pytest.mark.parametrize("rotated", [True, False])
def test_a_table(tmp_path: Path, rows: list[Row], image: bytes, rotated: bool) -> None:
    kept = rows if rotated else rows[:3]
    folder = write(tmp_path / "release", kept)
    write(folder, kept, "MMBench_TEST_EN.tsv", without=["answer"])
    parts = load_dataset("mmbench", data_dir=folder)
    assert list(parts) == ["dev", "test"]
    first, second, third = undecoded(parts["dev"])
    assert first == {
        "id": "dev-241",
        "question_id": "241",
        "rotation": 0,
        "images": [{"bytes": image, "path": None}],
        "question": "What is drawn?",
        "hint": "",
        "options": ["None", "NA", "0"],
        "answer": "B",
        "passes": []
        if not rotated
        else [
            {"index": 241 + turn * STRIDE, "rotation": turn, "question": "What is drawn?", "hint": "", **shown}
            for turn, shown in enumerate(
                (
                    {"options": ["None", "NA", "0"], "answer": "B"},
                    {"options": ["NA", "0", "None"], "answer": "A"},
                    {"options": ["0", "None", "NA"], "answer": "C"},
                )
            )
        ],
        "category": "image topic",
        "l2_category": "coarse perception",
        "l1_category": "perception",
    }
    assert (second["id"], second["options"], second["images"]) == ("dev-242", ["1", "null"], first["images"])
    assert (second["category"], second["answer"]) == ("OCR", "A")
    assert (third["options"], third["hint"]) == (["None", "NA", "0", "N/A"], "Look\twell,\nthen say.")
    assert parts["dev"][0]["images"][0].size == (10, 8)
    assert parts["test"]["answer"][:] == ["", "", ""] and parts["test"]["id"][:] == ["test-241", "test-242", "test-7"]


@pytest.mark.parametrize("last", ["", "nan"])
def test_options_after_the_last_one_are_empty_or_nan(tmp_path: Path, rows: list[Row], last: str) -> None:
    row = {**rows[0], "hint": "nan", "A": "nan", "B": "NaN", "C": last, "D": last}
    (found,) = load_dataset("mmbench", data_dir=write(tmp_path / "release", [row]), split="dev")
    assert (found["options"], found["hint"]) == (["nan", "NaN"], "")


@pytest.mark.parametrize(
    ("index", "changes", "row", "reason"),
    [
        (241, {"index": "x1"}, 2, "field 'index' must be a whole number, found 'x1'"),
        (241, {"answer": "D"}, 2, "answer must be one of ['A', 'B', 'C'], found 'D'"),
        (241, {"B": ""}, 2, "non-empty options"),
        (241, {"category": "image_topics"}, 2, "unknown category 'image_topics'; did you mean 'image_topic'"),
        (242, {"image": "999"}, 3, "'999', which has no image"),
        (7, {"image": "!" * 100}, 5, "the image is not base64"),
        (242, {"index": 241}, 3, "duplicate index 241: row 2 has the same index, but other contents"),
        (STRIDE + 241, {"answer": "D"}, 6, "found 'D'"),
        (STRIDE + 242, {"index": STRIDE + 243}, 8, "question 243 has no first pass; this is pass 1"),
    ],
)
def test_bad_rows(tmp_path: Path, rows: list[Row], index: int, changes: Row, row: int, reason: str) -> None:
    folder = write(tmp_path / "release", changed(rows, index, **changes))
    with pytest.raises(BadAnnotationError) as caught:
        load_dataset("mmbench", data_dir=folder)
    assert str(caught.value.path).endswith("MMBench_DEV_EN.tsv") and reason in caught.value.reason
    assert caught.value.row == row
    part = load_dataset("mmbench", data_dir=folder, split="dev", skip_bad=True)
    items = left_out(part)
    assert (items[0]["id"], items[0]["reason"]) == (str(caught.value.row), caught.value.reason)
    left = {str(row["index"]) for row in rows[:3]} - ({str(index)} if index < STRIDE else set())
    assert set(part["question_id"]) <= left


def test_passes_are_those_of_the_release(tmp_path: Path, rows: list[Row]) -> None:
    """In another order, with other words, fewer than there are options, and with a repeated text."""
    rows = changed(rows, STRIDE + 241, A="0", B="0", C="NA", answer="C", question="Who?", hint="Look.")
    rows = [row for row in rows if row["index"] not in (2 * STRIDE + 241, STRIDE + 242)]
    part = load_dataset("mmbench", data_dir=write(tmp_path / "release", rows[::-1]), split="dev")
    passes = {row["question_id"]: row["passes"] for row in part}
    first, second = passes["241"]
    assert first["question"] == "What is drawn?" and (first["options"], first["answer"]) == (["None", "NA", "0"], "B")
    assert (second.pop("index"), second.pop("rotation")) == (STRIDE + 241, 1)
    assert second == {"question": "Who?", "hint": "Look.", "options": ["0", "0", "NA"], "answer": "C"}
    assert [len(passes[name]) for name in ("242", "7")] == [1, 4]


def test_a_row_given_twice_counts_once_unless_its_contents_differ(tmp_path: Path, rows: list[Row]) -> None:
    part = load_dataset("mmbench", data_dir=write(tmp_path / "release", [*rows, *rows[:4]]), split="dev")
    plain = load_dataset("mmbench", data_dir=write(tmp_path / "plain", rows), split="dev")
    assert part["passes"][:] == plain["passes"][:]
    of_241 = [place for place, row in enumerate(rows) if int(row["index"]) % STRIDE == 241]
    for place, other in product(of_241, ({"question": "Who?"}, {"l2-category": ""}, {"image": "!" * 80})):
        twice = [*rows, {**rows[place], **other}]
        part = load_dataset("mmbench", data_dir=write(tmp_path / "r", twice), split="dev", skip_bad=True)
        assert part["question_id"][:] == ["242", "7"] and "but other contents" in left_out(part)[0]["reason"]


@pytest.mark.parametrize("damage", ["fields", "answer"])
def test_a_bad_pass_costs_its_question(tmp_path: Path, rows: list[Row], damage: str) -> None:
    table = write(tmp_path / "release", changed(rows, STRIDE + 242, answer="C")) / "MMBench_DEV_EN.tsv"
    lost = f"\n{STRIDE + 242}\t"
    text = table.read_text(encoding="utf-8")
    table.write_text(text.replace(lost, {"fields": f"{lost}a\t", "answer": lost}[damage]))
    part = load_dataset("mmbench", data_dir=tmp_path / "release", split="dev", skip_bad=True)
    assert part["question_id"][:] == ["241", "7"]
    reason = "found 'C'" if damage == "answer" else "a pass of question 242 may be missing, because a row"
    assert reason in left_out(part)[-1]["reason"]


def test_an_empty_image_cell_is_a_missing_image(tmp_path: Path, rows: list[Row]) -> None:
    folder = write(tmp_path / "release", changed(rows[:3], 7, image=""))
    with pytest.raises(MissingImagesError, match=r"1 item:\n.*\nThe images are part of this file"):
        load_dataset("mmbench", data_dir=folder)
    part = load_dataset("mmbench", data_dir=folder, split="dev", skip_missing=True)
    assert part["question_id"][:] == ["241", "242"]


@pytest.mark.parametrize("column", ["category", "image"])
def test_missing_columns(tmp_path: Path, rows: list[Row], column: str) -> None:
    folder = write(tmp_path / "release", rows, without=[column])
    with pytest.raises(BadAnnotationError, match=rf"tsv, row 1: missing column '{column}'"):
        load_dataset("mmbench", data_dir=folder)
    if column == "image":
        part = load_dataset("mmbench", data_dir=folder, split="dev", images="skip")
        assert part["images"][:] == [[], [], []]


def parquet(path: Path, rows: Sequence[Row], drop: Sequence[str] = (), **renamed: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {column: [row.get(column) for row in rows] for column in HEADER if column not in drop}
    pq.write_table(
        pa.table({renamed.get(name, name): cells for name, cells in columns.items()}), path, row_group_size=4
    )


@pytest.mark.datasets36
@pytest.mark.parametrize("folder", ["en", ""])
def test_the_hubs_form_with_decoded_images(tmp_path: Path, rows: list[Row], image: bytes, folder: str) -> None:
    decoded = [{**row, "image": {"bytes": image, "path": None}, "hint": row["hint"] or "nan"} for row in rows]
    decoded = [{**row, "D": row.get("D", "nan"), "C": row["C"] or "nan"} for row in decoded]
    path = tmp_path / "hub" / folder
    parquet(path / "dev-00000-of-00001.parquet", decoded, **{"l2-category": "L2-category"})
    private = [{**row, "answer": None} for row in decoded]
    # A question's rotations may lie in another shard.
    parquet(path / "test-00000-of-00002.parquet", private[:5], **{"l2-category": "L2-category"})
    parquet(path / "test-00001-of-00002.parquet", private[5:], **{"l2-category": "L2-category"})
    parts = load_dataset("mmbench", data_dir=tmp_path / "hub")
    assert parts["dev"]["options"][:] == [["None", "NA", "0"], ["1", "null"], ["None", "NA", "0", "N/A"]]
    assert (parts["dev"]["answer"][:], parts["test"]["answer"][:]) == (["B", "A", "D"], ["", "", ""])
    assert parts["test"]["hint"][:] == ["", "", "Look\twell,\nthen say."]
    assert {row["images"][0]["bytes"] for row in undecoded(parts["dev"])} == {image}


def test_numbers_in_parquet_stay_whole_or_are_refused(tmp_path: Path, rows: list[Row]) -> None:
    whole = [{**rows[0], "A": 0, "B": 1, "C": 7}]
    parquet(tmp_path / "hub" / "dev.parquet", whole)
    assert load_dataset("mmbench", data_dir=tmp_path / "hub", split="dev")[0]["options"] == ["0", "1", "7"]
    # What pandas makes of whole numbers in a column with empty cells.
    parquet(tmp_path / "hub" / "dev.parquet", [{**rows[0], "A": 0.0, "B": 1.0, "C": float("nan")}])
    with pytest.raises(BadAnnotationError, match=r"row 1: field 'A' must be text, found 0\.0"):
        load_dataset("mmbench", data_dir=tmp_path / "hub")


def test_ccbench(tmp_path: Path, rows: list[Row]) -> None:
    culture = [{**row, "category": "food_clothes"} for row in rows[:2] + rows[3:6]]
    folder = write(tmp_path / "release", culture, "CCBench.tsv", without=["hint", "l2-category", "split"])
    parts = load_dataset("mmbench", "cc", data_dir=folder)
    assert list(parts) == ["dev"]
    row = parts["dev"][0]
    assert (row["category"], row["l2_category"], row["l1_category"], row["hint"]) == ("food clothes", "", "", "")
    write(folder, rows, "CCBench.tsv")
    with pytest.raises(BadAnnotationError, match=r"row 2: unknown category 'image_topic'; .*calligraphy_painting"):
        load_dataset("mmbench", "cc", data_dir=folder)
    with pytest.raises(MissingFileError, match=r"no annotation file for split 'test'; splits found: dev"):
        load_dataset("mmbench", "cc", data_dir=folder, split="test")
    culture = [{**row, "image": str(row["image"])} for row in culture]
    parquet(tmp_path / "hub" / "cc" / "test-00000-of-00001.parquet", culture, drop=["hint"])
    assert load_dataset("mmbench", "cc", data_dir=tmp_path / "hub", split="dev")["answer"][:] == ["B", "A"]


def test_without_data_dir_the_official_files_are_downloaded_and_checked(
    rows: list[Row], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "server" / "benchmarks"
    folder.mkdir(parents=True)
    folder = write(folder / "MMBench", rows)
    write(folder, rows, "MMBench_TEST_EN.tsv", without=["answer"])
    local = {path.name: hashlib.md5(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    monkeypatch.setattr(script, "CHECKSUMS", local)
    monkeypatch.setattr(script, "_SERVER", str(tmp_path / "server"))
    assert len(load_dataset("mmbench", cache_dir=tmp_path / "cache")["dev"]) == 3
    write(folder, rows[:2], "MMBench_TEST_EN.tsv")
    with pytest.warns(ChecksumWarning, match=r"has the MD5 checksum \w{32}; published for .*_TEST_EN\.tsv: \w{32}\."):
        assert len(load_dataset("mmbench", cache_dir=tmp_path / "other")["test"]) == 2
    # Only what is needed is downloaded, and the user's files are not compared.
    assert len(load_dataset("mmbench", cache_dir=tmp_path / "third", split="dev")) == 3
    assert len(load_dataset("mmbench", data_dir=folder)["test"]) == 2


def test_every_official_file_has_an_address_and_a_checksum() -> None:
    names = [names[0] for splits in script.FILES.values() for names in splits.values()]
    assert set(names) == set(script.CHECKSUMS) and len(set(script.CHECKSUMS.values())) == 9
    server = "https://opencompass.openxlab.space/utils"
    assert script._address("MMBench_DEV_EN.tsv") == f"{server}/benchmarks/MMBench/MMBench_DEV_EN.tsv"
    assert script._address("CCBench.tsv") == f"{server}/VLMEval/CCBench.tsv"


def test_the_abilities_are_those_of_the_paper() -> None:
    # Tables 9 to 14 of the paper.
    leaves = Counter((ability.l1_category, ability.l2_category) for ability in ABILITIES.values())
    assert leaves == {
        ("perception", "coarse perception"): 5,
        ("perception", "fine-grained perception (single-instance)"): 4,
        ("perception", "fine-grained perception (cross-instance)"): 3,
        ("reasoning", "attribute reasoning"): 3,
        ("reasoning", "logic reasoning"): 2,
        ("reasoning", "relation reasoning"): 3,
    }
    assert len({ability.category for ability in ABILITIES.values()}) == 20 and len(CCBENCH_CATEGORIES) == 7
    assert ABILITIES["ocr"].category == "OCR" and CCBENCH_CATEGORIES["food_clothes"].category == "food clothes"


@settings(max_examples=25)
@given(st.lists(st.text(max_size=3), min_size=1, max_size=6), st.integers(0, 12), st.data())
def test_rotating_moves_each_option_and_its_letter(options: list[str], places: int, data: st.DataObject) -> None:
    turned = rotate(options, places)
    assert rotate(turned, -places) == tuple(options)
    place = data.draw(st.integers(0, len(options) - 1))
    letter = rotated_letter(ascii_uppercase[place], places, len(options))
    assert turned[ascii_uppercase.index(letter)] == options[place]
    assert rotated_letter("", places, len(options)) == ""


@pytest.mark.parametrize("config", ["cn", "cc"])
def test_the_mini_release_asks_for_every_ability(config: str) -> None:
    parts = load_dataset("mmbench", config, data_dir=mini.release("mmbench"), images="skip")
    table = CCBENCH_CATEGORIES if config == "cc" else ABILITIES
    for part in parts.values():
        assert set(part["category"]) == {ability.category for ability in table.values()}
        assert {len(options) for options in part["options"]} == {2, 3, 4}
    letters = Counter(parts["dev"]["answer"])
    assert letters["A"] > 8 and letters["B"] > 8 and letters["C"] > 4 and letters["D"] > 2
