"""Which file is whose, and files that nobody can read."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.datasets_scripts.common.errors import BadAnnotationError
from eyechart.datasets_scripts.common.errors import MissingFileError
from eyechart.evaluators.backends.predictions.formats import read_predictions
from eyechart.evaluators.backends.predictions_file import PredictionsFileBackend
from eyechart.evaluators.types import Request
from tests.evaluators.backends.predictions.files import write_json
from tests.evaluators.backends.predictions.files import write_jsonl
from tests.evaluators.backends.predictions.files import write_xlsx

VLMEVALKIT = {"index": 1, "prediction": "A"}


@pytest.mark.parametrize(
    ("name", "row", "form"),
    [
        ("a.jsonl", {"id": "q1", "text": "A"}, "eyechart"),
        ("a.jsonl", {"id": 1, "logits": {"good": "1.5"}}, "eyechart"),
        ("a.jsonl", {"doc_id": 0, "filtered_resps": ["A"]}, "lmms-eval"),
        ("a.jsonl", {"question_id": 1, "round_id": 0, "text": "A", "options": ["x"]}, "llava-mmbench"),
    ],
)
def test_the_keys_of_the_first_line_tell_the_format(tmp_path, name, row, form):
    found, predictions = read_predictions(write_jsonl(tmp_path / name, [row]))
    assert (found.name, len(predictions)) == (form, 1)


def test_the_suffix_counts_in_any_case(tmp_path):
    assert read_predictions(write_xlsx(tmp_path / "A.XLSX", [VLMEVALKIT]))[0].name == "vlmevalkit"
    assert read_predictions(write_json(tmp_path / "A.Json", [VLMEVALKIT]))[0].name == "vlmevalkit"


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ({"question": "Why?", "answer": "A"}, "holds 'question', 'answer', which is the form of no tool"),
        ({}, "holds nothing, which is the form of no tool"),
        (
            {"id": "q1", "text": "A", "doc_id": 0, "filtered_resps": "A"},
            "which is the form of several tools: eyechart, lmms-eval",
        ),
    ],
)
def test_an_unknown_form_says_which_ones_there_are(tmp_path, row, found):
    with pytest.raises(BadAnnotationError) as caught:
        read_predictions(write_jsonl(tmp_path / "a.jsonl", [row]))
    assert found in str(caught.value)
    assert "A .jsonl file has id, text or logits or score (eyechart); doc_id, " in str(caught.value)
    assert "prediction (vlmevalkit)" not in str(caught.value)


def test_a_row_without_the_columns_of_the_others_is_named(tmp_path):
    rows = [VLMEVALKIT, {"index": 2, "answer": "B"}]
    with pytest.raises(BadAnnotationError, match=r"a\.json, row 2: 'prediction' is not there, as in other rows"):
        read_predictions(write_json(tmp_path / "a.json", rows))


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.txt", b"A", r"predictions files end in \.jsonl, .*, not '\.txt'"),
        ("a", b"A", "not ''"),
        ("a.jsonl", b"", "holds no predictions"),
        ("a.jsonl", b"\xef\xbb\xbf\r\n", "holds no predictions"),
        ("a.json", b"", "not valid JSON"),
        ("a.json", b"[]", "holds no predictions"),
        ("a.json", b'{"index": 1, "prediction": "A"}', "expected a JSON list of objects, found an object"),
        ("a.json", b"[3]", "row 1: expected a JSON object, found a number"),
        ("a.tsv", b"", "the file is empty; expected a header line"),
        ("a.tsv", b"index\tprediction\n", "holds no predictions"),
        ("a.tsv", b"index\tprediction\n1\n", r"row 2: 1 field\(s\) where the header has 2"),
        ("a.tsv", b'index\tprediction\n1\t"A\n', "the file ends inside a quotation"),
        ("a.tsv", "index\tprediction\n1\té\n".encode("latin-1"), "row 2: field 'prediction' is not UTF-8 text"),
        ("a.tsv", "index\tprediction\n1\tA\n".encode("utf-16"), "row 1: not UTF-8 text"),
        ("a.json", '[{"index": 1, "prediction": "好"}]'.encode("gbk"), "not UTF-8 text"),
        ("a.csv", b"image,mos\na.png,1\n", "holds 'image', 'mos', which is the form of no tool"),
        ("a.csv", "image,score\né,1\n".encode("latin-1"), "not UTF-8 text"),
        ("a.xlsx", b"index\tprediction\n", "cannot be read as XLSX"),
        ("a.xlsx", b"", "cannot be read as XLSX"),
    ],
)
def test_files_that_cannot_be_read_are_named(tmp_path, name, content, reason):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(BadAnnotationError, match=reason) as caught:
        read_predictions(path)
    assert str(path) in str(caught.value)


def test_folders_and_files_that_are_not_there(tmp_path):
    with pytest.raises(BadAnnotationError, match="a folder; expected a predictions file"):
        read_predictions(tmp_path)
    with pytest.raises(MissingFileError, match="the predictions file does not exist"):
        read_predictions(tmp_path / "a.xlsx")


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["7", "\ud83d", "A"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "index", "A"]), inner),
    max_leaves=5,
)
ROWS = [
    {"id": "q1", "pass": "main", "text": "A", "logits": {"good": 1}, "score": 1, "options": ["x", "y"]},
    {"doc_id": 0, "doc": {"id": "7", "question": "Why?", "option0": "x", "option1": "y"}, "filtered_resps": ["A"]},
    {"question_id": 7, "round_id": 0, "prompt": "Why?\nA. x", "text": "A", "options": ["x", "y"]},
    {"index": 7, "question": "Why?", "A": "x", "B": "y", "prediction": "A", "image_path": "a.png", "thinking": ""},
]


@given(st.sampled_from(ROWS), st.data())
def test_a_row_is_read_or_is_an_error_that_names_it(row, data):
    """Whatever stands in one of its fields."""
    changed = {**row, data.draw(st.sampled_from(sorted(row))): data.draw(JSON)}
    with tempfile.TemporaryDirectory() as folder:
        suffix = ".json" if "index" in row else ".jsonl"
        path = Path(folder) / f"a{suffix}"
        path.write_text(json.dumps([changed] if suffix == ".json" else changed))
        asked = Request("dev-7", ("Why?",), (), options=("x", "y"))
        try:
            (response,) = PredictionsFileBackend(path).answer([asked])
        except BadAnnotationError as error:
            assert error.row == 1
        else:
            assert (response.error is None) == isinstance(response.text, str)


def test_byte_order_marks_and_windows_line_ends(tmp_path):
    (tmp_path / "a.tsv").write_bytes(b"\xef\xbb\xbfindex\tprediction\r\n1\tA\r\n")
    (tmp_path / "a.jsonl").write_bytes(b'\xef\xbb\xbf{"id": 1, "text": "A"}\r\n\r\n{"id": 2, "text": "A"}\r\n')
    assert [prediction.text for prediction in read_predictions(tmp_path / "a.tsv")[1]] == ["A"]
    assert [prediction.row for prediction in read_predictions(tmp_path / "a.jsonl")[1]] == [1, 3]
