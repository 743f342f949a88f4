"""Reading answer files; that they give the scores of the run is in `answer_files/test_round_trip.py`."""

import json
from pathlib import Path

import pytest

from eyechart.evaluators.backends.predictions.formats import read_predictions
from tests.evaluators.backends.predictions.files import write_json, write_jsonl

ROW = {"question": "Is it?", "img_path": "10.jpg", "candidates": ["Yes", "No"], "response": "A"}


def test_a_row_of_q_bench_names_image_question_and_options(tmp_path: Path) -> None:
    found, (prediction,) = read_predictions(write_json(tmp_path / "a.json", [ROW]))
    assert (found.name, found.config) == ("q-bench-answers", None)
    assert prediction.names == ("10.jpg: Is it?", "10.jpg") and prediction.options == ("Yes", "No")
    assert (prediction.text, prediction.question, prediction.row) == ("A", "Is it?", 1)


def test_a_pair_is_named_by_its_images_and_a_description_by_its_own(tmp_path: Path) -> None:
    pair = {**ROW, "img_path": "llvisionqa_compare_test\\1.jpg_cat_2.png.jpg"}
    _, (found,) = read_predictions(write_jsonl(tmp_path / "a.jsonl", [pair]))
    assert found.names[1] == "llvisionqa_compare_test\\1.jpg_cat_2.png"
    _, (found,) = read_predictions(write_json(tmp_path / "b.json", [{"img_path": "1.jpg", "response": "Dark."}]))
    assert (found.names, found.text, found.options) == (("1.jpg",), "Dark.", None)


@pytest.mark.parametrize(
    ("part", "config"),
    [("AesP", "perception"), ("AesE", "empathy"), ("AesA1", "assessment"), ("AesI", "interpretation")],
)
def test_a_file_of_aesbench_tells_its_part(tmp_path: Path, part: str, config: str) -> None:
    entries = {"1.jpg": {f"{part}_response": "A\n"}, "春 2.png": {f"{part}_response": ""}}
    (tmp_path / "a.json").write_text(json.dumps(entries))
    found, predictions = read_predictions(tmp_path / "a.json")
    assert found.config == config
    assert [(one.names, one.text) for one in predictions] == [(("1.jpg",), "A\n"), (("春 2.png",), "")]
