"""Predictions: files that are damaged, in no known format, or contradictory."""

import json

import pytest

from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.evaluators.backends.predictions.formats import read_predictions
from tests.faults.fault import fault, row

NAMED = "the error names the file and what was expected"
OF_ROW = "the error names file, row and field"
HEAD = b"index\tprediction\n"


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        row("a predictions file ends in .txt", NAMED, "a.txt", b"A", r"unknown suffix '\.txt'; expected \.jsonl, "),
        row("a predictions file has no suffix", NAMED, "a", b"A", "unknown suffix ''"),
        row("a predictions file of JSON Lines is empty", NAMED, "a.jsonl", b"", "the predictions file is empty"),
        row("a predictions file contains an empty list", NAMED, "a.json", b"[]", "the predictions file is empty"),
        row("a predictions file contains a single string", NAMED, "a.json", b'"A"', "list of objects, found a string"),
        row("a predictions file contains a list of numbers", OF_ROW, "a.json", b"[3]", "row 1: expected a JSON object"),
        row(
            "a predictions file is column-oriented JSON, pandas' default",
            OF_ROW,
            "a.json",
            b'{"index": {"0": 1}, "prediction": {"0": "A"}}',
            "row 1: expected text, found {'0': 1}",
        ),
        row("a predictions table has only a header", NAMED, "a.tsv", HEAD, "the predictions file is empty"),
        row("a row of a predictions table is too short", OF_ROW, "a.tsv", HEAD + b"1\n", r"row 2: expected 2 fields"),
        row(
            "a predictions table ends inside a quoted field", NAMED, "a.tsv", HEAD + b'1\t"A\n', "inside a quoted field"
        ),
        row("a predictions table is encoded in Latin-1", OF_ROW, "a.tsv", HEAD + b"1\t\xe9\n", "row 2: .*not UTF-8"),
        row(
            "a predictions table is encoded in UTF-16",
            NAMED,
            "a.tsv",
            HEAD.decode().encode("utf-16"),
            "row 1: not UTF-8 text",
        ),
        row(
            "a predictions file is encoded in GBK",
            NAMED,
            "a.json",
            '[{"index": 1, "p": "好"}]'.encode("gbk"),
            "not UTF-8 text",
        ),
        row("a predictions CSV contains opinion scores", NAMED, "a.csv", b"image,mos\na.png,1\n", "unknown format"),
        row("a predictions workbook (.xlsx) is a TSV file", NAMED, "a.xlsx", HEAD, "cannot be read as XLSX"),
    ],
)
def test_files_that_cannot_be_read_are_named(name, content, reason, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(BadAnnotationError, match=reason) as caught:
        read_predictions(path)
    assert str(path) in str(caught.value)


@fault("a predictions file is a folder", NAMED)
def test_a_folder(tmp_path):
    with pytest.raises(BadAnnotationError, match="a folder; expected a predictions file"):
        read_predictions(tmp_path)


@fault("a predictions file is missing", NAMED)
def test_a_missing_file(tmp_path):
    with pytest.raises(MissingFileError, match="the predictions file does not exist"):
        read_predictions(tmp_path / "a.xlsx")


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        row(
            "a predictions file has no known format",
            "the error lists the supported formats",
            {"question": "Why?", "answer": "A"},
            "unknown format; found: 'question', 'answer'",
        ),
        row(
            "a predictions file's first row is empty",
            "the error lists the supported formats",
            {},
            "unknown format; found: no columns",
        ),
        row(
            "a predictions file matches two formats",
            "no format is assumed; the error names both",
            {"id": "q1", "text": "A", "doc_id": 0, "filtered_resps": "A"},
            "several formats fit (eyechart, lmms-eval)",
        ),
    ],
)
def test_an_unknown_form_says_which_ones_there_are(found, reason, tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps(found))
    with pytest.raises(BadAnnotationError) as caught:
        read_predictions(tmp_path / "a.jsonl")
    assert reason in str(caught.value)
    assert "Expected columns of a .jsonl file: id, text or logits or score (eyechart); doc_id, " in str(caught.value)
    assert "prediction (vlmevalkit)" not in str(caught.value)


