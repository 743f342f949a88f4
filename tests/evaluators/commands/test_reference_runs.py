"""The command line on real data."""

import json
import math

import pytest

from eyechart.datasets_scripts import load_dataset
from eyechart.evaluators.results.results_file import read_results
from tests.evaluators.command_line import invoke


def test_a_hundred_real_images_are_scored(reference, tmp_path):
    folder = reference / "kadis700k"
    done = invoke(
        "run", "q_bench/assessment", "--dataset", "kadis700k", "--data-dir", folder, "--out", tmp_path, code=0
    )
    assert "SRCC" in done.output and "PLCC" in done.output and "mini" not in done.output
    (task,) = read_results(tmp_path).tasks
    scores = task.scores
    assert scores["n"] == 100
    for name in ("srcc", "plcc"):
        low, high = scores[f"{name}_ci95"]
        assert -1 <= low <= scores[name] <= high <= 1
        assert math.isfinite(scores[name])
    # 512 x 384 images are reduced to the model's 64 pixels: the result has to say so.
    assert task.settings["model"]["downscaled_share"] == 1.0
    data = {"source": str(folder), "config": None, "options": {}, "rows": 100, "is_mini": False}
    assert task.settings["data"] == data


@pytest.mark.parametrize("letter", ["A", "B"])
def test_the_random_guess_row_is_that_of_table_7(reference, tmp_path, letter):
    """Q-Bench, Table 7, in percent; the paper truncates. Answers made elsewhere need no images."""
    folder = reference / "llvisionqa"
    rows = load_dataset("llvisionqa", split="dev", data_dir=folder, images="skip")
    answers = tmp_path / "answers.jsonl"
    answers.write_text("".join(json.dumps({"id": row["id"], "text": letter}) + "\n" for row in rows))
    options = ("--predictions", answers, "--data-dir", folder, "--out", tmp_path / "out")
    invoke("score", "q_bench/perception", *options, code=0)
    scores = read_results(tmp_path / "out").tasks[0].scores
    assert scores["n"] == 1495
    expected = {"yes-or-no": 50.00, "what": 27.86, "how": 33.31}
    expected |= {"distortion": 37.89, "other": 38.48, "in-context distortion": 38.28, "in-context other": 35.82}
    found = {**scores["by_question_type"], **scores["by_concern"]}
    assert 100 * scores["random_guess"] == pytest.approx(37.80, abs=0.02)
    for group, percent in expected.items():
        assert 100 * found[group]["random_guess"] == pytest.approx(percent, abs=0.02), group
    share = sum(row["answer"] == letter for row in rows) / len(rows)
    assert scores["accuracy"] == pytest.approx(share)
