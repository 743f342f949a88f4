import csv
import dataclasses
import json

import pytest

from eyechart.datasets_scripts import load_dataset, mini
from eyechart.evaluators.results.items import MAIN, Item
from eyechart.evaluators.results.items import write_predictions as write_items
from eyechart.evaluators.results.results_file import TaskResult, read_results
from eyechart.evaluators.text_to_score.files import read_pairs, write_scores
from eyechart.evaluators.text_to_score.regressor import TextToScore
from tests.evaluators import command_line

DESCRIPTION_TASKS = ("aes_bench/interpretation", "q_bench/description")


def invoke(*arguments, code=None):
    return command_line.invoke("text-to-score", *arguments, code=code)


def options(settings, *, epochs=None):
    values = {**dataclasses.asdict(settings), "epochs": epochs or settings.epochs}
    names = ("model", "epochs", "learning_rate", "batch_size", "max_length")
    return ["--cpu-only", *(part for name in names for part in (f"--{name.replace('_', '-')}", values[name]))]


def write_csv(path, columns, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


def write_predictions(path, rows):
    """A predictions.parquet of (task, id, text), and the repeat if it is not the first."""
    results = [
        TaskResult(task=task, dataset="d", split="test", items=[Item(id, MAIN, *repeat, text=text)])
        for task, id, text, *repeat in rows
    ]
    write_items(path, results)
    return path


def read_scores(path):
    with open(path, newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ["id", "score"]
    return {name: float(score) for name, score in rows}


def same(scores):
    """What equals the scores but for rounding: in batches of another shape, a network's last digits differ."""
    return pytest.approx(scores, rel=1e-4)


def test_train_apply_and_the_same_from_python_agree(descriptions, settings, regressor, tmp_path):
    rows = [(f"{row}.png", text, score) for row, (text, score) in enumerate(zip(*descriptions, strict=True))]
    pairs_file = write_csv(tmp_path / "pairs.csv", ["id", "description", "score"], rows)
    done = invoke("train", pairs_file, "--out", tmp_path / "regressor", *options(settings), code=0)
    assert done.output == f"Trained on 72 descriptions; the regressor is in {tmp_path / 'regressor'}\n"
    out = tmp_path / "new" / "folder" / "scores.csv"
    done = invoke("apply", tmp_path / "regressor", pairs_file, "--out", out, "--cpu-only")
    assert (done.exit_code, done.output) == (0, f"72 scores are in {out}\n")
    scores = read_scores(out)
    assert list(scores) == [f"{row}.png" for row in range(72)]
    assert list(scores.values()) == same(regressor.predict(descriptions[0]).tolist())
    loaded = TextToScore.load(tmp_path / "regressor", cpu_only=True)
    assert loaded.record.settings == regressor.record.settings


def test_apply_takes_one_task_of_a_run_and_leaves_out_empty_texts_on_request(regressor, tmp_path):
    regressor.save(tmp_path / "regressor")
    aesthetics, quality = DESCRIPTION_TASKS
    rows = [(aesthetics, "a", "It is good."), (quality, "a", "It is poor."), (quality, "b", None), (quality, "c", " ")]
    # The first of the repeats is used.
    rows += [("q_bench/perception", "a", "A"), (quality, "d", "It is good."), (quality, "d", "It is poor.", 2)]
    write_predictions(tmp_path / "predictions.parquet", rows)
    out = tmp_path / "scores.csv"
    apply = ["apply", tmp_path / "regressor", tmp_path, "--out", out, "--cpu-only"]
    done = invoke(*apply, code=2)
    assert f"answers to {aesthetics} and {quality}; choose one" in done.output
    done = invoke(*apply, "--task", quality, code=1)
    assert "2 texts are empty, the first with id 'b'; --skip-bad leaves them out" in done.output
    assert not out.exists()
    done = invoke(*apply, "--task", quality, "--skip-bad", code=0)
    assert "left out: id 'b'" in done.output and "left out: id 'c'" in done.output
    expected = regressor.predict(["It is poor.", "It is good."])
    assert read_scores(out) == same(dict(zip("ad", expected, strict=True)))
    done = invoke(*apply, "--task", aesthetics, code=0)
    assert "do not measure what the model saw" in done.output
    assert list(read_scores(out)) == ["a"]


def test_validate_prints_every_fold_and_writes_every_prediction(descriptions, settings, tmp_path):
    rows = [
        {"id": f"{row // 2}", "description": text, "score": score}
        for row, (text, score) in enumerate(zip(*descriptions, strict=True))
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "validation.json"
    done = invoke("validate", tmp_path / "pairs.jsonl", "--folds", "2", "--out", out, *options(settings), code=0)
    contents = json.loads(out.read_text())
    table = [line.split("│")[1:-1] for line in done.output.splitlines() if "│" in line]
    expected = [*sorted(contents["scores"]["by_fold"].items()), ("all", contents["scores"])]
    assert [[cell.strip() for cell in row] for row in table] == [
        [name, str(part["n"]), f"{part['srcc']:.3f}", f"{part['plcc']:.3f}"] for name, part in expected
    ]
    assert contents["settings"]["images"] == 36 and "torch" in contents["versions"]
    assert [item["id"] for item in contents["predictions"]] == [row["id"] for row in rows]
    assert [item["score"] for item in contents["predictions"]] == descriptions[1]
    assert {item["fold"] for item in contents["predictions"]} == {1, 2}


def test_undefined_correlations_are_null_in_the_file_and_told(descriptions, settings, tmp_path):
    rows = [("a", "good", 1.0), ("b", "good", 2.0), ("c", "good", 3.0)]
    file = write_csv(tmp_path / "pairs.csv", ["id", "description", "score"], rows)
    out = tmp_path / "validation.json"
    done = invoke("validate", file, "--folds", "3", "--out", out, *options(settings, epochs=1), code=0)
    assert "warning: fold=1: nan for srcc" in done.output
    assert json.loads(out.read_text())["scores"]["by_fold"]["1"]["srcc"] is None
    assert "folds=1 is not allowed" in invoke("validate", file, "--folds", "1", *options(settings), code=2).output


@pytest.mark.parametrize(
    ("name", "text", "code", "message"),
    [
        ("pairs.txt", "", 2, "expected a CSV (.csv) or JSON Lines (.jsonl) file"),
        ("pairs.csv", "id,description\na,good\n", 1, "missing column 'score'"),
        ("pairs.csv", "id,description,score\na,good,high\n", 1, "row 2: field 'score' must be a number, found 'high'"),
        ("pairs.csv", "id,description,score\na,,1\n", 1, "row 2: field 'description' is empty"),
        ("pairs.csv", "id,description,score\n", 2, "scores is empty"),
        ("pairs.jsonl", '{"id": "a"\n', 1, "row 1: not valid JSON"),
    ],
)
def test_bad_files_of_pairs_are_refused(settings, tmp_path, name, text, code, message):
    (tmp_path / name).write_text(text)
    done = invoke("train", tmp_path / name, "--out", tmp_path / "out", *options(settings))
    assert (done.exit_code, message in done.output) == (code, True), done.output
    assert not (tmp_path / "out").exists()


def test_bad_files_of_texts_are_refused(regressor, tmp_path):
    regressor.save(tmp_path / "regressor")

    def refused(texts, *more):
        done = invoke("apply", tmp_path / "regressor", texts, "--out", tmp_path / "scores.csv", *more)
        assert done.exit_code in (1, 2) and not (tmp_path / "scores.csv").exists()
        return done.output

    assert "missing predictions" in refused(tmp_path)
    rows = [("q_bench/perception", "a", "A")]
    assert "no answers to a description task" in refused(write_predictions(tmp_path / "p.parquet", rows))
    rows = [(DESCRIPTION_TASKS[1], "a", "good")] * 2
    assert "row 2: duplicate id 'a'" in refused(write_predictions(tmp_path / "p.parquet", rows))
    assert "unknown task" in refused(tmp_path / "p.parquet", "--task", "q_bench/descriptions")
    (tmp_path / "p.parquet").write_bytes(b"PAR1")
    assert "cannot be read as predictions" in refused(tmp_path / "p.parquet")
    texts = write_csv(tmp_path / "texts.csv", ["id", "description"], [["a", "good"]])
    assert "applies only to predictions of a run; leave it out" in refused(texts, "--task", DESCRIPTION_TASKS[0])
    done = invoke("apply", tmp_path / "nowhere", texts, "--out", tmp_path / "scores.csv", code=1)
    assert "is not a regressor, because its text_to_score.json cannot be read" in done.output
    done = invoke("apply", tmp_path / "regressor", texts, "--out", tmp_path, code=2)
    assert "is a folder" in done.output


def test_an_image_may_have_several_descriptions(tmp_path):
    rows = [["a", "good", 1], ["a", "very good", " 2 "]]
    pairs = read_pairs(write_csv(tmp_path / "pairs.csv", ["id", "description", "score"], rows))
    assert pairs.to_dict("list") == {"id": ["a", "a"], "description": ["good", "very good"], "score": [1.0, 2.0]}


def test_score_reads_the_scores_that_apply_writes(tmp_path):
    images = load_dataset("kadis700k", split="test", data_dir=mini.release("kadis700k"), images="skip")
    qualities = dict(zip(images["id"], images["quality"], strict=True))
    write_scores(tmp_path / "scores.csv", list(qualities), [quality / 3 - 0.1 for quality in qualities.values()])
    arguments = ["score", "q_bench/assessment", "--predictions", tmp_path / "scores.csv", "--out", tmp_path / "out"]
    command_line.invoke(*arguments, "--mini", "--dataset", "kadis700k", code=0)
    (task,) = read_results(tmp_path / "out").tasks
    assert (task.scores["n"], task.scores["srcc"]) == (len(qualities), pytest.approx(1.0))
