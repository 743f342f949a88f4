"""The formats of predictions files, written here as the tools do: which file is whose, and what its rows mean."""

import csv
import datetime
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.datasets_scripts import load_dataset, mini
from eyechart.datasets_scripts.common.choice.passes import STRIDE, rotate, rotated_letter
from eyechart.datasets_scripts.common.errors import BadAnnotationError, DataError
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.evaluators.backends.predictions.formats import read_predictions
from eyechart.evaluators.requests.errors import MissingPredictionError
from eyechart.evaluators.requests.types import Request

Rows = Sequence[Mapping[str, Any]]


@cache
def demo_rows(name: str, config: str | None = None) -> list[dict[str, Any]]:
    """The questions of demo data, without their images."""
    return load_dataset(name, config, split="dev", data_dir=mini.release(name), images="skip").to_list()


def write_jsonl(path: Path, rows: Rows) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return path


def write_json(path: Path, rows: Rows) -> Path:
    path.write_text(json.dumps(list(rows), indent=4, ensure_ascii=False), "utf-8")
    return path


def write_csv(path: Path, rows: Rows, **dialect: Any) -> Path:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), **dialect)
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_tsv(path: Path, rows: Rows) -> Path:
    """All fields in quotation marks, as VLMEvalKit has pandas do."""
    return write_csv(path, rows, delimiter="\t", quoting=csv.QUOTE_ALL, lineterminator="\n")


def write_xlsx(path: Path, rows: Rows) -> Path:
    book = openpyxl.Workbook()
    book.active.append(list(rows[0]))
    for row in rows:
        book.active.append([None if value == "" else value for value in row.values()])
    book.save(path)
    return path


SHEETS: dict[str, Callable[[Path, Rows], Path]] = {".xlsx": write_xlsx, ".tsv": write_tsv, ".json": write_json}


def ask(row: Mapping[str, Any], rotation: int = 0) -> Request:
    """What a multiple-choice task asks about a row."""
    options = rotate(row["options"], rotation)
    lines = "\n".join(f"{letter}. {option}" for letter, option in zip(ascii_uppercase, options, strict=False))
    prompt, name = f"Question: {row['question']}\nOptions:\n{lines}", f"rotation:{rotation}" if rotation else "main"
    return Request(row["id"], (prompt,), images=(), options=options, pass_name=name)


def vlmevalkit_row(row: Mapping[str, Any], index: int, prediction: Any, rotation: int = 0) -> dict[str, Any]:
    """A row of VLMEvalKit's, in its columns."""
    options = rotate(row["options"], rotation)
    shown = dict(zip(ascii_uppercase, options, strict=False))
    return {
        "index": index + rotation * STRIDE,
        **{"question": row["question"], "hint": row.get("hint", "")},
        **{letter: shown.get(letter, "") for letter in "ABCD"},
        **{"answer": "A", "category": "image style", "l2-category": "coarse perception", "split": "dev"},
        "prediction": prediction,
    }


def right_letter(row: Mapping[str, Any], rotation: int = 0) -> str:
    """The letter of the right option where the options are rotated."""
    return rotated_letter(row["answer"], rotation, len(row["options"]))


