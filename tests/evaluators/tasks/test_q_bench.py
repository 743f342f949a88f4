"""The perception and description tasks of Q-Bench on mini data: by models, servers, judges and files."""

import json

import pytest

from eyechart.datasets_scripts import load_dataset, mini
from tests.evaluators.tasks.doors import ran, rows_of


def test_the_tiny_model_perceives(tmp_path):
    (result,), output = ran(tmp_path, "q_bench/perception", "--limit", 36)
    scores = result.scores
    assert scores["accuracy"] > scores["random_guess"] + 0.2
    assert set(scores["by_question_type"]) == {"yes-or-no", "what", "how"} and len(scores["by_concern"]) == 4
    assert len(scores["by_question_type_by_concern"]) == 12
    assert sum(part["n"] for part in scores["by_question_type_by_concern"].values()) == scores["n"] == 36
    assert scores["yes_no"]["n_yes"] + scores["yes_no"]["n_no"] == 12
    assert result.diagnostics["prompt_failure"]["by_question_type"]["how"]["n"] == 12
    assert "balanced yes/no accuracy" in output and "  in-context other " in output
    assert "what, in-context other" not in output


def test_closed_set_inference_and_the_answer_mark_run_from_the_command_line(tmp_path):
    (closed,), _ = ran(tmp_path, "q_bench/perception", "--limit", 24, "--set", "inference=closed-set")
    assert closed.scores["accuracy"] > closed.scores["random_guess"] + 0.2
    line = rows_of(tmp_path)[0]
    assert line["text"] is None and len(line["losses"]) == len(line["loss_tokens"]) == len(line["options"])
    means = [loss / tokens for loss, tokens in zip(line["losses"], line["loss_tokens"], strict=True)]
    assert "ABCD".index(line["choice"]) == means.index(min(means))
    (marked,), _ = ran(tmp_path / "marked", "q_bench/perception", "--limit", 24, "--set", "prompt=answer-mark")
    assert marked.settings["prompt_id"] == "q_bench_a1/2/answer-mark"
    assert marked.scores["accuracy"] > marked.scores["random_guess"] + 0.2


def test_the_tiny_model_describes(tmp_path):
    (result,), output = ran(tmp_path, "q_bench/description", "--limit", 20)
    assert result.scores["n"] == 18 and len(result.left_out) == 2
    assert 2 < result.scores["sum"] <= 6
    assert result.scores["judge"] == "lexical" and result.settings["judge"] == {"name": "lexical"}
    assert "Scored by word overlap" in output and "completeness" in output
    rows = rows_of(tmp_path)
    assert len(rows) == 20 and [row["id"] for row in rows if row["label"] is None] == ["mini_0009.png", "mini_0019.png"]


@pytest.mark.parametrize("inference", ["options", "closed-set"])
def test_the_test_split_gives_an_answer_file_with_letters_of_the_releases_order(tmp_path, inference):
    options = ("--split", "test", "--limit", 12, "--set", "shuffle_seed=3", "--set", f"inference={inference}")
    (result,), output = ran(tmp_path, "q_bench/perception", *options)
    assert result.scores is None and "private" in " ".join(result.caveats) and "private" in output
    assert result.diagnostics and result.variants == {}
    path = tmp_path / "q_bench" / "perception" / "llvisionqa" / "llvisionqa_responses.json"
    lines = rows_of(tmp_path)
    released = load_dataset("llvisionqa", split="test", data_dir=mini.release("llvisionqa"), images="skip")
    rows = json.loads(path.read_text(encoding="utf-8"))
    assert len(rows) == len(lines) == 12
    for row, line, question in zip(rows, lines, released, strict=False):
        chosen = line["options"]["ABCD".index(line["choice"])]
        assert row["candidates"] == question["options"]
        if inference == "closed-set" or line["options"] != question["options"]:
            assert row["response"] == f"{'ABCD'[question['options'].index(chosen)]}. {chosen}"
        else:
            assert row["response"] == line["text"]


def test_descriptions_without_any_golden_text_give_an_answer_file(tmp_path):
    folder = tmp_path / "images"
    folder.mkdir()
    names = ["mini_0000.png", "mini_0001.png"]
    for name in names:
        (folder / name).write_bytes((mini.release("lldescribe") / "images_lldescribe" / name).read_bytes())
    (result,), _ = ran(tmp_path / "out", "q_bench/description", "--data-dir", folder)
    assert result.scores is None and "private" in " ".join(result.caveats)
    path = tmp_path / "out" / "q_bench" / "description" / "lldescribe" / "lldescribe_responses.json"
    rows = json.loads(path.read_text(encoding="utf-8"))
    assert rows == [{"img_path": line["id"], "response": line["text"]} for line in rows_of(tmp_path / "out")]
    assert [row["img_path"] for row in rows] == names
