"""Q-Bench's and AesBench's tables by VLMEvalKit, which are not at hand; bad rows of tables: see `mmbench`."""

import base64
import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from eyechart.datasets_scripts import left_out, load_dataset
from eyechart.datasets_scripts.aesbench import aesbench
from eyechart.datasets_scripts.common.choice.tables import CategoryWarning
from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError, UsageError
from eyechart.datasets_scripts.common.files.downloads import ChecksumWarning

Row = dict[str, Any]


@pytest.fixture
def image(tmp_path: Path, write_image: Callable[..., None]) -> str:
    write_image(tmp_path / "image.png")
    return base64.b64encode((tmp_path / "image.png").read_bytes()).decode()


def write(path: Path, rows: Sequence[Row]) -> Path:
    path.parent.mkdir(exist_ok=True)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="", delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path.parent


@pytest.fixture
def q_bench_rows(image: str) -> list[Row]:
    """Four questions; the last one uses the image of the first."""
    options = {"A": "Blur", "B": "None", "C": "Noise"}
    asked = {"question": "What is seen?", **options, "answer": "B", "category": "", "image": image}
    return [{"index": number, **asked} for number in range(3)] + [{"index": 3, **asked, "C": "nan", "image": "0"}]


def with_column(name: str, rows: Sequence[Row], *cells: str) -> list[Row]:
    return [{**row, name: cell} for row, cell in zip(rows, cells, strict=True)]


def test_q_benchs_tables(tmp_path: Path, q_bench_rows: list[Row]) -> None:
    rows = with_column("category", q_bench_rows, "What", "in_context_distortion", "how, Others", "")
    folder = write(tmp_path / "release" / "Q-Bench1_VAL.tsv", rows)
    write(folder / "Q-Bench1_TEST.tsv", [{**row, "answer": ""} for row in rows])
    parts = load_dataset("llvisionqa", data_dir=folder)
    first = parts["dev"][0]
    assert first.pop("images")[0].size == (10, 8)
    assert first == {
        "id": "dev-0",
        "question_id": "dev-0",
        "rotation": 0,
        "question": "What is seen?",
        "hint": "",
        "options": ["Blur", "None", "Noise"],
        "answer": "B",
        "question_type": "what",
        "concern": "",
    }
    assert parts["dev"]["question_type"][:] == ["what", "", "how", ""]
    assert parts["dev"]["concern"][:] == ["", "in-context distortion", "other", ""]
    assert parts["dev"][3]["options"] == ["Blur", "None"] and parts["dev"][3]["images"][0].size == (10, 8)
    assert parts["test"]["answer"][:] == [""] * 4 and parts["test"]["id"][0] == "test-0"
    assert list(load_dataset("llvisionqa", data_files=str(folder / "Q-Bench1_VAL.tsv"))) == ["dev"]
    assert len(load_dataset("llsavisionqa", "single", data_dir=folder, split="dev")) == 4
    with pytest.raises(UsageError, match=r"expected annotation files \(\.json, \.jsonl, \.parquet\)"):
        load_dataset("llvisionqa_pairs", data_files=str(folder / "Q-Bench1_VAL.tsv"))
    write(folder / "Q-Bench1_VAL.tsv", [*rows[:1], rows[1] | {"answer": "E"}, *rows[2:]])
    with pytest.raises(BadAnnotationError, match=r"VAL\.tsv, row 3: answer must be one of"):
        load_dataset("llvisionqa", data_dir=folder)
    part = load_dataset("llvisionqa", data_dir=folder, split="dev", skip_bad=True)
    assert len(part) == 3 and [item["id"] for item in left_out(part)] == ["3"]


@pytest.fixture
def aes_rows(image: str) -> list[Row]:
    """The three questions on two images, as the columns of AesBench_TEST are: image_name, and no answer or category."""
    asked: list[Row] = []
    for name in ("baid_1.jpg", "spaq_2.jpg"):
        for part, question, options in (
            ("AesP", "Does the image look sharp?", ("Yes", "No")),
            ("AesE", "How does it influence emotions?", ("By color", "By form", "By light")),
            ("AesA1", "How is the aesthetic quality of this image?", ("High", "Medium", "Low")),
        ):
            cells = dict(zip("ABC", options, strict=False))
            asked.append({"task": part, "question": question, **cells, "image": image, "image_name": name})
    return [{"index": number, **row} for number, row in enumerate(asked)]


def without(rows: Sequence[Row], *columns: str) -> list[Row]:
    return [{name: cell for name, cell in row.items() if name not in columns} for row in rows]


