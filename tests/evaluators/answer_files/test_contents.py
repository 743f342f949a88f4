"""Answer files, read again as their receivers read them."""

import json
from functools import partial

import pytest

from eyechart.datasets_scripts import load_dataset, mini
from eyechart.datasets_scripts.common.choice.passes import passes_of
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.common.files.spreadsheets import CELL_LIMIT, read_xlsx_rows
from eyechart.evaluators.answer_files import (
    COLUMNS,
    aes_bench_answer_file,
    description_answer_file,
    mmbench_answer_file,
    pair_answer_file,
    perception_answer_file,
)

JSON = [perception_answer_file, pair_answer_file, description_answer_file, partial(aes_bench_answer_file, "AesP")]


def read_rows(files):
    (content,) = files.values()
    text = content.decode("utf-8")
    return [json.loads(line) for line in text.splitlines()] if text.startswith('{"') else json.loads(text)


@pytest.mark.parametrize(
    ("dataset", "file", "write"),
    [
        ("llvisionqa", "llvisionqa_test.json", perception_answer_file),
        ("llvisionqa_pairs", "q-bench2-a1-test.jsonl", pair_answer_file),
        ("real", "llvisionqa_test.json", perception_answer_file),
    ],
)
def test_q_bench_has_the_rows_of_the_releases_test_file(dataset, file, write, reference):
    name = "llvisionqa" if dataset == "real" else dataset
    folder = reference / name if dataset == "real" else mini.release(dataset)
    rows = load_dataset(name, split="test", data_dir=folder, images="skip")
    replies = [f"reply {number}: Ü" for number in range(len(rows))]
    released = read_rows({file: (folder / file).read_bytes()})
    answered = [{**row, "response": reply} for row, reply in zip(released, replies, strict=True)]
    assert read_rows(write(list(rows), replies)) == answered


@pytest.mark.parametrize(
    ("write", "id", "img_path"),
    [
        (perception_answer_file, "test-10.jpg", "10.jpg"),
        (perception_answer_file, "test-10.jpg-2", "10.jpg"),
        (perception_answer_file, "test-dev-2.bmp-13", "dev-2.bmp"),
        (perception_answer_file, "test-a.tar.JPEG", "a.tar.JPEG"),
        (perception_answer_file, "test-17", "17"),
        (perception_answer_file, "mine", "mine"),
        (pair_answer_file, "test-1.png_cat_2.jpg", r"llvisionqa_compare_test\1.png_cat_2.jpg.jpg"),
        (pair_answer_file, "test-1.png_cat_2.jpg-2", r"llvisionqa_compare_test\1.png_cat_2.jpg.jpg"),
    ],
)
def test_further_questions_about_an_image_or_pair_name_the_same_one(write, id, img_path):
    row = {"id": id, "question": "Is it?", "options": ["Yes", "No"]}
    fields = {"question": "Is it?", "img_path": img_path, "candidates": ["Yes", "No"], "response": "Yes"}
    # Rows of one's own data have no codes.
    assert read_rows(write([row | {"concern": "taste"}], ["Yes"])) == [fields]
    row |= {"question_type": "yes-or-no", "concern": "distortion"}
    assert read_rows(write([row], ["Yes"])) == [{"type": 0, "concern": 0, **fields}]


@pytest.mark.parametrize(
    "reply",
    ["", "\x00\x1b[2J", "多云", "{}", "half of a pair: \ud800", "two\u2028lines\x85and\nthree", "long " * 10_000],
)
@pytest.mark.parametrize("write", JSON)
def test_every_reply_in_json_is_read_back_as_it_was(write, reply):
    row = {"id": "test-1.png", "question": "?", "options": ["Yes"], "question_type": "how", "concern": "distortion"}
    (content,) = write([row], [reply]).values()
    answers = json.loads(content.decode("utf-8"))
    answer = answers[0] if isinstance(answers, list) else answers.get("test-1.png", answers)
    assert reply in answer.values()
    assert content.startswith((b'[\n {\n  "', b'{\n    "test-1.png": {\n        "AesP_response"', b'{"type": '))
    # AesBench's scripts write Unicode, the others ASCII.
    assert ("多云".encode() in content) == (reply == "多云" and isinstance(write, partial))


@pytest.mark.parametrize("write", [*JSON, partial(mmbench_answer_file, config="en")])
def test_every_row_has_one_reply(write):
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        write([{"id": "test-1.png", "question": "?", "options": ["Yes"]}] * 2, ["A"])


def test_each_image_of_aesbench_has_one_reply():
    with pytest.raises(UsageError, match="2 rows about 1 images"):
        aes_bench_answer_file("AesP", [{"id": "baid_1.jpg"}] * 2, ["A", "B"])


ROW = {
    "id": "test-7",
    "question_id": "7",
    "question": "Which?",
    "hint": "Look.",
    "options": ["Red", "Green", "Blue"],
    "answer": "",
    "split": "test",
    "category": "OCR",
    "l2_category": "fine-grained perception (single-instance)",
}
PASSES = passes_of(ROW)


def rows_of(row, passes):
    return [row | {name: getattr(each, name) for name in ("index", "question", "hint", "options")} for each in passes]


def mmbench_rows(passes, replies, folder):
    ((name, content),) = mmbench_answer_file(passes, replies, "en").items()
    assert name == "mmbench_en_test.xlsx"
    (folder / name).write_bytes(content)
    return [row for _, row in read_xlsx_rows(str(folder / name), COLUMNS, formulas=True)]


def test_each_pass_of_mmbench_is_a_row_in_the_documented_columns(tmp_path):
    rows = mmbench_rows(rows_of(ROW, [PASSES[number] for number in (2, 0, 1)]), "CAB", tmp_path)
    assert tuple(rows[0]) == COLUMNS
    assert rows[1] == {
        "index": 1_000_007,
        "question": "Which?",
        "hint": "Look.",
        **{"A": "Blue", "B": "Red", "C": "Green", "D": None},
        "prediction": "B",
        "category": "ocr",
        "l2-category": "finegrained_perception (instance-level)",
        "split": "test",
    }
    assert [(row["index"], row["prediction"]) for row in rows] == [(7, "A"), (1_000_007, "B"), (2_000_007, "C")]


def test_a_releases_own_passes_keep_their_index_words_and_options(tmp_path):
    shown = {"rotation": 1, "question": "What?", "hint": "", "options": ["Red", "Red"], "answer": ""}
    row = {**ROW, "passes": [{**shown, "index": 7, "rotation": 0}, {**shown, "index": 5_000_123}]}
    (_, second) = mmbench_rows(rows_of(row, passes_of(row)), "BB", tmp_path)
    assert (second["index"], second["question"], second["hint"]) == (5_000_123, "What?", None)
    assert [second[name] for name in "ABCD"] == ["Red", "Red", None, None]


CELLS = {
    **dict.fromkeys(["=1+1", '=HYPERLINK("http://x")', "@SUM(A1)", "#N/A", "12", "答案是C。<b>&amp;", " A "]),
    "A\x00\x1b[31m": "A  [31m",
    "half \ud800 of one": "half   of one",
    "A\r\nB\rC": "A\nB\nC",
    "x" * 40_000 + " so C": "x" * (CELL_LIMIT - 5) + " so C",
}
"""Replies with their cells; None if they are the same."""


def test_replies_in_cells_are_read_back_as_text(tmp_path):
    passes = [ROW | {"index": number} for number in range(len(CELLS) + 1)]
    rows = mmbench_rows(passes, [*CELLS, ""], tmp_path)
    assert [row["prediction"] for row in rows] == [*(cell or reply for reply, cell in CELLS.items()), None]
