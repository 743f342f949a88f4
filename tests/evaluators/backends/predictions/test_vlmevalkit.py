"""VLMEvalKit's files, written in its columns."""

import datetime

import openpyxl
import pytest

from eyechart.datasets_scripts.common.errors import BadAnnotationError, DataError
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.evaluators.requests.errors import MissingPredictionError
from tests.evaluators.backends.predictions.files import WRITERS, ask, vlmevalkit_row, write_json, write_tsv, write_xlsx

ROW = {"id": "dev-7", "question": "How sharp is it?", "options": ("Sharp", "Blurry", "In between"), "answer": "B"}


def answer(path, *requests):
    return list(PredictionsFileBackend(path).answer(requests or [ask(ROW)]))


@pytest.fixture(params=WRITERS)
def write(request, tmp_path):
    return lambda rows: WRITERS[request.param](tmp_path / f"model_MMBench_DEV_EN{request.param}", rows)


def test_options_in_another_order_are_those_that_the_letter_stands_for(write):
    shown = {**ROW, "options": ("In between", "Sharp", "Blurry")}
    (response,) = answer(write([vlmevalkit_row(shown, 7, "C")]))
    assert (response.text, response.options) == ("C", shown["options"])


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


@pytest.mark.parametrize(("cell", "text"), [(3, "3"), (3.0, "3"), (0.5, "0.5"), (True, "True"), (2**53, str(2**53))])
def test_cells_of_numbers_are_their_text(tmp_path, cell, text):
    row = {**ROW, "options": ("1", "2", "10")}
    shown = vlmevalkit_row(row, 7, cell) | {"A": 1.0, "B": 2.0, "C": 10.0}
    (response,) = answer(write_xlsx(tmp_path / "a.xlsx", [shown]), ask(row))
    assert (response.text, response.options) == (text, row["options"])


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


@pytest.mark.parametrize("index", ["seven", -1, 7.5, "", 7, 2_000_008])
def test_a_malformed_row_is_named(write, index):
    group = {"index": index, "g_index": 1_000_007}
    rows = [vlmevalkit_row(ROW, 6, "B") | {"g_index": 6}, vlmevalkit_row(ROW, 7, "B") | group]
    reason = "'index' is .*; expected a whole number|index (7|2000008) is not a pass .* g_index 1000007"
    with pytest.raises(BadAnnotationError, match=rf"row [23]: ({reason})"):
        PredictionsFileBackend(write(rows))


@pytest.mark.parametrize("shown", [("2", "1.0", "1"), ("2.0", "1", "1.0")])
def test_options_that_are_the_same_number_stay_apart(write, shown):
    row = {"id": "dev-3", "question": "Which?", "options": ("1", "1.0", "2"), "answer": "A"}
    (response,) = answer(write([vlmevalkit_row({**row, "options": shown}, 3, "B")]), ask(row))
    assert response.options == ("2", *shown[1:])


@pytest.mark.parametrize("options", [("Itself", "N/A"), ("None", "Red", "Blue"), ("Red", "NA", "Blue")])
@pytest.mark.parametrize("rotation", [0, 1])
def test_an_option_that_pandas_takes_for_an_empty_cell(write, options, rotation):
    row = {"id": "dev-3", "question": "Which?", "options": options, "answer": "A"}
    shown = vlmevalkit_row(row, 3, "B", rotation)
    shown |= {letter: "" for letter in "ABCD" if shown[letter] in ("N/A", "None", "NA")}
    (response,) = answer(write([shown]), ask(row, rotation))
    assert response.options == ask(row, rotation).options


def test_an_answer_that_became_a_date_is_an_error_of_its_item(tmp_path):
    rows = [vlmevalkit_row(ROW, 7, datetime.datetime(2026, 3, 4)), vlmevalkit_row({**ROW, "id": "dev-8"}, 8, "B")]
    date, text = answer(write_xlsx(tmp_path / "a.xlsx", rows), ask(ROW), ask({**ROW, "id": "dev-8"}))
    assert "row 2: no reply: 'prediction': expected text, found the date or time 2026-03-04" in str(date.error)
    assert text.text == "B"


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
