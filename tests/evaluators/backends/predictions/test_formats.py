"""Which file is whose, and files that nobody can read."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.evaluators.backends.predictions.formats import read_predictions
from eyechart.evaluators.requests.types import Request
from tests.evaluators.backends.predictions.files import WRITERS as SHEETS
from tests.evaluators.backends.predictions.files import write_csv, write_json, write_jsonl, write_xlsx

VLMEVALKIT = {"index": 1, "prediction": "A"}
WRITERS = {**SHEETS, ".jsonl": write_jsonl, ".csv": write_csv}


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


REPEATED = [
    ("a.jsonl", {"id": "dev-7", "text": "A"}, "text"),
    ("a.xlsx", {"index": 7, "question": "Why?", "A": "x", "B": "y", "prediction": "A"}, "prediction"),
    ("a.tsv", {"index": 7, "question": "Why?", "A": "x", "B": "y", "prediction": "A"}, "prediction"),
    ("a.json", {"index": 7, "question": "Why?", "A": "x", "B": "y", "prediction": "A"}, "prediction"),
    ("a.jsonl", {"doc_id": 0, "doc": {"id": "7", "question": "Why?"}, "filtered_resps": "A"}, "filtered_resps"),
    ("a.jsonl", {"question_id": 7, "round_id": 0, "prompt": "Why?\nA. x", "text": "A", "options": ["x"]}, "text"),
    ("a.json", {"img_path": "dev-7", "gt_score": "2.82 ", "logit_good": 1, "logit_poor": 2}, "logit_good"),
    ("a.csv", {"image": "dev-7", "score": 1}, "score"),
]


@pytest.mark.parametrize(("name", "row", "answer"), REPEATED, ids=lambda value: value if isinstance(value, str) else "")
def test_equal_rows_count_once_and_different_ones_are_an_error(tmp_path, name, row, answer):
    """In every format; rows of XLSX, TSV and CSV count from their header line."""
    write, first = WRITERS[Path(name).suffix], 1 if "json" in name else 2
    asked = Request("dev-7", ("Why?",), (), words=("good", "poor") if answer in ("logit_good", "score") else ())
    backend = PredictionsFileBackend(write(tmp_path / name, [row, row, row]))
    (response,) = backend.answer([asked])
    assert response.error is None
    settings = backend.settings()
    counts = [settings[key] for key in ("predictions", "predictions_repeated", "predictions_unused")]
    assert counts == [3, 2, 0]
    different = write(tmp_path / name, [row, row | {answer: "5"}, row])
    reason = rf"row {first + 1}: id '.*7', pass 'main' was already given in row {first}, with other contents"
    with pytest.raises(BadAnnotationError, match=reason):
        PredictionsFileBackend(different)
    assert "predictions_repeated" not in PredictionsFileBackend(write(tmp_path / name, [row])).settings()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"logit_poor": "high"}, "'logit_poor' is 'high'; expected a finite number"),
        ({"logit_excellent": None}, "'logit_excellent' is None; expected a finite number"),
        ({"img_path": " "}, "'img_path' is empty"),
        ({"img_path": ["a"]}, r"expected text, found \['a'\]"),
    ],
)
def test_malformed_objects_of_released_logits_are_named(tmp_path, change, reason):
    row = {"img_path": "a.png", "gt_score": "2.82 ", "logit_good": 1, "logit_poor": 2}
    path = tmp_path / "agi.json"
    path.write_text(json.dumps(row) + json.dumps(row | {"img_path": "b.png"} | change))
    with pytest.raises(BadAnnotationError, match=rf"agi\.json, row 2: {reason}"):
        PredictionsFileBackend(path)


@pytest.mark.parametrize("between", ["", "\n", "list"])
def test_released_logits_one_behind_the_other_or_in_a_list(tmp_path, between):
    rows = [{"img_path": f"{i}.png", "gt_score": "2.82 ", "logit_high": i, "logit_low": -1.5} for i in range(3)]
    path = tmp_path / "agi.json"
    path.write_text(json.dumps(rows) if between == "list" else between.join(map(json.dumps, rows)))
    found, predictions = read_predictions(path)
    assert found.name == "q-bench-logits"
    assert [dict(prediction.logits or {}) for prediction in predictions] == [{"high": i, "low": -1.5} for i in range(3)]


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
        ("a.json", b'"A"', "expected a JSON list of objects, found a string"),
        (
            "a.json",
            b'{"index": {"0": 1}, "prediction": {"0": "A"}}',
            "row 1: expected text, found {'0': 1}",
        ),
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
