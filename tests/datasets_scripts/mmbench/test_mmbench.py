import base64
import csv
import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eyechart.datasets_scripts import left_out, load_dataset, mini
from eyechart.datasets_scripts.common.choice.abilities import ABILITIES, CCBENCH_CATEGORIES, L2_CODES
from eyechart.datasets_scripts.common.choice.rotations import STRIDE
from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError, MissingImagesError, UsageError
from eyechart.datasets_scripts.common.files.checksums import ChecksumWarning
from eyechart.datasets_scripts.mmbench import mmbench as script

Row = dict[str, Any]
HEADER = [
    *("index", "question", "hint", "A", "B", "C", "D", "answer"),
    *("category", "image", "source", "l2-category", "comment", "split"),
]
EVERY_CONFIG = list(script.FILES)


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


def write(
    folder: Path,
    rows: Sequence[Row],
    name: str = "MMBench_DEV_EN.tsv",
    without: Sequence[str] = (),
    header: Sequence[str] = HEADER,
) -> Path:
    folder.mkdir(exist_ok=True)
    columns = [column for column in header if column not in without]
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
def test_missing_options_are_empty_or_nan_behind_the_last_one(tmp_path: Path, rows: list[Row], last: str) -> None:
    row = {**rows[0], "hint": "nan", "A": "nan", "B": "NaN", "C": last, "D": last}
    (found,) = load_dataset("mmbench", data_dir=write(tmp_path / "release", [row]), split="dev")
    assert (found["options"], found["hint"]) == (["nan", "NaN"], "")


def test_test_answers_may_be_columns_of_nothing(tmp_path: Path, rows: list[Row]) -> None:
    empty = [{**row, "answer": "nan"} for row in rows]
    part = load_dataset("mmbench", data_dir=write(tmp_path / "release", empty, "MMBench_TEST_EN.tsv"), split="test")
    assert part["answer"][:] == ["", "", ""]


@pytest.mark.parametrize(
    ("index", "changes", "reason"),
    [
        (241, {"index": "x1"}, "field 'index' must be a whole number, found 'x1'"),
        (241, {"index": "-1"}, "field 'index' must be a whole number"),
        (241, {"question": " "}, "field 'question' is empty"),
        (241, {"answer": "D"}, r"answer must be one of \['A', 'B', 'C'\], found 'D'"),
        (241, {"answer": ""}, r"answer must be one of .*, found ''"),
        (241, {"answer": "AB"}, "answer must be one of"),
        (241, {"B": ""}, "non-empty options"),
        (241, {"A": "", "B": "", "C": "nan"}, "expected 1 to 26 non-empty options"),
        (241, {"category": "image_topics"}, "unknown category 'image_topics'; did you mean 'image_topic'"),
        (241, {"category": ""}, "unknown category ''"),
        (241, {"l2-category": "logic_reasoning"}, "l2-category of category 'image_topic' must be 'coarse_perception'"),
        (241, {"image": "242"}, "the image cell names the row with index '242', which has no image"),
        (242, {"image": "242"}, "the image cell names the row with index '242', which has no image"),
        (242, {"image": "999"}, "the image cell names the row with index '999', which has no image"),
        (242, {"image": "1000241"}, "the image cell names the row with index '1000241', which has no image"),
        (242, {"image": "iVBORw0KGgo="}, "the image cell names the row with index 'iVBOR"),
        (7, {"image": "!" * 100}, "the image is not base64"),
        (7, {"image": "A" * 101}, "the image is not base64"),
        (242, {"index": 241}, "duplicate index 241: row 2 has the same index, but other contents"),
        (
            STRIDE + 242,
            {"index": STRIDE + 241},
            "duplicate index 1000241: row 6 has the same index, but other contents",
        ),
        (STRIDE + 241, {"answer": "D"}, r"answer must be one of \['A', 'B', 'C'\], found 'D'"),
        (STRIDE + 241, {"answer": ""}, "answer must be one of"),
        (STRIDE + 241, {"question": ""}, "field 'question' is empty"),
        (STRIDE + 242, {"index": STRIDE + 243}, "question 243 has no first pass; this is pass 1"),
    ],
)
def test_bad_rows(tmp_path: Path, rows: list[Row], index: int, changes: Row, reason: str) -> None:
    folder = write(tmp_path / "release", changed(rows, index, **changes))
    with pytest.raises(BadAnnotationError, match=rf"MMBench_DEV_EN\.tsv, row \d+: .*{reason}") as caught:
        load_dataset("mmbench", data_dir=folder)
    assert any("--skip-bad" in note for note in caught.value.__notes__)
    part = load_dataset("mmbench", data_dir=folder, split="dev", skip_bad=True)
    items = left_out(part)
    assert str(caught.value.row) == items[0]["id"] and items[0]["path"].endswith("MMBench_DEV_EN.tsv")
    assert caught.value.reason == items[0]["reason"]
    left = {str(row["index"]) for row in rows[:3]} - ({str(index)} if index < STRIDE else set())
    assert set(part["question_id"]) <= left


