import io

import pandas
import pytest

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.datasets_scripts.common.rotations import rotate
from eyechart.datasets_scripts.common.spreadsheets import read_xlsx_rows
from eyechart.evaluators.submissions.mmbench import CELL_LIMIT
from eyechart.evaluators.submissions.mmbench import COLUMNS
from eyechart.evaluators.submissions.mmbench import AnsweredPass
from eyechart.evaluators.submissions.mmbench import mmbench_submission

ROW = {
    "id": "test-7",
    "question_id": "7",
    "question": "Which?",
    "hint": "Look.",
    "options": ["Red", "Green", "Blue"],
    "category": "OCR",
    "l2_category": "fine-grained perception (single-instance)",
}


def written(passes, tmp_path, **how):
    ((name, content),) = mmbench_submission(passes, "en", "test", **how).items()
    path = tmp_path / name
    path.write_bytes(content)
    return [row for _, row in read_xlsx_rows(str(path), COLUMNS, formulas=True)]


def test_each_rotation_is_a_row_in_the_documented_columns(tmp_path):
    passes = [AnsweredPass(ROW, rotate(ROW["options"], places), "ABC"[places]) for places in (2, 0, 1)]
    rows = written(passes, tmp_path, direction=1)
    assert list(tmp_path.iterdir()) == [tmp_path / "mmbench_en_test.xlsx"]
    assert tuple(rows[0]) == COLUMNS
    assert rows[1] == {
        "index": 1_000_007,
        "question": "Which?",
        "hint": "Look.",
        **{"A": "Green", "B": "Blue", "C": "Red", "D": None},
        "prediction": "B",
        "category": "ocr",
        "l2-category": "finegrained_perception (instance-level)",
        "split": "test",
    }
    assert [(row["index"], row["prediction"]) for row in rows] == [(7, "A"), (1_000_007, "B"), (2_000_007, "C")]


@pytest.mark.parametrize("direction", [1, -1])
def test_the_index_is_that_of_the_row_that_shows_the_same_options(tmp_path, direction):
    passes = [AnsweredPass(ROW, rotate(ROW["options"], places), str(places)) for places in range(3)]
    for row in written(passes, tmp_path, direction=direction):
        turned = rotate(ROW["options"], direction * (row["index"] // 1_000_000))
        assert (row["A"], row["B"], row["C"]) == turned == rotate(ROW["options"], int(row["prediction"]))


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
    (row,) = written([AnsweredPass(ROW, ROW["options"], reply)], tmp_path)
    assert row["prediction"] == cell


def test_the_file_is_read_as_the_server_reads_it():
    replies = ["=B", "12", "The answer is\nC"]
    passes = [AnsweredPass(ROW, rotate(ROW["options"], places), replies[places]) for places in range(3)]
    ((_, content),) = mmbench_submission(passes, "en", "test", direction=1).items()
    table = pandas.read_excel(io.BytesIO(content), dtype={"prediction": str})
    assert table["index"].tolist() == [7, 1_000_007, 2_000_007]
    assert table["prediction"].tolist() == replies
    assert table["D"].isna().all()


def test_options_that_are_no_rotation_or_shown_twice_are_refused():
    with pytest.raises(DataError, match=r"'test-7'.*no rotation of its options"):
        mmbench_submission([AnsweredPass(ROW, ["Green", "Red", "Blue"], "A")], "en", "test")
    same = AnsweredPass(ROW, ROW["options"], "A")
    with pytest.raises(DataError, match="1 passes show the options"):
        mmbench_submission([same, same], "en", "test")