def test_aesbenchs_table_of_the_test(tmp_path: Path, aes_rows: list[Row]) -> None:
    folder = write(tmp_path / "release" / "AesBench_TEST.tsv", aes_rows)
    first = load_dataset("aesbench", "perception", data_dir=folder, split="test")[0]
    assert first.pop("images")[0].size == (10, 8)
    assert first == {
        "id": "baid_1.jpg",
        "question_id": "baid_1.jpg",
        "rotation": 0,
        "question": "Does the image look sharp?",
        "hint": "",
        "options": ["Yes", "No"],
        "answer": "",
        "question_type": "yes-or-no",
        "dimension": "",
        "image_source": "artistic",
        "released_options": "",
    }
    assert load_dataset("aesbench", "empathy", data_dir=folder, split="test")["question_type"][:] == ["how", "how"]
    with pytest.raises(BadAnnotationError, match="have no interpretations"):
        load_dataset("aesbench", "interpretation", data_dir=folder)


def test_a_row_without_a_part_is_an_error_except_for_assessment(tmp_path: Path, aes_rows: list[Row]) -> None:
    folder = write(tmp_path / "release" / "AesBench_TEST.tsv", without(aes_rows, "task"))
    assert len(load_dataset("aesbench", "assessment", data_dir=folder, split="test")) == 2
    reason = r"row 2: unknown part: neither index '0' nor a category .* Add a column 'task'"
    with pytest.raises(BadAnnotationError, match=reason):
        load_dataset("aesbench", "perception", data_dir=folder)
    named = [{**row, "index": f"{row['task']}_{row['index']}"} for row in aes_rows]
    write(folder / "AesBench_TEST.tsv", without(named, "task"))
    assert len(load_dataset("aesbench", "empathy", data_dir=folder, split="test")) == 2


@pytest.mark.parametrize("column", ["category", "split"])
def test_aesbenchs_toy_table_has_answers(tmp_path: Path, aes_rows: list[Row], column: str) -> None:
    rows = [{**row, column: row["task"].removesuffix("1"), "answer": "B"} for row in without(aes_rows, "image_name")]
    folder = write(tmp_path / "release" / "AesBench_VAL.tsv", without(rows, "task"))
    with pytest.warns(UserWarning, match=r"AesBench_VAL\.tsv is VLMEvalKit's toy version of AesBench"):
        part = load_dataset("aesbench", "empathy", data_dir=folder, split="test")
    assert (part["id"][:], part["answer"][:], part["dimension"][:]) == (["1", "4"], ["B", "B"], ["", ""])
    part = load_dataset("aesbench", "empathy", data_files=str(folder / "AesBench_VAL.tsv"), split="test")
    assert part["answer"][:] == ["B", "B"]


def test_dimensions_sources_and_types_are_read_from_categories(tmp_path: Path, aes_rows: list[Row]) -> None:
    categories = ("AesP_Technical Quality", "vibe", "", "Aesthetic Perception (color_and_light)", "Emotion", "")
    rows = with_column("category", without(aes_rows, "task"), *categories)
    rows = with_column("source", rows, "AI-generated", "natural", "", "somewhere", "", "")
    folder = write(tmp_path / "release" / "AesBench_TEST.tsv", rows)
    part = load_dataset("aesbench", "perception", data_dir=folder, split="test")
    assert part["dimension"][:] == ["technical quality", "color and light"]
    assert part["image_source"][:] == ["AI-generated", "natural"]
    assert load_dataset("aesbench", "empathy", data_dir=folder, split="test")["dimension"][:] == ["vibe", "emotion"]
    rows = [{**row, "category": f"{row['task']}; mood"} for row in aes_rows]
    write(folder / "AesBench_TEST.tsv", rows)
    with pytest.warns(CategoryWarning, match=r"unknown categories \['AesA1; mood', 'AesE; mood', 'AesP; mood'\]"):
        part = load_dataset("aesbench", "perception", data_dir=folder, split="test")
    assert part["dimension"][:] == ["AesP; mood", "AesP; mood"]


def test_without_data_dir_aesbenchs_table_is_downloaded_and_checked(
    tmp_path: Path, aes_rows: list[Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert aesbench._TABLES_HOME == "https://huggingface.co/datasets/VLMEval/AesBench/resolve/main/"
    folder = write(tmp_path / "server" / "AesBench_TEST.tsv", aes_rows)
    monkeypatch.setattr(aesbench, "_TABLES_HOME", f"{folder}/")
    with pytest.warns(ChecksumWarning, match=r"published for .*AesBench_TEST\.tsv: 58b1f7ba2cc32e1d68896d6ee716bbf8\."):
        part = load_dataset("aesbench", "perception", split="test", cache_dir=tmp_path / "cache")
    assert part["id"][:] == ["baid_1.jpg", "spaq_2.jpg"]
    with pytest.raises(MissingFileError, match="config 'interpretation', needs data_dir"):
        load_dataset("aesbench", "interpretation", cache_dir=tmp_path / "cache")
