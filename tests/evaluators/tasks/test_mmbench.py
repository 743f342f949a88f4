"""MMBench's tasks on the mini release, from data to files."""

import csv
import json

import pytest

from eyechart.datasets_scripts import load_dataset, mini
from eyechart.datasets_scripts.common.choice.passes import passes_of
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.common.files.spreadsheets import read_xlsx_rows
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.protocols.choice.circular_eval import GRADES, WITHOUT_BLIND
from eyechart.evaluators.results.finished_runs import TaskKey
from eyechart.evaluators.results.results_file import read_results
from eyechart.evaluators.tasks import get_task
from tests.evaluators.command_line import invoke
from tests.evaluators.finished_runs import evaluated, item, write
from tests.evaluators.scripted_server import PATH, completion, json_response

CONFIGS = ("en", "cn", "en_v11", "cn_v11", "cc")


def evaluate(config, model, **how):
    task = evaluator(f"mmbench/{config}")
    return task.run(
        FunctionBackend(model),
        load_data(task.definition, DataRequest(is_mini=True, **how)),
    )


@pytest.mark.parametrize("config", CONFIGS)
def test_each_configuration_is_a_task(config):
    done = evaluate(config, lambda messages: "A")
    rows = load_dataset("mmbench", config, split="dev", data_dir=mini.release("mmbench"), images="skip")
    counts = [len(passes_of(row)) for row in rows]
    chances = [len(row["options"]) ** -float(count) for row, count in zip(rows, counts, strict=True)]
    assert (done.scores["n_questions"], done.scores["n_passes"]) == (len(rows), sum(counts))
    assert done.scores["random_guess"] == pytest.approx(sum(chances) / len(chances))
    assert done.settings["passes"] == ("rotations" if config.endswith("v11") else "release")
    assert done.scores["vanilla_accuracy"] == pytest.approx(sum(row["answer"] == "A" for row in rows) / len(rows))
    assert done.scores["circular_accuracy"] == 0.0
    levels = {key.removeprefix("by_"): len(part) for key, part in done.scores.items() if key.startswith("by_")}
    assert levels == ({"category": 7} if config == "cc" else {"l1_category": 2, "l2_category": 6, "category": 20})
    assert done.settings["data"]["config"] == config


def test_splits_are_those_with_answers_or_a_server():
    assert get_task("mmbench/en").data.splits == ("dev", "test")
    assert get_task("mmbench/cc").data.splits == ("dev",)


def test_chinese_questions_stand_in_the_english_frame():
    seen = []
    evaluate("cn", lambda messages: seen.append(messages[0]["content"][-1]["text"]) or "A", limit=12)
    assert seen[0].startswith("Question: 这幅图是什么风格")
    assert "\nOptions:\nA. " in seen[0]
    assert all(text.endswith("\nPlease select the correct answer from the options above. \n") for text in seen)
    assert sum(text.startswith("Hint: ") for text in seen) > 0


def test_the_tiny_model_answers_what_it_knows():
    """Of the mini questions it has learnt the words of two; those of its own kind are in LLVisionQA's mini release."""
    own = load_dataset("llvisionqa", split="dev", data_dir=mini.release("llvisionqa"))
    known = own.select([row for row, kind in enumerate(own["question_type"]) if kind != "yes-or-no"][:36])
    scores = evaluator("mmbench/en").compute(None, known)
    assert scores["circular_accuracy"] > 0.4 > 10 * scores["random_guess"]
    assert scores["vanilla_accuracy"] >= scores["circular_accuracy"]
    assert scores["extraction"]["exact"] == 1.0