def test_passes_are_taken_as_the_release_has_them(tmp_path: Path, rows: list[Row]) -> None:
    """In another order, of other words, fewer than there are options, and with a text that stands twice."""
    rows = changed(rows, STRIDE + 241, A="0", B="0", C="NA", answer="C", question="Who?", hint="Look.")
    rows = [row for row in rows if row["index"] not in (2 * STRIDE + 241, STRIDE + 242)]
    part = load_dataset("mmbench", data_dir=write(tmp_path / "release", rows[::-1]), split="dev")
    found = {row["question_id"]: row for row in part}
    first, second = found["241"]["passes"]
    assert first == {
        "index": 241,
        "rotation": 0,
        "question": "What is drawn?",
        "hint": "",
        "options": ["None", "NA", "0"],
        "answer": "B",
    }
    assert second == {
        "index": STRIDE + 241,
        "rotation": 1,
        "question": "Who?",
        "hint": "Look.",
        "options": ["0", "0", "NA"],
        "answer": "C",
    }
    assert [len(found[name]["passes"]) for name in ("242", "7")] == [1, 4]


def test_g_index_names_the_question_where_it_is_there(tmp_path: Path, rows: list[Row]) -> None:
    """As VLMEvalKit writes it: equal to the index in the first pass. Strides of another length count by their order."""
    grouped = [{**row, "g_index": row["index"] % STRIDE} for row in rows]
    folder = write(tmp_path / "release", grouped, header=[*HEADER, "g_index"])
    plain = load_dataset("mmbench", data_dir=write(tmp_path / "plain", rows), split="dev")
    assert load_dataset("mmbench", data_dir=folder, split="dev")["passes"][:] == plain["passes"][:]
    strange = [{**row, "index": row["index"] // STRIDE * 17 + 5_000_000, "g_index": 9} for row in rows[2:3] + rows[-3:]]
    part = load_dataset("mmbench", data_dir=write(tmp_path / "s", strange, header=[*HEADER, "g_index"]), split="dev")
    assert part["question_id"][:] == ["9"]
    assert [one["rotation"] for one in part[0]["passes"]] == [0, 1, 2, 3]


def test_a_row_given_twice_counts_once(tmp_path: Path, rows: list[Row]) -> None:
    part = load_dataset("mmbench", data_dir=write(tmp_path / "release", [*rows, *rows[:4]]), split="dev")
    plain = load_dataset("mmbench", data_dir=write(tmp_path / "plain", rows), split="dev")
    assert part["passes"][:] == plain["passes"][:]


@pytest.mark.parametrize("damage", ["index", "fields"])
def test_where_a_row_cannot_be_read_no_question_counts_with_fewer_passes(
    tmp_path: Path, rows: list[Row], damage: str
) -> None:
    table = write(tmp_path / "release", rows) / "MMBench_DEV_EN.tsv"
    lost = f"\n{STRIDE + 242}\t"
    text = table.read_text(encoding="utf-8")
    table.write_text(text.replace(lost, "\nx\t") if damage == "index" else text.replace(lost, lost + "a\t"))
    part = load_dataset("mmbench", data_dir=tmp_path / "release", split="dev", skip_bad=True)
    assert part["question_id"][:] == ["241", "7"]
    assert "a pass of question 242 may be missing, because a row" in left_out(part)[1]["reason"]


def test_a_row_given_twice_with_other_contents_costs_its_question(tmp_path: Path, rows: list[Row]) -> None:
    for other in ({"answer": "C"}, {"l2-category": ""}, {"image": "7"}):
        twice = [*rows, {**rows[3], **other}]
        part = load_dataset("mmbench", data_dir=write(tmp_path / "r", twice), split="dev", skip_bad=True)
        assert part["question_id"][:] == ["242", "7"] and "but other contents" in left_out(part)[0]["reason"]


def test_a_pass_that_cannot_be_read_costs_its_question(tmp_path: Path, rows: list[Row]) -> None:
    folder = write(tmp_path / "release", changed(rows, STRIDE + 242, answer="C"))
    part = load_dataset("mmbench", data_dir=folder, split="dev", skip_bad=True)
    assert part["question_id"][:] == ["241", "7"]
    (item,) = left_out(part)
    assert (item["id"], item["reason"]) == ("8", "answer must be one of ['A', 'B'], found 'C'")


def test_broken_base64_is_said_of_every_row_that_uses_it(tmp_path: Path, rows: list[Row]) -> None:
    folder = write(tmp_path / "release", changed(rows[:3], 241, image="?" * 80))
    part = load_dataset("mmbench", data_dir=folder, split="dev", skip_bad=True)
    assert part["question_id"][:] == ["7"]
    assert [item["id"] for item in left_out(part)] == ["2", "3"]
    assert len(load_dataset("mmbench", data_dir=folder, split="dev", images="skip")) == 3


def test_an_empty_image_cell_is_a_missing_image(tmp_path: Path, rows: list[Row]) -> None:
    folder = write(tmp_path / "release", changed(rows[:3], 7, image=""))
    with pytest.raises(
        MissingImagesError, match=r"no image file found for 1 item:\n.*\nThe images are part of this file"
    ):
        load_dataset("mmbench", data_dir=folder)
    part = load_dataset("mmbench", data_dir=folder, split="dev", skip_missing=True)
    assert part["question_id"][:] == ["241", "242"]


@pytest.mark.parametrize("column", [*script.COLUMNS, "image"])
def test_missing_columns(tmp_path: Path, rows: list[Row], column: str) -> None:
    with pytest.raises(BadAnnotationError, match=rf"tsv, row 1: missing column '{column}'"):
        load_dataset("mmbench", data_dir=write(tmp_path / "release", rows, without=[column]))


def test_images_can_be_skipped_and_may_then_be_absent(tmp_path: Path, rows: list[Row]) -> None:
    folder = write(tmp_path / "release", rows, without=["image"])
    part = load_dataset("mmbench", data_dir=folder, split="dev", images="skip")
    assert part["images"][:] == [[], [], []]


def parquet(path: Path, rows: Sequence[Row], drop: Sequence[str] = (), **renamed: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {column: [row.get(column) for row in rows] for column in HEADER if column not in drop}
    pq.write_table(
        pa.table({renamed.get(name, name): cells for name, cells in columns.items()}), path, row_group_size=4
    )


@pytest.mark.parametrize("folder", ["en", "data", ""])
@pytest.mark.datasets36
@pytest.mark.parametrize("num_proc", [None, 2])
def test_the_hubs_form_with_decoded_images(
    tmp_path: Path, rows: list[Row], image: bytes, folder: str, num_proc: int | None
) -> None:
    decoded = [{**row, "image": {"bytes": image, "path": None}, "hint": row["hint"] or "nan"} for row in rows]
    decoded = [{**row, "D": row.get("D", "nan"), "C": row["C"] or "nan"} for row in decoded]
    path = tmp_path / "hub" / folder
    parquet(path / "dev-00000-of-00001.parquet", decoded, **{"l2-category": "L2-category"})
    private = [{**row, "answer": None} for row in decoded]
    # A question's rotations may lie in another shard.
    parquet(path / "test-00000-of-00002.parquet", private[:5], **{"l2-category": "L2-category"})
    parquet(path / "test-00001-of-00002.parquet", private[5:], **{"l2-category": "L2-category"})
    parts = load_dataset("mmbench", data_dir=tmp_path / "hub", num_proc=num_proc)
    assert parts["dev"]["options"][:] == [["None", "NA", "0"], ["1", "null"], ["None", "NA", "0", "N/A"]]
    assert (parts["dev"]["answer"][:], parts["test"]["answer"][:]) == (["B", "A", "D"], ["", "", ""])
    assert parts["test"]["hint"][:] == ["", "", "Look\twell,\nthen say."]
    assert {row["images"][0]["bytes"] for row in undecoded(parts["dev"])} == {image}


def test_the_hubs_form_with_base64(tmp_path: Path, rows: list[Row], image: bytes) -> None:
    numbers = [{**row, "image": str(row["image"])} for row in rows]
    parquet(tmp_path / "hub" / "dev.parquet", numbers)
    part = load_dataset("mmbench", data_dir=tmp_path / "hub", split="dev")
    assert [row["images"][0]["bytes"] for row in undecoded(part)] == [image] * 3
    parquet(tmp_path / "hub" / "dev.parquet", changed(numbers, 7, image="!" * 80))
    with pytest.raises(BadAnnotationError, match=r"dev\.parquet, row 3: the image is not base64"):
        load_dataset("mmbench", data_dir=tmp_path / "hub")


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


def test_every_release_has_a_file_of_its_own(tmp_path: Path, rows: list[Row]) -> None:
    folder = tmp_path / "release"
    for config, splits in script.FILES.items():
        for split, names in splits.items():
            category = {"category": "food_clothes"} if config == "cc" else {}
            for name in names:
                only = {**rows[0], "question": f"{config} {split} {name}", **category}
                write(folder, [only], name)
                part = load_dataset("mmbench", config, data_dir=folder, split=split)
                assert part["question"][:] == [f"{config} {split} {names[0]}"]


def test_data_files_say_which_split(tmp_path: Path, rows: list[Row]) -> None:
    folder = write(tmp_path / "release", rows)
    table = folder / "MMBench_DEV_EN.tsv"
    assert list(load_dataset("mmbench", data_files=str(table))) == ["dev"]
    other = table.rename(folder / "other.tsv")
    assert list(load_dataset("mmbench", data_files={"test": str(other)})) == ["test"]
    with pytest.raises(UsageError, match=r"other\.tsv does not show which split it is"):
        load_dataset("mmbench", data_files=str(other))
    write(folder, [{**rows[0], "category": "food_clothes"}], "other.tsv")
    assert list(load_dataset("mmbench", "cc", data_files=str(other))) == ["dev"]


def test_an_empty_folder_says_what_to_get(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        MissingFileError,
        match=r"(?s)expected one or more of: MMBench_DEV_CN\.tsv, dev\*\.parquet, .*openxlab.*data_dir",
    ):
        load_dataset("mmbench", "cn", data_dir=tmp_path / "empty")


@pytest.fixture
def server(tmp_path: Path, rows: list[Row], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in the place of the official server, with true checksums."""
    folder = write(tmp_path / "server", rows)
    write(folder, rows, "MMBench_TEST_EN.tsv", without=["answer"])
    local = {
        path.name: (f"{folder}/", (hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest(),))
        for path in folder.iterdir()
    }
    monkeypatch.setattr(script, "_DOWNLOADS", local)
    return folder


def test_without_data_dir_the_official_files_are_downloaded_and_checked(
    server: Path, rows: list[Row], tmp_path: Path
) -> None:
    assert len(load_dataset("mmbench", cache_dir=tmp_path / "cache")["dev"]) == 3
    write(server, rows[:2], "MMBench_TEST_EN.tsv")
    with pytest.warns(
        ChecksumWarning,
        match=r"has the MD5 checksum \w{32}; published for .*_TEST_EN\.tsv: \w{32}\. .* delete the file",
    ):
        assert len(load_dataset("mmbench", cache_dir=tmp_path / "other")["test"]) == 2
    # Only what is wanted is downloaded, and what the user has is taken as it is.
    assert len(load_dataset("mmbench", cache_dir=tmp_path / "third", split="dev")) == 3
    assert len(load_dataset("mmbench", data_dir=server)["test"]) == 2
    with pytest.raises(UsageError, match="streaming needs data_dir"):
        load_dataset("mmbench", streaming=True)


def test_every_official_file_has_an_address_and_its_checksums() -> None:
    names = [names[0] for splits in script.FILES.values() for names in splits.values()]
    assert set(names) == set(script._DOWNLOADS) and len(names) == 9
    for folder, _ in script._DOWNLOADS.values():
        assert folder.startswith("https://opencompass.openxlab.space/utils/") and folder.endswith("/")
    # VLMEvalKit, vlmeval/dataset/image_mcq.py, DATASET_MD5; the second ones are those before 18 June 2026.
    assert {name: checksums for name, (_, checksums) in script._DOWNLOADS.items()} == {
        "MMBench_DEV_EN.tsv": ("b6caf1133a01c6bb705cf753bb527ed8",),
        "MMBench_TEST_EN.tsv": ("6939fadb0ce626fefc0bdc9c64efc528",),
        "MMBench_DEV_CN.tsv": ("08b8fc3324a5ed74155350f57be69fbd",),
        "MMBench_TEST_CN.tsv": ("7e1239baf0ee4c8b513e19705a0f317e",),
        "MMBench_DEV_EN_V11.tsv": ("30c05be8f2f347a50be25aa067248184",),
        "MMBench_TEST_EN_V11.tsv": ("8d1a704e791df6f5d9fb3ef782b65365", "26f0f15381a21720255091d3e0316ce6"),
        "MMBench_DEV_CN_V11.tsv": ("593f9b5f6bea453d870a798b34ae4f37",),
        "MMBench_TEST_CN_V11.tsv": ("156e6569f9547afb16603eca16e85373", "74bbe4556dac745613c7cbe5ad787050"),
        "CCBench.tsv": ("f5dde47f24dc5a6fb6e595b409b466ac",),
    }


def test_an_earlier_download_of_the_v11_test_is_read_as_private_and_warned_of(
    tmp_path: Path, rows: list[Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "server", rows, "MMBench_TEST_EN_V11.tsv", without=["answer"])
    checksum = hashlib.md5((folder / "MMBench_TEST_EN_V11.tsv").read_bytes(), usedforsecurity=False).hexdigest()
    local = {"MMBench_TEST_EN_V11.tsv": (f"{folder}/", ("8d1a704e791df6f5d9fb3ef782b65365", checksum))}
    monkeypatch.setattr(script, "_DOWNLOADS", script._DOWNLOADS | local)
    with pytest.warns(
        ChecksumWarning, match=r"is the earlier version of .*without answers.* delete this file and the prep"
    ):
        part = load_dataset("mmbench", "en_v11", split="test", cache_dir=tmp_path / "cache")
    assert part["answer"][:] == ["", "", ""]
    # A copy with answers has them.
    write(folder, rows, "MMBench_TEST_EN_V11.tsv")
    assert load_dataset("mmbench", "en_v11", data_dir=folder, split="test")["answer"][:] == ["B", "A", "D"]


@pytest.mark.parametrize("config", ["en", "en_v11"])
def test_what_to_get_names_both_homes_on_the_hub(tmp_path: Path, config: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(MissingFileError) as caught:
        load_dataset("mmbench", config, data_dir=tmp_path / "empty")
    # lmms-eval, lmms_eval/tasks/mmbench: the templates' dataset_path since 30 July 2026 and before.
    assert [name in str(caught.value) for name in ("lmms-lab-encoder/MMBench", "lmms-lab/MMBench")] == [
        config == "en"
    ] * 2


@pytest.mark.parametrize("config", EVERY_CONFIG)
def test_the_mini_release_asks_for_every_ability(config: str) -> None:
    parts = load_dataset("mmbench", config, data_dir=mini.release("mmbench"))
    assert {split: len(part) for split, part in parts.items()} == (
        {"dev": 63} if config == "cc" else {"dev": 60, "test": 20}
    )
    table = CCBENCH_CATEGORIES if config == "cc" else ABILITIES
    for part in parts.values():
        assert set(part["category"]) == {ability.category for ability in table.values()}
        assert {len(options) for options in part["options"]} == {2, 3, 4}
    if config != "cc":
        assert set(parts["dev"]["l2_category"]) == set(L2_CODES)
        assert set(parts["dev"]["l1_category"]) == {"perception", "reasoning"}
        assert ("" in parts["test"]["answer"][:]) == (config in ("en", "cn"))
    letters = Counter(parts["dev"]["answer"])
    assert letters["A"] > 8 and letters["B"] > 8 and letters["C"] > 4 and letters["D"] > 2


def test_the_mini_release_has_the_real_layout() -> None:
    folder = mini.release("mmbench")
    assert {path.name for path in folder.iterdir()} == set(script._DOWNLOADS)
    with open(folder / "MMBench_DEV_EN.tsv", encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file, delimiter="\t"))
    assert list(table[0]) == HEADER
    unrotated = [row for row in table if int(row["index"]) < STRIDE]
    counts = {row["index"]: len([letter for letter in "ABCD" if row[letter]]) for row in unrotated}
    passes = Counter(str(int(row["index"]) % STRIDE) for row in table)
    assert len(unrotated) == 60 and {counts[index] - passes[index] for index in counts} == {0, 1}
    fixed = [row for row in unrotated if passes[row["index"]] < counts[row["index"]]]
    assert [row["D"] for row in fixed] == ["None of these"] * 3
    twice = [row for row in unrotated if len({row[c] for c in "ABCD" if row[c]}) < counts[row["index"]]]
    assert [[row[c] for c in "ABCD"].count(row[row["answer"]]) for row in twice] == [1, 2]
    assert any(len(row["image"]) <= 64 for row in unrotated) and any(len(row["image"]) > 64 for row in unrotated)
    assert {len(row["image"]) > 64 for row in table if int(row["index"]) > STRIDE} == {False}
    texts = {row[letter] for row in unrotated for letter in "ABCD"}
    assert {"None", "NA", "N/A", "0", "1"} <= texts and any("\n\t" in text for text in texts)
    header = (folder / "MMBench_TEST_EN.tsv").read_text(encoding="utf-8").splitlines()[0].split("\t")
    assert "answer" not in header
    header = (folder / "CCBench.tsv").read_text(encoding="utf-8").splitlines()[0].split("\t")
    assert header == [column for column in HEADER if column not in ("hint", "l2-category", "split")]


def test_mini_answers_are_true_of_the_pictures() -> None:
    part = load_dataset("mmbench", data_dir=mini.release("mmbench"), split="dev")
    rows = {row["question_id"]: row for row in part}
    chinese = load_dataset("mmbench", "cn", data_dir=mini.release("mmbench"), split="dev")
    for row in chinese:
        english = rows[row["question_id"]]
        assert (row["answer"], len(row["options"])) == (english["answer"], len(english["options"]))
        assert row["images"][0].tobytes() == english["images"][0].tobytes()
    for row in part:
        if row["category"] == "image scene":
            right = row["options"]["ABCD".index(row["answer"])]
            red, green, blue = row["images"][0].resize((1, 1)).getpixel((0, 0))
            if right == "Green":
                assert green > red and green > blue
            if right == "Blue":
                assert blue > red
