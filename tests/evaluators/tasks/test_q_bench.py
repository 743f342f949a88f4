"""The perception and description tasks of Q-Bench on mini data and on real annotations."""

import json
import re

import datasets
import pyarrow.parquet
import pytest

from eyechart.datasets_scripts import load_dataset, mini
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.endpoint.backend import OpenAIBackend
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.evaluators.evaluation.data import DataRequest, LoadedData, load_data
from eyechart.evaluators.judging import EndpointJudge, JudgeOptions
from eyechart.evaluators.results.results_file import read_results
from eyechart.evaluators.tasks import get_task
from tests.evaluators.command_line import invoke
from tests.evaluators.scripted_server import Script, always


def run(out, *arguments):
    """Run tasks on the tiny model; gives their results and what was printed."""
    done = invoke("run", *arguments, "--no-store", "--out", out, code=0)
    return read_results(out).tasks, done.output


def test_the_tiny_model_perceives(tmp_path):
    (result,), output = run(tmp_path, "q_bench/perception", "--limit", 36)
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
    (closed,), _ = run(
        tmp_path, "q_bench/perception", "--limit", 24, "--set", "inference=closed-set", "--set", "loss=sum"
    )
    assert closed.scores["accuracy"] > closed.scores["random_guess"] + 0.2
    assert set(closed.variants["loss=mean"]) == set(closed.scores)
    line = pyarrow.parquet.read_table(tmp_path / "predictions.parquet").to_pylist()[0]
    assert line["text"] is None and len(line["losses"]) == len(line["loss_tokens"]) == len(line["options"])
    assert "ABCD".index(line["choice"]) == line["losses"].index(min(line["losses"]))
    (marked,), _ = run(tmp_path / "marked", "q_bench/perception", "--limit", 24, "--set", "prompt=answer-mark")
    assert marked.settings["prompt_id"] == "q_bench_a1/2/answer-mark"
    assert marked.scores["accuracy"] > marked.scores["random_guess"] + 0.2


def test_the_tiny_model_answers_about_pairs(tmp_path):
    (result,), _ = run(tmp_path, "q_bench/perception_pairs", "--limit", 96)
    assert result.dataset == "llvisionqa_pairs" and result.scores["n"] == 96
    assert result.scores["accuracy_ci95"][0] > result.scores["random_guess"]
    assert (
        set(result.scores["by_question_type"]) == {"yes-or-no", "what", "how"} and len(result.scores["by_concern"]) == 4
    )


def test_the_tiny_model_describes(tmp_path):
    (result,), output = run(tmp_path, "q_bench/description", "--limit", 20)
    assert result.scores["n"] == 18 and len(result.left_out) == 2
    assert 2 < result.scores["sum"] <= 6
    assert result.scores["judge"] == "lexical" and result.settings["judge"] == {"name": "lexical"}
    assert "Scored by word overlap" in output and "completeness" in output
    rows = pyarrow.parquet.read_table(tmp_path / "predictions.parquet").to_pylist()
    assert len(rows) == 20 and [row["id"] for row in rows if row["label"] is None] == ["mini_0009.png", "mini_0019.png"]


def test_a_server_is_asked_for_texts(httpserver):
    script = Script(httpserver)
    script.say(always("B. It is dark."))
    backend = OpenAIBackend("m", EndpointOptions(base_url=httpserver.url_for("/v1"), concurrency=1, max_retries=0))
    for name, images, tokens in (
        ("q_bench/perception", 1, 32),
        ("q_bench/perception_pairs", 2, 32),
        ("q_bench/description", 1, 512),
    ):
        found = evaluator(name).run(backend, load_data(get_task(name), DataRequest(is_mini=True, limit=2)))
        assert found.scores["n"] == 2
        content = script.bodies[-1]["messages"][0]["content"]
        assert [part["type"] for part in content].count("image_url") == images
        assert tokens in (script.bodies[-1].get("max_tokens"), script.bodies[-1].get("max_completion_tokens"))