def test_the_command_runs_blind_and_then_without_what_was_solved_blind(tmp_path):
    blind = tmp_path / "blind"
    invoke("run", "mmbench/en", "mmbench/cc", "--limit", 8, "--set", "blind=true", "--out", blind, code=0)
    arguments = (
        "--limit",
        8,
        "--set",
        f"exclude_blind_solved={blind}",
        "--set",
        "grade_open_answers=true",
        "--no-store",
    )
    invoke("run", "mmbench/en", "mmbench/cc", *arguments, "--out", tmp_path / "out", code=0)
    for first, task in zip(read_results(blind).tasks, read_results(tmp_path / "out").tasks, strict=True):
        solved = round(first.scores["circular_accuracy"] * 8)
        assert (first.settings["blind"], first.settings["prompt_id"]) == (True, "mmbench/2/blind")
        assert task.settings["exclude_blind_solved"] == {
            "model": "eyechart/tiny-vlm",
            "folder": "blind",
            "solved": solved,
            "of": 8,
        }
        assert task.variants[WITHOUT_BLIND]["n_questions"] == 8 - solved
        assert task.variants[GRADES]["n"] == 8


def test_precomputed_predictions_are_scored(tmp_path):
    rows = load_dataset("mmbench", "cn", split="dev", data_dir=mini.release("mmbench"), images="skip")
    lines = [
        {"id": row["id"], "pass": one.name, "text": f"选{one.answer}"}
        for row in rows
        for one in passes_of(row)
        # As if asked with early stop: the second question is wrong at once.
        if row["id"] != "dev-1" or not one.number
    ]
    lines[len(passes_of(rows[0]))]["text"] = "不知道"
    file = tmp_path / "answers.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    letters = tmp_path / "letters.csv"
    letters.write_text(f"id,letter\ndev-0,{rows[0]['answer']}\ndev-1,X\n", encoding="utf-8")
    done = invoke(
        *(
            "score",
            "mmbench/cn",
            "--mini",
            "--predictions",
            file,
            "--set",
            f"human_labels={letters}",
            "--out",
            tmp_path / "out",
        )
    )
    assert done.exit_code == 0, done.output
    (task,) = read_results(tmp_path / "out").tasks
    assert task.scores["circular_accuracy"] == pytest.approx(1 - 1 / len(rows))
    assert task.scores["vanilla_accuracy"] == pytest.approx(1 - 1 / len(rows))
    assert task.diagnostics["extractor_agreement"]["all"]["agreement"] == 1.0


def test_a_blind_run_of_two_versions_tells_of_each_what_it_solved_there(tmp_path):
    how = {"blind": True, "protocol": "circular_eval"}
    made = [
        evaluated(name, "mmbench", settings=how, items=[item("dev-1", circular_correct=is_solved)])
        for name, is_solved in (("mmbench/en", True), ("mmbench/en_v11", False))
    ]
    folder, column = write(tmp_path / "blind", made), "circular_correct"
    found = evaluator("mmbench/en", settings={"blind_run": str(folder)}).protocol.blind_run
    data = ("mmbench", "dev")
    assert found.of_task(TaskKey("mmbench/en", *data), column).settings()["solved"] == 1
    assert found.of_task(TaskKey("mmbench/en_v11", *data), column).settings()["solved"] == 0
    held = r"of {} on {} \(dev\); found blind runs of: mmbench/en on mmbench \(dev\), mmbench/en_v11 on mmbench \(dev\)"
    for task, dataset in (("mmbench/cn", "mmbench"), ("mmbench/en", "another")):
        with pytest.raises(UsageError, match=held.format(task, dataset)):
            found.of_task(TaskKey(task, dataset, "dev"), column)


