"""`eyechart run`: its help and arguments, runs that are repeated, interrupted, of several models, or sampled."""

import gc
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
import typer
from typer.testing import CliRunner

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.backends.local import loading
from eyechart.evaluators.cli import app
from eyechart.evaluators.commands.arguments import parse_pairs
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.results.results_file import read_results
from eyechart.evaluators.tasks import TASKS
from tests.evaluators.command_line import invoke
from tests.evaluators.scripted_server import PATH, completion, json_response, refusal


def test_a_run_has_at_most_36_options():
    assert len(typer.main.get_command(app).get_command(None, "run").params) <= 36


def test_help_lists_every_rare_option_with_its_meaning():
    shown = invoke("run", "--help-args")
    lines = [line.strip() for line in shown.output.splitlines() if line.startswith("  ")]
    assert shown.exit_code == 0 and len(lines) > 20 and all(line.partition(": ")[2] for line in lines)
    assert any(line.startswith("device_map: Device map") for line in lines)


GIVEN = (
    "q_bench/perception",
    "--mini",
    "--seed",
    3,
    "--batch-size",
    3,
    "--set",
    "shuffle_seed=7",
    "--set",
    "prompt=answer-mark",
)


def test_a_run_can_be_repeated(tmp_path):
    sampled = ("--temperature", 0.7, "--model-arg", "sampling_seed=5", "--model-arg", "top_p=0.9")
    invoke("run", *GIVEN, *sampled, "--sample", 8, "--no-store", "--out", tmp_path / "first", code=0)
    invoke("run", "--like", tmp_path / "first", "--no-store", "--out", tmp_path / "again", code=0)
    first, again = (read_results(tmp_path / name) for name in ("first", "again"))
    assert again.request == first.request
    (one,), (other,) = first.tasks, again.tasks
    assert (other.scores, other.settings, one.settings["model"]["batch_size"]) == (one.scores, one.settings, 3)


def test_options_that_are_given_replace_those_of_the_run(tmp_path):
    invoke("run", *GIVEN, "--limit", 4, "--name", "first", "--out", tmp_path / "first", code=0)
    changed = ("q_bench/perception_pairs", "--set", "shuffle_seed=8", "--sample", 6, "--model", "eyechart/tiny-vlm")
    invoke("run", *changed, "--like", tmp_path / "first", "--out", tmp_path / "other", code=0)
    (task,) = read_results(tmp_path / "other").tasks
    assert (task.task, task.model, task.settings["limit"]) == ("q_bench/perception_pairs", "eyechart/tiny-vlm", None)
    assert (task.settings["shuffle_seed"], task.settings["sample"]["n"]) == (8, 6)
    assert (task.settings["prompt_id"].endswith("answer-mark"), task.settings["seed"]) == (True, 3)
    assert task.settings["data"]["is_mini"]


def test_results_that_no_run_wrote_cannot_be_repeated(tmp_path):
    invoke("run", "--like", tmp_path, code=1)
    invoke("run", *GIVEN, "--limit", 2, "--out", tmp_path, code=0)
    written = json.loads((tmp_path / "results.json").read_text())
    (tmp_path / "results.json").write_text(json.dumps({**written, "request": None}))
    done = invoke("run", "--like", tmp_path, code=2)
    assert f"--like {tmp_path}" in done.output


def test_values_are_json_or_text_each_with_one_name():
    parsed = {"rounds=3": 3, "blind=true": True, "shuffle_seed=null": None}
    # What cannot be written as JSON again, or is too deep to be read, is text.
    texts = {
        "prompt": "answer-mark",
        "words": "a=b",
        "empty": "",
        "nan": "NaN",
        "half": r'"\ud800"',
        "deep": "[" * 10**5,
    }
    found = parse_pairs("--set", [*parsed, *(f"{name}={text}" for name, text in texts.items())])
    assert found == {given.partition("=")[0]: value for given, value in parsed.items()} | texts

    for given in (["rounds"], ["rounds=1", "rounds=2"]):
        with pytest.raises(UsageError, match=r"--set 'rounds.*' is not NAME=VALUE, or gives NAME twice"):
            parse_pairs("--set", given)


def test_the_list_of_tasks_names_each_with_its_data_and_metric():
    shown = " ".join(re.sub(r"[│└─┴┘]", " ", invoke("tasks", columns=100, code=0).output).split())
    assert "…" not in shown
    for task in TASKS:
        assert all(words in shown for words in (task.name, task.description, task.metric, *task.data.datasets))


EYECHART = [sys.executable, "-m", "eyechart.evaluators"]


def commands(group, names=()):
    yield list(names)
    for name in getattr(group, "commands", {}):
        yield from commands(group.get_command(None, name), (*names, name))


@pytest.mark.parametrize("names", list(commands(typer.main.get_command(app))), ids=" ".join)
def test_help_shows_no_python_types(names):
    shown = invoke(*names, "--help", columns=200).output
    assert "--help" in shown and not re.search(r"<(?!time>|out>)[\w|\[\] ]+>", shown), shown


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("run ql_b", ["ql_bench", "ql_bench/single", "ql_bench/pair"]),
        ("run --prompt-style ", ["eyechart", "vlmevalkit", "lmms-eval"]),
        ("export live_", ["live_itw", "live_fb"]),
    ],
)
def test_a_shell_completes_names(words, offered):
    typed = f"eyechart {words}"
    asked = {"_EYECHART_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split(" ")) - 1)}
    shown = CliRunner().invoke(app, [], prog_name="eyechart", env=asked).output
    assert sorted(shown.split()) == sorted(offered)


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on(tmp_path):
    tasks = ["two_afc/coarse", "mmbench/en", "--limit", "40"]
    command = [*EYECHART, "run", *tasks, "--out", str(tmp_path / "out")]
    env = {**os.environ, "EYECHART_HOME": str(tmp_path / "home")}
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=env)
    # The results of the first task are written before the second is loaded.
    while child.poll() is None and not (tmp_path / "out" / "results.json").exists():
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=120)
    # A CPython that was interrupted inside `exec` of a string ends `python -m` by the signal: the same 130 to a shell.
    assert child.returncode in {130, -signal.SIGINT}, said
    assert "All answers so far are stored. Run the same command again to resume" in said
    assert f"Finished tasks are in {tmp_path / 'out'}." in said
    assert (tmp_path / "out" / "results.json").exists()