def test_a_judge_on_a_server_is_asked_for_five_replies_at_once(httpserver):
    script = Script(httpserver)
    script.say(always("Score: 1"))
    judge = EndpointJudge(JudgeOptions("judge", EndpointOptions(httpserver.url_for("/v1"), max_retries=0)))
    # A vote for each reply that names no option; completeness, preciseness and relevance of each description.
    for name, asked, score, value in (
        ("q_bench/perception", 3, "accuracy", 1.0),
        ("q_bench/description", 9, "sum", 3.0),
    ):
        replies = iter(["Splendid", "Awful", "Odd"])
        made = evaluator(name, judge=judge.for_task())
        found = made.run(
            FunctionBackend(lambda messages, of=replies: next(of)),
            load_data(get_task(name), DataRequest(is_mini=True, limit=3)),
        )
        assert found.scores[score] == value and found.scores["rounds"] == 5
        assert found.scores["judge"] == "judge" and found.settings["judge"]["name"] == "judge"
        assert [body["n"] for body in script.bodies] == [5] * asked
        script.bodies.clear()


@pytest.mark.parametrize(
    ("name", "asked", "score", "value"),
    [("q_bench/perception_pairs", 4, "accuracy", 1.0), ("q_bench/description", 12, "sum", 3.0)],
)
def test_a_judge_is_given_on_the_command_line(httpserver, tmp_path, name, asked, score, value):
    script = Script(httpserver)
    script.say(always("Score: 1"))
    rows = load_data(get_task(name), DataRequest(is_mini=True, images="skip")).dataset.select(range(4))
    lines = [json.dumps({"id": row["id"], "text": f"Splendid {row['id']}"}) + "\n" for row in rows]
    (tmp_path / "answers.jsonl").write_text("".join(lines))
    judge = ("--judge", "judge", "--judge-arg", f"base_url={httpserver.url_for('/v1')}", "--set", "rounds=3")
    answers = ("--predictions", tmp_path / "answers.jsonl", "--limit", 4, "--out", tmp_path / "out")
    done = invoke("score", name, "--mini", *answers, *judge, code=0)
    (result,) = read_results(tmp_path / "out").tasks
    assert (result.scores[score], result.scores["rounds"], result.complete) == (value, 3, True)
    assert [body["n"] for body in script.bodies] == [3] * asked
    assert "lexical" not in done.output


@pytest.mark.parametrize("name", ["q_bench/perception", "q_bench/perception_pairs", "q_bench/description"])
def test_precomputed_predictions_are_scored(tmp_path, name):
    rows = load_data(get_task(name), DataRequest(is_mini=True, images="skip")).dataset.select(range(9))
    right = "description" if name.endswith("description") else "answer"
    lines = [json.dumps({"id": row["id"], "text": row[right]}) + "\n" for row in rows]
    (tmp_path / "answers.jsonl").write_text("".join(lines))
    arguments = ("--predictions", tmp_path / "answers.jsonl", "--limit", 9, "--out", tmp_path / "out")
    invoke("score", name, "--mini", *arguments, code=0)
    (result,) = read_results(tmp_path / "out").tasks
    assert result.scores["n"] == 9
    if right == "description":
        assert result.scores["completeness"]["score"] == result.scores["preciseness"]["score"] == 2
    else:
        assert result.scores["accuracy"] == 1


def test_predictions_that_were_cut_off_are_a_share_of_the_descriptions(tmp_path):
    rows = load_data(get_task("q_bench/description"), DataRequest(is_mini=True, images="skip")).dataset.select(range(8))
    ends = {0: "length", 1: "length", 2: "refusal"}
    lines = [{"id": row["id"], "text": "It is", "finish_reason": ends.get(place)} for place, row in enumerate(rows)]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    arguments = ("--predictions", tmp_path / "answers.jsonl", "--limit", 8, "--out", tmp_path / "out")
    done = invoke("score", "q_bench/description", "--mini", *arguments)
    (result,) = read_results(tmp_path / "out").tasks
    shares = {"cut_off": 0.25, "unfinished_reasoning": 0.0, "refused": 0.125, "unparseable": 0.0}
    assert result.scores["outcomes"] == shares and not result.complete
    for share in (r"texts cut off +25\.00 %", r"texts refused +12\.50 %"):
        assert re.search(share, done.stdout)
    assert "texts that are empty" not in done.stdout
    shown = " ".join(done.stdout.split())
    assert "2 of 8 replies were cut off; it is unknown how 5 others ended. Generate these predictions" in shown
    assert "--max-new-tokens" not in shown


