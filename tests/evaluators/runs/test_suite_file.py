import json

import pytest
from typer.testing import CliRunner

from eyechart.datasets_scripts import mini
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.cli import app
from eyechart.evaluators.runs.suite_file import read_suite


def write(tmp_path, text):
    path = tmp_path / "suite.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_suite_becomes_a_plan_in_its_order(tmp_path):
    folder = mini.release("llvisionqa")
    path = write(
        tmp_path,
        f"""
        name: both
        seed: 3
        limit: 20
        tasks:
          - {{task: q_bench/assessment, dataset: kadis700k, limit: 5}}
          - {{task: q_bench/perception, data_dir: "{folder}", split: test, settings: {{shuffle_seed: 7}}}}
        """,
    )
    suite, plan = read_suite(path)
    assert (suite.name, suite.seed) == ("both", 3)
    assert [(p.task.name, p.dataset, p.data.split, p.data.limit) for p in plan] == [
        ("q_bench/assessment", "kadis700k", "test", 5),
        ("q_bench/perception", "llvisionqa", "test", 20),
    ]
    assert plan[1].options.settings == {"shuffle_seed": 7}
    assert plan[1].data.data_dir == str(folder)


def test_folders_are_relative_to_the_file(tmp_path):
    (tmp_path / "data").mkdir()
    _, plan = read_suite(write(tmp_path, "tasks: [{task: q_bench/perception, data_dir: data}]"))
    assert plan[0].data.data_dir == str(tmp_path / "data")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("tasks: [", "is not valid YAML"),
        ("", "the file: expected a mapping with the keys name, seed, limit, mini, tasks; found None"),
        ("just text", "the file: expected a mapping .*; found 'just text'"),
        (
            "name: x\nprotocol: circular_eval",
            "not a suite file but a task file: run it with `eyechart run .*suite.y",
        ),
        ("tasks: []", "tasks: expected a non-empty list"),
        ("task: [{task: q_bench/perception}]", "tasks is missing; unknown key 'task'; did you mean 'tasks'?"),
        ("seed: x\ntasks: [{task: q_bench/perception}]", "seed: expected a whole number; found 'x'"),
        ("seed: -1\ntasks: [{task: q_bench/perception}]", "seed: expected at least 0; found -1"),
        ("tasks: [{task: q_bench/perception, limit: 0}]", r"tasks, entry 1, limit: expected at least 1"),
        ("tasks: [{task: q_bench/perception, limt: 5}]", "tasks, entry 1: unknown key 'limt'; did you mean 'limit'?"),
        ("tasks: [{dataset: llvisionqa}]", "tasks, entry 1, task is missing"),
        ("tasks: [{task: q_bench/percepton}]", r"task 1 .*did you mean 'q_bench/perception'"),
        ("tasks: [{task: q_bench/perception, dataset: koniq10k}]", "unknown dataset 'koniq10k' of q_bench/perception"),
        ("tasks: [{task: q_bench/perception, split: tset}]", "did you mean 'test'"),
        ("tasks: [{task: q_bench/perception, data_dir: nowhere}]", "nowhere' does not exist"),
        ("tasks: [{task: q_bench/perception, data_dir: ~nosuchuser/x}]", "task 1 .*data_dir '~nosuchuser/x' cannot be"),
        ("tasks: [{task: mmbench/en, settings: {human_labels: ~nosuchuser/x}}]", "human_labels '~nosuch"),
        ("tasks: [{task: q_bench/perception, settings: {shufle_seed: 1}}]", "did you mean 'shuffle_seed'"),
        (
            "tasks: [{task: q_bench/perception, settings: {temperature: 5}}]",
            "unknown setting 'temperature' of q_bench/perception",
        ),
        (
            "tasks: [{task: q_bench/perception, settings: {shuffle_seed: -1}}]",
            "shuffle_seed=-1: expected whole number, at least 0",
        ),
        ("tasks: [{task: q_bench/perception, data_options: {place: 1}}]", "unknown llvisionqa option"),
        ("tasks: [{task: q_bench/perception}, {task: q_bench/perception}]", "is listed 2 times"),
        ("tasks: [{task: q_bench/perception, data_dir: ''}]", "entry 1, data_dir: expected a non-empty string"),
        (
            "tasks: [{task: q_bench/assessment, settings: {temperature: hot}}]",
            "temperature='hot': expected number",
        ),
        (
            "tasks: [{task: q_bench/perception, settings: {prompt: nonsense}}]",
            "task 1 .*unknown value 'nonsense' of prompt",
        ),
        (
            "tasks: [{task: q_bench/assessment, settings: {word_pair: [good, poor]}}]",
            r"word_pair=\['good', 'poor'\]: expected text",
        ),
        ("tasks: [{task: q_bench/perception, settings: {inference: 1}}]", "inference=1: expected options . closed-set"),
        ("tasks: [{task: mmbench/en, settings: {blind: nope}}]", "blind='nope': expected true . false"),
        ("tasks: [{task: mmbench/en, settings: {human_labels: [a]}}]", "human_labels=.'a'.: not a path; expected file"),
    ],
)
def test_what_is_wrong_is_named_before_anything_runs(tmp_path, text, problem):
    with pytest.raises(UsageError, match=problem) as caught:
        read_suite(write(tmp_path, text))
    assert str(tmp_path) in str(caught.value)


def invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_a_run_follows_a_suite_file_and_keeps_it(tmp_path):
    path = write(tmp_path, "name: short\ntasks: [{task: q_bench/perception, limit: 4, settings: {shuffle_seed: 2}}]")
    done = invoke("run", "--suite", path, "--out", tmp_path / "run")
    assert done.exit_code == 0, done.output
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert results["suite"]["name"] == "short"
    assert [task["task"] for task in results["tasks"]] == ["q_bench/perception"]
    assert (results["tasks"][0]["scores"]["n"], results["tasks"][0]["settings"]["shuffle_seed"]) == (4, 2)


def test_the_data_of_all_entries_are_checked_before_a_model_is_loaded(tmp_path):
    (tmp_path / "empty").mkdir()
    tasks = "[{task: q_bench/assessment, dataset: kadis700k, mini: true}, {task: q_bench/perception, data_dir: empty}]"
    path = write(tmp_path, f"tasks: {tasks}")
    done = invoke("run", "--suite", path, "--out", tmp_path / "run")
    assert done.exit_code == 1 and not (tmp_path / "run").exists()
    assert "q_bench/perception on llvisionqa: " in done.output and f"{tmp_path / 'empty'}: " in done.output


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--suite", "q_bench"), "to run all tasks of a paper: `eyechart run q_bench`"),
        (("--suite", "FILE", "q_bench/perception"), "q_bench/perception cannot be combined with the suite file"),
        (("--suite", "FILE", "--limit", "3"), "--limit cannot be combined with the suite file"),
        (("--suite", "FILE", "--seed", "0"), "--seed cannot be combined with the suite file"),
        (("--suite", "FILE", "--set", "shuffle_seed=3"), "--set cannot be combined with the suite file"),
    ],
)
def test_wrong_usage_of_suites(tmp_path, arguments, problem):
    path = write(tmp_path, "tasks: [{task: q_bench/perception}]")
    done = invoke("run", *(path if argument == "FILE" else argument for argument in arguments))
    assert done.exit_code == 2
    assert problem in done.output


def test_files_of_options_lie_beside_the_suite_file(tmp_path):
    text = "tasks: [{task: mmbench/en, settings: {exclude_blind_solved: runs/blind}}]"
    with pytest.raises(UsageError, match=r"task 1 \(mmbench/en\): exclude_blind_solved '.*runs/blind' does not exist"):
        read_suite(write(tmp_path, text))
    (tmp_path / "runs" / "blind").mkdir(parents=True)
    with pytest.raises(UsageError, match=r"results\.json: the file does not exist; exclude_blind_solved must name"):
        read_suite(write(tmp_path, text))
