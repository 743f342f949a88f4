"""`eyechart score` on files of other tools, from the file to the score."""

import random

import pytest

from eyechart.datasets_scripts import load_dataset, mini
from eyechart.evaluators.results.results_file import read_results
from tests.evaluators.backends.predictions.files import WRITERS, right_letter, vlmevalkit_row, write_jsonl, write_xlsx
from tests.evaluators.command_line import invoke


def score(path, *arguments, task="q_bench/perception"):
    """The one task's result, on the mini release."""
    out = path.parent / "out"
    invoke("score", task, "--mini", "--predictions", path, "--out", out, *arguments, code=0)
    (task,) = read_results(out).tasks
    return task


def rows_with(rows, predict):
    """VLMEvalKit's rows, the options of every other question in another order, in no order of index."""
    turned = [index % 2 for index in range(len(rows))]
    written = [
        vlmevalkit_row(row, index, predict(row, turn), turn) | {"index": index}
        for index, (row, turn) in enumerate(zip(rows, turned, strict=True))
    ]
    random.Random(0).shuffle(written)
    return written


@pytest.mark.parametrize("suffix", WRITERS)
def test_right_letters_in_every_layout_of_vlmevalkit(tmp_path, perception_rows, suffix):
    path = WRITERS[suffix](tmp_path / f"some-model_Q-Bench1_VAL{suffix}", rows_with(perception_rows, right_letter))
    task = score(path)
    assert (task.model, task.scores["accuracy"], task.scores["n"]) == ("some-model_Q-Bench1_VAL", 1.0, 180)
    assert task.left_out == []
    model = task.settings["model"]
    assert (model["format"], model["predictions"], model["predictions_unused"]) == ("vlmevalkit", 180, 0)
    assert sum(model["matched_by"].values()) == 180


def circular_rows(rows):
    """A row for each pass of the release, in its options."""
    return [
        vlmevalkit_row({**row, "options": turn["options"]}, turn["index"], turn["answer"])
        for row in rows
        for turn in row["passes"]
    ]


def test_circular_eval_of_every_rotation_in_a_sheet(tmp_path, ability_rows):
    rows = circular_rows(ability_rows)
    # One wrong pass makes one of sixty questions wrong.
    rows[-1]["prediction"] = "A" if rows[-1]["prediction"] != "A" else "B"
    task = score(write_xlsx(tmp_path / "model_MMBench_DEV_EN.xlsx", rows[::-1]), task="mmbench/en")
    assert (task.scores["n_questions"], task.scores["n_passes"]) == (60, len(rows))
    assert (task.scores["circular_accuracy"], task.scores["vanilla_accuracy"]) == (pytest.approx(59 / 60), 1.0)
    assert task.settings["model"]["matched_by"] == {"names": 60}


def test_passes_without_an_answer_are_missing_ones(tmp_path, ability_rows):
    rows = circular_rows(ability_rows)
    rows[0]["prediction"] = "Failed to obtain answer via API."
    del rows[-1]
    path = write_xlsx(tmp_path / "model_MMBench_DEV_EN.xlsx", rows)
    task = score(path, "--skip-bad", task="mmbench/en")
    assert (task.scores["n_questions"], task.scores["dropped"], task.scores["n_passes"]) == (58, 2, len(rows) - 1)


def test_scores_of_any_quality_measure(tmp_path):
    folder = mini.release("kadis700k")
    photographs = load_dataset("kadis700k", split="test", data_dir=folder, images="skip").to_list()
    path = tmp_path / "niqe.csv"
    path.write_text("image,score\n" + "".join(f"images/{row['id']},{-row['quality']}\n" for row in photographs))
    arguments = ("--dataset", "kadis700k")
    task = score(path, *arguments, "--lower-is-better", task="q_bench/assessment")
    assert (task.scores["n"], task.scores["srcc"]) == (len(photographs), pytest.approx(1.0))
    assert task.settings["model"]["lower_is_better"] is True
    task = score(path, *arguments, task="q_bench/assessment")
    assert (task.scores["srcc"], task.settings["model"]["lower_is_better"]) == (pytest.approx(-1.0), False)


def test_lower_is_better_is_about_scores(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", [{"id": "a", "text": "A"}])
    options = ("--mini", "--predictions", path, "--lower-is-better", "--out", tmp_path / "out")
    done = invoke("score", "q_bench/perception", *options, code=2)
    assert "lower_is_better=True needs scores" in done.output
