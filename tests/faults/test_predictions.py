"""Predictions: files that are damaged, in no known format, or contradictory."""

import json

import pytest

from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.tasks import get_task
from tests.evaluators.command_line import invoke
from tests.faults.fault import fault, rows

NAMED = "the error names the file and what was expected"
OF_ROW = "the error names file, row and field"
HEAD = b"index\tprediction\n"
LOGITS = {"img_path": "a.png", "gt_score": "2.82 ", "logit_good": 1, "logit_poor": 2}
ANSWER = {"img_path": "1.jpg", "question": "Why?", "candidates": ["Yes", "No"], "correct_ans": "Yes", "response": "A"}
ROWS = [{"index": 1, "prediction": "A"}, {"index": 2, "answer": "B"}]
COLUMNS = {"index": {"0": 1}, "prediction": {"0": "A"}}
PARTS = {"1.jpg": {"AesP_response": "A"}, "2.jpg": {"AesE_response": "B"}}


def line(**fields):
    return json.dumps({"id": "q1", **fields})


def second(text):
    """A file whose second line is this one."""
    return f"{line(id='q0', text='A')}\n{text}\n"


BOTH = line(text="A", doc_id=0, filtered_resps="A")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        *rows(
            NAMED,
            ("a predictions file ends in .txt", "a.txt", "A", "unknown suffix '.txt'; expected .jsonl, "),
            ("a predictions file has no suffix", "a", "A", "unknown suffix ''"),
            ("a predictions file of JSON Lines is empty", "a.jsonl", "", "the predictions file is empty"),
            ("a predictions file contains an empty list", "a.json", [], "the predictions file is empty"),
            ("a predictions file contains a single string", "a.json", '"A"', "list of objects, found 'A'"),
            ("a predictions table has only a header", "a.tsv", HEAD, "the predictions file is empty"),
            ("a predictions table ends inside a quoted field", "a.tsv", HEAD + b'1\t"A\n', "not valid CSV"),
            ("a predictions table is encoded in UTF-16", "a.tsv", HEAD.decode().encode("utf-16"), "not UTF-8 text"),
            ("a predictions file is encoded in GBK", "a.json", '[{"p": "好"}]'.encode("gbk"), "not UTF-8 text"),
            ("a predictions CSV contains opinion scores", "a.csv", "image,mos\na.png,1\n", "unknown format"),
            ("a predictions workbook (.xlsx) is a TSV file", "a.xlsx", HEAD, "cannot be read as XLSX"),
            ("AesBench's file contains an image twice", "a.json", '{"1.jpg": {}, "1.jpg": {}}', "key '1.jpg' appears"),
        ),
        *rows(
            "the error lists the supported formats",
            ("a predictions file has no known format", "a.jsonl", '{"question": "?"}', "format; found: 'question'"),
            ("a predictions file's first row is empty", "a.jsonl", "{}", "unknown format; found: no columns"),
        ),
        *rows(
            "no format is assumed; the error names both",
            ("a predictions file matches two formats", "a.jsonl", BOTH, "(eyechart, lmms-eval)"),
        ),
        *rows(
            "neither is used; the error names both rows",
            ("an item has two predictions", "a.jsonl", second(line(id="q0", text="B")), "pass 'main' of row 1"),
        ),
        *rows(
            OF_ROW,
            ("a predictions file contains a list of numbers", "a.json", [3], "row 1: expected a JSON object"),
            ("a predictions file is column-oriented JSON", "a.json", COLUMNS, "row 1: expected text, found {'0': 1}"),
            ("a row of a predictions table is too short", "a.tsv", HEAD + b"1\n", "row 2: expected 2 fields"),
            ("a predictions table is encoded in Latin-1", "a.tsv", HEAD + b"1\t\xe9\n", "row 2: "),
            ("a line of predictions is not JSON", "a.jsonl", second("{id: 1}"), "row 2: not valid JSON"),
            ("a line of predictions nests 100,000 deep", "a.jsonl", second("[" * 100_000), "row 2: not valid JSON"),
            ("a prediction has no id", "a.jsonl", second(line(id=None, text="A")), "row 2: 'id' is None"),
            ("a prediction's id is true", "a.jsonl", second(line(id=True, text="A")), "row 2: 'id' is True"),
            ("a prediction's pass is a number", "a.jsonl", second(line(**{"pass": 1}, text="A")), "'pass' is 1"),
            ("a prediction has no answer", "a.jsonl", second(line()), "row 2: missing 'text', 'logits' or 'score'"),
            ("a prediction's text is a number", "a.jsonl", second(line(text=3)), "row 2: 'text' is 3"),
            ("a prediction has a lone surrogate", "a.jsonl", second(line(text="\ud83d")), "'text' is '\\ud8"),
            ("a prediction's logits are a list", "a.jsonl", second(line(logits=[1, 2])), "row 2: 'logits' is"),
            ("a prediction's logit is true", "a.jsonl", second(line(logits={"good": True})), "'logits' is True"),
            ("a logit has 400 digits", "a.jsonl", second(line(logits={"x": 10**400})), "'logits' is 1000"),
            ("a prediction's options are a single string", "a.jsonl", second(line(text="A", options="B")), "is 'B'"),
            ("a prediction's reasoning is a list", "a.jsonl", second(line(text="A", reasoning=["x"])), "is ['x']"),
            ("a released logit is a string", "a.json", [LOGITS | {"logit_poor": "high"}], "'logit_poor' must be"),
            ("released logits have no image", "a.json", [LOGITS | {"img_path": " "}], "'img_path' is empty"),
            ("released logits have a list of images", "a.json", [LOGITS | {"img_path": ["a"]}], "found ['a']"),
            ("Q-Bench's options are a string", "a.json", [ANSWER | {"candidates": "Yes"}], "is 'Yes'"),
            ("AesBench's image has two answers", "a.json", {"1": {"AesP_response": "A", "x": "B"}}, "2 values for an"),
            ("AesBench's image has no name", "a.json", {" ": {"AesP_response": "A"}}, "'image' is empty"),
            ("AesBench's answer is a list", "a.json", {"1.jpg": {"AesP_response": ["A"]}}, "expected text, found"),
            ("AesBench's file has answers to two parts", "a.json", PARTS, "row 2: missing 'AesP_response'"),
            ("a row of predictions lacks a column of other rows", "a.json", ROWS, "row 2: missing 'prediction'"),
            ("a quality score is nan", "a.csv", "image,score\na.png,nan\n", "row 2: field 'score' must be a number"),
            ("a quality score has no image", "a.csv", "image,score\n,1\n", "row 2: 'image' is empty"),
            ("a quality score has three fields", "a.csv", "image,score\na.png,1,2\n", "row 2: expected 2 fields"),
        ),
    ],
)
def test_files_that_cannot_be_read(name, content, reason, tmp_path):
    path = tmp_path / name
    text = content if isinstance(content, str | bytes) else json.dumps(content)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(BadAnnotationError) as caught:
        PredictionsFileBackend(path)
    assert str(path) in str(caught.value) and reason in str(caught.value)
    if "unknown format" in reason and name == "a.jsonl":
        assert "Expected columns of a .jsonl file: id, text or logits or score (eyechart); index or doc_id, " in str(
            caught.value
        )
        assert "prediction (vlmevalkit)" not in str(caught.value)


@fault("500 of 510 predictions match no item", "the first line of the output and the report say so")
def test_predictions_that_match_no_item(tmp_path):
    rows = load_data(get_task("q_bench/perception"), DataRequest(is_mini=True)).dataset.select(range(10))
    names = [*rows["id"], *(f"other-{number}" for number in range(500))]
    (tmp_path / "a.jsonl").write_text("".join(f"{line(id=name, text='A')}\n" for name in names))
    command = ["score", "q_bench/perception", "--mini", "--limit", "10", "--predictions", tmp_path / "a.jsonl"]
    done = invoke(*command, "--out", tmp_path / "run", code=0)
    words = "500 of 510 predictions in a.jsonl match no item of this run."
    assert done.stdout.startswith(f"q_bench/perception: {words}\n") and done.stdout.count(words) == 1
    assert words in (tmp_path / "run" / "report.html").read_text()


@fault("a predictions file is missing, or a folder", NAMED)
def test_no_file(tmp_path):
    for path, error in ((tmp_path, BadAnnotationError), (tmp_path / "a.xlsx", MissingFileError)):
        with pytest.raises(error, match="predictions file") as caught:
            PredictionsFileBackend(path)
        assert str(path) in str(caught.value)