WRITERS = {**SHEETS, ".jsonl": write_jsonl, ".csv": write_csv}
VLMEVALKIT = {"index": 7, "question": "Why?", "A": "x", "B": "y", "prediction": "A"}
LMMS_EVAL = {"doc_id": 0, "doc": {"id": "7", "question": "Why?"}, "filtered_resps": "A"}
Q_BENCH = {"img_path": "dev-7", "gt_score": "2.82 ", "logit_good": 1, "logit_poor": 2}
FILES = [
    ("eyechart", "a.jsonl", {"id": "dev-7", "text": "A"}, "text"),
    # The suffix counts in any case.
    ("vlmevalkit", "A.XLSX", VLMEVALKIT, "prediction"),
    ("vlmevalkit", "a.tsv", VLMEVALKIT, "prediction"),
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
    # A line separator inside a text is no line break.
    text = '\ufeff{"id": 1, "text": "A\u2028"}\r\n\r\n{"id": 2, "text": "A"}\r\n'
    (tmp_path / "a.jsonl").write_bytes(text.encode())
    assert [prediction.text for prediction in read_predictions(tmp_path / "a.tsv")[1]] == ["A"]
    assert [prediction.row for prediction in read_predictions(tmp_path / "a.jsonl")[1]] == [1, 3]


QUESTION = {"id": "dev-12", "question": "How sharp is it?", "options": ("Sharp", "Blurry", "In between"), "answer": "B"}


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


def lmms_eval(folder, *lines):
    return PredictionsFileBackend(write_jsonl(folder / "20260801_120000_samples.jsonl", lines))


def answer_of(folder, line, request=None):
    (response,) = lmms_eval(folder, line).answer([request or ask(QUESTION)])
    return response


def test_an_answer_is_a_text_or_a_list_of_one_and_the_filtered_one_counts(tmp_path):
    doc = q_bench_doc(QUESTION, 12)
    for reply, raw, text in (("B", None, "B"), ([["B"]], [["<think>A?</think>C"]], "B"), (None, [["C"]], "C")):
        response = answer_of(tmp_path, sample(0, doc, reply, resps=raw))
        assert (response.text, response.options) == (text, QUESTION["options"])
    with pytest.raises(BadAnnotationError, match=r"row 1: 'filtered_resps' is .*; expected a single string"):
        lmms_eval(tmp_path, sample(0, doc, ["A", "B"]))


def test_q_bench_is_matched_whatever_its_ids_are(tmp_path):
    perception_rows = demo_rows("llvisionqa")
    lines = [sample(n, q_bench_doc(row, n + 1), [right_letter(row)]) for n, row in enumerate(perception_rows)]
    model = lmms_eval(tmp_path, *lines[::-1])
    responses = list(model.answer([ask(row) for row in perception_rows]))
    assert [response.text for response in responses] == [row["answer"] for row in perception_rows]
    settings = model.settings()
    assert settings["format"] == "lmms-eval" and set(settings["matched_by"]) == {"question and options", "position"}
    assert sum(settings["matched_by"].values()) == len(perception_rows)


def test_without_the_row_its_id_is_in_what_the_task_keeps(tmp_path):
    parts = {"qbench_acc": {"id": "12", "question_type": 2, "answer": "B"}, "submission": {"12": "B"}}
    assert answer_of(tmp_path, sample(0, None, ["B"], **parts)).text == "B"
    row = demo_rows("mmbench", "en")[3]
    doc = mmbench_doc(row) | {"prediction": "B"}
    response = answer_of(tmp_path, sample(3, None, ["B"], gpt_eval_score=doc, submission=doc), ask(row))
    assert (response.text, response.options) == ("B", tuple(row["options"]))


ROW = {**QUESTION, "id": "dev-7"}


def answer(path, *requests):
    return list(PredictionsFileBackend(path).answer(requests or [ask(ROW)]))


@pytest.fixture(params=SHEETS)
def write(request, tmp_path):
    return lambda rows: SHEETS[request.param](tmp_path / f"model_MMBench_DEV_EN{request.param}", rows)


def test_a_rotation_that_is_not_there_can_be_told_from_a_malformed_one(write):
    path = write([row | {"g_index": 7} for row in (vlmevalkit_row(ROW, 7, "B"), vlmevalkit_row(ROW, 7, "C", 2))])
    main, first, second = answer(path, ask(ROW), ask(ROW, 1), ask(ROW, 2))
    assert (main.text, second.text) == ("B", "C")
    assert isinstance(first.error, MissingPredictionError)
    assert "no prediction for id 'dev-7', pass 'rotation:1'; passes in the file: main, rotation:2" in str(first.error)


def test_texts_are_kept_as_they_are(write):
    texts = ["", "None", "nan", "N/A", "NULL", '{"answer": "B"}', "选B", "B\ttab", '"B"\nB', "so it is " * 3_300 + "B"]
    asked = [ask({**ROW, "id": f"dev-{number}"}) for number in range(len(texts))]
    path = write([vlmevalkit_row(ROW, number, text) for number, text in enumerate(texts)])
    assert [response.text for response in answer(path, *asked)] == texts


def test_a_tsv_has_no_limit_and_an_xlsx_counts_what_reaches_its_own(tmp_path):
    text = "thinking " * 50_000 + "B"
    assert answer(write_tsv(tmp_path / "a.tsv", [vlmevalkit_row(ROW, 7, text)]))[0].text == text
    path = write_xlsx(tmp_path / "a.xlsx", [vlmevalkit_row(ROW, 7, text), vlmevalkit_row(ROW, 8, "B")])
    backend = PredictionsFileBackend(path)
    (response,) = backend.answer([ask(ROW)])
    assert (len(response.text), backend.settings()["cut_at_cell_limit"]) == (32_767, 1)
    assert "cut_at_cell_limit" not in PredictionsFileBackend(tmp_path / "a.tsv").settings()


def test_control_characters_in_a_sheet_are_read_as_excel_writes_them(tmp_path):
    path = write_xlsx(tmp_path / "a.xlsx", [vlmevalkit_row(ROW, 7, "B_x000D_\nsure_x001B_ _x005F_x000D_")])
    assert answer(path)[0].text == "B\r\nsure\x1b _x000D_"


def test_empty_cells_and_absent_columns_are_no_options(tmp_path):
    row = vlmevalkit_row(ROW, 7, float("nan")) | {"D": float("nan"), "hint": float("nan")}
    (response,) = answer(write_json(tmp_path / "a.json", [row]))
    assert (response.text, response.options) == ("", ROW["options"])
    (response,) = answer(write_tsv(tmp_path / "a.tsv", [{"index": 7, "prediction": "B"}]))
    assert (response.text, response.options) == ("B", None)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"A": "Sharp", "B": "Soft", "C": "Dark"}, "options ['Sharp', 'Soft', 'Dark'] differ from the question's"),
        ({"B": ""}, "options ['Sharp', '', 'In between'] differ from the question's"),
        ({"question": "How dark is it?"}, "'7' has a different question from item 'dev-7': 'How dark is it?'"),
    ],
)
def test_a_row_about_something_else_is_an_error_of_its_item(tmp_path, changes, reason):
    rows = [vlmevalkit_row(ROW, 7, "B") | changes, vlmevalkit_row(ROW, 8, "B")]
    response, other = answer(write_tsv(tmp_path / "a.tsv", rows), ask(ROW), ask({**ROW, "id": "dev-8"}))
    assert type(response.error) is DataError and f"a.tsv, row 2: {reason}" in str(response.error)
    assert other.text == "B"