@pytest.fixture
def checkpoints(tmp_path):
    """Two folders with the bundled model, whose folders have the same name in different places, and one other."""
    names = ("a/last", "b/last", "other")
    return [shutil.copytree(tiny_vlm.folder(), tmp_path / "models" / name) for name in names]


def models(*names):
    return [word for name in names for word in ("--model", name)]


def test_they_run_one_after_the_other_each_in_its_folder_and_are_compared(checkpoints, tmp_path, monkeypatch):
    loaded, load = [], loading.load_pipeline

    def counting(*arguments):
        from transformers import PreTrainedModel

        loaded.append(sum(PreTrainedModel in type(one).__mro__ for one in gc.get_objects()))
        return load(*arguments)

    gc.collect()
    monkeypatch.setattr(loading, "load_pipeline", counting)
    first, _, other = checkpoints
    given = (*models(first, other), "--mini", "--limit", 8, "--out", tmp_path / "out")
    done = invoke("run", "q_bench/perception", *given, code=0)
    assert loaded[0] == loaded[1], "the first model is released before the second is loaded"
    for folder, model in ((tmp_path / "out/last", first), (tmp_path / "out/other", other)):
        assert [task.model for task in read_results(folder).tasks] == [str(model)]
    compared = invoke("compare", tmp_path / "out/last", tmp_path / "out/other", code=0)
    assert "q_bench/perception: no significant difference (" in compared.stdout
    outcome = done.stdout.splitlines()[-3:]
    assert outcome[0].startswith("A: ") and outcome[1] in compared.stdout.splitlines()
    assert outcome[2] == f"All tests: eyechart compare {tmp_path / 'out/last'} {tmp_path / 'out/other'}"


def test_the_second_runs_if_a_task_of_the_first_fails(http, tmp_path, monkeypatch):
    def reply(request):
        is_first = request.json["model"] == "a"
        return refusal(400, "out of memory") if is_first else json_response(completion("A"))

    http.expect_request(PATH, method="POST").respond_with_handler(reply)
    http.expect_request("/v1/models").respond_with_json({"data": [{"id": name} for name in "abc"]})
    server = ("--mini", "--limit", 4, "--base-url", http.url_for("/v1"), "--no-store", "--out", tmp_path / "out")
    done = invoke("run", "q_bench/perception", *models("a", "b", "c"), *server, code=1)
    assert [len(read_results(tmp_path / "out" / name).tasks) for name in "abc"] == [0, 1, 1]
    assert "A: b; B: c" in done.stdout and "Model 1 of 3: a" in done.stderr and "Model 3 of 3: c" in done.stderr
    done = invoke("run", "q_bench/perception", *models("a", "b"), *server, code=1)
    assert "The models cannot be compared: fewer than two models have results" in done.stdout


def test_models_of_one_name_get_folders_of_their_own_below_the_default_one(checkpoints, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    invoke("run", "q_bench/perception", *models(*checkpoints[:2]), "--mini", "--limit", 2, code=0)
    (run,) = (tmp_path / "eyechart_runs").iterdir()
    assert sorted(folder.name for folder in run.iterdir()) == ["1_last", "2_last"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--model-arg", "top_p=0.9"], "--model-arg top_p has no effect at temperature 0; add a --temperature above 0"),
        (models("a", "./a/"), "--model a is given 2 times"),
        ((*models("a", "b"), "--name", "mine"), "--name mine is for one model, but 2 are given"),
        (["--repeats", 3], "--repeats 3 needs a --temperature above 0, such as 0.7"),
    ],
)
def test_what_has_no_effect_or_cannot_be_is_refused(given, said, tmp_path):
    done = invoke("run", "q_bench/perception", "--mini", *given, "--out", tmp_path / "out", code=2)
    assert said in done.output and not (tmp_path / "out").exists()


def test_the_bundled_model_samples_its_replies(tmp_path):
    asked = ("--mini", "--limit", 12, "--temperature", 2, "--model-arg", "sampling_seed=1", "--model-arg", "top_p=0.9")
    done = invoke("run", "q_bench/perception", *asked, "--repeats", 3, "--no-store", "--out", tmp_path, code=0)
    (run,) = read_runs([tmp_path])
    (result,) = run.tasks.values()
    assert result.settings["model"]["sampling"] == {"temperature": 2.0, "top_p": 0.9, "seed": 1}
    assert (result.settings["repeats"], result.diagnostics["repeats"]["count"]) == (3, 3)
    assert "mean ± SD of 3 repeats" in " ".join(done.output.split())
    texts = [[row["text"] for row in run.predictions.to_pylist() if row["repeat"] == number] for number in (1, 2, 3)]
    assert len(set(map(tuple, texts))) == 3, "each repeat has replies of its own"
    assert "mean ± SD of 3 repeats" in (tmp_path / "report.html").read_text(encoding="utf-8")
