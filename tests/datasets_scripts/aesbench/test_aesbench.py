"""AesBench's release, and VLMEvalKit's tables of AesBench and Q-Bench; bad rows of tables: see `mmbench`."""

import base64
import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import pytest

from eyechart.datasets_scripts import left_out, load_dataset
from eyechart.datasets_scripts.aesbench import aesbench
from eyechart.datasets_scripts.common.choice.aesthetics import PARTS, image_source, question_type
from eyechart.datasets_scripts.common.choice.tables import CategoryWarning
from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError, UsageError
from eyechart.datasets_scripts.common.files.downloads import ChecksumWarning
from eyechart.evaluators.tasks.aes_bench import choice_prompt

Entry = dict[str, dict[str, Any]]
Release = Callable[..., Path]
NAMES = ["43129b8b_62e5_4129_897e_2256bb12b905.png", "spaq_07911.png", "baid_131430.png"]


def entry(suffix: str = "", answers: bool = True, **changes: Any) -> Entry:
    """One image's entry; a change is of the part of that name, and None removes a field."""
    parts = {
        "AesP": {
            "Question": "What stands out?",
            "Options": "A) Depth\nB) Sharpness\nC) Color\nD)Light",
            "Answer": "D)Light",
        },
        "AesE": {"Question": "Does the image look calm?", "Options": "A) Yes\nB)No", "Answer": "No"},
        "AesA1": {
            "Question": "How is the aesthetic quality of this image?",
            "Options": "A) High\nB) Medium\nC) Low",
            "Answer": "B",
        },
        "AesI": {
            "Question": "This is an image with medium aesthetics, please explain the reasons.",
            "Answer": "The light is soft.",
        },
    }
    found = {}
    for name, fields in parts.items():
        kept = {**fields, **({} if answers else {"Answer": None}), **changes.get(name, {})}
        found[name + suffix] = {key: value for key, value in kept.items() if value is not None}
    return found


@pytest.fixture
def release(tmp_path: Path, write_image: Callable[..., None]) -> Release:
    """A function that writes a folder in AesBench's layout."""

    def write(entries: Any = None, inside: str = "", folder: str = "images") -> Path:
        root = tmp_path / "aesbench" / inside
        root.mkdir(parents=True, exist_ok=True)
        text = json.dumps(entries or {name: entry() for name in NAMES})
        (root / "AesBench_evaluation.json").write_text(text, encoding="utf-8")
        for seed, name in enumerate(NAMES):
            write_image(root / folder / name, seed)
        return tmp_path / "aesbench"

    return write


@pytest.mark.parametrize(
    ("suffix", "inside", "folder"), [("", "", "images"), ("_data", "", ""), ("", "EAPD_release", "images")]
)
def test_the_release_in_both_key_styles(release: Release, suffix: str, inside: str, folder: str) -> None:
    data_dir = release({name: entry(suffix) for name in NAMES}, inside=inside, folder=folder)
    row = load_dataset("aesbench", data_dir=data_dir, split="test")[0]
    assert row.pop("images")[0].size == (10, 8)
    assert row == {
        "id": NAMES[0],
        "question_id": NAMES[0],
        "rotation": 0,
        "question": "What stands out?",
        "hint": "",
        "options": ["Depth", "Sharpness", "Color", "Light"],
        "answer": "D",
        "question_type": "what",
        "dimension": "",
        "image_source": "AI-generated",
        "released_options": "A) Depth\nB) Sharpness\nC) Color\nD)Light",
    }
    part = load_dataset("aesbench", "empathy", data_dir=data_dir, split="test")
    assert (part[1]["options"], part[1]["answer"], part[1]["question_type"]) == (["Yes", "No"], "B", "yes-or-no")
    assert part["image_source"][:] == ["AI-generated", "natural", "artistic"]
    part = load_dataset("aesbench", "assessment", data_dir=data_dir, split="test")
    assert (part[2]["options"], part[2]["answer"], part[2]["question_type"]) == (["High", "Medium", "Low"], "B", "how")


def test_interpretations(release: Release) -> None:
    row = load_dataset("aesbench", "interpretation", data_dir=release(), split="test")[0]
    assert row.pop("image").size == (10, 8)
    assert row == {
        "id": NAMES[0],
        "description": "The light is soft.",
        "level": "medium",
        "question": "This is an image with medium aesthetics, please explain the reasons.",
    }


def test_private_answers_and_the_level_that_only_interpretation_shows(release: Release) -> None:
    data_dir = release({name: entry(answers=False) for name in NAMES})
    for config in PARTS:
        part = load_dataset("aesbench", config, data_dir=data_dir, split="test", images="skip")
        assert part["description" if config == "interpretation" else "answer"][:] == ["", "", ""]
        assert ("medium aesthetics" in str(part[0])) == ("level" in part[0]) == (config == "interpretation")


FOUR = "A) Depth\nB) Sharpness\nC) Color\nD)Light"