def test_a_blind_run_may_be_of_precomputed_predictions(tmp_path):
    rows = load_dataset("mmbench", "en", split="dev", data_dir=mini.release("mmbench"), images="skip")
    asked = [(row, one) for row in rows for one in passes_of(row)]
    lines = [{"id": row["id"], "pass": one.name, "text": one.answer} for row, one in asked]
    (tmp_path / "seeing.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    # Without the image every second question is right.
    for line, (row, _) in zip(lines, asked, strict=True):
        line["text"] = line["text"] if int(row["question_id"]) % 2 else ""
    (tmp_path / "blind.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    score = ("score", "mmbench/en", "--mini", "--predictions")
    done = invoke(
        *score, tmp_path / "blind.jsonl", "--set", "blind=true", "--model", "gpt-4", "--out", tmp_path / "blind", code=0
    )
    assert "The model was not shown the images." in done.output
    without = ("--set", f"exclude_blind_solved={tmp_path / 'blind'}", "--out", tmp_path / "out")
    invoke(*score, tmp_path / "seeing.jsonl", *without, code=0)
    (task,) = read_results(tmp_path / "out").tasks
    assert task.diagnostics["exclude_blind_solved"] == {"model": "gpt-4", "removed": 30, "not_asked": 0, "of": 60}
    assert task.variants[WITHOUT_BLIND]["n_questions"] == 30


def test_servers_are_asked_with_early_stop(http, tmp_path):
    asked = []

    def respond(request):
        asked.append(json.loads(request.data))
        return json_response(completion("A"))

    http.expect_request(PATH, method="POST").respond_with_handler(respond)
    server = ("--model", "m", "--base-url", http.url_for("/v1"))
    invoke("run", "mmbench/en", "--mini", *server, "--limit", 10, "--out", tmp_path, code=0)
    (task,) = read_results(tmp_path).tasks
    assert task.settings["early_stop"] is True
    assert task.scores["n_passes"] == len(asked) == 10 + round(10 * task.scores["vanilla_accuracy"])
    invoke(
        "run", "mmbench/en", "--mini", *server, "--limit", 10, "--set", "early_stop=false", "--out", tmp_path, code=0
    )
    (complete,) = read_results(tmp_path).tasks
    assert complete.scores["n_passes"] > len(asked) / 2
    for key in ("circular_accuracy", "vanilla_accuracy"):
        assert complete.scores[key] == task.scores[key]


def test_a_judge_on_a_server_reads_what_exact_matching_leaves_open(http, tmp_path):
    asked = []

    def respond(request):
        body = json.loads(request.data)
        asked.append(body["model"])
        return json_response(completion(*["A" if body["model"] == "judge" else "the first"] * body.get("n", 1)))

    http.expect_request(PATH, method="POST").respond_with_handler(respond)
    server = ("--model", "m", "--base-url", http.url_for("/v1"))
    judge = ("--judge", "judge", "--judge-arg", f"base_url={http.url_for('/v1')}")
    invoke("run", "mmbench/en", "--mini", *server, *judge, "--limit", 10, "--out", tmp_path, code=0)
    (task,) = read_results(tmp_path).tasks
    passes = task.scores["n_passes"]
    assert asked.count("m") == asked.count("judge") == passes == 10 + round(10 * task.scores["vanilla_accuracy"]) > 10
    assert {name: share for name, share in task.scores["extraction"].items() if share} == {"judge": 1.0}
    assert (task.scores["judge_asked"], task.complete) == (passes, True)
    invoke("run", "mmbench/en", "--mini", *server, *judge, "--limit", 10, "--out", tmp_path, code=0)
    assert len(asked) == 2 * passes


def test_the_test_split_gives_the_file_for_the_server(tmp_path):
    done = evaluate("en", lambda messages: "=B\x07", split="test")
    assert done.scores is None
    path = tmp_path / "mmbench_en_test.xlsx"
    path.write_bytes(done.contents[path.name])
    rows = [row for _, row in read_xlsx_rows(str(path), ["index", "prediction"], formulas=True)]
    released = release_rows(mini.release("mmbench") / "MMBench_TEST_EN.tsv")
    assert {row["index"] for row in rows} == {int(row["index"]) for row in released}
    assert {row["prediction"] for row in rows} == {"=B "}


@pytest.mark.parametrize("config", ["en", "en_v11"])
def test_each_index_carries_the_options_of_the_releases_row(tmp_path, config):
    """Version 1.1, whose mini release holds first passes alone, is turned as the official passes are."""
    task = evaluator(f"mmbench/{config}")
    without_answers(f"MMBench_TEST_{config.upper()}.tsv", tmp_path)
    done = task.run(
        FunctionBackend(lambda messages: "A"), load_data(task.definition, DataRequest(split="test", data_dir=tmp_path))
    )
    path = tmp_path / "answers.xlsx"
    path.write_bytes(done.contents[f"mmbench_{config}_test.xlsx"])
    expected = {
        int(row["index"]): [row[name] or None for name in "ABCD"]
        for row in release_rows(mini.release("mmbench") / "MMBench_TEST_EN.tsv")
    }
    found = {row["index"]: [row[name] for name in "ABCD"] for _, row in read_xlsx_rows(str(path), ["index"])}
    if config == "en":
        assert found == expected
    else:
        # The questions whose last option never moves are turned whole where no pass says so.
        fixed = {index % 1_000_000 for index, options in expected.items() if options[-1] == "None of these"}
        assert len(fixed) == 2
        assert {i: shown for i, shown in found.items() if i % 1_000_000 not in fixed} == {
            i: shown for i, shown in expected.items() if i % 1_000_000 not in fixed
        }


def test_replies_to_another_order_are_written_in_the_releases_letters(tmp_path):
    rows = release_rows(mini.release("mmbench") / "MMBench_TEST_EN.tsv")
    lines = []
    for row in rows:
        options = [row[name] for name in "ABCD" if row[name]][::-1]
        lines.append({"id": "x", "index": row["index"], "question": row["question"], "prediction": "A"})
        lines[-1] |= dict(zip("ABCD", options, strict=False))
    (tmp_path / "answers.json").write_text(json.dumps(lines), encoding="utf-8")
    task = evaluator("mmbench/en")
    loaded = load_data(task.definition, DataRequest(split="test", is_mini=True))
    done = task.run(PredictionsFileBackend(tmp_path / "answers.json"), loaded)
    path = tmp_path / "answers.xlsx"
    path.write_bytes(done.contents["mmbench_en_test.xlsx"])
    released = {int(row["index"]): [row[name] for name in "ABCD" if row[name]] for row in rows}
    for _, row in read_xlsx_rows(str(path), ["index", "prediction"]):
        options = released[row["index"]]
        assert [row[name] for name in "ABCD" if row[name]] == options
        letter, _, text = row["prediction"].partition(". ")
        assert text == options["ABCD".index(letter)] == options[-1]


@pytest.mark.parametrize("config", ["en_v11", "cn_v11"])
def test_the_test_of_version_1_1_has_scores_as_its_answers_are_public(config):
    done = evaluate(config, lambda messages: "A", split="test")
    rows = load_dataset("mmbench", config, split="test", data_dir=mini.release("mmbench"), images="skip")
    assert done.scores["n_questions"] == len(rows) and not done.files and not " ".join(done.caveats)
    assert done.scores["vanilla_accuracy"] == pytest.approx(sum(row["answer"] == "A" for row in rows) / len(rows))


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ("en", "The answers of mmbench (test) are private"),
        ("en_v11", "This copy of mmbench (test) contains no answers"),
    ],
)
def test_without_answers_the_note_says_where_public_ones_are(tmp_path, config, why):
    without_answers(f"MMBench_TEST_{config.upper()}.tsv", tmp_path)
    task = evaluator(f"mmbench/{config}")
    done = task.run(
        FunctionBackend(lambda messages: "A"), load_data(task.definition, DataRequest(split="test", data_dir=tmp_path))
    )
    assert done.scores is None and f"mmbench_{config}_test.xlsx" in done.files
    assert " ".join(done.caveats).startswith(
        f"{why}, so there is no score; the predictions of 20 items were kept. MMBench's"
    )
    assert "closed on 31 March 2026" in " ".join(
        done.caveats
    ) and "version 1.1 (en_v11, cn_v11) are public in the" in " ".join(done.caveats)


def without_answers(name, folder):
    """A table of the mini release as it was before its answers were published."""
    rows = release_rows(mini.release("mmbench") / name)
    write_rows(folder / name, [{column: cell for column, cell in row.items() if column != "answer"} for row in rows])


def write_rows(path, rows):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def release_rows(path):
    csv.field_size_limit(10**8)
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))
