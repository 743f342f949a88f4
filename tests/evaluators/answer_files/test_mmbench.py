import io

import pandas
import pytest

from eyechart.datasets_scripts.common.choice.passes import passes_of
from eyechart.datasets_scripts.common.files.spreadsheets import read_xlsx_rows
from eyechart.evaluators.answer_files.mmbench import CELL_LIMIT, COLUMNS, mmbench_answer_file

ROW = {
    "id": "test-7",
    "question_id": "7",
    "question": "Which?",
    "hint": "Look.",
    "options": ["Red", "Green", "Blue"],
    "answer": "",
    "category": "OCR",
    "l2_category": "fine-grained perception (single-instance)",
}


PASSES = passes_of(ROW)


def pass_row(row, one):
    return {**row, "index": one.index, "question": one.question, "hint": one.hint, "options": one.options}


def written(row, passes, replies, tmp_path):
    passes = [pass_row(row, one) for one in passes]
    ((name, content),) = mmbench_answer_file(passes, replies, "en", "test").items()
    path = tmp_path / name
    path.write_bytes(content)
    return [row for _, row in read_xlsx_rows(str(path), COLUMNS, formulas=True)]


def test_each_pass_is_a_row_in_the_documented_columns(tmp_path):
    rows = written(ROW, [PASSES[number] for number in (2, 0, 1)], "CAB", tmp_path)
    assert list(tmp_path.iterdir()) == [tmp_path / "mmbench_en_test.xlsx"]
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
    (_, found) = written(row, passes_of(row), "BB", tmp_path)
    assert (found["index"], found["question"], found["hint"]) == (5_000_123, "What?", None)
    assert [found[name] for name in "ABCD"] == ["Red", "Red", None, None]


@pytest.mark.parametrize(
    ("reply", "cell"),
    [
        ("=1+1", "=1+1"),
        ('=HYPERLINK("http://x")', '=HYPERLINK("http://x")'),
        ("@SUM(A1)", "@SUM(A1)"),
        ("#N/A", "#N/A"),
        ("12", "12"),
        ("A\x00\x1b[31m", "A  [31m"),
        ("half \ud800 of one", "half   of one"),
        ("A\r\nB\rC", "A\nB\nC"),
        ("答案是C。<b>&amp;", "答案是C。<b>&amp;"),
        ("x" * 40_000 + " so C", "x" * (CELL_LIMIT - 5) + " so C"),
        ("", None),
        (" A ", " A "),
    ],
    ids=[
        "formula",
        "link",
        "at",
        "error",
        "number",
        "control",
        "surrogate",
        "lines",
        "markup",
        "long",
        "none",
        "blank",
    ],
)
def test_replies_are_read_back_as_text(tmp_path, reply, cell):
    (row,) = written(ROW, PASSES[:1], [reply], tmp_path)
    assert row["prediction"] == cell


def test_the_file_is_read_as_the_server_reads_it():
    replies = ["=B", "12", "The answer is\nC"]
    passes = [pass_row(ROW, one) for one in PASSES]
    ((_, content),) = mmbench_answer_file(passes, replies, "en", "test").items()
    table = pandas.read_excel(io.BytesIO(content), dtype={"prediction": str})
    assert table["index"].tolist() == [7, 1_000_007, 2_000_007]
    assert table["prediction"].tolist() == replies
    assert table["D"].isna().all()
