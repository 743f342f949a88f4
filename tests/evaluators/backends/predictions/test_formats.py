"""Which file is whose, and files that nobody can read."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.datasets_scripts.common.errors import BadAnnotationError
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.evaluators.backends.predictions.formats import read_predictions
from eyechart.evaluators.requests.types import Request
from tests.evaluators.backends.predictions.files import WRITERS as SHEETS
from tests.evaluators.backends.predictions.files import ask, right_letter, vlmevalkit_row, write_csv, write_jsonl

WRITERS = {**SHEETS, ".jsonl": write_jsonl, ".csv": write_csv}
VLMEVALKIT = {"index": 7, "question": "Why?", "A": "x", "B": "y", "prediction": "A"}
LMMS_EVAL = {"doc_id": 0, "doc": {"id": "7", "question": "Why?"}, "filtered_resps": "A"}
Q_BENCH = {"img_path": "dev-7", "gt_score": "2.82 ", "logit_good": 1, "logit_poor": 2}
FILES = [
    ("eyechart", "a.jsonl", {"id": "dev-7", "text": "A"}, "text"),
    # The suffix counts in any case.
    ("vlmevalkit", "A.XLSX", VLMEVALKIT, "prediction"),
    ("vlmevalkit", "a.tsv", VLMEVALKIT, "prediction"),
    ("vlmevalkit", "a.json", VLMEVALKIT, "prediction"),
    ("lmms-eval", "a.jsonl", LMMS_EVAL, "filtered_resps"),
    ("q-bench-logits", "a.json", Q_BENCH, "logit_good"),
    ("q-bench-answers", "a.json", {"img_path": "pairs_cat_/7.jpg", "question": "Why?", "response": "A"}, "response"),
    ("quality-scores", "a.csv", {"image": "dev-7", "score": 1}, "score"),
]


@pytest.mark.parametrize(("form", "name", "row", "answer"), FILES)
def test_equal_rows_count_once_and_different_ones_are_an_error(tmp_path, form, name, row, answer):
    """In every format; rows of XLSX, TSV and CSV count from their header line."""
    write, first = WRITERS[Path(name).suffix.lower()], 1 if "json" in name else 2
    asked = Request("dev-7", ("Why?",), (), words=("good", "poor") if answer in ("logit_good", "score") else ())
    backend = PredictionsFileBackend(write(tmp_path / name, [row] * 4))
    (response,) = backend.answer([asked])
    assert response.error is None
    settings = backend.settings()
    counts = [settings[key] for key in ("predictions", "predictions_repeated", "predictions_unused")]
    assert (settings["format"], counts) == (form, [4, 3, 0])
    different = write(tmp_path / name, [row, row | {answer: "5"}, row])
    reason = rf"row {first + 1}: repeats id '.*7.*', pass 'main' of row {first} with different contents"
    with pytest.raises(BadAnnotationError, match=reason):
        PredictionsFileBackend(different)
    assert "predictions_repeated" not in PredictionsFileBackend(write(tmp_path / name, [row])).settings()


@pytest.mark.parametrize("between", ["", "\n", "list"])
def test_released_logits_one_behind_the_other_or_in_a_list(tmp_path, between):
    rows = [{"img_path": f"{i}.png", "gt_score": "2.82 ", "logit_high": i, "logit_low": -1.5} for i in range(3)]
    path = tmp_path / "agi.json"
    path.write_text(json.dumps(rows) if between == "list" else between.join(map(json.dumps, rows)))
    form, predictions = read_predictions(path)
    assert form.name == "q-bench-logits"
    assert [dict(prediction.logits or {}) for prediction in predictions] == [{"high": i, "low": -1.5} for i in range(3)]


SCALARS = st.sampled_from([None, False, True, "7", "\ud83d", "A"]) | st.integers() | st.floats() | st.text(max_size=5)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "index", "A"]), inner),
    max_leaves=5,
)
ROWS = [
    {"id": "q1", "pass": "main", "text": "A", "logits": {"good": 1}, "score": 1, "options": ["x", "y"]},
    {"doc_id": 0, "doc": {"id": "7", "question": "Why?", "option0": "x", "option1": "y"}, "filtered_resps": ["A"]},
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


ROW = {"id": "dev-12", "question": "How sharp is it?", "options": ("Sharp", "Blurry", "In between"), "answer": "B"}


def q_bench_doc(row, number):
    """A row of Q-Bench as the Hub has it, without its image."""
    options = {f"option{index}": text for index, text in enumerate([*row["options"], "N/A", "N/A", "N/A"][:4])}
    return {"id": str(number), "question": row["question"], "question_type": 2, "correct_choice": "B", **options}


def mmbench_doc(row, rotation=0):
    """A row of MMBench as the Hub has it."""
    doc = vlmevalkit_row(row, int(row["question_id"]), "", rotation)
    return {name: "nan" if value == "" else value for name, value in doc.items() if name != "prediction"}


def sample(number, doc, reply, **changes):
    """A line of lmms-eval; a key is left out if its value is None."""
    line = {"doc_id": number, "doc": doc, "target": "B", "filtered_resps": reply, "doc_hash": "0" * 64, **changes}
    return {key: value for key, value in line.items() if value is not None}


def backend(folder, *lines):
    return PredictionsFileBackend(write_jsonl(folder / "20260801_120000_samples.jsonl", lines))


def answer(folder, line, request=None):
    (response,) = backend(folder, line).answer([request or ask(ROW)])
    return response


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"filtered_resps": "B"}, "B"),
        ({"filtered_resps": ["B"]}, "B"),
        ({"filtered_resps": [["B"]]}, "B"),
        ({"filtered_resps": ["B"], "resps": [["<think>A?</think>B"]]}, "B"),
        ({"filtered_resps": None, "resps": [["C"]]}, "C"),
    ],
)
def test_an_answer_is_a_text_or_a_list_of_one_and_the_filtered_one_counts(tmp_path, changes, text):
    response = answer(tmp_path, sample(0, q_bench_doc(ROW, 12), None, **changes))
    assert (response.text, response.options) == (text, ROW["options"])


@pytest.mark.parametrize("reply", [[], ["A", "B"], [["A", True]], 3])
def test_what_is_not_one_text_names_the_row(tmp_path, reply):
    with pytest.raises(BadAnnotationError, match=r"row 1: 'filtered_resps' is .*; expected a single string"):
        backend(tmp_path, sample(0, q_bench_doc(ROW, 12), reply))


def test_q_bench_is_matched_whatever_its_ids_are(tmp_path, perception_rows):
    lines = [sample(n, q_bench_doc(row, n + 1), [right_letter(row)]) for n, row in enumerate(perception_rows)]
    model = backend(tmp_path, *lines[::-1])
    responses = list(model.answer([ask(row) for row in perception_rows]))
    assert [response.text for response in responses] == [row["answer"] for row in perception_rows]
    settings = model.settings()
    assert settings["format"] == "lmms-eval" and set(settings["matched_by"]) == {"question and options", "position"}
    assert sum(settings["matched_by"].values()) == len(perception_rows)


def test_without_the_row_its_id_is_in_what_the_task_keeps(tmp_path, ability_rows):
    parts = {"qbench_acc": {"id": "12", "question_type": 2, "answer": "B"}, "submission": {"12": "B"}}
    assert answer(tmp_path, sample(0, None, ["B"], **parts)).text == "B"
    row = ability_rows[3]
    doc = mmbench_doc(row) | {"prediction": "B"}
    response = answer(tmp_path, sample(3, None, ["B"], gpt_eval_score=doc, submission=doc), ask(row))
    assert (response.text, response.options) == ("B", tuple(row["options"]))