def line(**fields):
    return json.dumps({"id": "q1", **fields})


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        row("a line of predictions is not JSON", OF_ROW, "{id: 1}", "not valid JSON"),
        row("a line of predictions nests 100,000 deep", OF_ROW, "[" * 100_000, "not valid JSON"),
        row("a prediction has no id", OF_ROW, line(id=None, text="A"), "'id' is None"),
        row("a prediction's id is true", OF_ROW, line(id=True, text="A"), "'id' is True"),
        row("a prediction's pass is a number", OF_ROW, line(**{"pass": 1}, text="A"), "'pass' is 1"),
        row("a prediction has no answer", OF_ROW, line(), "missing 'text', 'logits' or 'score'"),
        row("a prediction's text is a number", OF_ROW, line(text=3), "'text' is 3"),
        row("a prediction's text contains a lone surrogate", OF_ROW, line(text="\ud83d"), "'text' is '\\ud83d'"),
        row("a prediction's logits are a list", OF_ROW, line(logits=[1, 2]), "'logits' is"),
        row("a prediction's logit is true", OF_ROW, line(logits={"good": True}), "'logits' is True"),
        row(
            "a prediction's logit is an integer of 400 digits",
            OF_ROW,
            line(logits={"good": 10**400}),
            "'logits' is 1000",
        ),
        row(
            "a prediction's options are a single string", OF_ROW, line(text="A", options="Good"), "'options' is 'Good'"
        ),
        row("a prediction's reasoning is a list", OF_ROW, line(text="A", reasoning=["x"]), "'reasoning' is ['x']"),
        row(
            "two predictions of one item differ",
            "neither is used; the error names both rows",
            line(id="q0", text="B"),
            "repeats id 'q0', pass 'main' of row 1",
        ),
    ],
)
def test_a_malformed_line_is_named(second, reason, tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text(f"{line(id='q0', text='A')}\n{second}\n")
    with pytest.raises(BadAnnotationError) as caught:
        PredictionsFileBackend(path)
    assert f"answers.jsonl, row 2: {reason}" in str(caught.value)


LOGITS = {"img_path": "a.png", "gt_score": "2.82 ", "logit_good": 1, "logit_poor": 2}
ANSWER = {"img_path": "1.jpg", "question": "Why?", "candidates": ["Yes", "No"], "correct_ans": "Yes", "response": "A"}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        row("a released logit is a string", OF_ROW, [LOGITS | {"logit_poor": "high"}], "'logit_poor' is 'high'"),
        row("released logits have no image", OF_ROW, [LOGITS | {"img_path": " "}], "'img_path' is empty"),
        row("released logits have a list of images", OF_ROW, [LOGITS | {"img_path": ["a"]}], r"found \['a'\]"),
        row("Q-Bench's options are a single string", OF_ROW, [ANSWER | {"candidates": "Yes"}], "'candidates' is 'Yes'"),
        row(
            "AesBench's image has two answers", OF_ROW, {"1": {"AesP_response": "A", "x": "B"}}, "2 values for an image"
        ),
        row("AesBench's image has no name", OF_ROW, {" ": {"AesP_response": "A"}}, "'image' is empty"),
        row("AesBench's answer is a list", OF_ROW, {"1.jpg": {"AesP_response": ["A"]}}, "expected text, found"),
        row(
            "a row of predictions lacks a column that other rows have",
            OF_ROW,
            [{"index": 1, "prediction": "A"}, {"index": 2, "answer": "B"}],
            "row 2: missing 'prediction', which earlier rows have",
        ),
        row(
            "AesBench's file contains answers to two parts",
            OF_ROW,
            {"1.jpg": {"AesP_response": "A"}, "2.jpg": {"AesE_response": "B"}},
            "row 2: missing 'AesP_response'",
        ),
    ],
)
def test_malformed_rows_of_tools_are_named(content, reason, tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(content))
    with pytest.raises(BadAnnotationError, match=rf"a\.json, row [12]: .*{reason.removeprefix('row 2: ')}"):
        PredictionsFileBackend(path)


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        row("a quality score is nan", OF_ROW, "a.png,nan", "'score' is 'nan'; expected a finite number"),
        row("a quality score has no image", OF_ROW, ",1", "'image' is empty"),
        row(
            "a row of quality scores has three fields",
            OF_ROW,
            "a.png,1,2",
            r"expected 2 fields, as in the header; found 3",
        ),
    ],
)
def test_a_malformed_quality_score_is_named(second, reason, tmp_path):
    path = tmp_path / "niqe.csv"
    path.write_text(f"image,score\nb.png,1\n{second}\n")
    with pytest.raises(BadAnnotationError, match=rf"niqe\.csv, row 3: {reason}"):
        PredictionsFileBackend(path)


@fault("AesBench's file contains an image twice", "the file is refused; the error names the image")
def test_an_image_that_is_there_twice_is_refused(tmp_path):
    (tmp_path / "a.json").write_text('{"1.jpg": {"AesP_response": "A"}, "1.jpg": {"AesP_response": "B"}}')
    with pytest.raises(BadAnnotationError, match=r"the key '1\.jpg' appears twice in one object"):
        read_predictions(tmp_path / "a.json")