@pytest.mark.parametrize(
    ("options", "answer", "read", "letter"),
    [
        (FOUR, "C)", ["Depth", "Sharpness", "Color", "Light"], "C"),
        (FOUR, "D)light.", ["Depth", "Sharpness", "Color", "Light"], "D"),
        ("\n".join(f"{letter}) {letter}" for letter in ascii_uppercase), "Z", [*ascii_uppercase], "Z"),
        (FOUR, " Sharpness ", ["Depth", "Sharpness", "Color", "Light"], "B"),
        # The release has these two forms in three questions of AesP.
        ("A) Yes\nB)", "A) Yes", ["Yes", ""], "A"),
        ("A) Yes\nA) No", "A) No", ["Yes", "No"], "B"),
        ("A) Warm\nB) Cold\nC) Warm", "C", ["Warm", "Cold", "Warm"], "C"),
        ("A) Warm\nB) Cold\nC) Warm", "Warm", ["Warm", "Cold", "Warm"], "A"),
    ],
)
def test_options_count_by_their_place(
    release: Release, options: str, answer: str, read: list[str], letter: str
) -> None:
    data_dir = release({NAMES[0]: entry(AesP={"Options": options, "Answer": answer})})
    row = load_dataset("aesbench", data_dir=data_dir, split="test", images="skip")[0]
    assert (row["options"], row["answer"], row["released_options"]) == (read, letter, options)
    shown, _ = choice_prompt(row)
    assert shown.startswith(f"{row['question']} Choose one from the following options:\n{options}\n")


@pytest.mark.parametrize(
    ("part", "change", "reason"),
    [
        ("AesP", {"Options": "A) Yes B) No", "Answer": "A"}, "options must be lines 'A) ...', 'B) ...'"),
        ("AesP", {"Options": "A) Yes\nA) No", "Answer": "A"}, "answer 'A' matches several of the options"),
        ("AesP", {"Answer": "E"}, "answer 'E' is not one of the options ['A) Depth', 'B) Sharpness'"),
        ("AesP", {"Answer": "A) Light"}, "answer 'A) Light' is not one"),
        ("AesI", {"Question": "Why?"}, "no aesthetic level (high, medium, low) in the question 'Why?'"),
    ],
)
def test_bad_rows(release: Release, part: str, change: dict[str, Any], reason: str) -> None:
    data_dir = release({NAMES[0]: entry(), NAMES[1]: entry(**{part: change}), NAMES[2]: entry()})
    config = "perception" if part == "AesP" else "interpretation"
    with pytest.raises(BadAnnotationError) as caught:
        load_dataset("aesbench", config, data_dir=data_dir)
    assert f"AesBench_evaluation.json, row 2: image '{NAMES[1]}': {reason}" in str(caught.value)
    loaded = load_dataset("aesbench", config, data_dir=data_dir, split="test", skip_bad=True)
    assert loaded["id"][:] == [NAMES[0], NAMES[2]] and [item["id"] for item in left_out(loaded)] == ["2"]


def test_without_the_release_the_error_says_what_to_do(tmp_path: Path) -> None:
    reason = r"(?s)EAPD_release\.zip from https://huggingface\.co.*password.*Unpack.*as data_dir"
    for folder in (None, tmp_path):
        with pytest.raises(MissingFileError, match=reason):
            load_dataset("aesbench", data_dir=folder)


@pytest.mark.parametrize(
    ("question", "options", "kind"),
    [
        ("Does the image look calm?", ["Yes", "No"], "yes-or-no"),
        ("What stands out?", ["Light", "Color"], "what"),
        ("HOW does it look?", ["Well", "Badly"], "how"),
        ("Why is it dark?", ["Night", "Fog"], "why"),
        ("In what way is it dark?", ["Night", "Fog"], ""),
        ("Does it?", ["Yes", "No", "Partly"], ""),
        ('"How does it look?"', ["Well", "Badly"], "how"),
        ("Does it?", ["It does", "It does not"], ""),
    ],
)
def test_question_types(question: str, options: list[str], kind: str) -> None:
    assert question_type(question, options) == kind


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("aadb_farm1_340_19469957444_ed6c0ca27f_b.jpg", "natural"),
        ("spaq_07911.jpg", "natural"),
        ("baid_131430.jpg", "artistic"),
        ("artemis_sa-nogueira_cinema-ii-1972.jpg", "artistic"),
        ("89751e32_5bcc_4c19_96b7_6551f1746fa0.jpg", "AI-generated"),
        ("2e6b6bed-fb39-402b-a0ed-43a60f6e70dc.png", "AI-generated"),
        ("sd1.5_highcorr_066.jpg", "AI-generated"),
        ("fuchun4_7.jpg", "AI-generated"),
        ("impression_8760cdc0-3bdc-5368-ba56-b3cb8e031a50_cap2_0.jpg", "natural"),
        # BAID, CAD, and ArtEmis by WikiArt's names.
        ("55168.jpg", "artistic"),
        ("cad_640.jpeg", "artistic"),
        ("j.-e.-h.-macdonald_mountain-snowfall-lake-oesa-1932.jpg", "artistic"),
        ("my photo.jpg", ""),
        # No version-4 identifier.
        ("89751e32_5bcc_1c19_96b7_6551f1746fa0.jpg", ""),
    ],
)
def test_image_sources(name: str, source: str) -> None:
    assert image_source(name) == source


@pytest.mark.parametrize("config", PARTS)
def test_the_released_sample_parses_completely(reference: Path, config: str) -> None:
    sample = reference / "aesbench" / "AesBench_evaluation.sample3.json"
    part = load_dataset("aesbench", config, data_files=str(sample), split="test", images="skip")
    assert len(part) == 3
    if config == "interpretation":
        assert (part["level"][:], set(part["description"])) == (["medium", "medium", "low"], {""})
        return
    released = json.loads(sample.read_text(encoding="utf-8"))
    for row in part:
        options = released[row["id"]][PARTS[config]]["Options"].split("\n")
        assert [option[2:].strip() for option in options] == row["options"]
    assert len(part[0]["options"]) == {"perception": 4, "empathy": 3, "assessment": 3}[config]
    assert set(part["answer"]) == {""} and set(part["image_source"]) == {"AI-generated"}
    assert part["question_type"][:] == [{"perception": "what", "empathy": "how", "assessment": "how"}[config]] * 3


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
