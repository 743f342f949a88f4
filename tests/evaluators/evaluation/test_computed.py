"""What `compute` returns and shows."""

import pickle
import sys

import datasets
import pytest
from PIL import Image

from eyechart.datasets_scripts.common.errors import DataError, MiniDataWarning
from eyechart.evaluators import evaluator
from eyechart.evaluators.evaluation.computed import ComputedScores, progress_bar
from eyechart.metrics.scoring.errors import LeftOutWarning


def always_b(messages):
    return "B"


@pytest.fixture(scope="module")
def computed():
    with pytest.warns(MiniDataWarning):
        return evaluator("q_bench/perception").compute(always_b, "mini", limit=20)


def test_a_limit_is_kept_and_in_the_result(computed):
    assert computed["n"] == 20 and computed["limit"] == 20


def test_the_result_is_a_dict_that_shows_a_small_table(computed):
    assert isinstance(computed, dict) and dict(computed)["accuracy"] == computed["accuracy"]
    title, head, first, *_ = repr(computed).splitlines()
    assert title == "q_bench/perception on llvisionqa (dev, synthetic)"
    assert head.split("  ")[0] == "score" and first.startswith("accuracy ") and first.endswith("  20")
    assert f"{100 * computed['accuracy']:.2f} %" in first
    assert max(map(len, repr(computed).splitlines())) <= 80


def test_what_no_table_knows_is_shown_as_a_dict():
    assert repr(ComputedScores({"a": 1}, "title")) == "{'a': 1}"


def test_a_copy_shows_the_same(computed):
    assert repr(pickle.loads(pickle.dumps(computed))) == repr(computed)


def test_bad_items_can_be_left_out():
    columns = datasets.Features(
        {
            "id": datasets.Value("string"),
            "images": datasets.Sequence(datasets.Image()),
            "question": datasets.Value("string"),
            "options": datasets.Sequence(datasets.Value("string")),
            "answer": datasets.Value("string"),
        }
    )
    whole = {"id": "1", "images": [Image.new("RGB", (8, 8))], "question": "?", "options": ["Cat", "Dog"], "answer": "B"}
    data = datasets.Dataset.from_list([whole, {**whole, "id": "2", "images": []}], features=columns)
    with pytest.raises(DataError, match="'2'"):
        evaluator("q_bench/perception").compute(always_b, data)
    with pytest.warns(LeftOutWarning, match="1 row is left out; the first: '2'"):
        found = evaluator("q_bench/perception").compute(always_b, data, skip_bad=True)
    assert found["n"] == 1


def test_progress_is_shown_where_somebody_looks(monkeypatch, capsys):
    # A run without a terminal, as in other tests, turns all bars off.
    datasets.enable_progress_bars()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("eyechart.evaluators.evaluation.computed._DELAY", 0)
    with progress_bar("own") as show:
        show(1, 4)
        show(4, 8)
    shown = capsys.readouterr().err
    assert "own" in shown and "4/8" in shown


def test_a_log_file_gets_no_progress(capsys):
    with progress_bar("own") as show:
        show(8, 8)
    assert capsys.readouterr().err == ""