@pytest.mark.parametrize("index", ["seven", -1, 7.5, 7, 2_000_008])
def test_a_malformed_row_is_named(write, index):
    group = {"index": index, "g_index": 1_000_007}
    rows = [vlmevalkit_row(ROW, 6, "B") | {"g_index": 6}, vlmevalkit_row(ROW, 7, "B") | group]
    reason = "'index' is .*; expected a whole number|index (7|2000008) is not a pass .* g_index 1000007"
    with pytest.raises(BadAnnotationError, match=rf"row [23]: ({reason})"):
        PredictionsFileBackend(write(rows))


def test_options_that_are_the_same_number_stay_apart(write):
    row = {"id": "dev-3", "question": "Which?", "options": ("1", "1.0", "2"), "answer": "A"}
    (response,) = answer(write([vlmevalkit_row({**row, "options": ("2.0", "1", "1.0")}, 3, "B")]), ask(row))
    assert response.options == ("2", "1", "1.0")


@pytest.mark.parametrize("options", [("Itself", "N/A"), ("None", "Red", "Blue")])
@pytest.mark.parametrize("rotation", [0, 1])
def test_an_option_that_pandas_takes_for_an_empty_cell(write, options, rotation):
    row = {"id": "dev-3", "question": "Which?", "options": options, "answer": "A"}
    shown = vlmevalkit_row(row, 3, "B", rotation)
    shown |= {letter: "" for letter in "ABCD" if shown[letter] in ("N/A", "None", "NA")}
    (response,) = answer(write([shown]), ask(row, rotation))
    assert response.options == ask(row, rotation).options


def test_an_answer_that_became_a_date_or_was_never_given_is_an_error_of_its_item(tmp_path):
    replies = [datetime.datetime(2026, 3, 4), "Failed to obtain answer via API.", "B"]
    path = write_xlsx(tmp_path / "a.xlsx", [vlmevalkit_row(ROW, index, reply) for index, reply in enumerate(replies)])
    date, failed, text = answer(path, *(ask({**ROW, "id": f"dev-{index}"}) for index in range(3)))
    assert "row 2: no reply: 'prediction': expected text, found the date or time 2026-03-04" in str(date.error)
    assert "row 3: no reply" in str(failed.error) and text.text == "B"


def test_formulas_are_answers_that_begin_with_an_equals_sign(tmp_path):
    path = write_xlsx(tmp_path / "a.xlsx", [vlmevalkit_row(ROW, 7, "=B. Blurry")])
    assert openpyxl.load_workbook(path).active["L2"].data_type == "f"
    assert answer(path)[0].text == "=B. Blurry"


def test_reasoning_that_was_split_off_is_no_part_of_the_answer(write):
    rows = [vlmevalkit_row(ROW, 7, "B") | {"thinking": "It may be A."}, vlmevalkit_row(ROW, 8, "B") | {"thinking": ""}]
    backend = PredictionsFileBackend(write(rows))
    (response,) = backend.answer([ask(ROW)])
    assert response.text == "B"
    assert backend.settings()["with_thinking"] == 1