@pytest.mark.parametrize("inference", ["options", "closed-set"])
def test_the_test_split_gives_an_answer_file_with_letters_of_the_releases_order(tmp_path, inference):
    options = ("--split", "test", "--limit", 12, "--set", "shuffle_seed=3", "--set", f"inference={inference}")
    (result,), output = run(tmp_path, "q_bench/perception", *options)
    assert result.scores is None and "private" in " ".join(result.caveats) and "private" in output
    assert result.diagnostics and result.variants == {}
    path = tmp_path / "q_bench" / "perception" / "llvisionqa" / "llvisionqa_responses.json"
    lines = pyarrow.parquet.read_table(tmp_path / "predictions.parquet").to_pylist()
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
    for number in (0, 1):
        name = f"mini_{number:04d}.png"
        (folder / name).write_bytes((mini.release("lldescribe") / "images_lldescribe" / name).read_bytes())
    (result,), _ = run(tmp_path / "out", "q_bench/description", "--data-dir", folder)
    assert result.scores is None and "private" in " ".join(result.caveats)
    path = tmp_path / "out" / "q_bench" / "description" / "lldescribe" / "lldescribe_responses.json"
    rows = json.loads(path.read_text(encoding="utf-8"))
    lines = pyarrow.parquet.read_table(tmp_path / "out" / "predictions.parquet").to_pylist()
    assert rows == [{"img_path": line["id"], "response": line["text"]} for line in lines]
    assert [row["img_path"] for row in rows] == ["mini_0000.png", "mini_0001.png"]


def test_the_random_guess_of_real_questions_is_that_of_table_7_in_each_type_and_concern(reference, tmp_path):
    """Table 7's levels, which the paper truncates, are the means of those of type by concern."""
    folder = reference / "llvisionqa"
    rows = load_dataset("llvisionqa", split="dev", data_dir=folder, images="skip")
    answers = tmp_path / "answers.jsonl"
    answers.write_text("".join(json.dumps({"id": row["id"], "text": "I cannot tell"}) + "\n" for row in rows))
    paths = ("--predictions", answers, "--data-dir", folder, "--out", tmp_path / "out")
    invoke("score", "q_bench/perception", *paths, code=0)
    (result,) = read_results(tmp_path / "out").tasks
    assert (result.diagnostics["prompt_failure"]["rate"], result.scores["accuracy"]) == (1.0, 0.0)
    cells = result.scores["by_question_type_by_concern"]
    assert len(cells) == 12 and sum(cell["n"] for cell in cells.values()) == 1495
    for concern, percent in (
        ("distortion", 37.89),
        ("other", 38.48),
        ("in-context distortion", 38.28),
        ("in-context other", 35.82),
    ):
        parts = [cell for name, cell in cells.items() if name.partition(", ")[2] == concern]
        level = sum(part["n"] * part["random_guess"] for part in parts) / sum(part["n"] for part in parts)
        assert 100 * level == pytest.approx(percent, abs=0.02)
    yes_no = result.scores["yes_no"]
    types = [row["question_type"] for row in rows]
    assert yes_no["n_yes"] + yes_no["n_no"] == types.count("yes-or-no") - 4 + 3


def test_real_answers_about_pairs_are_right_where_they_are_the_right_option(reference, tmp_path):
    """LLaVA on the pairs of dev, asked for an option's text: nothing but upper and lower case is to be seen through."""
    lines = (reference / "qbench2-outputs" / "llava.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    given = [{"id": f"{number}", "text": row["llava_answer"]} for number, row in enumerate(rows)]
    (tmp_path / "llava.jsonl").write_text("".join(json.dumps(line) + "\n" for line in given))
    columns = {
        "id": [line["id"] for line in given],
        "images": [[]] * len(rows),
        "question": [row["question"].partition(" Options:")[0] for row in rows],
        "options": [row["option"] for row in rows],
        "answer": ["ABCD"[row["option"].index(row["answer"])] for row in rows],
    }
    loaded = LoadedData(datasets.Dataset.from_dict(columns), "own data", "given", "given")
    backend = PredictionsFileBackend(tmp_path / "llava.jsonl")
    found = evaluator("q_bench/perception_pairs").run(backend, loaded)
    right = sum(row["llava_answer"].lower() == row["answer"].lower() for row in rows)
    assert (found.scores["n"], found.scores["accuracy"], found.left_out) == (1000, right / 1000, [])
    assert not any(name.startswith("by_") for name in found.scores)
